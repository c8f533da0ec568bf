// csrc/ptx/aliases.cpp - aliases of functions.
#include "ptx/aliases.hpp"

#include "ptx/parameters.hpp"

namespace cupola::ptx {

void Aliases::read() {
    const auto declared = [&](const Token& at) {
        const Symbol* const found =
            scopes_.find_in_module(tokens_.expect_word("a function's name"));
        if (!found || found->kind != Symbol::Kind::function ||
            module_.functions[found->index].entry)
            tokens_.fail(at, quoted(at) + " is not a declared function");
        return found->index;
    };
    const Token& name = tokens_.peek();
    const std::uint32_t other = declared(name);
    tokens_.expect(',');
    std::uint32_t index = declared(tokens_.peek());
    tokens_.expect(';');
    const auto known = functions_.find(index);  // the function is an alias too
    if (known != functions_.end()) index = known->second;
    const Function &mine = module_.functions[other], &its = module_.functions[index];
    if (!alike(mine, its))
        tokens_.fail(name, "alias '" + mine.name + "' differs from function '" + its.name + "'");
    if (mine.defined || other == index || !functions_.emplace(other, index).second)
        tokens_.fail(name, "function '" + mine.name + "' is already defined");
}

void Aliases::resolve() {
    if (functions_.empty()) return;
    const auto resolve = [&](std::uint32_t& function) {
        const auto at = functions_.find(function);
        if (at != functions_.end()) function = at->second;
    };
    for (const auto& [other, index] : functions_) {
        const Function& mine = module_.functions[other];
        if (mine.defined)
            tokens_.fail_line(mine.line,
                              "function '" + mine.name + "' is an alias and cannot have a body");
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
