// csrc/cpu/emitter/function_part.hpp - the basic blocks of the emitted function: their loops,
// labels and registers.
//
// A whole kernel is one part. A large kernel is split into parts, each a function.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "cpu/analysis/kernel_analysis.hpp"

namespace cupola::cpu::compiler {

// Whether the register is a variable that is spilled when a warp leaves the function.
inline bool is_spilled(const Register& r) {
    return !r.in_file && !r.constant && !r.special && !r.uniform;
}

class FunctionPart {
  public:
    // All blocks of the kernel.
    explicit FunctionPart(const KernelAnalysis& analysis)
        : last_(static_cast<std::uint32_t>(analysis.blocks.size() - 1)), analysis_(analysis) {}
    // Selects blocks `first` to `last` of a kernel that is split.
    void select(std::uint32_t first, std::uint32_t last);
    // Selects the function that calls the parts. It keeps no registers in variables.
    void select_caller() { registers_.clear(); }

    std::uint32_t first() const { return first_; }
    std::uint32_t last() const { return last_; }
    bool is_split() const { return split_; }
    bool has(std::uint32_t b) const { return b >= first_ && b <= last_; }

    // Whether a loop that is wholly in the part begins at block b.
    bool is_head(std::uint32_t b) const;
    // The header of the innermost loop that contains block b or starts there, if the part contains
    // that loop; -1 if there is none.
    std::int32_t innermost_loop(std::uint32_t b) const;
    // The header of the innermost loop that contains block b and begins before block b; -1 if there
    // is none.
    std::int32_t enclosing_loop(std::uint32_t b) const;

    // The label where control continues after block `last` in a loop. In a part of a split kernel,
    // blocks outside loops share the dispatch.
    std::string label_after(std::uint32_t last, std::int32_t loop) const;
    // The label after block b, and after the loop that it is the header of.
    std::string label_past(std::uint32_t b) const;
    // A label after block b for lanes that were rescheduled. In a part of a split kernel, blocks
    // outside loops share these labels.
    std::string label(const char* name, std::uint32_t b) const;
    // Whether a warp that waits after block b may switch to the next warp at once.
    bool may_switch_warp(std::uint32_t b) const;
    // A jump to block b, in which all lanes of the group run.
    static std::string enter(std::uint32_t b);

    // Registers that a part of a split kernel uses, and those that it writes.
    const std::set<std::int32_t>& registers() const { return registers_; }
    const std::set<std::int32_t>& writes() const { return writes_; }
    // Fills or spills the part's registers that are live at the start of a basic block.
    std::string fill_live(std::uint32_t b) const;
    std::string spill_live(std::uint32_t b) const;

    // The name of a variable that a split kernel has in the frame of its parts.
    std::string in_frame(const std::string& name) const { return (split_ ? "f." : "") + name; }
    std::string regions() const { return in_frame("regions"); }
    // Emitted before an operation that changes or reads the state of other warps, or leaves the
    // function.
    std::string leave_regions() const;

  private:
    std::uint32_t end_of_loop(std::uint32_t head) const { return analysis_.blocks[head].loop_end; }
    bool is_moved(std::uint32_t register_number, std::uint32_t b) const;

    std::uint32_t first_ = 0, last_;
    bool split_ = false;
    std::set<std::int32_t> registers_, writes_;
    const KernelAnalysis& analysis_;
};

}  // namespace cupola::cpu::compiler
