// csrc/ptx/call.cpp - direct and indirect calls, prototypes and targets of indirect calls, and
// aliases of functions.
#include <algorithm>
#include <utility>

#include "ptx/parser.hpp"

namespace cupola::ptx {

// Direct: call [(result, ...),] function [, (arguments)]. Indirect, through the address in a
// register: call [(result, ...),] register, [(arguments),] prototype, targets or table.
void Parser::call(Function& f, Instruction& i) {
    const Token& start = peek();
    Call c;
    Callee to;
    std::vector<Actual> results, arguments;
    bool listed = false;
    if (at_mark('(')) {
        results = actuals(f);
        expect(',');
    }
    const Token& token = peek();
    const std::string_view name = expect_word("a function's name");
    const auto found = scopes_[0].names.find(name);
    if (found != scopes_[0].names.end() && found->second.kind == Symbol::Kind::function) {
        c.function = found->second.index;
        listed = accept(',');
        if (listed) arguments = actuals(f);
        to = callee(c.function, token);
    } else {
        const Symbol* pointer = find_register(f, name);
        if (!pointer || pointer->kind != Symbol::Kind::reg)
            fail(token, "unknown function '" + std::string(name) + "'");
        c.pointer = pointer->index;
        if (pointer->count != 1 || bytes_of(f.registers[c.pointer]) != 8 ||
            is_float(f.registers[c.pointer]))
            fail(token,
                 "an indirect call needs an integer register of 64 bits, not " + quoted(token));
        expect(',');
        listed = at_mark('(');
        if (listed) {
            arguments = actuals(f);
            expect(',');
        }
        to = indirect_callee(c, start);
    }
    expect(';');
    // The argument for an open array may be omitted, but not the parentheses.
    const bool open = !to.formals.empty() && to.formals.back()->unsized;
    if (open && listed && arguments.size() + 1 == to.formals.size())
        arguments.push_back({&token, {}, add_empty(f, *to.formals.back())});
    if (results.size() != to.results.size() || arguments.size() != to.formals.size())
        fail(token, "the arguments do not match " + to.what + ": expected " +
                        std::to_string(to.formals.size()) + " arguments and " +
                        std::to_string(to.results.size()) + " results, got " +
                        std::to_string(arguments.size()) + " and " +
                        std::to_string(results.size()));
    const std::uint64_t frame_at = frame_at_;
    c.results = pass(f, i, results, to.results, to.what, false);
    c.arguments = pass(f, i, arguments, to.formals, to.what, true);
    frame_at_ = frame_at;  // copies of register arguments live only during the call
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
            if ((p.index == i.guard) == guard) move_parameter(f, i, p, true);
}

std::vector<Parser::Actual> Parser::actuals(Function& f) {
    std::vector<Actual> list;
    expect('(');
    while (!at_mark(')')) {
        list.push_back(actual(f));
        if (!accept(',')) break;
    }
    expect(')');
    return list;
}

Parser::Actual Parser::actual(Function& f) {
    const Token& token = peek();
    Actual a{&token, {}, absent};
    if (at_constant()) {
        a.operand = constant_operand();
        return a;
    }
    const std::string_view name = expect_word("an argument");
    a.operand.kind = Operand::Kind::sink;
    if (name == "_") return a;
    const Symbol* s = find_register(f, name);
    if (s && s->kind == Symbol::Kind::frame && f.frame[s->index].space == Space::param) {
        a.frame = s->index;
    } else if (s && s->kind == Symbol::Kind::reg) {
        a.operand = s->count == 1 ? register_operand(f, s->index) : whole_vector(f, *s);
    } else {
        fail(token, "expected a .param variable, a register or a constant as an argument, got " +
                        quoted(token));
    }
    return a;
}

// The frame variables that hold the arguments or results during the call. For arguments (`stores`),
// emits instructions that copy registers and constants to the frame variables before the call.
std::vector<std::uint32_t> Parser::pass(Function& f, const Instruction& i,
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
            fail(*a.token, "'_' can replace a result, but not an argument");
        const bool constant =
            a.operand.kind != Operand::Kind::reg && a.operand.kind != Operand::Kind::vector;
        if (!stores && constant && a.operand.kind != Operand::Kind::sink)
            fail(*a.token,
                 "expected a register or a .param variable for a result, got " + quoted(*a.token));
        Variable v;
        v.space = Space::param;
        v.type = formal.type;
        v.size = formal.size;
        v.align = formal.align;
        places.push_back(place_frame(f, std::move(v)));
        if (!stores) continue;
        if (constant)
            store_constant(f, i, places.back(), formal.type, a.operand);
        else if (a.operand.kind == Operand::Kind::reg)
            move_parameter(f, i, {places.back(), a.operand.index, 1}, false);
        else
            move_parameter(
                f, i, {places.back(), f.operands[a.operand.index].index, a.operand.count}, false);
    }
    return places;
}

