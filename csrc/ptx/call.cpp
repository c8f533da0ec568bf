// csrc/ptx/call.cpp - calls, direct and through a register, the prototypes or targets of the
// latter, and other names of functions.
#include <algorithm>
#include <utility>

#include "ptx/parser.hpp"

namespace cupola::ptx {

// call [(result),] function [, (arguments)] - or, through a register that holds the function's
// address: call [(result),] register, [(arguments),] prototype, targets or table
void Parser::call(Function& f, Instruction& i) {
    const Token& start = peek();
    Call c;
    const auto list = [&](std::vector<std::uint32_t>& to) {
        expect('(');
        while (!at_mark(')')) {
            to.push_back(call_argument(f));
            if (!accept(',')) break;
        }
        expect(')');
    };
    if (at_mark('(')) {
        list(c.results);
        expect(',');
    }
    const Token& token = peek();
    const std::string_view name = expect_word("a function's name");
    const auto found = scopes_[0].names.find(name);
    if (found != scopes_[0].names.end() && found->second.kind == Symbol::Kind::function) {
        c.function = found->second.index;
        if (accept(',')) list(c.arguments);
        check_target(f, c, c.function, token);
    } else {
        const Symbol* pointer = find_register(f, name);
        if (!pointer || pointer->kind != Symbol::Kind::reg)
            fail(token, "unknown function '" + std::string(name) + "'");
        c.pointer = pointer->index;
        if (bytes_of(f.registers[c.pointer]) != 8 || is_float(f.registers[c.pointer]))
            fail(token, "a call through a register that has not 64 bits");
        expect(',');
        if (at_mark('(')) {
            list(c.arguments);
            expect(',');
        }
        check_indirect(f, c, start);
    }
    expect(';');
    i.call = static_cast<std::uint32_t>(f.calls.size());
    f.calls.push_back(std::move(c));
}

void Parser::check_target(const Function& f, const Call& c, std::uint32_t function,
                          const Token& start) const {
    const Function& to = module_.functions[function];
    if (to.entry) fail(start, "a kernel cannot be called", Error::Kind::unsupported_form);
    const auto agree = [&](const std::vector<std::uint32_t>& mine,
                           const std::vector<std::uint32_t>& theirs) {
        if (mine.size() != theirs.size()) return false;
        for (std::size_t n = 0; n < mine.size(); ++n)
            if (f.frame[mine[n]].size != to.frame[theirs[n]].size) return false;
        return true;
    };
    if (!agree(c.results, to.results) || !agree(c.arguments, to.formals))
        fail(start, "the arguments do not suit function '" + to.name + "'");
}

// At the name of what says where the pointer leads: functions of some prototype, those of a list,
// or those whose addresses a variable begins with.
void Parser::check_indirect(const Function& f, Call& c, const Token& start) {
    const Token& token = peek();
    const Symbol* s = find(expect_word("a .callprototype or .calltargets"));
    if (s && (s->kind == Symbol::Kind::targets || s->kind == Symbol::Kind::variable)) {
        c.targets = s->kind == Symbol::Kind::targets ? s->index : targets_of(s->index, token);
        return check_target(f, c, module_.targets[c.targets][0], start);
    }
    if (!s || s->kind != Symbol::Kind::prototype)
        fail(token, "a call through a register without a .callprototype or .calltargets",
             Error::Kind::unsupported_form);
    const Prototype& prototype = prototypes_[s->index];
    const auto agree = [&](const std::vector<std::uint32_t>& mine,
                           const std::vector<Variable>& theirs) {
        if (mine.size() != theirs.size()) return false;
        for (std::size_t n = 0; n < mine.size(); ++n)
            if (f.frame[mine[n]].size != theirs[n].size) return false;
        return true;
    };
    if (!agree(c.results, prototype.results) || !agree(c.arguments, prototype.formals))
        fail(start, "the arguments do not suit the prototype");
}

// name: .callprototype [(.param ... _)] _ [(.param ... _, ...)] [.noreturn];
void Parser::call_prototype(std::string_view name) {
    const Token& start = take();
    Prototype prototype;
    if (at_mark('(')) prototype.results = prototype_list();
    expect_word("'_'");
    if (at_mark('(')) prototype.formals = prototype_list();
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
            fail(token, "'" + std::string(token.text) + "' is no function that was declared");
        targets.push_back(found->second.index);
    } while (accept(','));
    expect(';');
    const std::uint32_t index = add_targets(std::move(targets), start);
    if (!scopes_[scope_].names.emplace(name, Symbol{Symbol::Kind::targets, index}).second)
        fail(start, "'" + std::string(name) + "' is declared twice");
}

