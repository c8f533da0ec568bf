// csrc/ptx/declare.cpp - declarations of variables, and their initialisers.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "ptx/parser.hpp"

namespace cupola::ptx {
namespace {

constexpr std::uint64_t largest = std::uint64_t{1} << 40;

}  // namespace

std::uint64_t Parser::constant_unsigned(const char* what) {
    if (peek().kind == Token::Kind::word && peek().text == "WARP_SZ") {
        take();
        return 32;
    }
    if (peek().kind != Token::Kind::integer) fail(peek(), std::string(what) + " is missing");
    return take().value;
}

Type Parser::fundamental_type() {
    if (peek().kind != Token::Kind::directive) fail(peek(), "a type is missing");
    const Type type = type_named(peek().text.substr(1));
    if (type == Type::none || (type >= Type::bf16 && type <= Type::e5m2x2) || type == Type::u16x2 ||
        type == Type::s16x2)
        fail(peek(), "type " + std::string(peek().text) + " is not supported",
             Error::Kind::unsupported_form);
    take();
    return type;
}

// .texref and the like: true where it stands here.
bool Parser::opaque_type(Variable& v) {
    v.opaque = at_directive(".texref")       ? Opaque::texture
               : at_directive(".samplerref") ? Opaque::sampler
               : at_directive(".surfref")    ? Opaque::surface
                                             : Opaque::none;
    if (v.opaque == Opaque::none) return false;
    if (v.opaque == Opaque::sampler && !module_.independent_samplers)
        fail(peek(), ".samplerref is for .target texmode_independent");
    take();
    v.type = Type::b64;
    return true;
}

// [.align n] .type [.ptr [.space] [.align n]] name[bounds]
Parser::Declared Parser::declarator(Space space, const Prefix& prefix) {
    Declared d;
    Variable& v = d.variable;
    v.space = space;
    v.external = prefix.external;
    v.visible = prefix.visible;
    v.line = peek().line;
    std::uint64_t align = 0;
    unsigned vector = 1;
    for (;;) {
        if (at_directive(".align")) {
            take();
            const Token& token = peek();
            align = constant_unsigned("an alignment");
            if (align == 0 || align > 4096 || (align & (align - 1)) != 0)
                fail(token, "an alignment that is no power of two up to 4096");
        } else if (space == Space::global && at_directive(".attribute")) {
            take();
            expect('(');
            if (!at_directive(".managed"))
                fail(peek(), "an attribute other than .managed", Error::Kind::unsupported_form);
            take();
            expect(')');
            v.managed = true;
        } else if (at_directive(".v2") || at_directive(".v4")) {
            vector = take().text == ".v2" ? 2 : 4;
        } else if (v.type == Type::none && space == Space::global && opaque_type(v)) {
            continue;
        } else if (v.type == Type::none) {
            v.type = fundamental_type();
            if (v.type == Type::pred) fail(peek(), "a predicate in memory");
        } else if (at_directive(".ptr")) {
            take();
            if (at_directive(".global") || at_directive(".const") || at_directive(".shared") ||
                at_directive(".local") || at_directive(".generic"))
                take();
            if (at_directive(".align")) {  // of what is pointed to
                take();
                constant_unsigned("an alignment");
            }
        } else {
            break;
        }
    }
    v.name = std::string(expect_name("a name"));
    if (v.opaque != Opaque::none && (vector != 1 || at_mark('[')))
        fail(peek(), "an array of textures, samplers or surfaces is not supported",
             Error::Kind::unsupported_form);
    v.size = std::uint64_t{bytes_of(v.type)} * vector;
    v.align = static_cast<std::uint32_t>(align != 0 ? align : v.size);
    array_bounds(d);
    return d;
}

void Parser::array_bounds(Declared& d) {
    Variable& v = d.variable;
    while (at_mark('[')) {
        const Token& start = take();
        if (d.dims.size() == 8) fail(start, "an array of more than 8 dimensions");
        v.array = true;
        if (at_mark(']') && d.dims.empty()) {
            v.unsized = true;
            d.dims.push_back(0);
        } else {
            const std::uint64_t bound = constant_unsigned("an array's size");
            if (bound > largest) fail(start, "an array too large");
            d.dims.push_back(bound);
        }
        expect(']');
    }
    for (std::size_t i = v.unsized ? 1 : 0; i < d.dims.size(); ++i) {
        if (d.dims[i] != 0 && v.size > largest / d.dims[i])
            fail(peek(), "array '" + v.name + "' is too large");
        v.size *= d.dims[i];
    }
    if (v.unsized && (v.external || v.space == Space::param)) v.size = 0;
}

void Parser::check_size(const Declared& d, const Token& at) const {
    const Variable& v = d.variable;
    if (v.unsized && !v.external && v.init.empty()) fail(at, "array '" + v.name + "' has no size");
    const std::uint64_t limit = v.space == Space::constant ? 65536
                                : v.space == Space::shared ? 227 * 1024
                                : v.space == Space::local  ? 512 * 1024
                                : v.space == Space::param  ? 32764
                                                           : largest;
    if (v.size > limit)
        fail(at, "variable '" + v.name + "' is larger than the " + std::to_string(limit) +
                     " bytes there are");
}

void Parser::initialiser(Declared& d) {
    const Token& start = take();
    Variable& v = d.variable;
    if (v.opaque != Opaque::none) return skip_properties();
    if (v.space != Space::global && v.space != Space::constant)
        fail(start, "only .global and .const variables have initialisers");
    if (v.external) fail(start, "an extern variable has no initialiser");
    if (d.dims.empty()) {
        if (accept('{')) {  // a vector, or a scalar in braces
            initialise_level(d, 0, 0);
        } else {
            initialise_one(d, 0);
        }
        return;
    }
    expect('{');
    if (v.unsized && v.size == 0)
        fail(start, "array '" + v.name + "' has rows of no elements, which hold no values");
    const std::uint64_t row = v.size;  // of an unsized array, so far
    initialise_level(d, 0, 0);
    if (v.unsized) v.size = (v.init.size() + row - 1) / row * row;
}

// { addr_mode_0 = clamp_to_border, filter_mode = linear, ... }: what a texture is like, its binding
// says, as with NVIDIA's compiler; fetches with samplers of their own, which this is for, are
// refused.
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
            fail(value, "no value of '" + std::string(name) + "'");
    } while (accept(','));
    expect('}');
}

