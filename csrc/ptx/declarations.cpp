// csrc/ptx/declarations.cpp - declarations of variables.
#include "ptx/declarations.hpp"

#include <utility>

#include "ptx/constant.hpp"

namespace cupola::ptx {

namespace {

constexpr std::uint64_t largest_align = 16384;
constexpr std::uint64_t max_names = 65536;  // x<n> creates n variables, used or not
constexpr std::size_t max_dimensions = 64;  // bounds the recursion: text is untrusted

}  // namespace

void Declarations::module_variable(const Prefix& prefix, Space space) {
    const Declared declared = declaration(space, prefix);
    do {
        const Token& start = tokens_.peek();
        Declared d = declared;
        declare_name(d);
        if (tokens_.at_mark('=')) initialiser_.read(d);
        check_size(d, start);
        for (const std::string_view name : names_of(d, start))
            add_variable(prefix, name, d.variable, start);
    } while (tokens_.accept(','));
    tokens_.expect(';');
}

void Declarations::add_variable(const Prefix& prefix, std::string_view name, Variable variable,
                                const Token& at) {
    variable.name = std::string(name);
    auto& names =
        scopes_.current().names;  // a static variable of a function is in the function's scope
    const auto index = static_cast<std::uint32_t>(module_.variables.size());
    const auto [known, fresh] = names.emplace(name, Symbol{Symbol::Kind::variable, index});
    if (fresh) {
        module_.variables.push_back(std::move(variable));
        return;
    }
    // An extern declaration and its definition.
    Variable* before = known->second.kind == Symbol::Kind::variable
                           ? &module_.variables[known->second.index]
                           : nullptr;
    if (!before || (!before->external && !prefix.external) || before->space != variable.space)
        tokens_.fail(at, "'" + variable.name + "' is declared twice");
    if (!prefix.external && !prefix.visible)
        tokens_.fail(at, "'" + variable.name + "' is .extern on line " +
                             std::to_string(before->line) + "; its definition must be .visible");
    const bool open = before->unsized || variable.unsized;
    if (before->type != variable.type || before->array != variable.array ||
        (!open && before->size != variable.size))
        tokens_.fail(at, "'" + variable.name + "' differs from its declaration on line " +
                             std::to_string(before->line));
    if (before->external && (!variable.external || before->unsized)) *before = std::move(variable);
}

void Declarations::local_variable(Function& f, Space space) {
    const Declared declared = declaration(space, {});
    do {
        const Token& start = tokens_.peek();
        Declared d = declared;
        declare_name(d);
        check_size(d, start);
        for (const std::string_view name : names_of(d, start)) {
            d.variable.name = std::string(name);
            add_frame(f, name, d.variable, start);
            if (f.frame_bytes > 512 * 1024)
                tokens_.fail(start,
                             "function '" + f.name +
                                 "' needs more than 512 KiB of local memory for each thread");
        }
    } while (tokens_.accept(','));
    tokens_.expect(';');
}

std::uint32_t Declarations::add_frame(Function& f, std::string_view name, Variable variable,
                                      const Token& at) {
    const auto index = static_cast<std::uint32_t>(f.frame.size());
    if (!scopes_.current().names.emplace(name, Symbol{Symbol::Kind::frame, index}).second)
        tokens_.fail(at, "'" + variable.name + "' is declared twice");
    return scopes_.place(f, std::move(variable));
}

Type Declarations::fundamental_type() {
    if (tokens_.peek().kind != Token::Kind::directive)
        tokens_.fail(tokens_.peek(), "expected a type, got " + quoted(tokens_.peek()));
    const Type type = type_named(tokens_.peek().text.substr(1));
    if (type == Type::none || (type >= Type::bf16 && type <= Type::e5m2x2) ||
        (type >= Type::u16x2 && type <= Type::s8x4))
        tokens_.fail(tokens_.peek(),
                     "type " + std::string(tokens_.peek().text) + " is not supported",
                     Error::Kind::unsupported_form);
    tokens_.take();
    return type;
}

// Reads .texref, .samplerref or .surfref; false if none of them is next.
bool Declarations::opaque_type(Variable& v) {
    v.opaque = tokens_.at_directive(".texref")       ? Opaque::texture
               : tokens_.at_directive(".samplerref") ? Opaque::sampler
               : tokens_.at_directive(".surfref")    ? Opaque::surface
                                                     : Opaque::none;
    if (v.opaque == Opaque::none) return false;
    if (v.opaque == Opaque::sampler && !module_.independent_samplers)
        tokens_.fail(tokens_.peek(), ".samplerref needs .target texmode_independent");
    tokens_.take();
    v.type = Type::b64;
    return true;
}

std::uint32_t Declarations::alignment() {
    const Token& token = tokens_.peek();
    const std::uint64_t align = constant_unsigned(tokens_, "an alignment");
    if (align == 0 || align > largest_align || (align & (align - 1)) != 0)
        tokens_.fail(token, "alignment " + std::to_string(align) + " is not a power of two up to " +
                                std::to_string(largest_align));
    return static_cast<std::uint32_t>(align);
}

// (.managed, ...)
void Declarations::attributes(Variable& v) {
    tokens_.expect('(');
    do {
        if (!tokens_.at_directive(".managed"))
            tokens_.fail(
                tokens_.peek(),
                "attribute " + quoted(tokens_.peek()) + " is not supported; expected .managed",
                Error::Kind::unsupported_form);
        tokens_.take();
        v.managed = true;
    } while (tokens_.accept(','));
    tokens_.expect(')');
}

Declared Declarations::declaration(Space space, const Prefix& prefix) {
    Declared d;
    Variable& v = d.variable;
    v.space = space;
    v.external = prefix.external;
    v.visible = prefix.visible;
    v.line = tokens_.peek().line;
    std::uint32_t align = 0;
    for (;;) {
        if (tokens_.at_directive(".align")) {
            tokens_.take();
            align = alignment();
        } else if (space == Space::global && tokens_.at_directive(".attribute")) {
            tokens_.take();
            attributes(v);
        } else if (tokens_.at_directive(".v2") || tokens_.at_directive(".v4")) {
            d.vector = tokens_.take().text == ".v2" ? 2 : 4;
        } else if (v.type == Type::none && space == Space::global && opaque_type(v)) {
            continue;
        } else if (v.type == Type::none) {
            const Token& token = tokens_.peek();
            v.type = fundamental_type();
            if (v.type == Type::pred) tokens_.fail(token, "a .pred variable must be a register");
            if (space == Space::param && (d.vector != 1 || v.type == Type::f16x2))
                tokens_.fail(token, "a .param variable cannot be a vector");
        } else if (tokens_.at_directive(".ptr")) {
            tokens_.take();
            if (tokens_.at_directive(".global") || tokens_.at_directive(".const") ||
                tokens_.at_directive(".shared") || tokens_.at_directive(".local"))
                tokens_.take();
            if (tokens_.at_directive(".align")) {  // alignment of the target
                tokens_.take();
                alignment();
            }
        } else {
            break;
        }
    }
    if (v.opaque != Opaque::none && d.vector != 1)
        tokens_.fail(tokens_.peek(), "textures, samplers and surfaces cannot be vectors");
    v.size = std::uint64_t{bytes_of(v.type)} * d.vector;
    if (v.size > 16) tokens_.fail(tokens_.peek(), "a vector has more than 128 bits");
    v.align = align != 0 ? align : static_cast<std::uint32_t>(v.size);
    return d;
}

void Declarations::declare_name(Declared& d) {
    d.name = tokens_.expect_name("a name");
    d.variable.name = std::string(d.name);
    if (tokens_.accept('<')) {
        d.range = true;
        d.count = constant_unsigned(tokens_, "a count");
        tokens_.expect('>');
        if (tokens_.at_mark('[') || tokens_.at_mark('='))
            tokens_.fail(tokens_.peek(), "variables by number ('" + std::string(d.name) +
                                             "<n>') cannot be arrays or have an initialiser");
        return;
    }
    array_bounds(d);
}

// The declared names. They live as long as the parser.
std::vector<std::string_view> Declarations::names_of(const Declared& d, const Token& at) {
    if (!d.range) return {d.name};
    if (d.count > max_names || range_names_.size() + d.count > max_names)
        tokens_.fail(at, "more than " + std::to_string(max_names) + " variables by number");
    std::vector<std::string_view> names;
    for (std::uint64_t n = 0; n < d.count; ++n) {
        range_names_.push_back(std::string(d.name) + std::to_string(n));
        names.push_back(range_names_.back());
    }
    return names;
}

// A first bound of 0 is the same as an omitted one.
void Declarations::array_bounds(Declared& d) {
    Variable& v = d.variable;
    while (tokens_.at_mark('[')) {
        const Token& start = tokens_.take();
        if (d.dims.size() == max_dimensions)
            tokens_.fail(start, "array '" + v.name + "' has more than " +
                                    std::to_string(max_dimensions) + " dimensions");
        v.array = true;
        std::uint64_t bound = 0;
        if (!tokens_.at_mark(']') || !d.dims.empty())
            bound = constant_unsigned(tokens_, "an array's size");
        if (bound > largest_variable) tokens_.fail(start, "array '" + v.name + "' is too large");
        if (bound == 0 && !d.dims.empty())
            tokens_.fail(start,
                         "array '" + v.name + "' has a dimension of size 0; only the first can be");
        v.unsized |= bound == 0;
        d.dims.push_back(bound);
        tokens_.expect(']');
    }
    for (const std::uint64_t bound : d.dims) {
        if (bound != 0 && v.size > largest_variable / bound)
            tokens_.fail(tokens_.peek(), "array '" + v.name + "' is too large");
        v.size *= bound != 0 ? bound : 1;
    }
    if (v.unsized) v.size = 0;
}

void Declarations::check_size(const Declared& d, const Token& at) const {
    const Variable& v = d.variable;
    if (v.unsized && !v.external && v.size == 0)
        tokens_.fail(at, "array '" + v.name + "' has no size");
    const std::uint64_t limit = v.space == Space::constant ? 65536
                                : v.space == Space::shared ? 227 * 1024
                                : v.space == Space::local  ? 512 * 1024
                                : v.space == Space::param  ? 32764
                                                           : largest_variable;
    if (v.size > limit)
        tokens_.fail(at, "variable '" + v.name + "' has " + std::to_string(v.size) +
                             " bytes; the limit is " + std::to_string(limit));
}

}  // namespace cupola::ptx
