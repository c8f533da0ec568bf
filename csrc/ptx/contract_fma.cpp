// csrc/ptx/contract_fma.cpp - finds the products that are used in sums alone, and fuses them.
#include "ptx/contract_fma.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/contract_role.hpp"
#include "ptx/lexer.hpp"
#include "ptx/match.hpp"
#include "ptx/straight_line.hpp"

namespace cupola::ptx {
namespace {

using Kind = Operand::Kind;
using Role = ContractRole;

bool rounds(const Instruction& i) { return field::round.get(i.modifiers) != 0; }
bool flushes(const Instruction& i) { return field::ftz.get(i.modifiers) != 0; }
bool saturates(const Instruction& i) { return field::sat.get(i.modifiers) != 0; }

// A register's value: the result of a product or of a sum, or that with its sign changed.
struct Value {
    std::uint32_t product = absent, sum = absent;
    bool negated = false;
};

struct Product {
    std::uint32_t code, line;  // the instruction, and its straight line
    std::uint32_t uses = 0;    // operands that have its value
    std::uint32_t fused = 0;
    bool constant = false;  // one factor is a constant, so that another block may compute it again
    bool blocked = false;   // its value is needed
    std::uint32_t version[2] = {0, 0};         // of the factors' registers
    std::uint32_t kept[2] = {absent, absent};  // registers with copies of factors
};

struct Sum {
    std::uint32_t code, line;
    Value side[2];
    bool difference = false;
    bool steady[2][2] = {{false, false}, {false, false}};  // factors' registers, of local products
};

// A comparison of a register with zero.
struct Comparison {
    std::uint32_t reg;
    Value value;  // if the straight line at hand defines it
    Compare compare;
};

// A use of a register in another straight line than its definition.
struct OutsideUse {
    std::uint32_t reg, line;
    std::uint32_t sum = absent;
    unsigned side = 0;
};

struct RegisterInfo {
    std::uint32_t definitions = 0, definition = absent;  // the last one
    std::uint32_t line = absent;                         // of the value below
    Value value;                                         // of the only definition
    bool partial = false;                                // a guard or a part leaves old bits
    bool exposed = false;  // a straight line reads what another one left in it
};

class Contraction {
  public:
    explicit Contraction(Function& f) : f_(f), registers_(f.registers.size()) {}

    void run() {
        if (!worthwhile()) return;
        find_definitions();
        lines_ = straight_lines(f_);
        current_.assign(f_.registers.size(), {});
        stamp_.assign(f_.registers.size(), absent);
        version_.assign(f_.registers.size(), 0);
        for (std::uint32_t n = 0; n < lines_.list.size(); ++n) follow(n);
        settle_outside();
        check_uses();
        for (std::uint32_t s = 0; s < sums_.size(); ++s) fuse(s);
        if (!fused_.empty()) rewrite();
    }

  private:
    Role role(std::uint32_t i) const { return contract_role(f_.code[i]); }
    const Operand& operand(const Instruction& i, unsigned n) const {
        return f_.operands[i.operand + n];
    }

    bool worthwhile() const {
        bool products = false, sums = false;
        for (const Instruction& i : f_.code) {
            if (rounds(i)) continue;
            const Role r = contract_role(i);
            products |= r == Role::product;
            sums |= r == Role::sum || r == Role::difference;
        }
        return products && sums;
    }

    // Calls `visit(register, written, read)` for the registers of an instruction.
    template <class Visit>
    void each_register(const Instruction& i, Visit&& visit) const {
        const Form& form = i.form.form();
        unsigned place = 0;
        for (std::uint32_t k = 0; k < i.operands; ++k) {
            while (place < form.operands.count &&
                   (form.operands.list[place] == OperandConstraint::cc_in ||
                    form.operands.list[place] == OperandConstraint::cc_out))
                ++place;
            const bool to =
                place < form.operands.count && is_destination(form.operands.list[place]);
            const bool both = to && form.operands.list[place] == OperandConstraint::fd;
            ++place;
            each_register_of(operand(i, k), to, both, visit);
        }
        if (i.call != absent && f_.calls[i.call].pointer != absent)
            visit(f_.calls[i.call].pointer, false, true);
    }
    template <class Visit>
    void each_register_of(const Operand& o, bool to, bool both, Visit&& visit) const {
        if (o.second != absent) visit(o.second, to, !to || both);
        switch (o.kind) {
            case Kind::reg:
                visit(o.index, to, !to || both || o.selector != 0);
                return;
            case Kind::memory:
                if (o.base == Kind::reg) visit(o.index, false, true);
                return;
            case Kind::texel:
                if (o.base == Kind::reg) visit(o.index, false, true);
                for (std::uint32_t e = 0; e < o.count; ++e)
                    each_register_of(f_.operands[static_cast<std::size_t>(o.value) + e], false,
                                     false, visit);
                return;
            case Kind::vector:
                for (std::uint32_t e = 0; e < o.count; ++e)
                    each_register_of(f_.operands[o.index + e], to, both, visit);
                return;
            default:
                return;
        }
    }

