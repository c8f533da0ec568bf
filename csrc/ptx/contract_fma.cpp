// csrc/ptx/contract_fma.cpp - chooses the products that are fused, and rewrites their sums.
#include "ptx/contract_fma.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ptx/match.hpp"
#include "ptx/product_uses.hpp"

namespace cupola::ptx {
namespace {

using Kind = Operand::Kind;

bool worthwhile(const Function& f) {
    bool products = false, sums = false;
    for (const Instruction& i : f.code) {
        if (rounds(i)) continue;
        const ContractRole r = contract_role(i);
        products |= r == ContractRole::product;
        sums |= r == ContractRole::sum || r == ContractRole::difference;
    }
    return products && sums;
}

class Contraction {
  public:
    explicit Contraction(Function& f) : f_(f), uses_(f) {}

    void run() {
        for (std::uint32_t s = 0; s < uses_.sums.size(); ++s) fuse(s);
        if (!fused_.empty()) rewrite();
    }

  private:
    const Operand& operand(const Instruction& i, unsigned n) const {
        return f_.operands[i.operand + n];
    }

    void fuse(std::uint32_t n) {
        Sum& s = uses_.sums[n];
        const auto can = [&](const Value& v) {
            return v.product != absent && !uses_.products[v.product].blocked;
        };
        const bool first = can(s.side[0]), second = can(s.side[1]);
        if (!first && !second) return;
        const unsigned side = first && second ? uses_.products[s.side[1].product].uses <
                                                    uses_.products[s.side[0].product].uses
                                              : second;
        ++uses_.products[s.side[side].product].fused;
        if (s.side[1 - side].product != absent)
            uses_.products[s.side[1 - side].product].blocked = true;
        fused_.push_back({n, side});
    }

    // The code below changes the program.

    std::uint32_t new_register(Type type) {
        f_.registers.push_back(type);
        return static_cast<std::uint32_t>(f_.registers.size() - 1);
    }

    Operand of_register(std::uint32_t reg) const {
        Operand o;
        o.kind = Kind::reg;
        o.index = reg;
        o.type = f_.registers[reg];
        return o;
    }

    void insert(std::uint32_t before, Instruction i, const Operand& to, const Operand& from) {
        i.guard = absent;
        i.guard_negated = false;
        i.operand = static_cast<std::uint32_t>(f_.operands.size());
        i.operands = 2;
        f_.operands.push_back(to);
        f_.operands.push_back(from);
        insertions_.emplace(before, i);
    }

    Operand negated(const Operand& o, std::uint32_t before) {
        Operand changed = o;
        if (o.kind == Kind::real)
            changed.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(o.value) ^
                                                      std::uint64_t{1} << 63);
        else if (o.kind == Kind::single)
            changed.value ^= std::int64_t{1} << 31;
        else {
            Instruction i = f_.code[before];
            i.form = negation_row(i.type);
            i.modifiers = 0;
            changed = of_register(new_register(o.kind == Kind::reg ? o.type : i.type));
            insert(before, i, changed, o);
        }
        return changed;
    }

    // A product's factor that is read at a later place, where its register may have another value.
    Operand factor(Product& p, unsigned k, bool steady) {
        const Operand o = operand(f_.code[p.code], 1 + k);
        if (steady) return o;
        if (p.kept[k] == absent) {
            p.kept[k] = new_register(o.type);
            Instruction i = f_.code[p.code];
            i.type = untyped(i.type);
            i.form = match("mov." + std::string(name_of(i.type))).at(0).form;
            i.modifiers = 0;
            insert(p.code, i, of_register(p.kept[k]), o);
        }
        return of_register(p.kept[k]);
    }

    static Type untyped(Type type) {
        return bytes_of(type) == 8 ? Type::b64 : bytes_of(type) == 4 ? Type::b32 : Type::b16;
    }

    void write(const Sum& s, unsigned side) {
        Product& p = uses_.products[s.side[side].product];
        Operand operands[4] = {operand(f_.code[s.code], 0), {}, {}, {}};
        for (unsigned k = 0; k < 2; ++k) {
            const Operand& from = operand(f_.code[p.code], 1 + k);
            const bool steady = p.line == s.line ? s.steady[side][k] : uses_.is_steady(from);
            operands[1 + k] = factor(p, k, steady);
        }
        if (s.side[side].negated) {
            const unsigned k = operands[2].kind != Kind::reg ? 2 : 1;
            operands[k] = negated(operands[k], s.code);
        }
        operands[3] = operand(f_.code[s.code], 2 - side);
        if (s.difference && side == 0) operands[3] = negated(operands[3], s.code);
        Instruction& i = f_.code[s.code];
        i.form = fused_row(i.type);
        i.modifiers |= field::round.put(static_cast<unsigned>(Round::rn));
        i.operand = static_cast<std::uint32_t>(f_.operands.size());
        i.operands = 4;
        f_.operands.insert(f_.operands.end(), operands, operands + 4);
    }

    void rewrite() {
        for (const auto& [sum, side] : fused_) write(uses_.sums[sum], side);
        // A product that every use computes again is not needed.
        std::vector<bool> dead(f_.code.size());
        const auto unused = [&](const Product& p) { return p.uses != 0 && p.fused == p.uses; };
        for (const Product& p : uses_.products) dead[p.code] = unused(p);
        for (const auto& [code, product] : uses_.aliases)
            dead[code] = unused(uses_.products[product]);
        std::vector<Instruction> code;
        code.reserve(f_.code.size() + insertions_.size());
        std::vector<std::uint32_t> moved(f_.code.size() + 1);
        auto next = insertions_.begin();
        for (std::uint32_t n = 0; n < f_.code.size(); ++n) {
            moved[n] = static_cast<std::uint32_t>(code.size());
            for (; next != insertions_.end() && next->first == n; ++next)
                code.push_back(next->second);
            if (!dead[n]) code.push_back(f_.code[n]);
        }
        moved.back() = static_cast<std::uint32_t>(code.size());
        f_.code = std::move(code);
        for (std::uint32_t& at : f_.labels) at = moved[at];
    }

    Function& f_;
    ProductUses uses_;
    std::vector<std::pair<std::uint32_t, unsigned>> fused_;  // sum, side of its product
    // Instructions to insert, by the instruction that follows them.
    std::multimap<std::uint32_t, Instruction> insertions_;
};

}  // namespace

void contract_fma(Module& module) {
    if (module.debug) return;
    for (Function& f : module.functions)
        if (f.defined && worthwhile(f)) Contraction(f).run();
}

}  // namespace cupola::ptx
