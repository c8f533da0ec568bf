// csrc/cpu/emitter/statements.hpp - the operations of a basic block as C++ statements.
#pragma once

#include <cstdint>
#include <set>

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/computations.hpp"
#include "cpu/emitter/memory_accesses.hpp"

namespace cupola::cpu::compiler {

class Statements {
  public:
    Statements(const KernelAnalysis& analysis, CppText& out, Operands& operands,
               const FunctionPart& part, const AddressChecks& addresses, Computations& computations,
               MemoryAccesses& accesses, HandlerCalls& handlers)
        : analysis_(analysis),
          out_(out),
          operands_(operands),
          part_(part),
          addresses_(addresses),
          computations_(computations),
          accesses_(accesses),
          handlers_(handlers) {}

    // Emits the statements of block b, without its barrier of the thread block.
    void emit_block(std::uint32_t b);
    // Emits operation n of block b. Control flow emits its branch.
    void emit(std::uint32_t b, std::uint32_t n);

  private:
    std::set<std::uint32_t> unused_results(std::uint32_t b) const;
    bool is_uniform(const OpEffects& op) const;
    void emit_ballot(std::uint32_t b, std::uint32_t n);
    void emit_shuffle(std::uint32_t b, std::uint32_t n);
    void emit_barrier(std::uint32_t b, std::uint32_t n);

    const KernelAnalysis& analysis_;
    CppText& out_;
    Operands& operands_;
    const FunctionPart& part_;
    const AddressChecks& addresses_;
    Computations& computations_;
    MemoryAccesses& accesses_;
    HandlerCalls& handlers_;
};

}  // namespace cupola::cpu::compiler