    void find_definitions() {
        for (std::uint32_t n = 0; n < f_.code.size(); ++n) {
            const Instruction& i = f_.code[n];
            each_register(i, [&](std::uint32_t reg, bool written, bool read) {
                if (!written) return;
                RegisterInfo& r = registers_[reg];
                ++r.definitions;
                r.definition = n;
                r.partial |= read || i.guard != absent;
            });
        }
    }

    // The instruction that alone gives a register its value, or null.
    const Instruction* only_definition(std::uint32_t reg) const {
        const RegisterInfo& r = registers_[reg];
        return r.definitions == 1 && !r.partial ? &f_.code[r.definition] : nullptr;
    }

    // Follows copies and changes of sign to an immediate, if there is one. `negated` is its sign.
    const Operand* immediate(const Operand& from, bool& negated) const {
        const Operand* o = &from;
        for (int hops = 0; hops < most_hops; ++hops) {
            if (o->kind == Kind::real || o->kind == Kind::single || o->kind == Kind::integer)
                return o;
            const Instruction* i = o->kind == Kind::reg ? only_definition(o->index) : nullptr;
            if (!i) return nullptr;
            const Role r = contract_role(*i);
            if (r != Role::copy && r != Role::negation) return nullptr;
            negated ^= r == Role::negation;
            o = &operand(*i, 1);
        }
        return nullptr;
    }

    // Whether an operand is an immediate, a parameter of the kernel or lies at a fixed place in
    // .const: an instruction of the hardware reads these without a register.
    bool is_constant(const Operand& from) const {
        bool negated = false;
        if (immediate(from, negated)) return true;
        const Operand* o = &from;
        for (int hops = 0; hops < most_hops && o->kind == Kind::reg; ++hops) {
            const Instruction* i = only_definition(o->index);
            if (!i) return false;
            const Role r = contract_role(*i);
            if (r == Role::load) return loads_constant(*i);
            if (r != Role::copy && r != Role::negation) return false;
            o = &operand(*i, 1);
        }
        return false;
    }
    bool loads_constant(const Instruction& i) const {
        const Operand& m = operand(i, 1);
        if (m.kind != Kind::memory) return false;
        const auto space = static_cast<Space>(field::space.get(i.modifiers));
        if (space == Space::constant) return m.base == Kind::variable;
        if (space != Space::param || !f_.entry) return false;
        if (m.base == Kind::frame) return is_formal(m.index);
        const Instruction* base = m.base == Kind::reg ? only_definition(m.index) : nullptr;
        return base && contract_role(*base) == Role::copy &&
               operand(*base, 1).kind == Kind::frame && is_formal(operand(*base, 1).index);
    }

    bool is_formal(std::uint32_t variable) const {
        return variable < f_.formals.size() && f_.formals[variable] == variable;
    }

    // Whether an operand of a product is 1 or -1; the product is then a copy of the other one.
    bool is_unit(const Operand& from, Type type, bool& negated) const {
        const Operand* o = immediate(from, negated);
        if (!o) return false;
        double value = 0;
        if (o->kind == Kind::real) {
            std::memcpy(&value, &o->value, sizeof value);
        } else {
            const auto bits = static_cast<std::uint32_t>(o->value);
            float single;
            std::memcpy(&single, &bits, sizeof single);
            if (type != Type::f32) return false;
            value = static_cast<double>(single);
        }
        negated ^= value < 0;
        return value == 1 || value == -1;
    }

    // The value of an operand in the straight line at hand.
    Value local(const Operand& o) const {
        if (o.kind != Kind::reg || stamp_[o.index] != line_) return {};
        return current_[o.index];
    }
    bool is_local(std::uint32_t reg) const { return stamp_[reg] == line_; }

