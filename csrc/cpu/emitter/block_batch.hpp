// csrc/cpu/emitter/block_batch.hpp - the path that whole thread blocks take as a function.
#pragma once

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/kernel_variables.hpp"
#include "cpu/emitter/memory_accesses.hpp"

namespace cupola::cpu::compiler {

class BlockBatch {
  public:
    BlockBatch(const KernelAnalysis& analysis, CppText& out, Operands& operands,
               AddressChecks& addresses, Computations& computations, MemoryAccesses& accesses,
               KernelVariables& variables)
        : analysis_(analysis),
          out_(out),
          operands_(operands),
          addresses_(addresses),
          computations_(computations),
          accesses_(accesses),
          variables_(variables) {}

    // Emits nothing if the kernel has no such path.
    void emit();

  private:
    void emit_piece_values();
    void emit_statements();

    const KernelAnalysis& analysis_;
    CppText& out_;
    Operands& operands_;
    AddressChecks& addresses_;
    Computations& computations_;
    MemoryAccesses& accesses_;
    KernelVariables& variables_;
};

}  // namespace cupola::cpu::compiler
