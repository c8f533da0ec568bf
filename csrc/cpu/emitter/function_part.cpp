// csrc/cpu/emitter/function_part.cpp - the basic blocks of the emitted function: their loops,
// labels and registers.
#include "cpu/emitter/function_part.hpp"

#include "cpu/emitter/cpp_text.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

void FunctionPart::select(std::uint32_t first, std::uint32_t last) {
    split_ = true;
    first_ = first;
    last_ = last;
    registers_.clear();
    writes_.clear();
    for (std::uint32_t n = analysis_.blocks[first].first; n < analysis_.blocks[last].end; ++n)
        for (const Access& access : analysis_.ops[n].accesses) {
            const Register* r = analysis_.at(access.offset);
            if (!r || !is_spilled(*r)) continue;
            registers_.insert(r->offset);
            if (access.write && r->live_across_blocks && !r->single_assignment)
                writes_.insert(r->offset);
        }
}

bool FunctionPart::is_head(std::uint32_t b) const {
    return analysis_.blocks[b].is_loop_header && has(b) && has(end_of_loop(b));
}

std::int32_t FunctionPart::innermost_loop(std::uint32_t b) const {
    const std::int32_t head = analysis_.blocks[b].loop;
    return head >= 0 && is_head(static_cast<std::uint32_t>(head)) ? head : -1;
}

std::int32_t FunctionPart::enclosing_loop(std::uint32_t b) const {
    if (!is_head(b)) return innermost_loop(b);
    for (std::uint32_t head = b; head-- > first_;)
        if (is_head(head) && end_of_loop(head) >= end_of_loop(b))
            return static_cast<std::int32_t>(head);
    return -1;
}

std::string FunctionPart::label_after(std::uint32_t last, std::int32_t loop) const {
    if (loop < 0 && split_) return "dispatch";
    const std::uint32_t end = loop < 0 ? last_ : end_of_loop(static_cast<std::uint32_t>(loop));
    if (last < end) return "S" + to_string(last + 1);
    return loop < 0 ? "dispatch" : "E" + to_string(loop);
}

std::string FunctionPart::label_past(std::uint32_t b) const {
    return label_after(is_head(b) ? end_of_loop(b) : b, enclosing_loop(b));
}

std::string FunctionPart::label(const char* name, std::uint32_t b) const {
    return name + (split_ && innermost_loop(b) < 0 && !may_switch_warp(b) ? "" : to_string(b));
}

bool FunctionPart::may_switch_warp(std::uint32_t b) const {
    return analysis_.ops[analysis_.blocks[b].end - 1].entry_after &&
           b + 1 < analysis_.blocks.size();
}

std::string FunctionPart::enter(std::uint32_t b) {
    return "{ mask = w.mask; goto L" + to_string(b) + "; }";
}

bool FunctionPart::is_moved(std::uint32_t register_number, std::uint32_t b) const {
    const Register& r = analysis_.registers[register_number];
    return analysis_.blocks[b].live[register_number] && is_spilled(r) &&
           (!split_ || registers_.count(r.offset) != 0);
}

std::string FunctionPart::fill_live(std::uint32_t b) const {
    std::string text;
    for (std::uint32_t n = 0; n < analysis_.registers.size(); ++n)
        if (is_moved(n, b)) text += fill(analysis_.registers[n]) + " ";
    return text;
}

std::string FunctionPart::spill_live(std::uint32_t b) const {
    std::string text;
    for (std::uint32_t n = 0; n < analysis_.registers.size(); ++n) {
        const Register& r = analysis_.registers[n];
        if (!r.single_assignment && is_moved(n, b)) text += spill(r) + " ";
    }
    return text;
}

std::string FunctionPart::leave_regions() const {
    if (!analysis_.has_barrier_regions) return "";
    return "if (" + regions() + ".active) " + regions() + ".leave(w, s); ";
}

}  // namespace cupola::cpu::compiler