// Behind a '{', up to its '}'; where the values end. Inner braces have to fill their row: what
// hardware does with a short one is not what C does, and no compiler writes it.
std::uint64_t Parser::initialise_level(Declared& d, std::size_t depth, std::uint64_t from) {
    const std::uint64_t element = bytes_of(d.variable.type);
    std::uint64_t inner = element;
    for (std::size_t i = depth + 1; i < d.dims.size(); ++i) inner *= d.dims[i];
    std::uint64_t at = from;
    while (!at_mark('}')) {
        if (at_mark('{')) {
            const Token& brace = take();
            if (depth + 1 >= d.dims.size()) fail(brace, "more braces than dimensions");
            if (initialise_level(d, depth + 1, at) != at + inner)
                fail(brace, "inner braces that do not fill their row are not supported",
                     Error::Kind::unsupported_form);
            at += inner;
        } else {
            initialise_one(d, at);
            at += element;
        }
        if (!accept(',')) break;
    }
    expect('}');
    return at;
}

void Parser::initialise_one(Declared& d, std::uint64_t at) {
    Variable& v = d.variable;
    const unsigned bytes = bytes_of(v.type);
    const Token& token = peek();
    if (!v.unsized && at + bytes > v.size) fail(token, "more values than '" + v.name + "' holds");
    // Rows of a huge array may leave gaps; what is stored stays near what was written.
    if (at > v.init.size() + 64 * source_.size()) fail(token, "an initialiser with too wide a gap");
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
    } else if (!is_float(v.type) && !is_bits(v.type)) {
        fail(token, "a floating-point constant in an integer variable");
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
        if (mask != std::uint64_t{0xff} << r.shift) fail(token, "a mask that is not of one byte");
        expect('(');
    }
    const Token& token = peek();
    std::string_view name = expect_word("a variable");
    if (name == "generic") {
        expect('(');
        name = expect_word("a variable");
        expect(')');
    }
    if (at_mark('+') || at_mark('-')) {
        accept('+');
        r.addend = constant_integer("an offset");
    }
    if (masked) expect(')');
    const auto found = scopes_[0].names.find(name);
    if (found == scopes_[0].names.end()) fail(token, "unknown name '" + std::string(name) + "'");
    if (found->second.kind == Symbol::Kind::function) {
        if (r.bytes != 8 && !(masked && r.bytes == 1))
            fail(token, "an address in less than 8 bytes");
        r.function = found->second.index;
        take_address(r.function);
        v.relocations.push_back(r);
        return;
    }
    const Variable& to = module_.variables[found->second.index];
    if (to.space != Space::global && to.space != Space::constant)
        fail(token, "'" + to.name + "' has no address that a variable can hold");
    if (r.bytes != 8 && !(masked && r.bytes == 1)) fail(token, "an address in less than 8 bytes");
    r.variable = found->second.index;
    v.relocations.push_back(r);
}

}  // namespace cupola::ptx
