// csrc/ptx/declare.cpp - declarations of variables, and their initialisers.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "ptx/parser.hpp"

namespace cupola::ptx {
namespace {

constexpr std::uint64_t largest = std::uint64_t{1} << 40;
constexpr std::uint64_t largest_align = 16384;
constexpr std::uint64_t max_names = 65536;  // x<n> creates n variables, used or not
constexpr std::size_t max_dimensions = 64;  // bounds the recursion: text is untrusted

}  // namespace

std::uint64_t Parser::constant_unsigned(const char* what) {
    if (peek().kind == Token::Kind::word && peek().text == "WARP_SZ") {
        take();
        return 32;
    }
    if (peek().kind != Token::Kind::integer)
        fail(peek(), std::string("expected ") + what + ", got " + quoted(peek()));
    return take().value;
}

Type Parser::fundamental_type() {
    if (peek().kind != Token::Kind::directive)
        fail(peek(), "expected a type, got " + quoted(peek()));
    const Type type = type_named(peek().text.substr(1));
    if (type == Type::none || (type >= Type::bf16 && type <= Type::e5m2x2) || type == Type::u16x2 ||
        type == Type::s16x2)
        fail(peek(), "type " + std::string(peek().text) + " is not supported",
             Error::Kind::unsupported_form);
    take();
    return type;
}

// Reads .texref, .samplerref or .surfref; false if none of them is next.
bool Parser::opaque_type(Variable& v) {
    v.opaque = at_directive(".texref")       ? Opaque::texture
               : at_directive(".samplerref") ? Opaque::sampler
               : at_directive(".surfref")    ? Opaque::surface
                                             : Opaque::none;
    if (v.opaque == Opaque::none) return false;
    if (v.opaque == Opaque::sampler && !module_.independent_samplers)
        fail(peek(), ".samplerref needs .target texmode_independent");
    take();
    v.type = Type::b64;
    return true;
}

// The value of .align. ptxas accepts larger values, but only up to `largest_align` is a module
// known to load on a GPU.
std::uint32_t Parser::alignment() {
    const Token& token = peek();
    const std::uint64_t align = constant_unsigned("an alignment");
    if (align == 0 || align > largest_align || (align & (align - 1)) != 0)
        fail(token, "alignment " + std::to_string(align) + " is not a power of two up to " +
                        std::to_string(largest_align));
    return static_cast<std::uint32_t>(align);
}

// (.managed, ...)
void Parser::attributes(Variable& v) {
    expect('(');
    do {
        if (!at_directive(".managed"))
            fail(peek(), "attribute " + quoted(peek()) + " is not supported; expected .managed",
                 Error::Kind::unsupported_form);
        take();
        v.managed = true;
    } while (accept(','));
    expect(')');
}

// Reads a declaration up to its names: [.align n] [.v2 or .v4] .type [.ptr [.space] [.align n]]
Parser::Declared Parser::declaration(Space space, const Prefix& prefix) {
    Declared d;
    Variable& v = d.variable;
    v.space = space;
    v.external = prefix.external;
    v.visible = prefix.visible;
    v.line = peek().line;
    std::uint32_t align = 0;
    for (;;) {
        if (at_directive(".align")) {
            take();
            align = alignment();
        } else if (space == Space::global && at_directive(".attribute")) {
            take();
            attributes(v);
        } else if (at_directive(".v2") || at_directive(".v4")) {
            d.vector = take().text == ".v2" ? 2 : 4;
        } else if (v.type == Type::none && space == Space::global && opaque_type(v)) {
            continue;
        } else if (v.type == Type::none) {
            const Token& token = peek();
            v.type = fundamental_type();
            if (v.type == Type::pred) fail(token, "a .pred variable must be a register");
            if (space == Space::param && (d.vector != 1 || v.type == Type::f16x2))
                fail(token, "a .param variable cannot be a vector");
        } else if (at_directive(".ptr")) {
            take();
            if (at_directive(".global") || at_directive(".const") || at_directive(".shared") ||
                at_directive(".local"))
                take();
            if (at_directive(".align")) {  // alignment of the target
                take();
                alignment();
            }
        } else {
            break;
        }
    }
    if (v.opaque != Opaque::none && d.vector != 1)
        fail(peek(), "textures, samplers and surfaces cannot be vectors");
    v.size = std::uint64_t{bytes_of(v.type)} * d.vector;
    if (v.size > 16) fail(peek(), "a vector has more than 128 bits");
    v.align = align != 0 ? align : static_cast<std::uint32_t>(v.size);
    return d;
}

// name, name<count> or name[bounds]
void Parser::declare_name(Declared& d) {
    d.name = expect_name("a name");
    d.variable.name = std::string(d.name);
    if (accept('<')) {
        d.range = true;
        d.count = constant_unsigned("a count");
        expect('>');
        if (at_mark('[') || at_mark('='))
            fail(peek(), "variables by number ('" + std::string(d.name) +
                             "<n>') cannot be arrays or have an initialiser");
        return;
    }
    array_bounds(d);
}

// The declared names. They live as long as the parser.
std::vector<std::string_view> Parser::names_of(const Declared& d, const Token& at) {
    if (!d.range) return {d.name};
    if (d.count > max_names || range_names_.size() + d.count > max_names)
        fail(at, "more than " + std::to_string(max_names) + " variables by number");
    std::vector<std::string_view> names;
    for (std::uint64_t n = 0; n < d.count; ++n) {
        range_names_.push_back(std::string(d.name) + std::to_string(n));
        names.push_back(range_names_.back());
    }
    return names;
}

// A first bound of 0 is the same as an omitted one.
void Parser::array_bounds(Declared& d) {
    Variable& v = d.variable;
    while (at_mark('[')) {
        const Token& start = take();
        if (d.dims.size() == max_dimensions)
            fail(start, "array '" + v.name + "' has more than " + std::to_string(max_dimensions) +
                            " dimensions");
        v.array = true;
        std::uint64_t bound = 0;
        if (!at_mark(']') || !d.dims.empty()) bound = constant_unsigned("an array's size");
        if (bound > largest) fail(start, "array '" + v.name + "' is too large");
        if (bound == 0 && !d.dims.empty())
            fail(start, "array '" + v.name + "' has a dimension of size 0; only the first can be");
        v.unsized |= bound == 0;
        d.dims.push_back(bound);
        expect(']');
    }
    for (const std::uint64_t bound : d.dims) {
        if (bound != 0 && v.size > largest / bound)
            fail(peek(), "array '" + v.name + "' is too large");
        v.size *= bound != 0 ? bound : 1;
    }
    if (v.unsized) v.size = 0;
}

void Parser::check_size(const Declared& d, const Token& at) const {
    const Variable& v = d.variable;
    if (v.unsized && !v.external && v.size == 0) fail(at, "array '" + v.name + "' has no size");
    const std::uint64_t limit = v.space == Space::constant ? 65536
                                : v.space == Space::shared ? 227 * 1024
                                : v.space == Space::local  ? 512 * 1024
                                : v.space == Space::param  ? 32764
                                                           : largest;
    if (v.size > limit)
        fail(at, "variable '" + v.name + "' has " + std::to_string(v.size) +
                     " bytes; the limit is " + std::to_string(limit));
}

void Parser::initialiser(Declared& d) {
    const Token& start = take();
    Variable& v = d.variable;
    if (v.opaque != Opaque::none) return skip_properties_of(d, 0);
    if (v.space != Space::global && v.space != Space::constant)
        fail(start, "'" + v.name + "': only .global and .const variables can have an initialiser");
    if (v.external) fail(start, "'" + v.name + "' is .extern and cannot have an initialiser");
    if (v.type == Type::f16 || v.type == Type::f16x2)
        fail(start, "'" + v.name + "': a variable of ." + std::string(name_of(v.type)) +
                        " cannot have an initialiser");
    // The elements of a vector are in braces, like those of a row.
    if (d.vector > 1) d.dims.push_back(d.vector);
    if (d.dims.empty()) return initialise_one(d, 0);
    expect('{');
    initialise_level(d, 0, 0);
}

void Parser::resize_open(Declared& d, std::uint64_t rows, const Token& at) {
    Variable& v = d.variable;
    v.size = bytes_of(v.type) * rows;
    for (std::size_t n = 1; n < d.dims.size(); ++n) {
        if (v.size > largest / d.dims[n]) fail(at, "array '" + v.name + "' is too large");
        v.size *= d.dims[n];
    }
}

// The initialiser of an array of textures is an array of properties.
void Parser::skip_properties_of(const Declared& d, std::size_t depth) {
    if (depth == d.dims.size()) return skip_properties();
    expect('{');
    std::uint64_t count = 0;
    do {
        if (d.dims[depth] != 0 && count++ == d.dims[depth])
            fail(peek(), "too many values for '" + d.variable.name + "'");
        skip_properties_of(d, depth + 1);
    } while (accept(','));
    expect('}');
}

// { addr_mode_0 = clamp_to_border, filter_mode = linear, ... }. The properties have no effect: as
// with NVIDIA's compiler, the binding of a texture determines them.
void Parser::skip_properties() {
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
    expect('{');
    if (accept('}')) return;
    do {
        const Token& token = peek();
        const std::string_view name = expect_word("a property");
        if (std::find(std::begin(names), std::end(names), name) == std::end(names))
            fail(token, "unknown property '" + std::string(name) + "'");
        expect('=');
        const Token& value = take();
        if (value.kind != Token::Kind::integer && value.kind != Token::Kind::word)
            fail(value, "expected a value of '" + std::string(name) + "', got " + quoted(value));
    } while (accept(','));
    expect('}');
}

// Reads up to the '}' and returns the offset after the values. A row may be shorter than its
// dimension. As in ptxas, the next row then follows directly, and the array ends with zeros.
std::uint64_t Parser::initialise_level(Declared& d, std::size_t depth, std::uint64_t from) {
    const Token& brace = peek();
    const bool of_vector = d.vector > 1 && depth + 1 == d.dims.size();
    std::uint64_t at = from, count = 0;
    const bool open = depth == 0 && d.variable.unsized;
    const bool empty = at_mark('}') && !open && !of_vector;
    while (!empty) {
        const Token& token = peek();
        if (!open && count == d.dims[depth])
            fail(token, "too many values for '" + d.variable.name + "'");
        if (depth + 1 < d.dims.size()) {
            expect('{');
            at = initialise_level(d, depth + 1, at);
        } else {
            initialise_one(d, at);
            at += bytes_of(d.variable.type);
        }
        ++count;
        if (!accept(',')) break;
    }
    expect('}');
    if (open) resize_open(d, count, brace);
    if (of_vector && count != d.vector)
        fail(brace, "expected " + std::to_string(d.vector) + " values in a vector of '" +
                        d.variable.name + "', got " + std::to_string(count));
    return at;
}

void Parser::initialise_one(Declared& d, std::uint64_t at) {
    Variable& v = d.variable;
    const unsigned bytes = bytes_of(v.type);
    const Token& token = peek();
    if (!v.unsized && at + bytes > v.size) fail(token, "too many values for '" + v.name + "'");
    if (v.init.size() < at + bytes) v.init.resize(at + bytes);
    const bool masked = token.kind == Token::Kind::integer && peek(1).kind == Token::Kind::mark &&
                        peek(1).mark == '(';
    if (masked || !at_constant()) return initialise_address(d, at);
    const Constant c = constant();
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
            fail(token,
                 "expected a floating-point constant in '" + v.name + "', got " + quoted(token));
    } else if (!is_float(v.type) && !is_bits(v.type)) {
        fail(token, "expected an integer constant in '" + v.name + "', got " + quoted(token));
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
void Parser::initialise_address(Declared& d, std::uint64_t at) {
    Variable& v = d.variable;
    Relocation r;
    r.offset = at;
    r.bytes = static_cast<std::uint8_t>(bytes_of(v.type));
    const bool masked = peek().kind == Token::Kind::integer;
    if (masked) {
        const Token& token = take();
        const std::uint64_t mask = token.value;
        while (r.shift < 56 && (mask >> r.shift & 1) == 0) r.shift += 8;
        if (mask != std::uint64_t{0xff} << r.shift)
            fail(token, "mask " + quoted(token) + " does not select one byte");
        expect('(');
    }
    const Token& token = peek();
    std::string_view name = expect_word("a variable");
    if (name == "generic") {
        expect('(');
        name = expect_word("a variable");
        expect(')');
    }
    if (accept('+')) r.addend = constant_integer("an offset");
    if (masked) expect(')');
    const auto found = scopes_[0].names.find(name);
    if (found == scopes_[0].names.end()) fail(token, "unknown name '" + std::string(name) + "'");
    if (found->second.kind == Symbol::Kind::function) {
        if (r.bytes != 8 && !(masked && r.bytes == 1))
            fail(token, "'" + v.name + "' cannot hold an address; use a type of 64 bits");
        r.function = found->second.index;
        take_address(r.function);
        v.relocations.push_back(r);
        return;
    }
    const Variable& to = module_.variables[found->second.index];
    if (to.space != Space::global && to.space != Space::constant)
        fail(token, "'" + to.name +
                        "' is not in .global or .const, so an initialiser cannot hold its address");
    if (r.bytes != 8 && !(masked && r.bytes == 1))
        fail(token, "'" + v.name + "' cannot hold an address; use a type of 64 bits");
    r.variable = found->second.index;
    v.relocations.push_back(r);
}

}  // namespace cupola::ptx
