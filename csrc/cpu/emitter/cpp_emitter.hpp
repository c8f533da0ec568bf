// csrc/cpu/emitter/cpp_emitter.hpp - emits a decoded kernel as a C++ function.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cpu/analysis/kernel_analysis.hpp"
#include "cpu/emitter/source.hpp"

namespace cupola::cpu::compiler {

// Emits one kernel. The emitted functions include csrc/cpu/emitted/emitted.hpp.
class CppEmitter {
  public:
    CppEmitter(const KernelAnalysis& analysis, std::string name)
        : analysis_(analysis), name_(std::move(name)) {}
    Source emit_kernel();

  private:
    // cpp_emitter.cpp: the function's frame and control flow; kernel_variables.cpp: its variables
    void check_size() const;
    void begin();
    void end();
    void emit_function();
    std::string prefetch_site_count() const;
    void declare_variables();
    void declare(const Register& r);
    using Filter = bool (*)(const Register& r);
    void define_uniforms(Filter filter);
    void compute_uniforms(Filter filter);
    void emit_entry();
    std::string move_live(std::uint32_t b, const char* verb) const;
    void spill_uniforms();
    // Whether the register is a variable that is spilled when a warp leaves the function.
    static bool is_spilled(const Register& r) {
        return !r.in_file && !r.constant && !r.special && !r.uniform;
    }
    static bool is_of_block(const Register& r) { return r.uniform && !r.constant && !r.per_warp; }
    // Whether a warp spills uniform values when it starts; else when it leaves the function. Where
    // warps run by regions, few leave it elsewhere than at an entry, which needs no such value.
    bool spills_uniforms_early() const {
        return (analysis_.waits() || yields_in_loop()) && !analysis_.has_barrier_regions;
    }
    static bool is_of_warp(const Register& r) { return r.per_warp; }
    void emit_exit();
    void emit_dispatch(const std::set<std::uint32_t>& entries);
    void emit_block(std::uint32_t b);
    void emit_body(std::uint32_t b);
    void emit_transfer(std::uint32_t b, std::uint32_t n);
    void emit_branch(std::uint32_t b, std::uint32_t to, bool charged, std::uint32_t n);
    std::string enter(std::uint32_t b) const;
    std::int32_t innermost_loop(std::uint32_t b) const;
    std::int32_t enclosing_loop(std::uint32_t b) const;
    std::string label_after(std::uint32_t last, std::int32_t loop) const;
    std::string label_past(std::uint32_t b) const;
    bool may_switch_warp(std::uint32_t b) const;
    std::string label(const char* name, std::uint32_t b) const;
    void emit_reschedule(std::uint32_t b);
    void emit_jump_to_next(const std::string& label);
    std::string jump_to_active(std::uint32_t b);

    // reconvergence.cpp: lanes that wait in masks
    bool may_be_partial(std::uint32_t b) const;
    std::vector<std::uint32_t> points_between(std::uint32_t b, std::uint32_t to) const;
    bool keeps_masks(std::uint32_t b, std::uint32_t to) const;
    bool diverges_by_mask(std::uint32_t b, std::uint32_t to, std::uint32_t& low,
                          std::uint32_t& high) const;
    void find_reconvergence_points();
    std::string waiting_at(std::uint32_t point) const;
    void emit_enqueue_waiting();
    void emit_arrival(std::uint32_t b, std::uint32_t target);
    void emit_divergence(std::uint32_t b, std::uint32_t n);