    void follow(std::uint32_t line) {
        line_ = line;
        written_.clear();
        for (const std::uint32_t n : lines_.list[line].code) {
            const Instruction& i = f_.code[n];
            Value result;
            if (alias(n, result)) {
                define(operand(i, 0).index, result);
                continue;
            }
            const Role r = contract_role(i);
            if ((r == Role::sum || r == Role::difference) && !rounds(i))
                result = add_sum(n, r == Role::difference);
            else
                each_register(i, [&](std::uint32_t reg, bool, bool read) {
                    if (read) need(reg);
                });
            if (r == Role::product && i.guard == absent) result = add_product(n);
            if (r == Role::comparison) add_comparison(i);
            each_register(i, [&](std::uint32_t reg, bool written, bool) {
                if (!written) return;
                if (i.guard != absent) need(reg);  // lanes that it leaves out keep the old value
                ++version_[reg];
                define(reg, result);
            });
        }
        for (const std::uint32_t reg : written_)
            if (current_[reg].product != absent && registers_[reg].definitions > 1)
                leaves_.push_back({reg, current_[reg].product});
    }

    void define(std::uint32_t reg, Value value) {
        if (stamp_[reg] != line_) written_.push_back(reg);
        stamp_[reg] = line_;
        current_[reg] = value;
        if (registers_[reg].definitions != 1) return;
        registers_[reg].value = value;
        registers_[reg].line = line_;
    }

    // A use other than in a sum.
    void need(std::uint32_t reg) {
        if (is_local(reg)) {
            const Value v = current_[reg];
            if (v.product != absent) {
                ++products_[v.product].uses;
                products_[v.product].blocked = true;
            }
        } else {
            outside_.push_back({reg, line_});
        }
    }

    // A copy, or a change of sign, of a product. It is no use of it by itself.
    bool alias(std::uint32_t n, Value& result) {
        const Instruction& i = f_.code[n];
        const Role r = contract_role(i);
        if (i.guard != absent || i.operands < 2 || operand(i, 0).kind != Kind::reg) return false;
        if (r == Role::copy || (r == Role::negation && i.type != Type::bf16x2)) {
            result = local(operand(i, 1));
            result.negated ^= r == Role::negation;
        } else if (r == Role::product && !rounds(i) && !saturates(i) && !flushes(i)) {
            bool negated = false;
            for (unsigned side = 0; side < 2 && result.product == absent; ++side) {
                negated = false;
                if (is_unit(operand(i, 2 - side), i.type, negated))
                    result = local(operand(i, 1 + side));
            }
            result.negated ^= negated;
        }
        if (result.product == absent) {
            result = r == Role::product ? Value{} : result;
            return false;
        }
        ++version_[operand(i, 0).index];
        aliases_.push_back({n, result.product});
        return true;
    }

    Value add_product(std::uint32_t n) {
        const Instruction& i = f_.code[n];
        if (rounds(i) || saturates(i) || operand(i, 0).kind != Kind::reg) return {};
        const Operand &a = operand(i, 1), &b = operand(i, 2);
        bool sign = false;
        if (is_unit(a, i.type, sign) || is_unit(b, i.type, sign)) return {};
        if (immediate(a, sign) && immediate(b, sign)) return {};
        Product p;
        p.code = n;
        p.line = line_;
        p.constant = is_constant(a) || is_constant(b);
        for (unsigned side = 0; side < 2; ++side)
            if (operand(i, 1 + side).kind == Kind::reg)
                p.version[side] = version_[operand(i, 1 + side).index];
        products_.push_back(p);
        Value result;
        result.product = static_cast<std::uint32_t>(products_.size() - 1);
        return result;
    }

    Value add_sum(std::uint32_t n, bool difference) {
        const Instruction& i = f_.code[n];
        Sum s;
        s.code = n;
        s.line = line_;
        s.difference = difference;
        for (unsigned side = 0; side < 2; ++side) {
            const Operand& o = operand(i, 1 + side);
            if (o.kind != Kind::reg) continue;
            if (!is_local(o.index)) {
                outside_.push_back(
                    {o.index, line_, static_cast<std::uint32_t>(sums_.size()), side});
                continue;
            }
            s.side[side] = current_[o.index];
            if (s.side[side].product == absent) continue;
            Product& p = products_[s.side[side].product];
            ++p.uses;
            for (unsigned k = 0; k < 2; ++k) {
                const Operand& from = operand(f_.code[p.code], 1 + k);
                s.steady[side][k] = from.kind != Kind::reg || version_[from.index] == p.version[k];
            }
        }
        s.side[1].negated ^= difference;
        sums_.push_back(s);
        Value result;
        if (i.guard == absent && i.type == Type::f32 && !saturates(i) && !flushes(i))
            result.sum = static_cast<std::uint32_t>(sums_.size() - 1);
        return result;
    }

