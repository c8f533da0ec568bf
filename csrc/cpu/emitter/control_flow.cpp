// csrc/cpu/emitter/control_flow.cpp - branches between basic blocks.
//
// As in the interpreter, lanes at the lowest pc run first. While no group waits below the target of
// a branch, one comparison is enough. Otherwise the interpreter's functions choose the group, and
// control moves forward past the basic blocks to its pc.
//
// Labels of basic block b: L<b> enters, S<b> enters if it is the target and skips it otherwise.
// R<b> is the next iteration of a batched loop, and E<b> follows a loop's last block. O<b>
// reschedules lanes, and A<b> continues where the active lanes are then.
#include "cpu/emitter/control_flow.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

// All entries pass this switch, also those whose target the compiler could know: a second entry
// into a loop would keep the compiler from treating it as a loop.
void ControlFlow::emit_dispatch(const std::set<std::uint32_t>& entries) {
    out_.emit("dispatch: __asm__ volatile(\"\" : \"+r\"(target)); switch (target) {");
    for (const std::uint32_t b : entries)
        out_.emit("case " + to_string(analysis_.blocks[b].first) + ": " + FunctionPart::enter(b));
    out_.emit("default: goto leave; }");
}

void ControlFlow::emit_reschedule(std::uint32_t b) {
    const bool used = uses_reschedule_ || uses_active_label_;
    if (used && part_.label("O", b) != "O") {
        out_.emit(part_.label("O", b) + ":");
        if (masks_.is_partial(b)) masks_.emit_enqueue_waiting();
        out_.emit("next = reschedule(w, next, s);");
        out_.emit(part_.label("A", b) + ":");
        if (part_.may_switch_warp(b))
            out_.emit(
                "if (w.status == Status::blocked && w.ready_count == 0 && w.waiting_count == 1) "
                "{ " +
                part_.spill_live(b + 1) + "goto next_warp; }");
        emit_jump_to_next(part_.label_after(b, part_.innermost_loop(b)));
    }
    uses_reschedule_ = uses_active_label_ = false;
}

void ControlFlow::emit_shared_reschedule() {
    out_.emit("O:");
    if (masks_.has_points()) masks_.emit_enqueue_waiting();
    out_.emit("next = reschedule(w, next, s);");
    out_.emit("A:");
    emit_jump_to_next("dispatch");
}

void ControlFlow::emit_jump_to_next(const std::string& label) {
    out_.emit("if (!next || next == s.halt) goto halted;");
    out_.emit("target = static_cast<std::uint32_t>(next - code); goto " + label + ";");
}

std::string ControlFlow::jump_to_active(std::uint32_t b) {
    uses_active_label_ = true;
    return "goto " + part_.label("A", b) + ";";
}

// All active lanes branch from block b to the operation `to`.
void ControlFlow::emit_branch(std::uint32_t b, std::uint32_t to, bool charged, std::uint32_t n) {
    const std::uint32_t target = analysis_.block_at(to);
    const bool back = target <= b;
    const std::uint16_t cost = charged ? analysis_.kernel.code[n].cost : 0;
    std::string condition = "next < w.limit", jump = FunctionPart::enter(target);
    out_.emit("next = code + " + to_string(to) + ";");
    if (cost != 0) {
        out_.emit("w.budget -= " + to_string(cost) + ";");
        condition += " && w.budget >= 0";
    }
    if (masks_.is_partial(b)) {
        masks_.emit_arrival(b, target);
        if (masks_.keeps_masks(b, target))
            jump = "goto L" + to_string(target) + ";";
        else
            condition += " && mask == w.mask";
    }
    if (!part_.has(target))
        jump = "goto leave_part;";
    else if (back && !part_.is_head(target))
        jump = "{ target = " + to_string(to) + "; goto dispatch; }";
    else if (target == b && loops_.in_loop())
        jump = loops_.next_iteration(b);
    out_.emit("if (__builtin_expect(" + condition + ", 1)) " + jump);
    out_.emit("goto " + part_.label("O", b) + ";");
    uses_reschedule_ = true;
}

// Emitted where the active lanes take the branch at the end of block b differently.
void ControlFlow::emit_divergence(std::uint32_t b, std::uint32_t n) {
    const std::uint32_t to = analysis_.ops[n].targets[0], target = analysis_.block_at(to);
    const std::int32_t cost =
        analysis_.kernel.code[n].target <= 0 ? analysis_.kernel.code[n].cost : 0;
    std::uint32_t low = 0, high = 0;
    if (masks_.diverges_by_mask(b, target, low, high) && masks_.is_point(high)) {
        out_.emit("if (__builtin_expect(code + " + to_string(analysis_.blocks[high].first) +
                  " <= w.limit, 1)) {");
        out_.emit(masks_.waiting_at(high) + " |= " + (low == target ? "mask & ~taken;" : "taken;"));
        out_.emit(low == target ? "mask = taken;" : "mask &= ~taken;");
        emit_branch(b, analysis_.blocks[low].first, low == target && cost != 0, n);
        out_.emit("}");
    }
    if (masks_.is_partial(b)) masks_.emit_enqueue_waiting();
    out_.emit("next = diverge_branch(w, taken, code + " + to_string(to) + ", code + " +
              to_string(n + 1) + ", " + to_string(cost) + ", s);");
    if (target <= b && part_.is_head(target))
        out_.emit("if (next == code + " + to_string(to) + ") " + FunctionPart::enter(target));
    out_.emit(jump_to_active(b));
}

void ControlFlow::emit_transfer(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    if (op.kind == Kind::jump) return emit_branch(b, op.targets[0], c.target <= 0, n);
    if (op.kind == Kind::branch) {
        const std::string p = operands_.input(op.accesses[0]);
        const bool negate = (c.flags & interpreter::flag::negate) != 0;
        const std::uint32_t to = op.targets[0];
        out_.emit("const std::uint32_t taken = mask & " + std::string(negate ? "~" : "") + p +
                  ".bits;");
        out_.emit("if (taken == 0) {");
        emit_branch(b, n + 1, false, n);
        out_.emit("}");
        const Register* r = analysis_.at(op.accesses[0].offset);
        if (!r || r->uniform) return emit_branch(b, to, c.target <= 0, n);  // the branch is uniform
        out_.emit("if (taken != mask) {");
        emit_divergence(b, n);
        out_.emit("}");
        emit_branch(b, to, c.target <= 0, n);
        return;
    }
    if (op.no_fallthrough) return;  // its handler has set the next pc
    // Handlers continue with the next operation even if other lanes wait, possibly with fewer
    // active lanes. Only branches and joins check for waiting lanes.
    if (op.kind == Kind::join) return emit_branch(b, n + 1, false, n);
    if (masks_.is_partial(b) && !masks_.keeps_masks(b, b + 1)) masks_.emit_enqueue_waiting();
    if (b == part_.last())
        out_.emit("{ next = code + " + to_string(n + 1) + "; goto leave_part; }");
    else
        out_.emit(op.changes_flow ? FunctionPart::enter(b + 1) : "goto L" + to_string(b + 1) + ";");
}

}  // namespace cupola::cpu::compiler
