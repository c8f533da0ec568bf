// csrc/cpu/analysis/kernel_analysis.hpp - the analysis of a decoded kernel.
//
// It has what each operation reads and writes, the basic blocks and loops, and which registers are
// live between blocks.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cpu/analysis/proof.hpp"
#include "cpu/interpreter/decoded_origin.hpp"
#include "cpu/interpreter/kernel.hpp"

namespace cupola::cpu::compiler {

using interpreter::DecodedOp;
using interpreter::Handler;
using interpreter::KernelCode;

enum class Kind : std::uint8_t {
    jump,
    join,
    branch,
    guard_begin,
    guard_end,
    lanes,      // semantics is a function of one lane
    logic,      // a function of predicates
    pack,       // joins parts to a register
    unpack,     // splits a register into parts
    parameter,  // loads a parameter of the kernel
    load,
    store,
    atomic,
    ballot,
    shuffle,
    barrier,  // a barrier of all threads, without a result
    exit,
    count,         // lanes, for coverage
    count_branch,  // lanes that take a branch
    observed,      // no effect: only observers need the operation
    handler,       // all other operations: emitted code calls the interpreter's handler
};

// `bytes` for each lane; 0: a predicate.
struct Access {
    std::int32_t offset;
    std::uint8_t bytes;
    bool write;
    // The register that the code reads, where `offset` is that of its constant value; else 0.
    std::int32_t replaced = 0;
};

struct OpEffects {
    Kind kind = Kind::handler;
    interpreter::Origin origin;
    bool has_form = false;       // `origin` is set
    bool guarded = false;        // between guard_begin and guard_end
    bool changes_flow = false;   // may continue elsewhere than at the next operation
    bool may_retry = false;      // lanes may wait at the operation, and then execute it again
    bool entry_after = false;    // warps may enter machine code after the operation
    bool opaque = false;         // its operands are unknown
    bool hoisted = false;        // executed once, when a warp starts
    bool deferred = false;       // an atomic whose update a worker may make later
    bool any_nan = false;        // no reader distinguishes the NaN of its result from another
    std::int64_t parameter = 0;  // offset of the parameter that the operation loads
    std::vector<Access> accesses;
    std::vector<std::uint32_t> targets;  // operations to which this operation may branch
    bool no_fallthrough = false;         // the next operation is no successor
};

struct Register {
    std::int32_t offset = 0;
    std::uint8_t bytes = 0;
    bool in_file = false;             // stays in the register file
    bool constant = false;            // has `value` in all lanes
    bool special = false;             // written when the warp starts
    bool uniform = false;             // has one value in all lanes, which never changes
    bool per_warp = false;            // the uniform value differs between warps
    bool varies_in_x = false;         // the uniform value depends on %ctaid.x
    int ctaid_dimension = -1;         // dimension of %ctaid; -1: another register
    int tid_dimension = -1;           // dimension of %tid; -1: another register
    bool live_across_blocks = false;  // live at the start of a block
    bool invariant_affine = false;    // affine, and never changes
    bool single_assignment = false;   // never changes, and is spilled where it is written
    bool is_affine = false;           // likely to be affine with `step`
    std::int64_t step = 0;
    bool per_half = false;  // the step is 0, but the halves of a warp may have different values
    std::uint64_t value = 0;
    // Number of writes to the register, and the last of these operations.
    std::uint32_t writes = 0, definition = 0;
    bool is_read = false;
    std::string name() const;  // the variable's name in emitted code
};

struct Block {
    std::uint32_t first = 0, end = 0;  // operations
    bool entry = false;                // warps may enter machine code here
    bool yield_entry = false;          // the entry is a loop header where warps yield
    std::uint32_t loop_end = 0;        // for a loop header, the last block of the loop
    bool is_loop_header = false;
    bool is_lane_loop = false;  // a loop that the lanes execute one after another
    // Header of the innermost loop that contains the block; -1: no loop does.
    std::int32_t loop = -1;
    std::vector<std::uint32_t> successors;  // blocks
    // Registers of a loop that may have any NaN in it, and the canonical NaN after it.
    std::vector<std::uint32_t> sums;
    std::vector<bool> live;  // registers that are live at its start
};

// The step of a result between lanes, and how emitted code proves it.
struct AffineStep {
    std::int64_t step = 0;
    Proof proof = Proof::linear;
};

// An operation on the path of whole thread blocks: see find_block_batches.cpp.
struct PathStep {
    std::uint32_t op;
    bool taken;           // for a branch: whether the path takes the branch
    bool is_uniform;      // its predicate is the same for all threads of a piece of a row
    bool exits;           // for a branch: threads that do not follow the path exit, without effects
    bool scalar = false;  // its result, or the address of an access, is a scalar of 32 threads
    bool leaves = false;  // for a branch: threads that do not follow the path leave the loop
    bool at_exits = false;  // a comparison whose result is known where threads leave the loop
};

// A loop on that path. Its steps have no effects outside of registers.
struct PathLoop {
    std::size_t first, end;  // steps
    std::uint32_t header;    // block
    bool diverges = false;   // threads may leave it in different iterations
    // Registers that are scalars after the loop, and those that the loop has as scalars but that
    // differ between threads afterwards.
    std::set<std::int32_t> scalars_after = {};
    std::vector<std::int32_t> results = {};
    // Comparisons of such registers with uniform values. Only these read the registers.
    std::vector<std::uint32_t> comparisons = {};
};

// The operations and values of a kernel, which the passes fill in.
class KernelAnalysis {
  public:
    explicit KernelAnalysis(const KernelCode& decoded)
        : kernel(decoded), ops(decoded.code.size()) {}