    void add_comparison(const Instruction& i) {
        if (field::boolean.get(i.modifiers) != 0 || i.operands != 3) return;
        for (unsigned side = 0; side < 2; ++side) {
            const Operand &o = operand(i, 1 + side), &other = operand(i, 2 - side);
            if (o.kind != Kind::reg || !is_zero(other)) continue;
            auto compare = static_cast<Compare>(field::compare.get(i.modifiers));
            if (side == 1) compare = mirrored(compare);
            comparisons_.push_back({o.index, local(o), compare});
        }
    }

    bool is_zero(const Operand& from) const {
        bool negated = false;
        const Operand* o = immediate(from, negated);
        if (!o) return false;
        const auto bits = static_cast<std::uint64_t>(o->value);
        return o->kind == Kind::real ? bits << 1 == 0 : static_cast<std::uint32_t>(bits) << 1 == 0;
    }

    // The comparison with sides, or signs, exchanged.
    static Compare mirrored(Compare compare) {
        switch (compare) {
            case Compare::lt:
                return Compare::gt;
            case Compare::gt:
                return Compare::lt;
            case Compare::le:
                return Compare::ge;
            case Compare::ge:
                return Compare::le;
            case Compare::ltu:
                return Compare::gtu;
            case Compare::gtu:
                return Compare::ltu;
            case Compare::leu:
                return Compare::geu;
            case Compare::geu:
                return Compare::leu;
            default:
                return compare;
        }
    }

    // NVIDIA's assembler compares a with -b in place of a + b with 0. It does not for comparisons
    // that tell infinity minus infinity, and where it would not fuse a product.
    void settle_comparisons() {
        for (const Comparison& c : comparisons_) {
            Value value = c.value;
            if (value.sum == absent && registers_[c.reg].definitions == 1)
                value = registers_[c.reg].value;
            if (value.sum == absent) continue;
            const Compare compare = value.negated ? mirrored(c.compare) : c.compare;
            if (compare != Compare::ne && compare != Compare::lt && compare != Compare::gt &&
                compare != Compare::equ && compare != Compare::leu && compare != Compare::geu)
                continue;
            const Sum& s = sums_[value.sum];
            const auto alone = [&](const Value& v) {
                return v.product != absent && products_[v.product].uses == 1 &&
                       !products_[v.product].blocked;
            };
            if (alone(s.side[0]) || alone(s.side[1])) continue;
            for (const Value& v : s.side)
                if (v.product != absent) {
                    ++products_[v.product].uses;
                    products_[v.product].blocked = true;
                }
        }
    }

    // Attaches uses in other straight lines to their products.
    void settle_outside() {
        for (const OutsideUse& use : outside_) {
            RegisterInfo& r = registers_[use.reg];
            r.exposed = true;
            if (r.definitions != 1 || r.value.product == absent) continue;
            Product& p = products_[r.value.product];
            ++p.uses;
            const bool always = r.line != use.line && lines_.dominates(r.line, use.line);
            if (use.sum == absent || !p.constant || !always) {
                p.blocked = true;
                continue;
            }
            Value& side = sums_[use.sum].side[use.side];
            side.product = r.value.product;
            side.negated ^= r.value.negated;
        }
        for (const auto& [reg, product] : leaves_)
            if (registers_[reg].exposed) {
                ++products_[product].uses;
                products_[product].blocked = true;
            }
    }

    bool fits(const Product& p, const Sum& s) const {
        const Instruction &mul = f_.code[p.code], &add = f_.code[s.code];
        return mul.type == add.type && flushes(mul) == flushes(add);
    }

    void check_uses() {
        for (const Sum& s : sums_) {
            const bool twice = s.side[0].product == s.side[1].product;
            for (const Value& v : s.side)
                if (v.product != absent && (twice || !fits(products_[v.product], s)))
                    products_[v.product].blocked = true;
        }
        settle_comparisons();
        // A product with several uses is computed anyway where a sum takes another product, which
        // it does if that has no other use. Packed numbers have no such rule.
        std::vector<std::uint32_t> needed;
        for (const Sum& s : sums_)
            for (unsigned side = 0; side < 2; ++side) {
                const Value mine = s.side[side], other = s.side[1 - side];
                if (mine.product == absent || other.product == absent) continue;
                if (is_packed(f_.code[s.code].type)) continue;
                const Product& p = products_[other.product];
                if (products_[mine.product].uses > 1 && p.uses == 1 && !p.blocked)
                    needed.push_back(mine.product);
            }
        for (const std::uint32_t n : needed) products_[n].blocked = true;
    }