    // function_splitting.cpp: ranges of basic blocks as functions
    struct Part {
        std::uint32_t first = 0, last = 0;  // basic blocks
        bool has(std::uint32_t b) const { return b >= first && b <= last; }
    };
    void emit_parts();
    void emit_frame(std::size_t count);
    std::string name_of_part(std::size_t number) const;
    std::string part_signature(std::size_t number) const;
    std::vector<Part> split_blocks() const;
    std::uint32_t op_count(Part part) const;
    void emit_part(std::size_t number, const std::set<std::uint32_t>& entries);
    void find_part_registers();
    std::set<std::int32_t> live_at(const std::set<std::uint32_t>& blocks) const;
    // Whether a loop that is wholly in the part begins at block b.
    bool is_head(std::uint32_t b) const {
        return analysis_.blocks[b].is_loop_header && part_.has(b) &&
               part_.has(analysis_.blocks[b].loop_end);
    }
    std::uint32_t end_of_loop(std::int64_t head) const {
        return analysis_.blocks[static_cast<std::uint32_t>(head)].loop_end;
    }
    // Whether the part has a variable for the register.
    bool is_in_part(const Register& r) const {
        return !split_ || part_registers_.count(r.offset) != 0;
    }
    static bool is_in_frame(const Register& r) { return r.uniform && !r.constant && !r.in_file; }

    // access_check.cpp: affine addresses, and the checks of their accesses
    void emit_address_checks(std::uint32_t b);
    void emit_invariant_affine(std::uint32_t b);
    void emit_invariant_affine(std::set<std::int32_t>& needed);
    void emit_affine_quotients();
    struct AffineResult {
        std::string name = {}, text = {};
        AffineStep affine = {};
        bool widens = false, uniform = false;
    };
    // The affine value of an operand, as an expression. Empty: it has none.
    struct AffineName {
        std::string name = {};
        std::int64_t step = 0;
        bool uniform = false;  // in the whole warp
    };
    AffineResult affine_result(std::uint32_t n, const std::string& name);
    void drop_unused_affine();
    AffineName affine_operand(const Access& access);
    void add_to_group(std::uint32_t n);
    void record_write(std::uint32_t n, const AffineResult& made);
    void emit_group_checks(std::uint32_t b);

    // loop_batching.cpp: iterations of a loop with one check
    std::int64_t predictable_compare(std::uint32_t b) const;
    std::string stride_of(std::uint32_t b, std::int32_t offset);
    bool emit_prediction(std::uint32_t b);
    void begin_loop_batch();
    void end_loop_batch();
    void for_each_prefetched(
        const std::function<void(const std::string&, const std::string&)>& use);
    bool yields_in_loop() const;
    std::string next_iteration(std::uint32_t b) const;
    std::string loop_batch(std::uint32_t b) const;

    // block_batch.cpp: whole thread blocks
    void emit_block_batch();
    void emit_row_values();
    void emit_warp_statements();

    // pack_parts.cpp
    void emit_pack(std::uint32_t n);
    void emit_unpack(std::uint32_t n);

    // statement.cpp: registers and lane functions; memory_access.cpp: memory and barriers
    std::set<std::uint32_t> unused_results(std::uint32_t b) const;
    void emit_statements(std::uint32_t b);
    void emit_statement(std::uint32_t b, std::uint32_t n);
    static bool is_computation(const OpEffects& op) {
        return op.kind == Kind::lanes || op.kind == Kind::logic || op.kind == Kind::pack ||
               op.kind == Kind::unpack;
    }
    void emit_computation(std::uint32_t n);
    void emit_lanes(std::uint32_t n);
    void emit_logic(std::uint32_t n);
    std::string parameter_text(const OpEffects& op, std::size_t k) const;
    void emit_uniform(std::uint32_t n);
    void emit_memory(std::uint32_t b, std::uint32_t n);
    bool has_variables(const OpEffects& op) const;
    bool is_large(const Block& block) const;
    std::string operand_offsets(const OpEffects& op) const;
    void clear_variable(const Register& r, const OpEffects& op);
    void emit_atomic(std::uint32_t b, std::uint32_t n);
    void emit_ballot(std::uint32_t b, std::uint32_t n);
    void emit_shuffle(std::uint32_t b, std::uint32_t n);
    void emit_barrier(std::uint32_t b, std::uint32_t n);
    std::string leave_regions() const;
    std::string regions() const { return split_ ? "f.regions" : "regions"; }
    void emit_count(std::uint32_t n);
    void emit_handler_call(std::uint32_t b, std::uint32_t n);
    void emit_else_handler(std::uint32_t b, std::uint32_t n);
    std::string row_type(const OpEffects& op) const;
    std::string input(const Access& access);
    // Of a statement's results: whether they are masked, and the text to emit after the statement.
    struct Output {
        bool guarded, masked = false;
        std::string after = {};
    };
    std::string output(const Access& access, Output& out);
    std::string predicate_output(const Access& p, const Access* q, Output& out);
    bool masked(const Register& r, bool guarded) const {
        return guarded || (r.live_across_blocks && path_ != Path::all_lanes);
    }

