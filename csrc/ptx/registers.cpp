// csrc/ptx/registers.cpp - scalar and vector registers.
#include "ptx/registers.hpp"

#include <utility>

#include "ptx/constant.hpp"
#include "ptx/special_registers.hpp"

namespace cupola::ptx {

namespace {

// The element's number (.x or .r is 0); 4 if the word is not an element.
unsigned element_of(std::string_view text) {
    if (text.size() != 1) return 4;
    for (const std::string_view names : {"xyzw", "rgba"})
        if (const std::size_t n = names.find(text[0]); n != std::string_view::npos)
            return static_cast<unsigned>(n);
    return 4;
}

constexpr std::uint32_t predicate_bytes = 4;

}  // namespace

Operand register_operand(const Function& f, std::uint32_t index) {
    Operand o;
    o.kind = Operand::Kind::reg;
    o.index = index;
    o.type = f.registers[index];
    return o;
}

Operand integer_operand(std::int64_t value) {
    Operand o;
    o.kind = Operand::Kind::integer;
    o.value = value;
    return o;
}

Operand whole_vector(Function& f, const Symbol& s) {
    Operand o;
    o.kind = Operand::Kind::vector;
    o.index = static_cast<std::uint32_t>(f.operands.size());
    o.count = s.count;
    for (unsigned n = 0; n < s.count; ++n) f.operands.push_back(register_operand(f, s.index + n));
    return o;
}

Operand new_register(Function& f, Type type) {
    f.registers.push_back(type);
    return register_operand(f, static_cast<std::uint32_t>(f.registers.size() - 1));
}

// [.align n] [.v2 or .v4] .type
RegisterType Registers::register_type() {
    if (tokens_.at_directive(".align")) {  // no effect
        tokens_.take();
        declarations_.alignment();
    }
    RegisterType r;
    const Token& token = tokens_.peek();
    if (tokens_.at_directive(".v2") || tokens_.at_directive(".v4"))
        r.count = tokens_.take().text == ".v2" ? 2 : 4;
    r.type = declarations_.fundamental_type();
    if (r.count > 1 && r.type == Type::pred) tokens_.fail(token, "predicates cannot be vectors");
    if (r.count * bytes_of(r.type) > 16)
        tokens_.fail(token, "a vector register has more than 128 bits");
    return r;
}

void Registers::read_declaration(Function& f) {
    const Token& start = tokens_.peek();
    const RegisterType r = register_type();
    do {
        const std::string_view name = tokens_.expect_name("a register's name");
        if (tokens_.accept('<')) {
            const std::uint64_t count = constant_unsigned(tokens_, "a count");
            tokens_.expect('>');
            for (const auto& range : scopes_.current().ranges)
                if (range.prefix == name)
                    tokens_.fail(start, "'" + std::string(name) + "' is declared twice");
            if (scopes_.current().ranges.size() == 64)
                tokens_.fail(start, "a scope has more than 64 ranges of registers");
            scopes_.current().ranges.push_back({name, count, r});
            continue;
        }
        add_register(f, name, r, start);
    } while (tokens_.accept(','));
    tokens_.expect(';');
}

std::uint32_t Registers::add_register(Function& f, std::string_view name, const RegisterType& r,
                                      const Token& at) {
    const auto index = static_cast<std::uint32_t>(f.registers.size());
    if (!scopes_.current().names.emplace(name, Symbol{Symbol::Kind::reg, index, r.count}).second)
        tokens_.fail(at, "'" + std::string(name) + "' is declared twice");
    f.registers.insert(f.registers.end(), r.count, r.type);
    f.register_names.push_back({name, index, r.count});
    return index;
}

RegisterParameter Registers::read_parameter(Function& f) {
    tokens_.take();
    const RegisterType r = register_type();
    const Token& token = tokens_.peek();
    const std::string_view name = tokens_.expect_name("a parameter's name");
    if (tokens_.at_mark('[') || tokens_.at_mark('<'))
        tokens_.fail(token, "parameter " + quoted(token) + " in a register cannot be an array");
    Variable v;
    v.name = std::string(name);
    v.space = Space::param;
    v.type = r.type;
    v.in_register = true;
    v.size = r.type == Type::pred ? predicate_bytes : std::uint64_t{r.count} * bytes_of(r.type);
    v.align = static_cast<std::uint32_t>(v.size);
    v.line = token.line;
    const std::uint32_t frame = scopes_.place(f, std::move(v));
    return {frame, add_register(f, name, r, token), r.count};
}

const Symbol& Registers::expect_register(Function& f, const char* what) {
    const Token& token = tokens_.peek();
    const Symbol* s = scopes_.find_register(f, tokens_.expect_word(what));
    if (!s) tokens_.fail(token, "unknown register '" + std::string(token.text) + "'");
    if (s->kind != Symbol::Kind::reg || s->count != 1)
        tokens_.fail(token, "'" + std::string(token.text) + "' is not " + what);
    return *s;
}

bool Registers::vector_element(Function& f, const Token& token, Operand& o) {
    const std::size_t dot = token.text.rfind('.');
    if (dot == std::string_view::npos) return false;
    const unsigned n = element_of(token.text.substr(dot + 1));
    if (n == 4) return false;
    const std::string_view name = token.text.substr(0, dot);
    if (special_element(name, n, o)) return true;
    const Symbol* s = scopes_.find_register(f, name);
    if (!s || s->kind != Symbol::Kind::reg || s->count == 1) return false;
    if (n >= s->count)
        tokens_.fail(token, "'" + std::string(name) + "' is a vector of " +
                                std::to_string(s->count) + ", which has no element '" +
                                std::string(token.text.substr(dot)) + "'");
    o = register_operand(f, s->index + n);
    return true;
}

}  // namespace cupola::ptx
