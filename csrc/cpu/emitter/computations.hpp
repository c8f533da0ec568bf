// csrc/cpu/emitter/computations.hpp - operations on registers as C++ statements.
#pragma once

#include <cstdint>
#include <string>

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/address_checks.hpp"
#include "cpu/emitter/function_part.hpp"
#include "cpu/emitter/operands.hpp"

namespace cupola::cpu::compiler {

inline bool is_computation(const OpEffects& op) {
    return op.kind == Kind::lanes || op.kind == Kind::logic || op.kind == Kind::pack ||
           op.kind == Kind::unpack;
}

class Computations {
  public:
    Computations(const KernelAnalysis& analysis, CppText& out, Operands& operands,
                 const FunctionPart& part, const AddressChecks& addresses)
        : analysis_(analysis), out_(out), operands_(operands), part_(part), addresses_(addresses) {}

    void emit(std::uint32_t n);
    // Emits an operation with a uniform result, as scalar code.
    void emit_uniform(std::uint32_t n);
    // Emits an operation that loads a parameter into lanes.
    void emit_parameter(std::uint32_t n);
    // Emits an operation that counts lines or branches.
    void emit_count(std::uint32_t n);

  private:
    void emit_lanes(std::uint32_t n);
    void emit_logic(std::uint32_t n);
    void emit_pack(std::uint32_t n);
    void emit_unpack(std::uint32_t n);

    const KernelAnalysis& analysis_;
    CppText& out_;
    Operands& operands_;
    const FunctionPart& part_;
    const AddressChecks& addresses_;
};

}  // namespace cupola::cpu::compiler
