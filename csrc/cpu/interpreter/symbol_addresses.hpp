// csrc/cpu/interpreter/symbol_addresses.hpp - the addresses of variables and functions, as
// operands.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>

#include "cpu/interpreter/code_builder.hpp"
#include "cpu/interpreter/decoded_functions.hpp"
#include "cpu/interpreter/register_file.hpp"
#include "cpu/interpreter/variable_layout.hpp"

namespace cupola::cpu::interpreter {

class SymbolAddresses {
  public:
    SymbolAddresses(CodeBuilder& code, const DecodedFunctions& functions, RegisterFile& registers,
                    const Placement& placement)
        : code_(code), functions_(functions), registers_(registers), placement_(placement) {}

    // Places static shared memory: variables of the functions, then the extern variables.
    void place_shared();
    // A register with the address of a variable of the module or of the function, plus an offset
    // in bytes.
    std::int32_t address_of(std::uint32_t variable, std::uint64_t offset, unsigned width);
    // The same, as a register of the program has it: with the rank of the block, where the code
    // knows ranks.
    std::int32_t visible_address(std::uint32_t variable, std::uint64_t offset, unsigned width);
    std::int32_t frame_address(std::uint32_t variable, std::int64_t offset, unsigned width);
    // The address of a function; the function may be undefined.
    std::uint64_t function_address(std::uint32_t function) const {
        return placement_.functions[function];
    }
    // Lists the variables that the code names, for debuggers.
    void describe();

  private:
    std::uint64_t variable_address(std::uint32_t variable) const;

    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    RegisterFile& registers_;
    const Placement& placement_;
    std::unordered_map<std::uint32_t, std::uint64_t> shared_at_;
    std::set<std::uint32_t> named_;
};

}  // namespace cupola::cpu::interpreter
