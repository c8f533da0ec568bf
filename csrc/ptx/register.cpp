// csrc/ptx/register.cpp - scalar and vector registers, ranges of names, and parameters in
// registers. A vector becomes adjacent registers; later stages see only scalars.
#include <utility>

#include "ptx/operand_check.hpp"
#include "ptx/parser.hpp"

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

struct SpecialVector {
    std::string_view name;
    Special first;
};
constexpr SpecialVector special_vectors[] = {
    {"%tid", Special::tid_x},
    {"%ntid", Special::ntid_x},
    {"%ctaid", Special::ctaid_x},
    {"%nctaid", Special::nctaid_x},
    {"%clusterid", Special::clusterid_x},
    {"%nclusterid", Special::nclusterid_x},
    {"%cluster_ctaid", Special::cluster_ctaid_x},
    {"%cluster_nctaid", Special::cluster_nctaid_x},
};

// The fourth element of each is 0.
Operand special_element(Special first, unsigned n) {
    Operand o;
    o.kind = n < 3 ? Operand::Kind::special : Operand::Kind::integer;
    o.index = n < 3 ? static_cast<std::uint32_t>(first) + n : 0;
    return o;
}

}  // namespace

// [.align n] [.v2 or .v4] .type
RegisterType Parser::register_type() {
    if (at_directive(".align")) {  // no effect
        take();
        alignment();
    }
    RegisterType r;
    const Token& token = peek();
    if (at_directive(".v2") || at_directive(".v4")) r.count = take().text == ".v2" ? 2 : 4;
    r.type = fundamental_type();
    if (r.count > 1 && r.type == Type::pred) fail(token, "predicates cannot be vectors");
    if (r.count * bytes_of(r.type) > 16) fail(token, "a vector register has more than 128 bits");
    return r;
}

void Parser::register_declaration(Function& f) {
    const Token& start = peek();
    const RegisterType r = register_type();
    do {
        const std::string_view name = expect_name("a register's name");
        if (accept('<')) {
            const std::uint64_t count = constant_unsigned("a count");
            expect('>');
            for (const auto& range : scopes_[scope_].ranges)
                if (range.prefix == name)
                    fail(start, "'" + std::string(name) + "' is declared twice");
            if (scopes_[scope_].ranges.size() == 64)
                fail(start, "a scope has more than 64 ranges of registers");
            scopes_[scope_].ranges.push_back({name, count, r});
            continue;
        }
        add_register(f, name, r, start);
    } while (accept(','));
    expect(';');
}

std::uint32_t Parser::add_register(Function& f, std::string_view name, const RegisterType& r,
                                   const Token& at) {
    const auto index = static_cast<std::uint32_t>(f.registers.size());
    if (!scopes_[scope_].names.emplace(name, Symbol{Symbol::Kind::reg, index, r.count}).second)
        fail(at, "'" + std::string(name) + "' is declared twice");
    f.registers.insert(f.registers.end(), r.count, r.type);
    f.register_names.push_back({name, index, r.count});
    return index;
}

Operand Parser::register_operand(const Function& f, std::uint32_t index) {
    Operand o;
    o.kind = Operand::Kind::reg;
    o.index = index;
    o.type = f.registers[index];
    return o;
}

Operand Parser::integer_operand(std::int64_t value) {
    Operand o;
    o.kind = Operand::Kind::integer;
    o.value = value;
    return o;
}

// A whole vector is the same as its elements in braces.
Operand Parser::whole_vector(Function& f, const Symbol& s) {
    Operand o;
    o.kind = Operand::Kind::vector;
    o.index = static_cast<std::uint32_t>(f.operands.size());
    o.count = s.count;
    for (unsigned n = 0; n < s.count; ++n) f.operands.push_back(register_operand(f, s.index + n));
    return o;
}

// Resolves v.x or %tid.r; false if the name is not an element.
bool Parser::vector_element(Function& f, const Token& token, Operand& o) {
    const std::size_t dot = token.text.rfind('.');
    if (dot == std::string_view::npos) return false;
    const unsigned n = element_of(token.text.substr(dot + 1));
    if (n == 4) return false;
    const std::string_view name = token.text.substr(0, dot);
    for (const auto& each : special_vectors)
        if (each.name == name) {
            o = special_element(each.first, n);
            return true;
        }
    const Symbol* s = find_register(f, name);
    if (!s || s->kind != Symbol::Kind::reg || s->count == 1) return false;
    if (n >= s->count)
        fail(token, "'" + std::string(name) + "' is a vector of " + std::to_string(s->count) +
                        ", which has no element '" + std::string(token.text.substr(dot)) + "'");
    o = register_operand(f, s->index + n);
    return true;
}

// Resolves a whole special vector such as %tid.
bool Parser::special_vector(Function& f, std::string_view name, Operand& o) {
    for (const auto& each : special_vectors) {
        if (each.name != name) continue;
        o.kind = Operand::Kind::vector;
        o.index = static_cast<std::uint32_t>(f.operands.size());
        o.count = 4;
        for (unsigned n = 0; n < 4; ++n) f.operands.push_back(special_element(each.first, n));
        return true;
    }
    return false;
}

