// csrc/cpu/emitter/address_checks.hpp - the affine addresses of a basic block, and the checks of
// its accesses in advance.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/operands.hpp"

namespace cupola::cpu::compiler {

// Ends a block batch before the 32 threads whose statements run.
inline const std::string end_of_batch = " return end_block_batch(w, threads_done + begin + from);";

// A variable with an affine result. Without a name, the result is not affine.
struct AffineResult {
    std::string name = {}, text = {};
    AffineStep affine = {};
    bool widens = false, uniform = false;
};

// The affine value of an operand, as an expression; empty if the operand has none.
struct AffineName {
    std::string name = {};
    std::int64_t step = 0;
    bool uniform = false;  // in the whole warp
};

// An affine value that is tested at the start of a block.
struct DetectedAffine {
    std::string name;
    std::int32_t offset;
    std::string text;
};

// Accesses whose addresses differ from one affine value by constants. They share one check.
struct AccessGroup {
    std::string affine, name;
    bool uniform, shared, write;
    std::uint32_t slot;
    std::int64_t begin, end;  // range of the accessed offsets
    std::int64_t align, step;
};

// Whether an access names shared memory; else its addresses are generic or global.
inline bool is_shared(const OpEffects& op) {
    return static_cast<ptx::Space>(ptx::field::space.get(op.origin.key.modifiers)) ==
           ptx::Space::shared;
}
inline const char* window_name(bool shared) { return shared ? "Window::shared" : "Window::flat"; }
// The comparison that decides the branch of loop b, if its later results can be predicted; else -1.
std::int64_t predictable_compare(const KernelAnalysis& analysis, std::uint32_t b);

class AddressChecks {
  public:
    AddressChecks(const KernelAnalysis& analysis, CppText& out, Operands& operands)
        : analysis_(analysis), out_(out), operands_(operands) {}

    // Emits the affine quotients. They need divisions, so they are computed once when a warp starts
    // or resumes.
    void emit_quotients();
    // Emits the affine values and the checks of block b, which becomes the current block.
    void emit_block(std::uint32_t b);

    const std::vector<AccessGroup>& groups() const { return groups_; }
    // The group of an access; nullptr if the access has none.
    const AccessGroup* group_of(std::uint32_t n) const;
    // Affine values that are tested, those that are derived from them, and the checks, as emitted.
    const std::vector<DetectedAffine>& detected() const { return detected_; }
    const std::vector<AffineResult>& derived() const { return derived_; }
    const std::vector<std::string>& checks() const { return checks_; }
    // Affine operands of the loop's comparison; empty if they are not affine.
    const std::string& compare_operands() const { return compare_operands_; }
    // The variable of an affine quotient; nullptr if the operation has none.
    const std::string* quotient(std::uint32_t n) const;

    AffineName affine_operand(const Access& access);
    AffineResult affine_result(std::uint32_t n, const std::string& name);
    void add_to_group(std::uint32_t n);
    void clear_groups();

  private:
    void emit_invariant_affine(std::uint32_t b);
    void emit_invariant_affine(std::set<std::int32_t>& needed);
    void drop_unused_affine();
    void record_write(std::uint32_t n, const AffineResult& made);
    void emit_group_checks(std::uint32_t b);

    const KernelAnalysis& analysis_;
    CppText& out_;
    Operands& operands_;
    std::uint32_t prefetch_sites_ = 0;
    // Registers whose affine value is computed once in the function.
    std::set<std::int32_t> function_affine_;
    // State of the current basic block: registers whose affine value is in a variable, and
    // registers that the block has written.
    std::map<std::int32_t, AffineName> affine_;
    std::set<std::int32_t> written_;
    std::map<std::uint32_t, std::string> quotients_;  // by operation
    std::vector<DetectedAffine> detected_;
    std::vector<AffineResult> derived_;
    std::vector<std::string> checks_;
    std::string compare_operands_;
    std::vector<AccessGroup> groups_;
    std::map<std::uint32_t, std::size_t> group_of_;  // by operation
};

}  // namespace cupola::cpu::compiler
