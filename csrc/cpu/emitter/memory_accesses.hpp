// csrc/cpu/emitter/memory_accesses.hpp - loads, stores and atomics as C++ statements.
#pragma once

#include <cstdint>
#include <string>

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/address_checks.hpp"
#include "cpu/emitter/control_flow.hpp"
#include "cpu/emitter/handler_calls.hpp"

namespace cupola::cpu::compiler {

class MemoryAccesses {
  public:
    MemoryAccesses(const KernelAnalysis& analysis, CppText& out, Operands& operands,
                   const FunctionPart& part, const AddressChecks& addresses, ControlFlow& flow,
                   HandlerCalls& handlers)
        : analysis_(analysis),
          out_(out),
          operands_(operands),
          part_(part),
          addresses_(addresses),
          flow_(flow),
          handlers_(handlers) {}

    // Whether accesses without a check in advance are outlined from now on.
    void set_outlines(bool on) { outlines_ = on; }
    void emit_access(std::uint32_t b, std::uint32_t n);
    void emit_atomic(std::uint32_t b, std::uint32_t n);
    // A call that defers an update. It returns false if the address is not allowed.
    std::string deferred_atomic(std::uint32_t n);

  private:
    void clear_variable(const Register& r, const OpEffects& op);
    std::string copy_operand(const Access& access, const std::string& operand);
    bool has_variables(const OpEffects& op) const;
    std::string observers() const;
    std::string atomic_type(const OpEffects& op, bool returns) const;
    std::string operand_offsets(const OpEffects& op) const;

    const KernelAnalysis& analysis_;
    CppText& out_;
    Operands& operands_;
    const FunctionPart& part_;
    const AddressChecks& addresses_;
    ControlFlow& flow_;
    HandlerCalls& handlers_;
    bool outlines_ = false;
};

}  // namespace cupola::cpu::compiler
