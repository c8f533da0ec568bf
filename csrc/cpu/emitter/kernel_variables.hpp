// csrc/cpu/emitter/kernel_variables.hpp - a kernel's variables, and their fills and spills where
// warps enter and leave.
#pragma once

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/computations.hpp"
#include "cpu/emitter/function_part.hpp"

namespace cupola::cpu::compiler {

inline bool is_of_block(const Register& r) { return r.uniform && !r.constant && !r.per_warp; }
inline bool is_of_warp(const Register& r) { return r.per_warp; }

class KernelVariables {
  public:
    KernelVariables(const KernelAnalysis& analysis, CppText& out, const FunctionPart& part,
                    Computations& computations)
        : analysis_(analysis), out_(out), part_(part), computations_(computations) {}

    using Filter = bool (*)(const Register& r);
    void declare(const Register& r);
    // Declares the variables of a warp.
    void declare_all();
    // Declares and computes the uniform values of a thread block or a warp.
    void define_uniforms(Filter filter);
    void compute_uniforms(Filter filter);
    // Emits the code of a warp that starts or resumes, and the code of a warp that leaves the
    // function.
    void emit_entry();
    void emit_exit();

  private:
    void spill_uniforms();
    bool yields_in_loop() const;
    bool spills_uniforms_early() const;

    const KernelAnalysis& analysis_;
    CppText& out_;
    const FunctionPart& part_;
    Computations& computations_;
};

}  // namespace cupola::cpu::compiler
