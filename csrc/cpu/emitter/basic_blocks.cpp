// csrc/cpu/emitter/basic_blocks.cpp - basic blocks with their checks, statements and branches.
#include "cpu/emitter/basic_blocks.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

void BasicBlocks::emit(std::uint32_t b) {
    const Block& block = analysis_.blocks[b];
    if (!part_.is_split() || part_.enclosing_loop(b) >= 0)
        out_.emit("S" + to_string(b) + ": if (target != " + to_string(block.first) + ") goto " +
                  part_.label_past(b) + "; mask = w.mask;");
    emit_body(b);
    // After the last block of a loop, control goes back to the loop's header, or leaves the loop.
    for (std::uint32_t head = b + 1; head-- > part_.first();)
        if (part_.is_head(head) && analysis_.blocks[head].loop_end == b)
            out_.emit("E" + to_string(head) +
                      ": if (target == " + to_string(analysis_.blocks[head].first) + ") " +
                      FunctionPart::enter(head) + " goto " + part_.label_past(head) + ";");
}

// Emits the statements of block b, and its branches.
void BasicBlocks::emit_body(std::uint32_t b) {
    const std::string number = to_string(b);
    const std::size_t beginning = out_.size();
    out_.emit("{");
    addresses_.emit_block(b);
    loops_.emit_prediction(b);
    const bool large = is_large(analysis_.blocks[b]);
    // The next iteration, or the first one.
    const std::string iteration = loops_.in_loop() ? " " + loops_.label_of_iteration(b) : "";
    out_.insert(beginning, "    L" + number + ":" + iteration + "\n");
    const bool by_lane = analysis_.blocks[b].is_lane_loop && tier_ != Tier::quick;
    if (by_lane) {
        lane_loops_.emit(b);
        out_.emit("if (!by_lane) {");
    }
    if (!addresses_.groups().empty()) {
        // Large code has no version for the case that some lanes are inactive.
        std::string holds = large ? "mask == all_lanes" : "";
        for (const AccessGroup& group : addresses_.groups())
            holds += (holds.empty() ? "" : " && ") + group.name + ".holds";
        out_.emit("if (__builtin_expect(" + holds + ", 1)) {");
        if (!large) out_.emit("if (__builtin_expect(mask == all_lanes, 1)) {");
        operands_.set_path(Path::all_lanes);
        if (loops_.in_loop()) loops_.emit_begin();
        statements_.emit_block(b);
        if (loops_.in_loop()) loops_.emit_end();
        if (!large) {
            out_.emit("} else {");
            operands_.set_path(Path::checked);
            statements_.emit_block(b);
            out_.emit("}");
        }
        operands_.set_path(Path::unchecked);
        out_.emit("} else {");
        accesses_.set_outlines(large);
    }
    if (tier_ == Tier::quick && !addresses_.groups().empty() && handlers_.may_run(b))
        handlers_.emit_block(b);
    else
        statements_.emit_block(b);
    accesses_.set_outlines(part_.is_split());
    if (!addresses_.groups().empty()) out_.emit("}");
    if (by_lane) out_.emit("}");
    // A barrier ends its block.
    const std::uint32_t last = analysis_.blocks[b].end - 1;
    if (analysis_.is_block_barrier(last)) statements_.emit(b, last);
    if (!analysis_.blocks[b].sums.empty()) emit_canonical_nans(b);
    flow_.emit_transfer(b, last);
    out_.emit("}");
    flow_.emit_reschedule(b);
}

// Where lanes leave loop b.
void BasicBlocks::emit_canonical_nans(std::uint32_t b) {
    const std::uint32_t last = analysis_.blocks[b].end - 1;
    const bool negate = (analysis_.kernel.code[last].flags & interpreter::flag::negate) != 0;
    out_.emit("{");
    const std::string p = operands_.input(analysis_.ops[last].accesses[0]);
    out_.emit("if ((mask & " + std::string(negate ? "~" : "") + p + ".bits) != mask) {");
    for (const std::uint32_t r : analysis_.blocks[b].sums)
        out_.emit("make_nans_canonical(mask, " + analysis_.registers[r].name() + ");");
    out_.emit("} }");
}

// Whether a compiler would take long for a second version of the block, or for a check of each
// access: each check has a branch that leaves the block with all live registers.
bool BasicBlocks::is_large(const Block& block) const {
    constexpr std::uint32_t max_ops = 60, max_kernel_ops = 100;
    return tier_ == Tier::quick || part_.is_split() || block.end - block.first > max_ops ||
           (block.loop < 0 && analysis_.ops.size() > max_kernel_ops);
}

}  // namespace cupola::cpu::compiler