    const KernelCode& kernel;
    std::vector<OpEffects> ops;  // one for each DecodedOp
    std::vector<Register> registers;
    std::vector<Block> blocks;
    std::vector<std::uint32_t> block_of;  // an operation's block
    std::vector<std::uint32_t> returns;   // operations after calls
    std::vector<std::uint32_t> uniform;   // uniform registers, definitions before uses
    // Affine registers that never change, definitions before uses.
    std::vector<std::uint32_t> invariant_affine;
    // Operations that are executed once, definitions before uses.
    std::vector<std::uint32_t> hoisted;
    std::vector<PathStep> batch_path;   // the path of whole thread blocks; empty: none
    std::vector<PathLoop> batch_loops;  // an outer loop before those in it
    // Slots of accesses that must be of other allocations than a deferred update.
    std::vector<std::uint32_t> observing_slots;
    // The step of an operation's result, where its sources have these steps. Returns false if the
    // result is not affine.
    bool affine_step(std::uint32_t n, const std::vector<std::int64_t>& steps,
                     AffineStep& result) const;
    // The affine result of an integer division, which then needs no division for each lane; nullptr
    // if the result is not affine.
    const Register* affine_quotient(std::uint32_t n) const;
    std::vector<std::uint32_t> entries() const;  // operations
    bool waits() const;                          // whether lanes may wait for other lanes
    bool has_barrier_regions = false;            // warps run region by region, between barriers
    // Whether an operation is a barrier of all threads, with known operands.
    bool is_block_barrier(std::uint32_t n) const;
    // Whether the kernel is too large for one function: see emitter/kernel_source.cpp.
    bool is_large() const { return ops.size() > 250; }

    std::size_t index_of(const Register& r) const {
        return static_cast<std::size_t>(&r - registers.data());
    }
    // nullptr for offset 0, which stands for no register.
    const Register* at(std::int32_t offset) const;
    std::uint32_t index_at(std::int32_t offset) const { return by_offset_.at(offset); }
    Register& reg(std::int32_t offset);  // makes a new index for an offset without a register
    std::uint32_t block_at(std::uint32_t code) const { return block_of[code]; }
    // Whether a block is a loop by itself that ends with a branch to its begin, and whose other
    // operations all lead to the next one.
    bool is_straight_loop(std::uint32_t b) const;
    bool is_leader(std::uint32_t code) const {
        return code < ops.size() && blocks[block_of[code]].first == code;
    }

  private:
    std::map<std::int32_t, std::uint32_t> by_offset_;
};

// Whether lanes that execute such an operation go on at once.
constexpr bool never_waits(Kind kind) {
    switch (kind) {
        case Kind::guard_begin:
        case Kind::guard_end:
        case Kind::lanes:
        case Kind::logic:
        case Kind::pack:
        case Kind::unpack:
        case Kind::parameter:
        case Kind::load:
        case Kind::store:
        case Kind::observed:
            return true;
        default:
            return false;
    }
}

inline bool is_integer_or_bits(ptx::Type t) {
    return ptx::is_integer(t) || t == ptx::Type::b16 || t == ptx::Type::b32 || t == ptx::Type::b64;
}

// Why a kernel is not compiled.
struct UnsupportedKernel {
    std::string why;
};

}  // namespace cupola::cpu::compiler
