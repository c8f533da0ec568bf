// csrc/ptx/calls.cpp - direct and indirect calls, prototypes and targets of indirect calls.
#include "ptx/calls.hpp"

#include <algorithm>
#include <utility>

#include "ptx/constant.hpp"

namespace cupola::ptx {

void Calls::read_call(Function& f, Instruction& i) {
    const Token& start = tokens_.peek();
    Call c;
    Callee to;
    std::vector<Actual> results, arguments;
    bool listed = false;
    if (tokens_.at_mark('(')) {
        results = actuals(f);
        tokens_.expect(',');
    }
    const Token& token = tokens_.peek();
    const std::string_view name = tokens_.expect_word("a function's name");
    const Symbol* const found = scopes_.find_in_module(name);
    if (found && found->kind == Symbol::Kind::function) {
        c.function = found->index;
        listed = tokens_.accept(',');
        if (listed) arguments = actuals(f);
        to = callee(c.function, token);
    } else {
        const Symbol* pointer = scopes_.find_register(f, name);
        if (!pointer || pointer->kind != Symbol::Kind::reg)
            tokens_.fail(token, "unknown function '" + std::string(name) + "'");
        c.pointer = pointer->index;
        if (pointer->count != 1 || bytes_of(f.registers[c.pointer]) != 8 ||
            is_float(f.registers[c.pointer]))
            tokens_.fail(token, "an indirect call needs an integer register of 64 bits, not " +
                                    quoted(token));
        tokens_.expect(',');
        listed = tokens_.at_mark('(');
        if (listed) {
            arguments = actuals(f);
            tokens_.expect(',');
        }
        to = indirect_callee(c, start);
    }
    tokens_.expect(';');
    // The argument for an open array may be omitted, but not the parentheses.
    const bool open = !to.formals.empty() && to.formals.back()->unsized;
    if (open && listed && arguments.size() + 1 == to.formals.size())
        arguments.push_back({&token, {}, add_empty(f, *to.formals.back())});
    if (results.size() != to.results.size() || arguments.size() != to.formals.size())
        tokens_.fail(token, "the arguments do not match " + to.what + ": expected " +
                                std::to_string(to.formals.size()) + " arguments and " +
                                std::to_string(to.results.size()) + " results, got " +
                                std::to_string(arguments.size()) + " and " +
                                std::to_string(results.size()));
    const std::uint64_t frame_at = scopes_.frame_at();
    c.results = pass(f, i, results, to.results, to.what, false);
    c.arguments = pass(f, i, arguments, to.formals, to.what, true);
    scopes_.set_frame_at(frame_at);  // copies of register arguments live only during the call
    std::vector<RegisterParameter> loads;
    for (std::size_t n = 0; n < results.size(); ++n) {
        const Operand& o = results[n].operand;
        if (o.kind == Operand::Kind::reg) loads.push_back({c.results[n], o.index, 1});
        if (o.kind == Operand::Kind::vector)
            loads.push_back({c.results[n], f.operands[o.index].index, o.count});
    }
    i.call = static_cast<std::uint32_t>(f.calls.size());
    f.calls.push_back(std::move(c));
    f.code.push_back(i);
    // The guard is overwritten last, because it also guards the other loads.
    for (const bool guard : {false, true})
        for (const RegisterParameter& p : loads)
            if ((p.index == i.guard) == guard) code_.move_parameter(f, i, p, true);
}

std::vector<Calls::Actual> Calls::actuals(Function& f) {
    std::vector<Actual> list;
    tokens_.expect('(');
    while (!tokens_.at_mark(')')) {
        list.push_back(actual(f));
        if (!tokens_.accept(',')) break;
    }
    tokens_.expect(')');
    return list;
}

Calls::Actual Calls::actual(Function& f) {
    const Token& token = tokens_.peek();
    Actual a{&token, {}, absent};
    if (at_constant(tokens_)) {
        a.operand = constant_operand(tokens_);
        return a;
    }
    const std::string_view name = tokens_.expect_word("an argument");
    a.operand.kind = Operand::Kind::sink;
    if (name == "_") return a;
    const Symbol* s = scopes_.find_register(f, name);
    if (s && s->kind == Symbol::Kind::frame && f.frame[s->index].space == Space::param) {
        a.frame = s->index;
    } else if (s && s->kind == Symbol::Kind::reg) {
        a.operand = s->count == 1 ? register_operand(f, s->index) : whole_vector(f, *s);
    } else {
        tokens_.fail(token,
                     "expected a .param variable, a register or a constant as an argument, got " +
                         quoted(token));
    }
    return a;
}

// The frame variables that hold the arguments or results during the call. For arguments (`stores`),
// emits instructions that copy registers and constants to the frame variables before the call.
std::vector<std::uint32_t> Calls::pass(Function& f, const Instruction& i,
                                       const std::vector<Actual>& given,
                                       const std::vector<const Variable*>& wanted,
                                       const std::string& what, bool stores) {
    std::vector<std::uint32_t> places;
    for (std::size_t n = 0; n < given.size(); ++n) {
        const Actual& a = given[n];
        const Variable& formal = *wanted[n];
        check_actual(f, a, formal,
                     "the arguments do not match " + what + ": " +
                         (stores ? "argument " : "result ") + std::to_string(n + 1));
        if (a.frame != absent) {
            places.push_back(a.frame);
            if (formal.unsized) open_bytes_ = std::max(open_bytes_, f.frame[a.frame].size);
            continue;
        }
        if (stores && a.operand.kind == Operand::Kind::sink)
            tokens_.fail(*a.token, "'_' can replace a result, but not an argument");
        const bool constant =
            a.operand.kind != Operand::Kind::reg && a.operand.kind != Operand::Kind::vector;
        if (!stores && constant && a.operand.kind != Operand::Kind::sink)
            tokens_.fail(*a.token, "expected a register or a .param variable for a result, got " +
                                       quoted(*a.token));
        Variable v;
        v.space = Space::param;
        v.type = formal.type;
        v.size = formal.size;
        v.align = formal.align;
        places.push_back(scopes_.place(f, std::move(v)));
        if (!stores) continue;
        if (constant)
            code_.store_constant(f, i, places.back(), formal.type, a.operand);
        else if (a.operand.kind == Operand::Kind::reg)
            code_.move_parameter(f, i, {places.back(), a.operand.index, 1}, false);
        else
            code_.move_parameter(
                f, i, {places.back(), f.operands[a.operand.index].index, a.operand.count}, false);
    }
    return places;
}

// An empty argument for an open array.
std::uint32_t Calls::add_empty(Function& f, const Variable& formal) {
    Variable v;
    v.space = Space::param;
    v.type = formal.type;
    v.align = formal.align;
    v.array = v.unsized = true;
    return scopes_.place(f, std::move(v));
}

// Compares sizes only, because linked texts may declare different types of one size.
void Calls::check_actual(const Function& f, const Actual& a, const Variable& formal,
                         const std::string& what) const {
    const auto differs = [&](const std::string& is) {
        tokens_.fail(*a.token, what + ": expected " + written(formal) + ", got " + is);
    };
    const Operand& o = a.operand;
    if (a.frame != absent) {
        const Variable& v = f.frame[a.frame];
        const bool predicate = formal.type == Type::pred || v.type == Type::pred;
        const bool fits = formal.unsized ? v.array : v.size == formal.size;
        if (!fits || (predicate && v.type != formal.type)) differs(written(v));
        return;
    }
    if (o.kind == Operand::Kind::sink) return;
    if (formal.array) differs("no .param variable");
    const unsigned bytes = bytes_of(formal.type);
    const unsigned count = bytes == 0 ? 1 : static_cast<unsigned>(formal.size / bytes);
    switch (o.kind) {
        case Operand::Kind::reg:
        case Operand::Kind::vector: {
            const unsigned given = o.kind == Operand::Kind::reg ? 1 : o.count;
            const Type type = o.kind == Operand::Kind::reg ? o.type : f.operands[o.index].type;
            if (given != count || bytes_of(type) != bytes)
                differs((given == 1 ? "a register of ." : "a vector of ") +
                        (given == 1 ? "" : std::to_string(given) + " .") +
                        std::string(name_of(type)));
            return;
        }
        case Operand::Kind::integer:
            if (count != 1 || bytes == 0 || bytes > 8 || formal.type == Type::f32 ||
                formal.type == Type::f64)
                differs("an integer constant");
            return;
        case Operand::Kind::real:
        case Operand::Kind::single:
            if (count != 1 || (formal.type != Type::f32 && formal.type != Type::f64 &&
                               (o.kind == Operand::Kind::real || formal.type != Type::b32)))
                differs("a floating-point constant");
            return;
        default:
            return;
    }
}

Calls::Callee Calls::callee(std::uint32_t function, const Token& start) const {
    const Function& to = module_.functions[function];
    if (to.entry)
        tokens_.fail(start, "kernel '" + to.name + "' cannot be called",
                     Error::Kind::unsupported_form);
    Callee c;
    c.what = "function '" + to.name + "'";
    for (const std::uint32_t n : to.results) c.results.push_back(&to.frame[n]);
    for (const std::uint32_t n : to.formals) c.formals.push_back(&to.frame[n]);
    return c;
}

// Reads the last operand of an indirect call: a prototype, a .calltargets list, or a variable with
// a table of functions.
Calls::Callee Calls::indirect_callee(Call& c, const Token& start) {
    const Token& token = tokens_.peek();
    const Symbol* s = scopes_.find(tokens_.expect_word("a .callprototype or .calltargets"));
    if (s && (s->kind == Symbol::Kind::targets || s->kind == Symbol::Kind::variable)) {
        c.targets = s->kind == Symbol::Kind::targets ? s->index : targets_of(s->index, token);
        return callee(module_.targets[c.targets][0], start);
    }
    if (!s || s->kind != Symbol::Kind::prototype)
        tokens_.fail(
            token,
            quoted(token) +
                " is not a .callprototype, .calltargets or table of functions; an indirect "
                "call needs one",
            Error::Kind::unsupported_form);
    const Prototype& prototype = prototypes_[s->index];
    Callee to;
    to.what = "the prototype '" + std::string(token.text) + "'";
    for (const Variable& v : prototype.results) to.results.push_back(&v);
    for (const Variable& v : prototype.formals) to.formals.push_back(&v);
    return to;
}

void Calls::read_prototype(std::string_view name) {
    const Token& start = tokens_.take();
    Prototype prototype;
    if (tokens_.at_mark('(')) prototype.results = parameters_.read_prototype(true);
    tokens_.expect_word("'_'");
    if (tokens_.at_mark('(')) prototype.formals = parameters_.read_prototype(false);
    while (tokens_.at_directive(".noreturn") || tokens_.at_directive(".abi_preserve") ||
           tokens_.at_directive(".abi_preserve_control")) {
        if (tokens_.take().text != ".noreturn") constant_unsigned(tokens_, "a number of registers");
    }
    tokens_.expect(';');
    const auto index = static_cast<std::uint32_t>(prototypes_.size());
    if (!scopes_.current().names.emplace(name, Symbol{Symbol::Kind::prototype, index}).second)
        tokens_.fail(start, "'" + std::string(name) + "' is declared twice");
    prototypes_.push_back(std::move(prototype));
}

void Calls::read_targets(std::string_view name) {
    const Token& start = tokens_.take();
    std::vector<std::uint32_t> targets;
    do {
        const Token& token = tokens_.peek();
        const Symbol* const found =
            scopes_.find_in_module(tokens_.expect_word("a function's name"));
        if (!found || found->kind != Symbol::Kind::function)
            tokens_.fail(token, quoted(token) + " is not a declared function");
        targets.push_back(found->index);
    } while (tokens_.accept(','));
    tokens_.expect(';');
    const std::uint32_t index = add_targets(std::move(targets), start);
    if (!scopes_.current().names.emplace(name, Symbol{Symbol::Kind::targets, index}).second)
        tokens_.fail(start, "'" + std::string(name) + "' is declared twice");
}

// The functions of a variable that holds only function addresses.
std::uint32_t Calls::targets_of(std::uint32_t variable, const Token& at) {
    const auto known = tables_.find(variable);
    if (known != tables_.end()) return known->second;
    const Variable& table = module_.variables[variable];
    std::vector<std::uint32_t> functions;
    for (const Relocation& r : table.relocations)
        if (r.function != absent && r.bytes == 8) functions.push_back(r.function);
    if (functions.empty() || functions.size() * 8 != table.init.size())
        tokens_.fail(at, "variable '" + table.name + "' is not a table of functions");
    return tables_[variable] = add_targets(std::move(functions), at);
}

// All targets must have the same layout of parameters: a call is checked against the first only.
std::uint32_t Calls::add_targets(std::vector<std::uint32_t> functions, const Token& start) {
    std::sort(functions.begin(), functions.end());
    functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
    const Function& first = module_.functions[functions[0]];
    for (const std::uint32_t n : functions)
        if (!alike(first, module_.functions[n]))
            tokens_.fail(start, "function '" + module_.functions[n].name +
                                    "' has other parameters than '" + first.name +
                                    "'; all targets of a call must agree");
    module_.targets.push_back(std::move(functions));
    return static_cast<std::uint32_t>(module_.targets.size() - 1);
}

void Calls::place_open_formals() {
    if (open_bytes_ == 0) return;
    for (Function& f : module_.functions) {
        if (f.entry || f.formals.empty() || !f.frame[f.formals.back()].unsized) continue;
        const std::uint32_t open = f.formals.back();
        std::uint64_t align = 1;
        for (const Variable& v : f.frame) align = std::max<std::uint64_t>(align, v.align);
        const std::uint64_t moved = (open_bytes_ + align - 1) / align * align;
        for (std::size_t n = open + 1; n < f.frame.size(); ++n) f.frame[n].offset += moved;
        f.frame[open].size = open_bytes_;
        f.frame_bytes += moved;
    }
}

}  // namespace cupola::ptx
