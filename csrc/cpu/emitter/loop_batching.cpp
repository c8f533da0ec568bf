// csrc/cpu/emitter/loop_batching.cpp - emits loops whose iterations are checked in batches.
//
// It applies to a loop of one basic block whose addresses have constant strides. If the accesses of
// this iteration, of the next one and of a later one are allowed, and their distances match the
// strides, those between are allowed too. If the lanes that exit first do not exit by then, no lane
// does.
#include "cpu/analysis/passes.hpp"
#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

// The comparison that decides the loop's branch, if its later results can be predicted; else -1.
std::int64_t CppEmitter::predictable_compare(std::uint32_t b) const {
    const Block& block = analysis_.blocks[b];
    const OpEffects& last = analysis_.ops[block.end - 1];
    if (!block.is_loop_header || block.loop_end != b || last.kind != Kind::branch ||
        last.targets[0] != block.first)
        return -1;
    std::int64_t found = -1;
    for (std::uint32_t n = block.first; n + 1 < block.end; ++n) {
        const OpEffects& op = analysis_.ops[n];
        if (op.changes_flow || op.no_fallthrough || op.may_retry || op.entry_after) return -1;
        for (const Access& access : op.accesses)
            if (access.write && access.offset == last.accesses[0].offset) found = n;
    }
    return found >= 0 && is_ordered(analysis_.ops[static_cast<std::uint32_t>(found)]) ? found : -1;
}

// The stride of a register between iterations as an expression; "" if it is unknown.
std::string CppEmitter::stride_of(std::uint32_t b, std::int32_t offset) {
    const Block& block = analysis_.blocks[b];
    const OpEffects* writer = nullptr;
    for (std::uint32_t n = block.first; n < block.end; ++n)
        for (const Access& access : analysis_.ops[n].accesses) {
            if (!access.write || access.offset != offset) continue;
            if (writer) return "";
            writer = &analysis_.ops[n];
        }
    if (!writer) return "0";
    if (writer->guarded || writer->kind != Kind::lanes ||
        writer->origin.form.opcode() != ptx::Opcode::add || writer->accesses.size() != 3 ||
        !ptx::is_integer(writer->origin.key.type) ||
        ptx::field::sat.get(writer->origin.key.modifiers) != 0)
        return "";
    const Access &a = writer->accesses[1], &c = writer->accesses[2];
    const Access& other = a.offset == offset ? c : a;
    const Register* r = analysis_.at(other.offset);
    if ((a.offset != offset && c.offset != offset) || other.offset == offset) return "";
    return !r || r->constant || r->uniform ? input(other) + ".value" : "";
}

std::string CppEmitter::loop_batch(std::uint32_t b) const {
    return (split_ ? "f.loop_batch" : "loop_batch") + to_string(b);
}

