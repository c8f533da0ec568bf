// csrc/cpu/emitter/basic_blocks.hpp - basic blocks with their checks, statements and branches.
#pragma once

#include <cstdint>

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/control_flow.hpp"
#include "cpu/emitter/lane_loops.hpp"
#include "cpu/emitter/statements.hpp"
#include "cpu/emitter/tier.hpp"

namespace cupola::cpu::compiler {

class BasicBlocks {
  public:
    BasicBlocks(const KernelAnalysis& analysis, CppText& out, Operands& operands,
                const FunctionPart& part, AddressChecks& addresses, LoopBatches& loops,
                LaneLoops& lane_loops, ControlFlow& flow, MemoryAccesses& accesses,
                Statements& statements, HandlerCalls& handlers, Tier tier)
        : analysis_(analysis),
          out_(out),
          operands_(operands),
          part_(part),
          addresses_(addresses),
          loops_(loops),
          lane_loops_(lane_loops),
          flow_(flow),
          accesses_(accesses),
          statements_(statements),
          handlers_(handlers),
          tier_(tier) {}

    void emit(std::uint32_t b);

  private:
    void emit_body(std::uint32_t b);
    void emit_canonical_nans(std::uint32_t b);
    bool is_large(const Block& block) const;

    const KernelAnalysis& analysis_;
    CppText& out_;
    Operands& operands_;
    const FunctionPart& part_;
    AddressChecks& addresses_;
    LoopBatches& loops_;
    LaneLoops& lane_loops_;
    ControlFlow& flow_;
    MemoryAccesses& accesses_;
    Statements& statements_;
    HandlerCalls& handlers_;
    const Tier tier_;
};

}  // namespace cupola::cpu::compiler
