// csrc/cpu/emitter/block_batch.hpp - the path that whole thread blocks take as a function.
#pragma once

#include <string>
#include <vector>

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
    bool is_statement(const PathStep& step) const;
    void declare_results();
    void emit_statements();
    void emit_step(std::size_t k);
    std::string end_unless_left() const;
    void emit_comparison(std::uint32_t n, const std::string& to);
    void emit_scalar(std::uint32_t n);
    void emit_load(std::uint32_t n);
    void emit_begin(const PathLoop& loop);
    void emit_branch(const PathStep& step);
    void emit_leave(const std::string& leaving);
    void emit_end(const PathLoop& loop);

    const KernelAnalysis& analysis_;
    CppText& out_;
    Operands& operands_;
    AddressChecks& addresses_;
    Computations& computations_;
    MemoryAccesses& accesses_;
    KernelVariables& variables_;
    std::vector<const PathLoop*> open_;  // loops that the current statement is in
};

}  // namespace cupola::cpu::compiler
