// csrc/ptx/product_uses.cpp - follows the values of products through a function.
#include "ptx/product_uses.hpp"

namespace cupola::ptx {
namespace {

using Kind = Operand::Kind;
using Role = ContractRole;

// The comparison with its sides, or its signs, exchanged.
Compare mirrored(Compare compare) {
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

}  // namespace

ProductUses::ProductUses(const Function& f)
    : f_(f),
      definitions_(f),
      lines_(straight_lines(f)),
      registers_(f.registers.size()),
      current_(f.registers.size()),
      stamp_(f.registers.size(), absent),
      version_(f.registers.size()) {
    for (std::uint32_t n = 0; n < lines_.list.size(); ++n) follow(n);
    settle_outside();
    check_uses();
}

// The value of an operand in the straight line at hand.
Value ProductUses::local(const Operand& o) const {
    if (o.kind != Kind::reg || stamp_[o.index] != line_) return {};
    return current_[o.index];
}

void ProductUses::follow(std::uint32_t line) {
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
            each_register(f_, i, [&](std::uint32_t reg, bool, bool read) {
                if (read) need(reg);
            });
        if (r == Role::product && i.guard == absent) result = add_product(n);
        if (r == Role::comparison) add_comparison(i);
        each_register(f_, i, [&](std::uint32_t reg, bool written, bool) {
            if (!written) return;
            if (i.guard != absent) need(reg);  // lanes that the guard leaves out keep the old value
            ++version_[reg];
            define(reg, result);
        });
    }
    for (const std::uint32_t reg : written_)
        if (current_[reg].product != absent && definitions_.count(reg) > 1)
            leaves_.push_back({reg, current_[reg].product});
}

void ProductUses::define(std::uint32_t reg, Value value) {
    if (stamp_[reg] != line_) written_.push_back(reg);
    stamp_[reg] = line_;
    current_[reg] = value;
    if (definitions_.count(reg) != 1) return;
    registers_[reg].value = value;
    registers_[reg].line = line_;
}

// Notes a use of a product outside of a sum.
void ProductUses::need(std::uint32_t reg) {
    if (is_local(reg)) {
        const Value v = current_[reg];
        if (v.product != absent) {
            ++products[v.product].uses;
            products[v.product].blocked = true;
        }
    } else {
        outside_.push_back({reg, line_});
    }
}

// Whether an instruction copies a product, or changes its sign. Such an instruction does not count
// as a use of the product.
bool ProductUses::alias(std::uint32_t n, Value& result) {
    const Instruction& i = f_.code[n];
    const Role r = contract_role(i);
    if (i.guard != absent || i.operands < 2 || operand(i, 0).kind != Kind::reg) return false;
    if (r == Role::copy || (r == Role::negation && i.type != Type::bf16x2)) {
        result = local(operand(i, 1));
        result.negated ^= r == Role::negation;
    } else if (r == Role::product && !rounds(i) && !saturates(i)) {
        bool negated = false;
        for (unsigned side = 0; side < 2 && result.product == absent; ++side) {
            negated = false;
            if (definitions_.is_unit(operand(i, 2 - side), i.type, negated))
                result = local(operand(i, 1 + side));
        }
        result.negated ^= negated;
    }
    if (result.product != absent && flushes(i) && !flushes(f_.code[products[result.product].code]))
        result = {};
    if (result.product == absent) {
        result = r == Role::product ? Value{} : result;
        return false;
    }
    ++version_[operand(i, 0).index];
    aliases.push_back({n, result.product});
    return true;
}

Value ProductUses::add_product(std::uint32_t n) {
    const Instruction& i = f_.code[n];
    if (rounds(i) || saturates(i) || operand(i, 0).kind != Kind::reg) return {};
    const Operand &a = operand(i, 1), &b = operand(i, 2);
    bool sign = false;
    if (definitions_.is_unit(a, i.type, sign) || definitions_.is_unit(b, i.type, sign)) return {};
    if (definitions_.immediate(a, sign) && definitions_.immediate(b, sign)) return {};
    Product p;
    p.code = n;
    p.line = line_;
    p.constant = definitions_.is_constant(a) || definitions_.is_constant(b);
    for (unsigned side = 0; side < 2; ++side)
        if (operand(i, 1 + side).kind == Kind::reg)
            p.version[side] = version_[operand(i, 1 + side).index];
    products.push_back(p);
    Value result;
    result.product = static_cast<std::uint32_t>(products.size() - 1);
    return result;
}

Value ProductUses::add_sum(std::uint32_t n, bool difference) {
    const Instruction& i = f_.code[n];
    Sum s;
    s.code = n;
    s.line = line_;
    s.difference = difference;
    for (unsigned side = 0; side < 2; ++side) {
        const Operand& o = operand(i, 1 + side);
        if (o.kind != Kind::reg) continue;
        if (!is_local(o.index)) {
            outside_.push_back({o.index, line_, static_cast<std::uint32_t>(sums.size()), side});
            continue;
        }
        s.side[side] = current_[o.index];
        if (s.side[side].product == absent) continue;
        Product& p = products[s.side[side].product];
        ++p.uses;
        for (unsigned k = 0; k < 2; ++k) {
            const Operand& from = operand(f_.code[p.code], 1 + k);
            s.steady[side][k] = from.kind != Kind::reg || version_[from.index] == p.version[k];
        }
    }
    s.side[1].negated ^= difference;
    sums.push_back(s);
    Value result;
    if (i.guard == absent && i.type == Type::f32 && !saturates(i) && !flushes(i))
        result.sum = static_cast<std::uint32_t>(sums.size() - 1);
    return result;
}

void ProductUses::add_comparison(const Instruction& i) {
    if (field::boolean.get(i.modifiers) != 0 || i.operands != 3) return;
    for (unsigned side = 0; side < 2; ++side) {
        const Operand &o = operand(i, 1 + side), &other = operand(i, 2 - side);
        if (o.kind != Kind::reg || !definitions_.is_zero(other)) continue;
        auto compare = static_cast<Compare>(field::compare.get(i.modifiers));
        if (side == 1) compare = mirrored(compare);
        comparisons_.push_back({o.index, local(o), compare});
    }
}

// NVIDIA's assembler replaces a + b compared with 0 by a compared with -b. It keeps the sum for
// comparisons that distinguish infinity minus infinity, and where it would not fuse a product into
// the sum.
void ProductUses::settle_comparisons() {
    for (const Comparison& c : comparisons_) {
        Value value = c.value;
        if (value.sum == absent && definitions_.count(c.reg) == 1) value = registers_[c.reg].value;
        if (value.sum == absent) continue;
        const Compare compare = value.negated ? mirrored(c.compare) : c.compare;
        if (compare != Compare::ne && compare != Compare::lt && compare != Compare::gt &&
            compare != Compare::equ && compare != Compare::leu && compare != Compare::geu)
            continue;
        const Sum& s = sums[value.sum];
        const auto alone = [&](const Value& v) {
            return v.product != absent && products[v.product].uses == 1 &&
                   !products[v.product].blocked;
        };
        if (alone(s.side[0]) || alone(s.side[1])) continue;
        for (const Value& v : s.side)
            if (v.product != absent) {
                ++products[v.product].uses;
                products[v.product].blocked = true;
            }
    }
}

// Attaches uses in other straight lines to their products.
void ProductUses::settle_outside() {
    for (const OutsideUse& use : outside_) {
        RegisterInfo& r = registers_[use.reg];
        r.exposed = true;
        if (definitions_.count(use.reg) != 1 || r.value.product == absent) continue;
        Product& p = products[r.value.product];
        ++p.uses;
        const bool always = r.line != use.line && lines_.dominates(r.line, use.line);
        if (use.sum == absent || !p.constant || !always) {
            p.blocked = true;
            continue;
        }
        Value& side = sums[use.sum].side[use.side];
        side.product = r.value.product;
        side.negated ^= r.value.negated;
    }
    for (const auto& [reg, product] : leaves_)
        if (registers_[reg].exposed) {
            ++products[product].uses;
            products[product].blocked = true;
        }
}

bool ProductUses::fits(const Product& p, const Sum& s) const {
    const Instruction &mul = f_.code[p.code], &add = f_.code[s.code];
    return mul.type == add.type && flushes(mul) == flushes(add);
}

void ProductUses::check_uses() {
    for (const Sum& s : sums) {
        const bool twice = s.side[0].product == s.side[1].product;
        for (const Value& v : s.side)
            if (v.product != absent && (twice || !fits(products[v.product], s)))
                products[v.product].blocked = true;
    }
    settle_comparisons();
    // A product with several uses is computed anyway if one of its sums takes another product. The
    // sum takes the other product if that product has no other use. Packed numbers have no such
    // rule.
    std::vector<std::uint32_t> needed;
    for (const Sum& s : sums)
        for (unsigned side = 0; side < 2; ++side) {
            const Value mine = s.side[side], other = s.side[1 - side];
            if (mine.product == absent || other.product == absent) continue;
            if (is_packed(f_.code[s.code].type)) continue;
            const Product& p = products[other.product];
            if (products[mine.product].uses > 1 && p.uses == 1 && !p.blocked)
                needed.push_back(mine.product);
        }
    for (const std::uint32_t n : needed) products[n].blocked = true;
}

}  // namespace cupola::ptx
