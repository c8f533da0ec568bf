// csrc/cpu/emitter/kernel_variables.cpp - a kernel's variables, and their fills and spills where
// warps enter and leave.
#include "cpu/emitter/kernel_variables.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

namespace {
constexpr std::uint32_t none = 0xffffffffu;
}  // namespace

void KernelVariables::declare(const Register& r) {
    if (r.uniform && part_.is_split())
        out_.emit("auto& " + r.name() + " = f." + r.name() + ";");
    else if (r.uniform || r.bytes == 0)
        out_.emit(word_type(r.bytes ? r.bytes : 4) + " " + r.name() + ";");
    else
        out_.emit("Lanes<" + to_string(r.bytes) + "> " + r.name() + ";");
}

void KernelVariables::declare_all() {
    for (const Register& r : analysis_.registers) {
        if (r.in_file || r.constant || is_of_block(r) || (part_.is_split() && !r.uniform)) continue;
        declare(r);
    }
}

void KernelVariables::define_uniforms(Filter filter) {
    for (const Register& r : analysis_.registers) {
        if (r.in_file || !filter(r)) continue;
        declare(r);
        if (r.ctaid_dimension >= 0)
            out_.emit(r.name() + " = w.block->index_of_block[" + to_string(r.ctaid_dimension) +
                      "];");
    }
    compute_uniforms(filter);
}

void KernelVariables::compute_uniforms(Filter filter) {
    for (const std::uint32_t n : analysis_.uniform) {
        const Register& r = analysis_.registers[n];
        if (r.special && filter(r))
            out_.emit(r.bytes == 0
                          ? fill(r)
                          : "fill_uniform(" + r.name() + ", r, " + to_string(r.offset) + ");");
    }
    std::uint32_t done = none;
    for (const std::uint32_t n : analysis_.uniform) {
        const Register& r = analysis_.registers[n];
        if (r.special || !filter(r) || r.definition == done) continue;
        done = r.definition;
        computations_.emit_uniform(r.definition);
    }
}

void KernelVariables::spill_uniforms() {
    for (const Register& r : analysis_.registers)
        if (r.uniform && !r.constant && !r.special && r.live_across_blocks)
            out_.emit(r.bytes == 0 ? spill(r) : spill_uniform(r));
}

// Whether warps may yield at a loop header, with all their registers spilled.
bool KernelVariables::yields_in_loop() const {
    if (part_.is_split()) return false;
    for (std::uint32_t b = 0; b < analysis_.blocks.size(); ++b)
        if (analysis_.blocks[b].entry && predictable_compare(analysis_, b) >= 0) return true;
    return false;
}

// Whether a warp spills uniform values when it starts; otherwise when it leaves the function. Where
// warps run by regions, few warps leave the function elsewhere than at an entry, and an entry needs
// no uniform value.
bool KernelVariables::spills_uniforms_early() const {
    return (analysis_.waits() || yields_in_loop()) && !analysis_.has_barrier_regions;
}

void KernelVariables::emit_entry() {
    out_.emit("if (target == 0) {");
    // A register may be read before it is written; then its value is that of the register file.
    out_.emit(part_.fill_live(0));
    // Operations with unknown operands also read the indices of the block from the register file.
    for (const auto& [which, offset] : analysis_.kernel.specials) {
        const int index = interpreter::index_dimension(which);
        const Register* r = analysis_.at(offset);
        if (index >= 0 && (!r || r->in_file))
            out_.emit("spill_uniform(w.block->index_of_block[" + to_string(index) + "], r, " +
                      to_string(offset) + ");");
    }
    if (spills_uniforms_early()) spill_uniforms();
    for (const std::uint32_t n : analysis_.hoisted) {
        out_.emit("{ const std::uint32_t mask = w.mask;");
        analysis_.ops[n].kind == Kind::lanes ? computations_.emit(n) : computations_.emit(n);
        out_.emit("}");
    }
    if (part_.is_split()) return out_.emit("}");
    out_.emit("} else {");
    // If no lanes wait, the registers of the active lanes are enough.
    out_.emit("if (w.ready_count + w.waiting_count == 0) switch (target) {");
    for (std::uint32_t b = 1; b < analysis_.blocks.size(); ++b) {
        if (analysis_.blocks[b].entry)
            out_.emit("case " + to_string(analysis_.blocks[b].first) + ": " + part_.fill_live(b) +
                      "goto dispatch;");
    }
    out_.emit("default: break; }");
    for (const Register& r : analysis_.registers)
        if (r.live_across_blocks && is_spilled(r)) out_.emit(fill(r));
    out_.emit("}");
}

void KernelVariables::emit_exit() {
    out_.emit("leave: next = code + target;");
    out_.emit("goto spill_registers;");
    out_.emit("halted: next = nullptr;");
    out_.emit("if (w.status == Status::done) goto next_warp;");
    out_.emit("if (w.status == Status::faulted) return nullptr;");
    out_.emit("spill_registers: " + part_.leave_regions());
    for (const Register& r : analysis_.registers)
        if (!part_.is_split() && r.live_across_blocks && is_spilled(r) && !r.single_assignment)
            out_.emit(spill(r));
    if (!spills_uniforms_early()) spill_uniforms();
    out_.emit("return next;");
    // The warp has ended or waits for other warps, and all its registers are spilled.
    out_.emit(std::string("next_warp: each = ") +
              (analysis_.has_barrier_regions ? "regions.next_warp" : "next_ready_warp") +
              "(each, s, target);");
    out_.emit("if (!each) return nullptr;");
}

}  // namespace cupola::cpu::compiler
