// csrc/cpu/emitter/loop_batches.cpp - loops whose iterations are checked in batches.
//
// It applies to a loop of one basic block whose addresses have constant strides. If the accesses of
// this iteration, of the next one and of a later one are allowed, and their distances match the
// strides, those between are allowed too. If the lanes that exit first do not exit by then, no lane
// does.
#include "cpu/emitter/loop_batches.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

// The stride of a register between iterations as an expression; "" if it is unknown.
std::string LoopBatches::stride_of(std::uint32_t b, std::int32_t offset) {
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
    return !r || r->constant || r->uniform ? operands_.input(other) + ".value" : "";
}

void LoopBatches::emit_prediction(std::uint32_t b) { in_loop_ = predict(b); }

bool LoopBatches::predict(std::uint32_t b) {
    const std::int64_t compare =
        addresses_.compare_operands().empty() ? -1 : predictable_compare(analysis_, b);
    if (compare < 0 || addresses_.groups().empty()) return false;
    // For linear values alone, three iterations prove all iterations between.
    for (const AffineResult& each : addresses_.derived())
        if (each.affine.proof != Proof::linear) return false;
    std::string text;
    for (const DetectedAffine& base : addresses_.detected()) {
        const std::string stride = stride_of(b, base.offset);
        if (stride.empty()) return false;
        if (stride != "0")
            text += "const auto " + base.name + " = advance(first_" + base.name + ", k, " + stride +
                    ");\n";
    }
    for (const DetectedAffine& base : addresses_.detected())
        out_.emit("const auto first_" + base.name + " = " + base.name + ";");
    const OpEffects& last = analysis_.ops[analysis_.blocks[b].end - 1];
    const bool negate =
        (analysis_.kernel.code[analysis_.blocks[b].end - 1].flags & interpreter::flag::negate) != 0;
    unsigned count = 0;
    std::string holds = "true";
    const auto add_value = [&](const std::string& value) {
        text += "x[" + to_string(count++) + "] = " + value + ";\n";
    };
    for (const AffineResult& each : addresses_.derived()) text += each.text + "\n";
    for (const std::string& each : addresses_.checks()) text += each + "\n";
    for (const AccessGroup& g : addresses_.groups()) {
        holds += " & " + g.name + ".holds";
        add_value(g.name + ".low");
        add_value(g.name + ".high");
    }
    for (const AffineResult& each : addresses_.derived()) {
        if (!each.widens) continue;
        add_value("value_at<0>(" + each.name + ").value");
        add_value("value_at<lanes / 2>(" + each.name + ").value");
    }
    const std::string at = to_string(count);
    count += 4;
    text += "return static_cast<bool>((" + holds + ") & all_lanes_compare<" +
            row_type(analysis_.ops[static_cast<std::uint32_t>(compare)]) + ", " +
            (negate ? "false" : "true") + ">(" + addresses_.compare_operands() + ", x + " + at +
            "));";
    const std::string cost = to_string(analysis_.kernel.code[analysis_.blocks[b].end - 1].cost);
    variables_ += "    LoopBatch<" + to_string(count) + "> loop_batch" + to_string(b) + ";\n";
    out_.emit("auto& strides = " + name_of(b) + ".strides[w.index];");
    out_.emit("if (remaining != 0) --remaining;");
    out_.emit("else if (predict && mask == all_lanes && code + " + to_string(last.targets[0]) +
              " < w.limit) {");
    out_.emit("remaining = predict_iterations<" + to_string(count) +
              ">([=, &w](std::uint64_t k, std::uint64_t* x) { (void)w; (void)k;");
    out_.append(text + "\n");
    out_.emit("}, predict, w.budget, " + cost + ", strides); }");
    std::string far = "false";
    for_each_prefetched([&](const std::string&, const std::string& n) {
        far += " || is_far_stride(strides[" + n + "])";
    });
    out_.emit("const bool interleaved = remaining >= iterations_per_slice && (" + far + ");");
    out_.emit("std::uint32_t batched = interleaved ? iterations_per_slice - 1 : remaining;");
    out_.emit("remaining -= batched;");
    return true;
}

// Calls use(name, index in `strides`) for each access group that an iteration prefetches.
void LoopBatches::for_each_prefetched(
    const std::function<void(const std::string&, const std::string&)>& use) {
    for (std::size_t n = 0; n < addresses_.groups().size(); ++n)
        if (!addresses_.groups()[n].shared && addresses_.groups()[n].step != 0)
            use(addresses_.groups()[n].name, to_string(2 * n));
}

void LoopBatches::emit_begin() {
    for (std::size_t n = 0; n < 2 * addresses_.groups().size(); ++n)
        out_.emit("const std::uint64_t stride" + to_string(n) + " = strides[" + to_string(n) +
                  "];");
    for_each_prefetched([&](const std::string&, const std::string& n) {
        out_.emit("const std::uint64_t distance" + n +
                  " = (interleaved ? interleaved_prefetch_distance : prefetch_distance) * stride" +
                  n + ";");
    });
    out_.emit("for (;; --batched) {");
}

void LoopBatches::emit_end() {
    out_.emit("if (batched == 0) break;");
    unsigned n = 0;
    for (const AccessGroup& g : addresses_.groups()) {
        out_.emit(g.name + ".low += stride" + to_string(n) + "; " + g.name + ".high += stride" +
                  to_string(n + 1) + ";");
        n += 2;
    }
    for_each_prefetched([&](const std::string& name, const std::string& n) {
        out_.emit("prefetch(" + name + ", distance" + n + ");");
    });
    out_.emit("}");
}

std::string LoopBatches::label_of_iteration(std::uint32_t b) const {
    return name_of(b) + ".restore(w, remaining, predict); R" + to_string(b) + ":";
}

std::string LoopBatches::next_iteration(std::uint32_t b) const {
    const std::string number = to_string(b);
    std::string yield;
    if (analysis_.blocks[b].entry && !part_.is_split())
        yield = "if (remaining != 0) { " + part_.leave_regions() +
                "if (Warp* const onto = next_ready_warp(each, s, target)) { " +
                part_.spill_live(b) + name_of(b) +
                ".save(w, remaining, predict); yield_at(w, next); each = onto; continue; } } ";
    return "{ " + yield + "goto R" + number + "; }";
}

}  // namespace cupola::cpu::compiler
