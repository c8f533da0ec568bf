// csrc/cpu/emitter/lane_loops.hpp - loops that the lanes execute one after another.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/computations.hpp"
#include "cpu/emitter/function_part.hpp"

namespace cupola::cpu::compiler {

class LaneLoops {
  public:
    LaneLoops(const KernelAnalysis& analysis, CppText& out, Operands& operands,
              const FunctionPart& part, Computations& computations)
        : analysis_(analysis),
          out_(out),
          operands_(operands),
          part_(part),
          computations_(computations) {}

    // Emits loop b for one lane after another, and the variable `by_lane`: whether all lanes have
    // run so. Then only the branch at the end of the block remains.
    void emit(std::uint32_t b);
    // Variables of the function that hold the state of its loops.
    const std::string& variables() const { return variables_; }

  private:
    // Loads at constant distances from one value of a register. The first load checks all.
    struct LoadGroup {
        std::uint32_t first;
        std::int64_t begin, end;
        unsigned align;
        std::string name;
    };

    void find_groups(const Block& block);
    void find_registers(const Block& block);
    bool is_copied(const Register* r) const;
    void emit_copies();
    void emit_ranges();
    void emit_lane(const Block& block, const std::string& fail);
    void emit_load(std::uint32_t n, const std::string& fail);
    void emit_results();

    const KernelAnalysis& analysis_;
    CppText& out_;
    Operands& operands_;
    const FunctionPart& part_;
    Computations& computations_;
    std::string variables_;
    // Of the current loop: its registers, and those that it writes and that are live after it.
    std::vector<const Register*> registers_, results_;
    std::set<const Register*> inputs_;  // those that an iteration reads before it writes them
    std::vector<LoadGroup> groups_;
    std::map<std::uint32_t, std::size_t> group_of_;  // by operation
};

}  // namespace cupola::cpu::compiler