// Adds an instruction with the guard and the line of another.
void Parser::emit(Function& f, const Instruction& like, std::string_view opcode,
                  const std::vector<Operand>& operands) {
    auto known = matched_.find(opcode);
    if (known == matched_.end()) known = matched_.emplace(opcode, match(opcode)).first;
    const CheckContext here{module_, f, operands.data(),
                            static_cast<std::uint32_t>(operands.size())};
    for (const Candidate& c : known->second) {
        if (!check_operands(c, here).empty()) continue;
        Instruction i;
        i.form = c.form;
        i.type = c.type;
        i.type2 = c.type2;
        i.modifiers = c.modifiers;
        i.line = like.line;
        i.guard = like.guard;
        i.guard_negated = like.guard_negated;
        i.operand = static_cast<std::uint32_t>(f.operands.size());
        i.operands = here.count;
        f.operands.insert(f.operands.end(), operands.begin(), operands.end());
        f.code.push_back(i);
        return;
    }
    fail_line(like.line, "no form of " + std::string(opcode) + " takes these operands");
}

// register + constant as a source: the sum goes into a new register.
Operand Parser::register_sum(Function& f, const Operand& o, const Token& at) {
    static constexpr std::pair<unsigned, std::string_view> sums[] = {
        {2, "add.u16"}, {4, "add.u32"}, {8, "add.u64"}};
    take();
    Operand constant;
    constant.kind = Operand::Kind::integer;
    constant.value = constant_integer("a constant to add");
    std::string_view opcode;
    if (!is_float(o.type))
        for (const auto& [bytes, sum] : sums)
            if (bytes == bytes_of(o.type)) opcode = sum;
    if (opcode.empty())
        fail(at,
             "register + constant needs an integer register of 16, 32 or 64 bits, not one of ." +
                 std::string(name_of(o.type)));
    Operand sum = new_register(f, o.type);
    made_.push_back({opcode, {sum, o, constant}});
    sum.sum = true;
    return sum;
}

Operand Parser::new_register(Function& f, Type type) {
    f.registers.push_back(type);
    return register_operand(f, static_cast<std::uint32_t>(f.registers.size() - 1));
}

// Parameters in registers: each has a frame variable, which callers write to.

namespace {
constexpr std::uint32_t predicate_bytes = 4;

Operand place_of(std::uint32_t frame, std::uint64_t offset) {
    Operand o;
    o.kind = Operand::Kind::memory;
    o.base = Operand::Kind::frame;
    o.index = frame;
    o.value = static_cast<std::int64_t>(offset);
    return o;
}
constexpr std::string_view plain(unsigned bytes, bool load) {
    switch (bytes) {
        case 1:
            return load ? "ld.param.b8" : "st.param.b8";
        case 2:
            return load ? "ld.param.b16" : "st.param.b16";
        case 4:
            return load ? "ld.param.b32" : "st.param.b32";
        case 8:
            return load ? "ld.param.b64" : "st.param.b64";
        default:
            return load ? "ld.param.b128" : "st.param.b128";
    }
}
}  // namespace

// .reg [.align n] [.v2 or .v4] .type name
Parser::RegisterParameter Parser::register_parameter(Function& f) {
    take();
    const RegisterType r = register_type();
    const Token& token = peek();
    const std::string_view name = expect_name("a parameter's name");
    if (at_mark('[') || at_mark('<'))
        fail(token, "parameter " + quoted(token) + " in a register cannot be an array");
    Variable v;
    v.name = std::string(name);
    v.space = Space::param;
    v.type = r.type;
    v.in_register = true;
    v.size = r.type == Type::pred ? predicate_bytes : std::uint64_t{r.count} * bytes_of(r.type);
    v.align = static_cast<std::uint32_t>(v.size);
    v.line = token.line;
    const std::uint32_t frame = place_frame(f, std::move(v));
    return {frame, add_register(f, name, r, token), r.count};
}

// Copies a parameter from its frame variable to its registers (`load`), or back.
void Parser::move_parameter(Function& f, const Instruction& like, const RegisterParameter& p,
                            bool load) {
    for (unsigned n = 0; n < p.count; ++n) {
        const Operand r = register_operand(f, p.index + n);
        if (r.type != Type::pred) {
            const unsigned bytes = bytes_of(r.type);
            const Operand place = place_of(p.frame, std::uint64_t{n} * bytes);
            if (load)
                emit(f, like, plain(bytes, true), {r, place});
            else
                emit(f, like, plain(bytes, false), {place, r});
            continue;
        }
        const Operand bit = new_register(f, Type::b32);
        if (load) {
            emit(f, like, "ld.param.b32", {bit, place_of(p.frame, 0)});
            emit(f, like, "setp.ne.u32", {r, bit, integer_operand(0)});
        } else {
            emit(f, like, "selp.b32", {bit, integer_operand(1), integer_operand(0), r});
            emit(f, like, "st.param.b32", {place_of(p.frame, 0), bit});
        }
    }
}

void Parser::store_constant(Function& f, const Instruction& like, std::uint32_t frame, Type type,
                            const Operand& o) {
    const std::string_view store = o.kind == Operand::Kind::integer ? plain(bytes_of(type), false)
                                   : type == Type::f64              ? "st.param.f64"
                                                                    : "st.param.f32";
    emit(f, like, store, {place_of(frame, 0), o});
}

// Added before each return and at the end of the body.
void Parser::store_results(Function& f, const Instruction& like) {
    for (const RegisterParameter& p : register_results_) move_parameter(f, like, p, false);
}

}  // namespace cupola::ptx
