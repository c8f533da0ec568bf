// csrc/cpu/emitter/kernel_variables.cpp - emits a kernel's variables, and their fills and spills
// where warps enter and leave.
#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

namespace {
constexpr std::uint32_t none = 0xffffffffu;
}  // namespace

void CppEmitter::declare(const Register& r) {
    if (r.uniform && split_)
        emit("auto& " + r.name() + " = f." + r.name() + ";");
    else if (r.uniform || r.bytes == 0)
        emit(word_type(r.bytes ? r.bytes : 4) + " " + r.name() + ";");
    else
        emit("Lanes<" + to_string(r.bytes) + "> " + r.name() + ";");
}

void CppEmitter::declare_variables() {
    for (const Register& r : analysis_.registers) {
        if (r.in_file || r.constant || is_of_block(r) || (split_ && !r.uniform)) continue;
        declare(r);
    }
}

// Declares and computes the uniform values of a thread block or a warp.
void CppEmitter::define_uniforms(Filter filter) {
    for (const Register& r : analysis_.registers) {
        if (r.in_file || !filter(r)) continue;
        declare(r);
        if (r.ctaid_dimension >= 0)
            emit(r.name() + " = w.block->index_of_block[" + to_string(r.ctaid_dimension) + "];");
    }
    compute_uniforms(filter);
}

void CppEmitter::compute_uniforms(Filter filter) {
    for (const std::uint32_t n : analysis_.uniform) {
        const Register& r = analysis_.registers[n];
        if (r.special && filter(r))
            emit(r.bytes == 0 ? fill(r)
                              : "fill_uniform(" + r.name() + ", r, " + to_string(r.offset) + ");");
    }
    std::uint32_t done = none;
    for (const std::uint32_t n : analysis_.uniform) {
        const Register& r = analysis_.registers[n];
        if (r.special || !filter(r) || r.definition == done) continue;
        done = r.definition;
        emit_uniform(r.definition);
    }
}

// Fills or spills the registers that are live at the start of a basic block.
std::string CppEmitter::move_live(std::uint32_t b, const char* verb) const {
    std::string text;
    const bool spills = std::string(verb) == "spill";
    for (std::uint32_t n = 0; n < analysis_.registers.size(); ++n) {
        const Register& r = analysis_.registers[n];
        if (analysis_.blocks[b].live[n] && is_spilled(r) && is_in_part(r) &&
            !(r.single_assignment && spills))
            text += (spills ? spill(r) : fill(r)) + " ";
    }
    return text;
}

void CppEmitter::spill_uniforms() {
    for (const Register& r : analysis_.registers)
        if (r.uniform && !r.constant && !r.special && r.live_across_blocks)
            emit(r.bytes == 0 ? spill(r)
                              : "spill_uniform(" + r.name() + ", r, " + to_string(r.offset) + ");");
}

void CppEmitter::emit_entry() {
    emit("if (target == 0) {");
    // A register may be read before it is written; it then has the value of the register file.
    emit(move_live(0, "fill"));
    // Operations with unknown operands also read these from the register file.
    for (const auto& [which, offset] : analysis_.kernel.specials) {
        const int index = interpreter::index_dimension(which);
        const Register* r = analysis_.at(offset);
        if (index >= 0 && (!r || r->in_file))
            emit("spill_uniform(w.block->index_of_block[" + to_string(index) + "], r, " +
                 to_string(offset) + ");");
    }
    if (spills_uniforms_early()) spill_uniforms();
    for (const std::uint32_t n : analysis_.hoisted) {
        emit("{ const std::uint32_t mask = w.mask;");
        analysis_.ops[n].kind == Kind::lanes ? emit_lanes(n) : emit_logic(n);
        emit("}");
    }
    if (split_) return emit("}");
    emit("} else {");
    // If no lanes wait, the registers of the active lanes are enough.
    emit("if (w.ready_count + w.waiting_count == 0) switch (target) {");
    for (std::uint32_t b = 1; b < analysis_.blocks.size(); ++b) {
        check_size();
        if (analysis_.blocks[b].entry)
            emit("case " + to_string(analysis_.blocks[b].first) + ": " + move_live(b, "fill") +
                 "goto dispatch;");
    }
    emit("default: break; }");
    for (const Register& r : analysis_.registers)
        if (r.live_across_blocks && is_spilled(r)) emit(fill(r));
    emit("}");
}

void CppEmitter::emit_exit() {
    emit("leave: next = code + target;");
    emit("goto spill_registers;");
    emit("halted: next = nullptr;");
    emit("if (w.status == Status::done) goto next_warp;");
    emit("if (w.status == Status::faulted) return nullptr;");
    emit("spill_registers: " + leave_regions());
    for (const Register& r : analysis_.registers)
        if (!split_ && r.live_across_blocks && is_spilled(r) && !r.single_assignment)
            emit(spill(r));
    if (!spills_uniforms_early()) spill_uniforms();
    emit("return next;");
    // The warp has ended or waits for other warps, and all its registers are spilled.
    emit(std::string("next_warp: each = ") +
         (analysis_.has_barrier_regions ? "regions.next_warp" : "next_ready_warp") +
         "(each, s, target);");
    emit("if (!each) return nullptr;");
}

}  // namespace cupola::cpu::compiler