    void fuse(std::uint32_t n) {
        Sum& s = sums_[n];
        const auto can = [&](const Value& v) {
            return v.product != absent && !products_[v.product].blocked;
        };
        const bool first = can(s.side[0]), second = can(s.side[1]);
        if (!first && !second) return;
        const unsigned side =
            first && second ? products_[s.side[1].product].uses < products_[s.side[0].product].uses
                            : second;
        ++products_[s.side[side].product].fused;
        if (s.side[1 - side].product != absent) products_[s.side[1 - side].product].blocked = true;
        fused_.push_back({n, side});
    }

    // The rest changes the program.
    struct Insertion {
        std::uint32_t before;
        Instruction instruction;
    };

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
        insertions_.push_back({before, i});
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

    // A product's factor at a later place, where its register may have another value.
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
        Product& p = products_[s.side[side].product];
        Operand operands[4] = {operand(f_.code[s.code], 0), {}, {}, {}};
        for (unsigned k = 0; k < 2; ++k) {
            const Operand& from = operand(f_.code[p.code], 1 + k);
            const bool steady = p.line == s.line ? s.steady[side][k]
                                                 : from.kind != Kind::reg ||
                                                       registers_[from.index].definitions <= 1;
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
        for (const auto& [sum, side] : fused_) write(sums_[sum], side);
        // What every use of a product computes again is not needed.
        std::vector<bool> dead(f_.code.size());
        const auto unused = [&](const Product& p) { return p.uses != 0 && p.fused == p.uses; };
        for (const Product& p : products_) dead[p.code] = unused(p);
        for (const auto& [code, product] : aliases_) dead[code] = unused(products_[product]);
        std::stable_sort(
            insertions_.begin(), insertions_.end(),
            [](const Insertion& a, const Insertion& b) { return a.before < b.before; });
        std::vector<Instruction> code;
        code.reserve(f_.code.size() + insertions_.size());
        std::vector<std::uint32_t> moved(f_.code.size() + 1);
        auto next = insertions_.begin();
        for (std::uint32_t n = 0; n < f_.code.size(); ++n) {
            moved[n] = static_cast<std::uint32_t>(code.size());
            for (; next != insertions_.end() && next->before == n; ++next)
                code.push_back(next->instruction);
            if (!dead[n]) code.push_back(f_.code[n]);
        }
        moved.back() = static_cast<std::uint32_t>(code.size());
        f_.code = std::move(code);
        for (std::uint32_t& at : f_.labels) at = moved[at];
    }

    static constexpr int most_hops = 8;

    Function& f_;
    StraightLines lines_;
    std::vector<RegisterInfo> registers_;
    std::vector<Product> products_;
    std::vector<Sum> sums_;
    std::vector<OutsideUse> outside_;
    std::vector<Comparison> comparisons_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> aliases_;  // instruction, product
    std::vector<std::pair<std::uint32_t, std::uint32_t>> leaves_;   // register, product
    std::vector<std::pair<std::uint32_t, unsigned>> fused_;         // sum, side of its product
    std::vector<Insertion> insertions_;
    // Of the straight line at hand.
    std::uint32_t line_ = absent;
    std::vector<std::uint32_t> written_;  // registers
    std::vector<Value> current_;          // by register, where the stamp is this line
    std::vector<std::uint32_t> stamp_, version_;
};

}  // namespace

void contract_fma(Module& module) {
    if (module.debug) return;
    for (Function& f : module.functions)
        if (f.defined) Contraction(f).run();
}

std::string forbid_contraction(std::string_view source) {
    constexpr std::string_view word = "mul", rounded = ".rn";
    const auto is_open_product = [](std::string_view opcode) {
        const auto rows = match(opcode);
        return std::any_of(rows.begin(), rows.end(), [](const Candidate& c) {
            Instruction i;
            i.form = c.form;
            i.modifiers = c.modifiers;
            return contract_role(i) == Role::product && !rounds(i);
        });
    };
    std::unordered_map<std::string_view, bool> known;
    std::string text;
    const char* from = source.data();
    for (const Token& token : lex(source)) {
        if (token.kind != Token::Kind::word || token.text.substr(0, word.size() + 1) != "mul.")
            continue;
        const auto [at, fresh] = known.emplace(token.text, false);
        if (fresh) at->second = is_open_product(token.text);
        if (!at->second) continue;
        const char* to = token.text.data() + word.size();
        text.append(from, to).append(rounded);
        from = to;
    }
    return text.append(from, source.data() + source.size());
}

}  // namespace cupola::ptx
