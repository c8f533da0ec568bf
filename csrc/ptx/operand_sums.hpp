// csrc/ptx/operand_sums.hpp - operands such as a[i] and a + 4 where an instruction takes only
// registers. Instructions that compute the operand are inserted in front of the current one.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx/inserted_code.hpp"
#include "ptx/program.hpp"
#include "ptx/registers.hpp"
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

class OperandSums {
  public:
    OperandSums(TokenStream& tokens, const Module& module, Registers& registers)
        : tokens_(tokens), module_(module), registers_(registers) {}

    // An instruction begins.
    void clear();
    // variable[constant], variable[register] or variable[register + constant] as the operand number
    // `operand`. As in ptxas, the index counts scalars, also in an array of vectors or of rows.
    void read_element(Function& f, Operand& o, std::size_t operand, const Token& at);
    // register + constant as a source: the sum goes into a new register.
    Operand read_sum(Function& f, const Operand& o, const Token& at);
    // For a load or store: operand a[i] names the element, not its address. The space is checked
    // here, because an address in a register does not show its space.
    void elements_in_memory(Function& f, std::vector<Operand>& operands, Space space,
                            const Token& at);
    // Moves addresses into registers of `bytes` bytes; false if no operand needs it.
    bool address_sums(Function& f, std::vector<Operand>& operands, unsigned bytes);
    // Whether an element has a register as its index.
    bool has_indices() const { return !indices_.empty(); }

    // The number of instructions to insert, and a return to a smaller number.
    std::size_t made() const { return made_.size(); }
    void return_to(std::size_t made) { made_.resize(made); }
    // Inserts the instructions, like `i`.
    void emit(Function& f, const Instruction& i, InsertedCode& code) const;

  private:
    struct Made {
        std::string_view opcode;
        std::vector<Operand> operands;
    };
    struct Index {  // an array index: a register plus a constant
        std::size_t operand;
        Operand from;
        std::int64_t constant = 0;
        unsigned bytes = 0;  // size of an element
    };
    bool has_index(std::size_t operand) const;
    Operand address_sum(Function& f, const std::vector<Operand>& operands, std::size_t operand,
                        unsigned bytes);

    TokenStream& tokens_;
    const Module& module_;
    Registers& registers_;
    std::vector<Made> made_;
    std::vector<Index> indices_;
};

}  // namespace cupola::ptx
