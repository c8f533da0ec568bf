// csrc/cpu/ir/kernel_analysis.hpp - what a decoded kernel does, as far as printing it takes: what
// each DecodedOp reads and writes, blocks, loops, and which registers are alive between blocks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cpu/interpreter/decoded_origin.hpp"
#include "cpu/interpreter/kernel.hpp"
#include "cpu/ir/proof.hpp"

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
    lanes,      // a function of one lane
    logic,      // of predicates
    parameter,  // load of a kernel's parameter
    load,
    store,
    atomic,
    ballot,
    shuffle,
    barrier,  // of all threads, with no result
    exit,
    handler,  // all else: the interpreter's own function is called
};

// `bytes` of each lane, or for 0 a predicate.
struct Access {
    std::int32_t offset;
    std::uint8_t bytes;
    bool write;
};

struct OpEffects {
    Kind kind = Kind::handler;
    interpreter::Origin origin;
    bool known = false;          // there is an origin
    bool guarded = false;        // between guard_begin and guard_end
    bool flows = false;          // may go on elsewhere than behind itself
    bool retried = false;        // lanes may wait, to run it again
    bool entered = false;        // machine code is entered behind it
    bool opaque = false;         // what it reads and writes is not known
    bool hoisted = false;        // is done when a warp starts, for as long as it lives
    bool any_nan = false;        // nobody tells a NaN of its result from another
    std::int64_t parameter = 0;  // where among the parameters it loads
    std::vector<Access> accesses;
    std::vector<std::uint32_t> targets;  // Codes that it leads to, beside the next
    bool ends = false;                   // does not lead to the next
};

struct Register {
    std::int32_t offset = 0;
    std::uint8_t bytes = 0;
    bool file = false;                // stays in the register file
    bool constant = false;            // has `value` in all lanes
    bool special = false;             // written when the warp starts
    bool uniform = false;             // has one value in all lanes, which never changes
    bool of_warp = false;             // and in each warp another
    bool of_x = false;                // and along a row of blocks another in each
    int index = -1;                   // which of %ctaid it is
    int thread = -1;                  // which of %tid
    bool live_across_blocks = false;  // alive where a block begins
    bool invariant_affine = false;    // never changes, nor does its line
    bool single_assignment =
        false;               // never changes, and is put into the register file where it is written
    bool is_affine = false;  // each half of the warp has one value and steps of it, it seems
    std::int64_t step = 0;
    std::uint64_t value = 0;
    std::uint32_t writes = 0, definition = 0;  // how often it is written, and where last
    bool read = false;
    std::string name() const;  // in printed code
};

struct Block {
    std::uint32_t first = 0, end = 0;  // Codes
    bool entry = false;                // machine code may be entered here
    bool resumed = false;              // as the head of a loop, by a warp whose turn had ended
    std::uint32_t loop_end = 0;        // of a loop's head: its last block
    bool head = false;
    std::int32_t loop = -1;                 // head of the innermost loop that it is in, or is
    std::vector<std::uint32_t> successors;  // blocks
    std::vector<bool> live;                 // registers, where it begins
};

// How a result rises from lane to lane, and how printed code shows that it does.
struct Rise {
    std::int64_t step = 0;
    Proof proof = Proof::linear;
};

// A DecodedOp on the way that whole blocks may go at once: see block_batch.cpp.
struct PathStep {
    std::uint32_t code;
    bool taken;    // of a branch: whether it has to be
    bool decided;  // its predicate is the same for all threads of the block
};

class KernelAnalysis {
  public:
    // Throws Unprintable.
    explicit KernelAnalysis(const KernelCode& kernel);

    const KernelCode& kernel;
    std::vector<OpEffects> steps;  // one for each DecodedOp
    std::vector<Register> registers;
    std::vector<Block> blocks;
    std::vector<std::uint32_t> uniform;  // registers whose value never changes, in order of need
    std::vector<std::uint32_t> invariant_affine;  // and those that have a line, which never changes
    std::vector<std::uint32_t> hoisted;           // operations that are, in order of need
    std::vector<PathStep> sweep;                  // empty: there is none
    // How an instruction's result rises from lane to lane where its sources rise by `steps`, which
    // are as many as it reads. False: it does not, or not by a constant.
    bool rise_of_lanes(std::uint32_t n, const std::vector<std::int64_t>& steps, Rise& rise) const;
    // The result of a division of integers, if it has a line: lanes of that need no divisions.
    const Register* quotient_of(std::uint32_t n) const;
    std::vector<std::uint32_t> entries() const;  // Codes
    bool waits() const;                          // lanes wait in it, for others
    // Too many instructions for one function: see print_parts.cpp.
    bool is_large() const { return steps.size() > 250; }

    std::size_t number_of(const Register& r) const {
        return static_cast<std::size_t>(&r - registers.data());
    }
    // nullptr: an offset that stands for nothing.
    const Register* at(std::int32_t offset) const;
    std::uint32_t block_at(std::uint32_t code) const { return block_of_[code]; }
    bool is_leader(std::uint32_t code) const {
        return code < steps.size() && blocks[block_of_[code]].first == code;
    }

  private:
    void describe(std::uint32_t n);
    void describe_control(std::uint32_t n);
    void describe_row(std::uint32_t n);
    bool describe_memory(std::uint32_t n);
    void find_registers();
    void note(const Access& access, std::uint32_t n);
    void find_parameters();
    void find_same();
    void find_steps();
    void find_invariant_affine();
    void find_single_assignment();
    void find_hoisted(const std::vector<std::uint32_t>& found);
    void find_any_nan();
    struct Sweeper;
    void find_sweep();
    void find_blocks();
    void find_loops();
    void find_live();
    Register& reg(std::int32_t offset);

    std::map<std::int32_t, std::uint32_t> by_offset_;
    std::vector<std::uint32_t> block_of_;  // by DecodedOp
    std::vector<std::uint32_t> returns_;   // Codes behind calls
};

bool is_ordered(const OpEffects& step);  // block_batch.cpp

// Why a kernel is not printed.
struct Unprintable {
    std::string why;
};

// The chapters whose rows printed code has as types: rows.hpp.
bool is_printed(ptx::FormId form);

}  // namespace cupola::cpu::compiler
