// csrc/cpu/emitter/cpp_emitter.cpp - emits a kernel's function, and the control flow between its
// basic blocks.
//
// As in the interpreter, lanes at the lowest pc run first. While no group waits below the target of
// a branch, one comparison is enough. Otherwise the interpreter's functions choose the group, and
// control moves forward past the basic blocks to its pc.
//
// Labels of basic block b: L<b> enters, S<b> enters if it is the target and skips it otherwise.
// R<b> is the next iteration of a batched loop, and E<b> follows a loop's last block. O<b>
// reschedules lanes, and A<b> continues where the active lanes are then.
#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

// Each entry fills the live registers. In hostile code that is every register at every entry.
void CppEmitter::check_size() const {
    if (source_.size() + text_.size() > std::size_t{16} << 20)
        throw UnsupportedKernel{"its source is too long"};
}

std::string in_namespace(const std::string& text) {
    return "namespace cupola::cpu::CUPOLA_ISA {\n" + text + "}  // namespace\n";
}

std::string name_of_kernel(std::size_t n) { return "cupola_kernel_" + to_string(n); }

// The header of the innermost loop that contains block b or starts there, if the emitted function
// contains that loop; -1 if there is none.
std::int32_t CppEmitter::innermost_loop(std::uint32_t b) const {
    const std::int32_t head = analysis_.blocks[b].loop;
    return head >= 0 && is_head(static_cast<std::uint32_t>(head)) ? head : -1;
}

// The same; for a loop header, the header of the enclosing loop.
std::int32_t CppEmitter::enclosing_loop(std::uint32_t b) const {
    if (!is_head(b)) return innermost_loop(b);
    for (std::uint32_t head = b; head-- > part_.first;)
        if (is_head(head) && end_of_loop(head) >= end_of_loop(b))
            return static_cast<std::int32_t>(head);
    return -1;
}

// The label where control continues after block `last` in a loop. In a part of a split kernel,
// blocks outside loops share the dispatch.
std::string CppEmitter::label_after(std::uint32_t last, std::int32_t loop) const {
    if (loop < 0 && split_) return "dispatch";
    const std::uint32_t end = loop < 0 ? part_.last : end_of_loop(loop);
    if (last < end) return "S" + to_string(last + 1);
    return loop < 0 ? "dispatch" : "E" + to_string(loop);
}

// The label after block b, and after the loop that it is the header of.
std::string CppEmitter::label_past(std::uint32_t b) const {
    return label_after(is_head(b) ? end_of_loop(b) : b, enclosing_loop(b));
}

// Whether a warp that waits after block b may switch to the next warp at once.
bool CppEmitter::may_switch_warp(std::uint32_t b) const {
    return analysis_.ops[analysis_.blocks[b].end - 1].entry_after &&
           b + 1 < analysis_.blocks.size();
}

// A label after block b for lanes that were rescheduled. In a part of a split kernel, blocks
// outside loops share these labels.
std::string CppEmitter::label(const char* name, std::uint32_t b) const {
    return name + (split_ && innermost_loop(b) < 0 && !may_switch_warp(b) ? "" : to_string(b));
}

void CppEmitter::emit_reschedule(std::uint32_t b) {
    const bool used = uses_reschedule_ || uses_active_label_;
    if (used && label("O", b) != "O") {
        emit(label("O", b) + ":");
        if (partial_[b]) emit_enqueue_waiting();
        emit("next = reschedule(w, next, s);");
        emit(label("A", b) + ":");
        if (may_switch_warp(b))
            emit(
                "if (w.status == Status::blocked && w.ready_count == 0 && w.waiting_count == 1) "
                "{ " +
                move_live(b + 1, "spill") + "goto next_warp; }");
        emit_jump_to_next(label_after(b, innermost_loop(b)));
    }
    uses_reschedule_ = uses_active_label_ = false;
}

void CppEmitter::emit_jump_to_next(const std::string& label) {
    emit("if (!next || next == s.halt) goto halted;");
    emit("target = static_cast<std::uint32_t>(next - code); goto " + label + ";");
}

std::string CppEmitter::jump_to_active(std::uint32_t b) {
    uses_active_label_ = true;
    return "goto " + label("A", b) + ";";
}

// A jump to block b, in which all lanes of the group run.
std::string CppEmitter::enter(std::uint32_t b) const {
    return "{ mask = w.mask; goto L" + to_string(b) + "; }";
}