// An empty argument for an open array.
std::uint32_t Parser::add_empty(Function& f, const Variable& formal) {
    Variable v;
    v.space = Space::param;
    v.type = formal.type;
    v.align = formal.align;
    v.array = v.unsized = true;
    return place_frame(f, std::move(v));
}

// Compares sizes only, because linked texts may declare different types of one size.
void Parser::check_actual(const Function& f, const Actual& a, const Variable& formal,
                          const std::string& what) const {
    const auto differs = [&](const std::string& is) {
        fail(*a.token, what + ": expected " + written(formal) + ", got " + is);
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

Parser::Callee Parser::callee(std::uint32_t function, const Token& start) const {
    const Function& to = module_.functions[function];
    if (to.entry)
        fail(start, "kernel '" + to.name + "' cannot be called", Error::Kind::unsupported_form);
    Callee c;
    c.what = "function '" + to.name + "'";
    for (const std::uint32_t n : to.results) c.results.push_back(&to.frame[n]);
    for (const std::uint32_t n : to.formals) c.formals.push_back(&to.frame[n]);
    return c;
}

// Reads the last operand of an indirect call: a prototype, a .calltargets list, or a variable with
// a table of functions.
Parser::Callee Parser::indirect_callee(Call& c, const Token& start) {
    const Token& token = peek();
    const Symbol* s = find(expect_word("a .callprototype or .calltargets"));
    if (s && (s->kind == Symbol::Kind::targets || s->kind == Symbol::Kind::variable)) {
        c.targets = s->kind == Symbol::Kind::targets ? s->index : targets_of(s->index, token);
        return callee(module_.targets[c.targets][0], start);
    }
    if (!s || s->kind != Symbol::Kind::prototype)
        fail(token,
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

// name: .callprototype [(.param ... _)] _ [(.param ... _, ...)] [.noreturn];
void Parser::call_prototype(std::string_view name) {
    const Token& start = take();
    Prototype prototype;
    if (at_mark('(')) prototype.results = prototype_list(true);
    expect_word("'_'");
    if (at_mark('(')) prototype.formals = prototype_list(false);
    while (at_directive(".noreturn") || at_directive(".abi_preserve") ||
           at_directive(".abi_preserve_control")) {
        if (take().text != ".noreturn") constant_unsigned("a number of registers");
    }
    expect(';');
    const auto index = static_cast<std::uint32_t>(prototypes_.size());
    if (!scopes_[scope_].names.emplace(name, Symbol{Symbol::Kind::prototype, index}).second)
        fail(start, "'" + std::string(name) + "' is declared twice");
    prototypes_.push_back(std::move(prototype));
}

// name: .calltargets function, ...;
void Parser::call_targets(std::string_view name) {
    const Token& start = take();
    std::vector<std::uint32_t> targets;
    do {
        const Token& token = peek();
        const auto found = scopes_[0].names.find(expect_word("a function's name"));
        if (found == scopes_[0].names.end() || found->second.kind != Symbol::Kind::function)
            fail(token, quoted(token) + " is not a declared function");
        targets.push_back(found->second.index);
    } while (accept(','));
    expect(';');
    const std::uint32_t index = add_targets(std::move(targets), start);
    if (!scopes_[scope_].names.emplace(name, Symbol{Symbol::Kind::targets, index}).second)
        fail(start, "'" + std::string(name) + "' is declared twice");
}

// The functions of a variable that holds only function addresses.
std::uint32_t Parser::targets_of(std::uint32_t variable, const Token& at) {
    const auto known = tables_.find(variable);
    if (known != tables_.end()) return known->second;
    const Variable& table = module_.variables[variable];
    std::vector<std::uint32_t> functions;
    for (const Relocation& r : table.relocations)
        if (r.function != absent && r.bytes == 8) functions.push_back(r.function);
    if (functions.empty() || functions.size() * 8 != table.init.size())
        fail(at, "variable '" + table.name + "' is not a table of functions");
    return tables_[variable] = add_targets(std::move(functions), at);
}

// All targets must have the same layout of parameters: a call is checked against the first only.
std::uint32_t Parser::add_targets(std::vector<std::uint32_t> functions, const Token& start) {
    std::sort(functions.begin(), functions.end());
    functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
    const Function& first = module_.functions[functions[0]];
    for (const std::uint32_t n : functions)
        if (!alike(first, module_.functions[n]))
            fail(start, "function '" + module_.functions[n].name + "' has other parameters than '" +
                            first.name + "'; all targets of a call must agree");
    module_.targets.push_back(std::move(functions));
    return static_cast<std::uint32_t>(module_.targets.size() - 1);
}

// Whether parameters and results have the same layout.
bool Parser::alike(const Function& a, const Function& b) {
    const auto agree = [&](const std::vector<std::uint32_t>& mine,
                           const std::vector<std::uint32_t>& its) {
        return std::equal(mine.begin(), mine.end(), its.begin(), its.end(), [&](auto x, auto y) {
            return a.frame[x].size == b.frame[y].size && a.frame[x].align == b.frame[y].align;
        });
    };
    return agree(a.formals, b.formals) && agree(a.results, b.results);
}

std::vector<Variable> Parser::prototype_list(bool results) {
    Function of;  // holds only the parameters
    std::vector<RegisterParameter> registers;
    const std::uint64_t frame_at = std::exchange(frame_at_, 0);
    const std::uint32_t scope = scope_;
    const Token& start = peek();
    expect('(');
    while (!at_mark(')')) {
        open_scope();  // several may have the name _
        const std::uint32_t index = parameter(of, false, registers);
        scope_ = scope;
        if (of.frame[index].unsized && (results || !at_mark(')')))
            fail(start, "only the last parameter of a function can be an array without a size");
        if (!accept(',')) break;
    }
    expect(')');
    if (results && of.frame.size() > 1 && registers.size() != of.frame.size())
        fail(start, "a function with several results must return each of them in a .reg parameter");
    frame_at_ = frame_at;
    return std::move(of.frame);
}

// .alias name, function: both must be declared, and only the function may be defined.
void Parser::alias() {
    const auto declared = [&](const Token& at) {
        const auto found = scopes_[0].names.find(expect_word("a function's name"));
        if (found == scopes_[0].names.end() || found->second.kind != Symbol::Kind::function ||
            module_.functions[found->second.index].entry)
            fail(at, quoted(at) + " is not a declared function");
        return found->second.index;
    };
    const Token& name = peek();
    const std::uint32_t other = declared(name);
    expect(',');
    std::uint32_t index = declared(peek());
    expect(';');
    const auto known = aliases_.find(index);  // the function is an alias too
    if (known != aliases_.end()) index = known->second;
    const Function &mine = module_.functions[other], &its = module_.functions[index];
    if (!alike(mine, its))
        fail(name, "alias '" + mine.name + "' differs from function '" + its.name + "'");
    if (mine.defined || other == index || !aliases_.emplace(other, index).second)
        fail(name, "function '" + mine.name + "' is already defined");
}

// Replaces aliases by their functions; later stages do not see aliases.
void Parser::resolve_aliases() {
    if (aliases_.empty()) return;
    const auto resolve = [&](std::uint32_t& function) {
        const auto at = aliases_.find(function);
        if (at != aliases_.end()) function = at->second;
    };
    for (const auto& [other, index] : aliases_) {
        const Function& mine = module_.functions[other];
        if (mine.defined)
            fail_line(mine.line, "function '" + mine.name + "' is an alias and cannot have a body");
        module_.functions[index].address_taken |= mine.address_taken;
    }
    for (Function& f : module_.functions) {
        for (Call& c : f.calls) resolve(c.function);
        for (Operand& o : f.operands)
            if (o.kind == Operand::Kind::function) resolve(o.index);
    }
    for (Variable& v : module_.variables)
        for (Relocation& r : v.relocations) resolve(r.function);
    for (auto& list : module_.targets)
        for (std::uint32_t& target : list) resolve(target);
}

}  // namespace cupola::ptx
