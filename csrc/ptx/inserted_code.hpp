// csrc/ptx/inserted_code.hpp - instructions that the text does not contain.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/match.hpp"
#include "ptx/program.hpp"
#include "ptx/registers.hpp"
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

class InsertedCode {
  public:
    InsertedCode(const TokenStream& tokens, const Module& module)
        : tokens_(tokens), module_(module) {}

    // The forms of an opcode. The result stays valid.
    const std::vector<Candidate>& candidates(std::string_view opcode);
    // Adds an instruction with the guard and the line of another.
    void emit(Function& f, const Instruction& like, std::string_view opcode,
              const std::vector<Operand>& operands);
    // Copies a parameter from its frame variable to its registers (`load`), or back.
    void move_parameter(Function& f, const Instruction& like, const RegisterParameter& p,
                        bool load);
    void store_constant(Function& f, const Instruction& like, std::uint32_t frame, Type type,
                        const Operand& o);

  private:
    const TokenStream& tokens_;
    const Module& module_;
    std::unordered_map<std::string_view, std::vector<Candidate>> matched_;
};

}  // namespace cupola::ptx