// The functions of a table that holds nothing else.
std::uint32_t Parser::targets_of(std::uint32_t variable, const Token& at) {
    const auto known = tables_.find(variable);
    if (known != tables_.end()) return known->second;
    const Variable& table = module_.variables[variable];
    std::vector<std::uint32_t> functions;
    for (const Relocation& r : table.relocations)
        if (r.function != absent && r.bytes == 8) functions.push_back(r.function);
    if (functions.empty() || functions.size() * 8 != table.init.size())
        fail(at, "variable '" + table.name + "' is no table of functions");
    return tables_[variable] = add_targets(std::move(functions), at);
}

// Of which one stands for all where a call's arguments are looked at.
std::uint32_t Parser::add_targets(std::vector<std::uint32_t> functions, const Token& start) {
    std::sort(functions.begin(), functions.end());
    functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
    const Function& first = module_.functions[functions[0]];
    for (const std::uint32_t n : functions)
        if (!alike(first, module_.functions[n]))
            fail(start, "function '" + module_.functions[n].name + "' has other parameters than '" +
                            first.name + "'");
    module_.targets.push_back(std::move(functions));
    return static_cast<std::uint32_t>(module_.targets.size() - 1);
}

// Whether parameters and results lie in the same places.
bool Parser::alike(const Function& a, const Function& b) {
    const auto agree = [&](const std::vector<std::uint32_t>& mine,
                           const std::vector<std::uint32_t>& its) {
        return std::equal(mine.begin(), mine.end(), its.begin(), its.end(), [&](auto x, auto y) {
            return a.frame[x].size == b.frame[y].size && a.frame[x].align == b.frame[y].align;
        });
    };
    return agree(a.formals, b.formals) && agree(a.results, b.results);
}

std::vector<Variable> Parser::prototype_list() {
    std::vector<Variable> list;
    expect('(');
    while (!at_mark(')')) {
        const Token& start = peek();
        if (!at_directive(".param"))
            fail(start, "only .param parameters are supported", Error::Kind::unsupported_form);
        take();
        Declared d = declarator(Space::param, {});
        check_size(d, start);
        list.push_back(std::move(d.variable));
        if (!accept(',')) break;
    }
    expect(')');
    return list;
}

std::uint32_t Parser::call_argument(Function& f) {
    const Token& token = peek();
    const Symbol* s = find(expect_word("a .param variable"));
    if (!s || s->kind != Symbol::Kind::frame || f.frame[s->index].space != Space::param)
        fail(token, "an argument that is no .param variable", Error::Kind::unsupported_form);
    return s->index;
}

// .alias name, function: both are declared, and only the second one is defined.
void Parser::alias() {
    const auto declared = [&](const Token& at) {
        const auto found = scopes_[0].names.find(expect_word("a function's name"));
        if (found == scopes_[0].names.end() || found->second.kind != Symbol::Kind::function ||
            module_.functions[found->second.index].entry)
            fail(at, "'" + std::string(at.text) + "' is no function that was declared");
        return found->second.index;
    };
    const Token& name = peek();
    const std::uint32_t other = declared(name);
    expect(',');
    std::uint32_t index = declared(peek());
    expect(';');
    const auto known = aliases_.find(index);  // an alias itself
    if (known != aliases_.end()) index = known->second;
    const Function &mine = module_.functions[other], &its = module_.functions[index];
    if (!alike(mine, its))
        fail(name, "alias '" + mine.name + "' differs from function '" + its.name + "'");
    if (mine.defined || other == index || !aliases_.emplace(other, index).second)
        fail(name, "function '" + mine.name + "' is defined already");
}

// Nobody behind the parser knows the other names.
void Parser::resolve_aliases() {
    if (aliases_.empty()) return;
    const auto resolve = [&](std::uint32_t& function) {
        const auto at = aliases_.find(function);
        if (at != aliases_.end()) function = at->second;
    };
    for (const auto& [other, index] : aliases_) {
        const Function& mine = module_.functions[other];
        if (mine.defined)
            fail_line(mine.line, "function '" + mine.name + "' is an alias, and defined");
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