// All active lanes branch from block b to the operation `to`.
void CppEmitter::emit_branch(std::uint32_t b, std::uint32_t to, bool charged, std::uint32_t n) {
    const std::uint32_t target = analysis_.block_at(to);
    const bool back = target <= b;
    const std::uint16_t cost = charged ? analysis_.kernel.code[n].cost : 0;
    std::string condition = "next < w.limit", jump = enter(target);
    emit("next = code + " + to_string(to) + ";");
    if (cost != 0) {
        emit("w.budget -= " + to_string(cost) + ";");
        condition += " && w.budget >= 0";
    }
    if (partial_[b]) {
        emit_arrival(b, target);
        if (keeps_masks(b, target))
            jump = "goto L" + to_string(target) + ";";
        else
            condition += " && mask == w.mask";
    }
    if (!part_.has(target))
        jump = "goto leave_part;";
    else if (back && !is_head(target))
        jump = "{ target = " + to_string(to) + "; goto dispatch; }";
    else if (target == b && batches_loop_)
        jump = next_iteration(b);
    emit("if (__builtin_expect(" + condition + ", 1)) " + jump);
    emit("goto " + label("O", b) + ";");
    uses_reschedule_ = true;
}

void CppEmitter::emit_transfer(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    if (op.kind == Kind::jump) return emit_branch(b, op.targets[0], c.target <= 0, n);
    if (op.kind == Kind::branch) {
        const std::string p = input(op.accesses[0]);
        const bool negate = (c.flags & interpreter::flag::negate) != 0;
        const std::uint32_t to = op.targets[0];
        emit("const std::uint32_t taken = mask & " + std::string(negate ? "~" : "") + p + ".bits;");
        emit("if (taken == 0) {");
        emit_branch(b, n + 1, false, n);
        emit("}");
        const Register* r = analysis_.at(op.accesses[0].offset);
        if (!r || r->uniform) return emit_branch(b, to, c.target <= 0, n);  // the branch is uniform
        emit("if (taken != mask) {");
        emit_divergence(b, n);
        emit("}");
        emit_branch(b, to, c.target <= 0, n);
        return;
    }
    if (op.no_fallthrough) return;  // its handler has set the next pc
    // Handlers continue with the next operation even if other lanes wait, possibly with fewer
    // active lanes. Only branches and joins check for waiting lanes.
    if (op.kind == Kind::join) return emit_branch(b, n + 1, false, n);
    if (partial_[b] && !keeps_masks(b, b + 1)) emit_enqueue_waiting();
    if (b == part_.last)
        emit("{ next = code + " + to_string(n + 1) + "; goto leave_part; }");
    else
        emit(op.changes_flow ? enter(b + 1) : "goto L" + to_string(b + 1) + ";");
}

// Whether a compiler would take long for a second version of the block, and for its checks of
// single accesses: each has a branch that leaves the block with all live registers.
bool CppEmitter::is_large(const Block& block) const {
    constexpr std::uint32_t max_ops = 60, max_kernel_ops = 100;
    return split_ || block.end - block.first > max_ops ||
           (block.loop < 0 && analysis_.ops.size() > max_kernel_ops);
}

// Emits the statements of block b, and its branches.
void CppEmitter::emit_body(std::uint32_t b) {
    const std::string number = to_string(b);
    const std::size_t beginning = text_.size();
    emit("{");
    emit_address_checks(b);
    batches_loop_ = emit_prediction(b);
    const bool large = is_large(analysis_.blocks[b]);
    // The next iteration, or the first one.
    const std::string iteration =
        batches_loop_ ? " " + loop_batch(b) + ".restore(w, remaining, predict); R" + number + ":"
                      : "";
    text_.insert(beginning, "    L" + number + ":" + iteration + "\n");
    if (!groups_.empty()) {
        // Large code has no version for the case that some lanes are inactive.
        std::string holds = large ? "mask == all_lanes" : "";
        for (const AccessGroup& group : groups_)
            holds += (holds.empty() ? "" : " && ") + group.name + ".holds";
        emit("if (__builtin_expect(" + holds + ", 1)) {");
        if (!large) emit("if (__builtin_expect(mask == all_lanes, 1)) {");
        path_ = Path::all_lanes;
        if (batches_loop_) begin_loop_batch();
        emit_statements(b);
        if (batches_loop_) end_loop_batch();
        if (!large) {
            emit("} else {");
            path_ = Path::checked;
            emit_statements(b);
            emit("}");
        }
        path_ = Path::unchecked;
        emit("} else {");
        outlines_accesses_ = large;
    }
    emit_statements(b);
    outlines_accesses_ = split_;
    if (!groups_.empty()) emit("}");
    // A barrier ends its block.
    const std::uint32_t last = analysis_.blocks[b].end - 1;
    if (analysis_.is_block_barrier(last)) emit_statement(b, last);
    emit_transfer(b, last);
    emit("}");
    emit_reschedule(b);
}

