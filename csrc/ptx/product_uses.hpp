// csrc/ptx/product_uses.hpp - the products of a function and the sums that use them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ptx/register_definitions.hpp"
#include "ptx/straight_line.hpp"

namespace cupola::ptx {

inline bool rounds(const Instruction& i) { return field::round.get(i.modifiers) != 0; }
inline bool flushes(const Instruction& i) { return field::ftz.get(i.modifiers) != 0; }
inline bool saturates(const Instruction& i) { return field::sat.get(i.modifiers) != 0; }

// A register's value: the result of a product or of a sum, or that with its sign changed.
struct Value {
    std::uint32_t product = absent, sum = absent;
    bool negated = false;
};

struct Product {
    std::uint32_t code, line;  // the instruction, and its straight line
    std::uint32_t uses = 0;    // operands that have the value
    std::uint32_t fused = 0;
    // One factor is a constant, so that another block may compute the product again.
    bool constant = false;
    bool blocked = false;                      // its value is needed
    std::uint32_t version[2] = {0, 0};         // how often each factor's register was written
    std::uint32_t kept[2] = {absent, absent};  // registers with copies of factors
};

struct Sum {
    std::uint32_t code, line;
    Value side[2];
    bool difference = false;
    bool steady[2][2] = {{false, false}, {false, false}};  // factors' registers, of local products
};

class ProductUses {
  public:
    explicit ProductUses(const Function& f);

    std::vector<Product> products;
    std::vector<Sum> sums;                                         // in program order
    std::vector<std::pair<std::uint32_t, std::uint32_t>> aliases;  // instruction, product

    // Whether a register has the same value at all places that read it.
    bool is_steady(const Operand& o) const {
        return o.kind != Operand::Kind::reg || definitions_.count(o.index) <= 1;
    }

  private:
    // A comparison of a register with zero.
    struct Comparison {
        std::uint32_t reg;
        Value value;  // if the current straight line defines the register
        Compare compare;
    };

    // A use of a register in another straight line than its definition.
    struct OutsideUse {
        std::uint32_t reg, line;
        std::uint32_t sum = absent;
        unsigned side = 0;
    };
    struct RegisterInfo {
        std::uint32_t line = absent;  // straight line that defines the value
        Value value;                  // value of the only definition
        bool exposed = false;         // another straight line reads the register
    };

    const Operand& operand(const Instruction& i, unsigned n) const {
        return f_.operands[i.operand + n];
    }
    Value local(const Operand& o) const;
    bool is_local(std::uint32_t reg) const { return stamp_[reg] == line_; }
    void follow(std::uint32_t line);
    void define(std::uint32_t reg, Value value);
    void need(std::uint32_t reg);
    bool alias(std::uint32_t n, Value& result);
    Value add_product(std::uint32_t n);
    Value add_sum(std::uint32_t n, bool difference);
    void add_comparison(const Instruction& i);
    void settle_outside();
    void settle_comparisons();
    bool fits(const Product& p, const Sum& s) const;
    void check_uses();

    const Function& f_;
    const RegisterDefinitions definitions_;
    const StraightLines lines_;
    std::vector<RegisterInfo> registers_;
    std::vector<OutsideUse> outside_;
    std::vector<Comparison> comparisons_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> leaves_;  // register, product
    // State of the current straight line.
    std::uint32_t line_ = absent;
    std::vector<std::uint32_t> written_;  // registers
    std::vector<Value> current_;  // by register; valid if the stamp is the current straight line
    std::vector<std::uint32_t> stamp_, version_;
};

}  // namespace cupola::ptx
