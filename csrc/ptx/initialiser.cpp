// csrc/ptx/initialiser.cpp - the initialisers of variables.
#include "ptx/initialiser.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "ptx/constant.hpp"

namespace cupola::ptx {

void Initialiser::read(Declared& d) {
    const Token& start = tokens_.take();
    Variable& v = d.variable;
    if (v.opaque != Opaque::none) return skip_properties_of(d, 0);
    if (v.space != Space::global && v.space != Space::constant)
        tokens_.fail(start,
                     "'" + v.name + "': only .global and .const variables can have an initialiser");
    if (v.external)
        tokens_.fail(start, "'" + v.name + "' is .extern and cannot have an initialiser");
    if (v.type == Type::f16 || v.type == Type::f16x2)
        tokens_.fail(start, "'" + v.name + "': a variable of ." + std::string(name_of(v.type)) +
                                " cannot have an initialiser");
    // The elements of a vector are in braces, like those of a row.
    if (d.vector > 1) d.dims.push_back(d.vector);
    if (d.dims.empty()) return read_one(d, 0);
    tokens_.expect('{');
    read_level(d, 0, 0);
}

void Initialiser::resize_open(Declared& d, std::uint64_t rows, const Token& at) const {
    Variable& v = d.variable;
    v.size = bytes_of(v.type) * rows;
    for (std::size_t n = 1; n < d.dims.size(); ++n) {
        if (v.size > largest_variable / d.dims[n])
            tokens_.fail(at, "array '" + v.name + "' is too large");
        v.size *= d.dims[n];
    }
}

// The initialiser of an array of textures is an array of properties.
void Initialiser::skip_properties_of(const Declared& d, std::size_t depth) {
    if (depth == d.dims.size()) return skip_properties();
    tokens_.expect('{');
    std::uint64_t count = 0;
    do {
        if (d.dims[depth] != 0 && count++ == d.dims[depth])
            tokens_.fail(tokens_.peek(), "too many values for '" + d.variable.name + "'");
        skip_properties_of(d, depth + 1);
    } while (tokens_.accept(','));
    tokens_.expect('}');
}

// { addr_mode_0 = clamp_to_border, filter_mode = linear, ... }. The properties have no effect: as
// with NVIDIA's compiler, the binding of a texture determines them.
void Initialiser::skip_properties() {
    static constexpr std::string_view names[] = {
        "filter_mode",
        "normalized_coords",
        "force_unnormalized_coords",
        "addr_mode_0",
        "addr_mode_1",
        "addr_mode_2",
        "width",
        "height",
        "depth",
        "channel_data_type",
        "channel_order",
        "array_size",
        "num_mipmap_levels",
        "num_samples",
        "memory_layout",
    };
    tokens_.expect('{');
    if (tokens_.accept('}')) return;
    do {
        const Token& token = tokens_.peek();
        const std::string_view name = tokens_.expect_word("a property");
        if (std::find(std::begin(names), std::end(names), name) == std::end(names))
            tokens_.fail(token, "unknown property '" + std::string(name) + "'");
        tokens_.expect('=');
        const Token& value = tokens_.take();
        if (value.kind != Token::Kind::integer && value.kind != Token::Kind::word)
            tokens_.fail(value,
                         "expected a value of '" + std::string(name) + "', got " + quoted(value));
    } while (tokens_.accept(','));
    tokens_.expect('}');
}

// Reads up to the '}' and returns the offset after the values. A row may be shorter than its
// dimension. As in ptxas, the next row then follows directly, and the array ends with zeros.
std::uint64_t Initialiser::read_level(Declared& d, std::size_t depth, std::uint64_t from) {
    const Token& brace = tokens_.peek();
    const bool of_vector = d.vector > 1 && depth + 1 == d.dims.size();
    std::uint64_t at = from, count = 0;
    const bool open = depth == 0 && d.variable.unsized;
    const bool empty = tokens_.at_mark('}') && !open && !of_vector;
    while (!empty) {
        const Token& token = tokens_.peek();
        if (!open && count == d.dims[depth])
            tokens_.fail(token, "too many values for '" + d.variable.name + "'");
        if (depth + 1 < d.dims.size()) {
            tokens_.expect('{');
            at = read_level(d, depth + 1, at);
        } else {
            read_one(d, at);
            at += bytes_of(d.variable.type);
        }
        ++count;
        if (!tokens_.accept(',')) break;
    }
    tokens_.expect('}');
    if (open) resize_open(d, count, brace);
    if (of_vector && count != d.vector)
        tokens_.fail(brace, "expected " + std::to_string(d.vector) + " values in a vector of '" +
                                d.variable.name + "', got " + std::to_string(count));
    return at;
}

void Initialiser::read_one(Declared& d, std::uint64_t at) {
    Variable& v = d.variable;
    const unsigned bytes = bytes_of(v.type);
    const Token& token = tokens_.peek();
    if (!v.unsized && at + bytes > v.size)
        tokens_.fail(token, "too many values for '" + v.name + "'");
    if (v.init.size() < at + bytes) v.init.resize(at + bytes);
    const bool masked = token.kind == Token::Kind::integer &&
                        tokens_.peek(1).kind == Token::Kind::mark && tokens_.peek(1).mark == '(';
    if (masked || !at_constant(tokens_)) return read_address(d, at);
    const Constant c = constant(tokens_);
    std::uint64_t bits = c.bits;
    double value = 0;
    if (c.kind == Token::Kind::real) std::memcpy(&value, &bits, sizeof value);
    if (c.kind == Token::Kind::single) {
        float f;
        const auto low = static_cast<std::uint32_t>(bits);
        std::memcpy(&f, &low, sizeof f);
        value = f;
    }
    if (c.kind == Token::Kind::integer) {
        const auto whole = static_cast<std::int64_t>(bits);
        value = c.is_unsigned ? static_cast<double>(bits) : static_cast<double>(whole);
        if (is_float(v.type))
            tokens_.fail(token, "expected a floating-point constant in '" + v.name + "', got " +
                                    quoted(token));
    } else if (!is_float(v.type) && !is_bits(v.type)) {
        tokens_.fail(token,
                     "expected an integer constant in '" + v.name + "', got " + quoted(token));
    }
    const bool single =
        v.type == Type::f32 || (v.type == Type::b32 && c.kind == Token::Kind::single);
    if (single) {
        const auto f = static_cast<float>(value);
        std::uint32_t low;
        std::memcpy(&low, &f, sizeof low);
        bits = low;
    } else if (v.type == Type::f64 || c.kind == Token::Kind::single) {
        std::memcpy(&bits, &value, sizeof bits);
    }
    std::memcpy(v.init.data() + at, &bits, bytes < 8 ? bytes : 8);
}

// name[+n], generic(name)[+n], or one byte of it: 0xFF00(generic(name)+n).
void Initialiser::read_address(Declared& d, std::uint64_t at) {
    Variable& v = d.variable;
    Relocation r;
    r.offset = at;
    r.bytes = static_cast<std::uint8_t>(bytes_of(v.type));
    const bool masked = tokens_.peek().kind == Token::Kind::integer;
    if (masked) {
        const Token& token = tokens_.take();
        const std::uint64_t mask = token.value;
        while (r.shift < 56 && (mask >> r.shift & 1) == 0) r.shift += 8;
        if (mask != std::uint64_t{0xff} << r.shift)
            tokens_.fail(token, "mask " + quoted(token) + " does not select one byte");
        tokens_.expect('(');
    }
    const Token& token = tokens_.peek();
    std::string_view name = tokens_.expect_word("a variable");
    if (name == "generic") {
        tokens_.expect('(');
        name = tokens_.expect_word("a variable");
        tokens_.expect(')');
    }
    if (tokens_.accept('+')) r.addend = constant_integer(tokens_, "an offset");
    if (masked) tokens_.expect(')');
    const Symbol* const found = scopes_.find_in_module(name);
    if (!found) tokens_.fail(token, "unknown name '" + std::string(name) + "'");
    if (found->kind == Symbol::Kind::function) {
        if (r.bytes != 8 && !(masked && r.bytes == 1))
            tokens_.fail(token, "'" + v.name + "' cannot hold an address; use a type of 64 bits");
        r.function = found->index;
        module_.functions[r.function].address_taken = true;
        v.relocations.push_back(r);
        return;
    }
    const Variable& to = module_.variables[found->index];
    if (to.space != Space::global && to.space != Space::constant)
        tokens_.fail(
            token, "'" + to.name +
                       "' is not in .global or .const, so an initialiser cannot hold its address");
    if (r.bytes != 8 && !(masked && r.bytes == 1))
        tokens_.fail(token, "'" + v.name + "' cannot hold an address; use a type of 64 bits");
    r.variable = found->index;
    v.relocations.push_back(r);
}

}  // namespace cupola::ptx
