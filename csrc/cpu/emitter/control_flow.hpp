// csrc/cpu/emitter/control_flow.hpp - branches between basic blocks.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/function_part.hpp"
#include "cpu/emitter/loop_batches.hpp"
#include "cpu/emitter/reconvergence_masks.hpp"

namespace cupola::cpu::compiler {

class ControlFlow {
  public:
    ControlFlow(const KernelAnalysis& analysis, CppText& out, Operands& operands,
                const FunctionPart& part, const LoopBatches& loops, ReconvergenceMasks& masks)
        : analysis_(analysis),
          out_(out),
          operands_(operands),
          part_(part),
          loops_(loops),
          masks_(masks) {}

    void emit_dispatch(const std::set<std::uint32_t>& entries);
    // Emits what follows the last operation n of block b.
    void emit_transfer(std::uint32_t b, std::uint32_t n);
    // Ends block b: emits its labels for lanes that were rescheduled, where they are used.
    void emit_reschedule(std::uint32_t b);
    // Emits these labels of the blocks that share them.
    void emit_shared_reschedule();
    // The text of a jump from block b to the block where the active lanes continue.
    std::string jump_to_active(std::uint32_t b);

  private:
    void emit_branch(std::uint32_t b, std::uint32_t to, bool charged, std::uint32_t n);
    void emit_divergence(std::uint32_t b, std::uint32_t n);
    void emit_jump_to_next(const std::string& label);

    const KernelAnalysis& analysis_;
    CppText& out_;
    Operands& operands_;
    const FunctionPart& part_;
    const LoopBatches& loops_;
    ReconvergenceMasks& masks_;
    // Whether labels O and A of the current block are used.
    bool uses_reschedule_ = false, uses_active_label_ = false;
};

}  // namespace cupola::cpu::compiler