    void emit(const std::string& text) { text_ += "    " + text + "\n"; }
    std::string temporary(unsigned bytes);
    std::string copy_operand(const Access& access, const std::string& operand);

    const KernelAnalysis& analysis_;
    const std::string name_;
    Source source_;
    std::string text_;  // of the current function
    std::uint32_t temporaries_ = 0, prefetch_sites_ = 0;
    // State of the current basic block: registers whose affine value is in a variable, and
    // registers that the block has written.
    std::map<std::int32_t, AffineName> affine_;
    std::set<std::int32_t> written_;
    // Variables of affine quotients, by operation.
    std::map<std::uint32_t, std::string> quotient_variables_;
    // Registers whose affine value is computed once in the function.
    std::set<std::int32_t> function_affine_;
    // Accesses whose addresses differ from one affine value by constants. They share one check.
    struct AccessGroup {
        std::string affine, name;
        bool uniform, shared, write;
        std::uint32_t slot;
        std::int64_t begin, end;  // range of the accessed offsets
        std::int64_t align, step;
    };
    // An affine value that is tested at the start of a block.
    struct DetectedAffine {
        std::string name;
        std::int32_t offset;
        std::string text;
    };
    std::vector<DetectedAffine> detected_;
    std::vector<AffineResult> derived_;
    std::vector<std::string> checks_;
    std::string frame_;             // variables of the function that hold state of blocks
    std::string compare_operands_;  // affine operands of the loop's comparison
    std::vector<AccessGroup> groups_;
    std::map<std::uint32_t, std::size_t> group_of_;  // by operation
    // Whether labels O and A of the current block are used.
    bool uses_reschedule_ = false, uses_active_label_ = false;
    std::set<std::uint32_t> points_;  // blocks at which lanes wait in masks
    std::vector<bool> partial_;       // blocks that run while lanes may wait in masks
    bool split_ = false;              // the kernel is split into parts
    bool outlines_accesses_ = false;  // accesses without a check in advance are outlined
    Part part_;                       // the current part; of a whole kernel, all its blocks
    // Registers that the part uses, and those that it writes.
    std::set<std::int32_t> part_registers_, part_writes_;
    bool block_batch_ = false;   // statements run for whole thread blocks
    bool batches_loop_ = false;  // the current block is a loop whose iterations are batched
    // Statements run unchecked, where all checks of the block hold, or where these hold and all
    // lanes are active.
    enum class Path : std::uint8_t { unchecked, checked, all_lanes };
    Path path_ = Path::unchecked;
};

// Whether an access names shared memory; else its addresses are generic or global.
inline bool is_shared(const OpEffects& op) {
    return static_cast<ptx::Space>(ptx::field::space.get(op.origin.key.modifiers)) ==
           ptx::Space::shared;
}
inline const char* window_name(bool shared) { return shared ? "Window::shared" : "Window::flat"; }
std::string word_type(unsigned bytes);
std::string variable_type(unsigned bytes);
// Between a variable and the register file. A predicate has no bytes: it is a word with one bit for
// each lane.
std::string fill(const std::string& name, unsigned bytes, std::int32_t offset);
std::string spill(const std::string& name, unsigned bytes, std::int32_t offset);
std::string fill(const Register& r);
std::string spill(const Register& r);
std::string in_namespace(const std::string& text);

// The source of a kernel, whose function is `name_of_kernel(n)`. Sources with different n may be
// combined. Throws UnsupportedKernel.
Source source_of(const KernelAnalysis& analysis, std::size_t n);
std::string name_of_kernel(std::size_t n);

}  // namespace cupola::cpu::compiler