void CppEmitter::emit_block(std::uint32_t b) {
    const Block& block = analysis_.blocks[b];
    if (!split_ || enclosing_loop(b) >= 0)
        emit("S" + to_string(b) + ": if (target != " + to_string(block.first) + ") goto " +
             label_past(b) + "; mask = w.mask;");
    emit_body(b);
    // After a loop's last block: back to its header, or on.
    for (std::uint32_t head = b + 1; head-- > part_.first;)
        if (is_head(head) && analysis_.blocks[head].loop_end == b)
            emit("E" + to_string(head) +
                 ": if (target == " + to_string(analysis_.blocks[head].first) + ") " + enter(head) +
                 " goto " + label_past(head) + ";");
}

// All entries pass this switch, also those whose target the compiler could know: a second entry
// into a loop would keep the compiler from treating it as a loop.
void CppEmitter::emit_dispatch(const std::set<std::uint32_t>& entries) {
    emit("dispatch: __asm__ volatile(\"\" : \"+r\"(target)); switch (target) {");
    for (const std::uint32_t b : entries)
        emit("case " + to_string(analysis_.blocks[b].first) + ": " + enter(b));
    emit("default: goto leave; }");
}

void CppEmitter::begin() {
    text_ = "extern \"C\" __attribute__((visibility(\"default\"))) const DecodedOp* " + name_ +
            "(const DecodedOp* ip, Warp& w, std::byte* r, const RuntimeCallbacks& s) {\n";
    if (!analysis_.batch_path.empty()) emit_block_batch();
}

// The current function is complete.
void CppEmitter::end() {
    source_.functions.push_back(in_namespace(text_));
    text_.clear();
}

void CppEmitter::emit_function() {
    begin();
    emit("const DecodedOp* const code = s.code; const DecodedOp* next;");
    emit("auto target = static_cast<std::uint32_t>(ip - code);");
    define_uniforms(is_of_block);
    if (analysis_.has_barrier_regions) emit("BarrierRegions regions; regions.begin(w, target, s);");
    emit("bool predict = false; std::uint32_t remaining = 0; (void)predict; (void)remaining;");
    find_reconvergence_points();
    const std::size_t frame = text_.size();
    emit("std::uint64_t last_address[" + prefetch_site_count() + "] = {};");
    emit("for (Warp* each = &w;;) {");
    emit("Warp& w = *each; std::byte* const r = w.registers; std::uint32_t mask = w.mask;");
    declare_variables();
    compute_uniforms(is_of_warp);  // for the life of the warp
    emit_affine_quotients();
    emit_entry();
    std::set<std::uint32_t> entries;
    for (std::uint32_t b = 0; b < analysis_.blocks.size(); ++b)
        if (analysis_.blocks[b].entry) entries.insert(b);
    emit_dispatch(entries);
    for (std::uint32_t b = 0; b < analysis_.blocks.size(); ++b) {
        check_size();
        emit_block(b);
    }
    emit_exit();
    text_ += "    }\n}\n";
    text_.insert(frame, frame_);
    end();
}

Source CppEmitter::emit_kernel() {
    part_ = {0, static_cast<std::uint32_t>(analysis_.blocks.size() - 1)};
    if (analysis_.is_large())
        emit_parts();
    else
        emit_function();
    return std::move(source_);
}

// The number of prefetch sites, as an upper bound.
std::string CppEmitter::prefetch_site_count() const {
    std::uint32_t count = 1;
    for (const OpEffects& op : analysis_.ops)
        count += op.kind == Kind::load || op.kind == Kind::store ? 1 : 0;
    return to_string(count);
}

Source source_of(const KernelAnalysis& analysis, std::size_t n) {
    return CppEmitter(analysis, name_of_kernel(n)).emit_kernel();
}

}  // namespace cupola::cpu::compiler
