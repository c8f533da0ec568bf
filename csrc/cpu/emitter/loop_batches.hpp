// csrc/cpu/emitter/loop_batches.hpp - loops whose iterations are checked in batches.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/address_checks.hpp"
#include "cpu/emitter/function_part.hpp"

namespace cupola::cpu::compiler {

class LoopBatches {
  public:
    LoopBatches(const KernelAnalysis& analysis, CppText& out, Operands& operands,
                const FunctionPart& part, const AddressChecks& addresses)
        : analysis_(analysis), out_(out), operands_(operands), part_(part), addresses_(addresses) {}

    // Emits the prediction of block b, which becomes the current block: a function that evaluates a
    // later iteration, and its use. Emits nothing unless the block is a loop that can be batched.
    void emit_prediction(std::uint32_t b);
    // Whether the current block is a loop whose iterations are batched.
    bool in_loop() const { return in_loop_; }
    // Emits the code before, and the code after, the statements of an iteration.
    void emit_begin();
    void emit_end();
    // The label of the next iteration of loop b, after the state of a warp that resumes there.
    std::string label_of_iteration(std::uint32_t b) const;
    // Continues with the next iteration of loop b, or switches to the next warp.
    std::string next_iteration(std::uint32_t b) const;
    // Variables of the function that hold the state of its loops.
    const std::string& variables() const { return variables_; }

  private:
    bool predict(std::uint32_t b);
    std::string stride_of(std::uint32_t b, std::int32_t offset);
    std::string name_of(std::uint32_t b) const {
        return part_.in_frame("loop_batch") + std::to_string(b);
    }
    void for_each_prefetched(
        const std::function<void(const std::string&, const std::string&)>& use);

    const KernelAnalysis& analysis_;
    CppText& out_;
    Operands& operands_;
    const FunctionPart& part_;
    const AddressChecks& addresses_;
    bool in_loop_ = false;
    std::string variables_;
};

}  // namespace cupola::cpu::compiler
