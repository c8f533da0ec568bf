// csrc/cpu/emitter/operands.hpp - the operands and results of an operation as C++ expressions.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/cpp_text.hpp"

namespace cupola::cpu::compiler {

// The three versions of a block's statements: without checks in advance; where all checks of the
// block hold; where all checks hold and all lanes are active.
enum class Path : std::uint8_t { unchecked, checked, all_lanes };

// About the results of a statement: whether they are masked, and the text to emit after the
// statement.
struct Output {
    bool guarded, masked = false;
    std::string after = {};
};

// The C++ type of the operation's row in the table.
std::string row_name(const OpEffects& op);
// The type of the row, followed by the type of its modifiers.
std::string row_type(const OpEffects& op);

// The variable of a register that is a scalar of 32 threads.
inline std::string scalar_name(const Register& r) { return "a" + std::to_string(r.offset); }

class Operands {
  public:
    Operands(const KernelAnalysis& analysis, CppText& out) : analysis_(analysis), out_(out) {}

    // The version of the statements from now on.
    void set_path(Path path) { path_ = path; }
    Path path() const { return path_; }
    // Whether the statements from now on run for whole thread blocks.
    void set_block_batch(bool on) { block_batch_ = on; }
    bool in_block_batch() const { return block_batch_; }
    // The registers that are scalars of 32 threads of a block batch from now on.
    void set_scalars(std::set<std::int32_t> scalars) { scalars_ = std::move(scalars); }
    void set_scalar(std::int32_t offset, bool on) {
        on ? void(scalars_.insert(offset)) : void(scalars_.erase(offset));
    }
    bool is_scalar(std::int32_t offset) const { return scalars_.count(offset) != 0; }
    // Whether the statements from now on run for 32 threads of a block batch.
    void set_batch_statements(bool on) { batch_statements_ = on; }
    bool in_batch_statements() const { return batch_statements_; }
    // Whether the statements from now on run for the first `count` lanes only.
    void set_first_lanes(bool on) { first_lanes_ = on; }
    bool has_first_lanes() const { return first_lanes_; }
    // Whether the statements from now on run for one lane, whose registers are scalars.
    void set_one_lane(bool on) { one_lane_ = on; }

    std::string input(const Access& access);
    std::string output(const Access& access, Output& out);
    std::string predicate_output(const Access& p, const Access* q, Output& out);
    // Whether a write keeps the register's value in inactive lanes.
    bool masked(const Register& r, bool guarded) const {
        return guarded || (r.live_across_blocks && path_ != Path::all_lanes);
    }

  private:
    const KernelAnalysis& analysis_;
    CppText& out_;
    Path path_ = Path::unchecked;
    bool block_batch_ = false, batch_statements_ = false, first_lanes_ = false, one_lane_ = false;
    std::set<std::int32_t> scalars_;
};

}  // namespace cupola::cpu::compiler