// Emits the prediction: a function that evaluates a later iteration, and its use. Returns whether
// the loop can be batched.
bool CppEmitter::emit_prediction(std::uint32_t b) {
    const std::int64_t compare = compare_operands_.empty() ? -1 : predictable_compare(b);
    if (compare < 0 || groups_.empty()) return false;
    // Three iterations prove those between only for linear values.
    for (const AffineResult& each : derived_)
        if (each.affine.proof != Proof::linear) return false;
    std::string text;
    for (const DetectedAffine& base : detected_) {
        const std::string stride = stride_of(b, base.offset);
        if (stride.empty()) return false;
        if (stride != "0")
            text += "const auto " + base.name + " = advance(first_" + base.name + ", k, " + stride +
                    ");\n";
    }
    for (const DetectedAffine& base : detected_)
        emit("const auto first_" + base.name + " = " + base.name + ";");
    const OpEffects& last = analysis_.ops[analysis_.blocks[b].end - 1];
    const bool negate =
        (analysis_.kernel.code[analysis_.blocks[b].end - 1].flags & interpreter::flag::negate) != 0;
    unsigned count = 0;
    std::string holds = "true";
    const auto add_value = [&](const std::string& value) {
        text += "x[" + to_string(count++) + "] = " + value + ";\n";
    };
    for (const AffineResult& each : derived_) text += each.text + "\n";
    for (const std::string& each : checks_) text += each + "\n";
    for (const AccessGroup& g : groups_) {
        holds += " & " + g.name + ".holds";
        add_value(g.name + ".low");
        add_value(g.name + ".high");
    }
    for (const AffineResult& each : derived_) {
        if (!each.widens) continue;
        add_value("value_at<0>(" + each.name + ").value");
        add_value("value_at<lanes / 2>(" + each.name + ").value");
    }
    const std::string at = to_string(count);
    count += 4;
    text += "return static_cast<bool>((" + holds + ") & all_lanes_compare<" +
            row_type(analysis_.ops[static_cast<std::uint32_t>(compare)]) + ", " +
            (negate ? "false" : "true") + ">(" + compare_operands_ + ", x + " + at + "));";
    const std::string cost = to_string(analysis_.kernel.code[analysis_.blocks[b].end - 1].cost);
    frame_ += "    LoopBatch<" + to_string(count) + "> loop_batch" + to_string(b) + ";\n";
    emit("auto& strides = " + loop_batch(b) + ".strides[w.index];");
    emit("if (remaining != 0) --remaining;");
    emit("else if (predict && mask == all_lanes && code + " + to_string(last.targets[0]) +
         " < w.limit) {");
    emit("remaining = predict_iterations<" + to_string(count) +
         ">([=, &w](std::uint64_t k, std::uint64_t* x) { (void)w; (void)k;");
    text_ += text + "\n";
    emit("}, predict, w.budget, " + cost + ", strides); }");
    std::string far = "false";
    for_each_prefetched([&](const std::string&, const std::string& n) {
        far += " || is_far_stride(strides[" + n + "])";
    });
    emit("const bool interleaved = remaining >= iterations_per_slice && (" + far + ");");
    emit("std::uint32_t batched = interleaved ? iterations_per_slice - 1 : remaining;");
    emit("remaining -= batched;");
    return true;
}

// Calls use(name, index in `strides`) for each access group that an iteration prefetches.
void CppEmitter::for_each_prefetched(
    const std::function<void(const std::string&, const std::string&)>& use) {
    for (std::size_t n = 0; n < groups_.size(); ++n)
        if (!groups_[n].shared && groups_[n].step != 0) use(groups_[n].name, to_string(2 * n));
}

// Emitted around the statements of an iteration.
void CppEmitter::begin_loop_batch() {
    for (std::size_t n = 0; n < 2 * groups_.size(); ++n)
        emit("const std::uint64_t stride" + to_string(n) + " = strides[" + to_string(n) + "];");
    for_each_prefetched([&](const std::string&, const std::string& n) {
        emit("const std::uint64_t distance" + n +
             " = (interleaved ? interleaved_prefetch_distance : prefetch_distance) * stride" + n +
             ";");
    });
    emit("for (;; --batched) {");
}
void CppEmitter::end_loop_batch() {
    emit("if (batched == 0) break;");
    unsigned n = 0;
    for (const AccessGroup& g : groups_) {
        emit(g.name + ".low += stride" + to_string(n) + "; " + g.name + ".high += stride" +
             to_string(n + 1) + ";");
        n += 2;
    }
    for_each_prefetched([&](const std::string& name, const std::string& n) {
        emit("prefetch(" + name + ", distance" + n + ");");
    });
    emit("}");
}

// Whether warps may yield at a loop header, with all their registers spilled.
bool CppEmitter::yields_in_loop() const {
    if (split_) return false;
    for (std::uint32_t b = 0; b < analysis_.blocks.size(); ++b)
        if (analysis_.blocks[b].entry && predictable_compare(b) >= 0) return true;
    return false;
}

// Continues with the next iteration of loop b, or switches to the next warp.
std::string CppEmitter::next_iteration(std::uint32_t b) const {
    const std::string number = to_string(b);
    std::string yield;
    if (analysis_.blocks[b].entry && !split_)
        yield = "if (remaining != 0) { " + leave_regions() +
                "if (Warp* const onto = next_ready_warp(each, s, target)) { " +
                move_live(b, "spill") + loop_batch(b) +
                ".save(w, remaining, predict); yield_at(w, next); each = onto; continue; } } ";
    return "{ " + yield + "goto R" + number + "; }";
}

}  // namespace cupola::cpu::compiler
