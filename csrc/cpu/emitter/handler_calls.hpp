// csrc/cpu/emitter/handler_calls.hpp - calls of the interpreter's handlers.
#pragma once

#include <cstdint>

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/control_flow.hpp"

namespace cupola::cpu::compiler {

class HandlerCalls {
  public:
    HandlerCalls(const KernelAnalysis& analysis, CppText& out, const Operands& operands,
                 const ReconvergenceMasks& masks, ControlFlow& flow)
        : analysis_(analysis), out_(out), operands_(operands), masks_(masks), flow_(flow) {}

    // Calls the handler of operation n in block b: spills the operands that it reads, and fills
    // those that it writes.
    void emit(std::uint32_t b, std::uint32_t n);
    // Ends the statement of a fast path, which begins with a condition: otherwise the handler runs.
    void emit_else(std::uint32_t b, std::uint32_t n);
    // Whether the handlers may run block b: its operations only compute and access memory.
    bool may_run(std::uint32_t b) const;
    // Calls the handlers of block b's operations in a loop, up to its branch.
    void emit_block(std::uint32_t b);

  private:
    std::uint32_t end_of_run(std::uint32_t b) const;
    bool reads(std::uint32_t n, const Register& r) const;
    void emit_replaced(std::uint32_t first, std::uint32_t end);

    const KernelAnalysis& analysis_;
    CppText& out_;
    const Operands& operands_;
    const ReconvergenceMasks& masks_;
    ControlFlow& flow_;
};

}  // namespace cupola::cpu::compiler
