// csrc/cpu/interpreter/decode.hpp - decodes a checked PTX function to threaded code.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cpu/interpreter/async.hpp"
#include "cpu/interpreter/block_order.hpp"
#include "cpu/interpreter/host_isa.hpp"
#include "cpu/interpreter/kernel.hpp"
#include "ptx/program.hpp"

namespace cupola::cpu::interpreter {

// Names that most of the decoder's sources use.
using Kind = ptx::Operand::Kind;
using ptx::Opcode;
using ptx::OperandConstraint;
using ptx::Type;
namespace field = ptx::field;

// Host addresses of a module's .global and .const variables.
struct Placement {
    std::vector<std::uintptr_t> addresses;
    // addresses of functions whose address is taken, kernels included
    std::vector<std::uintptr_t> functions;
    std::uint32_t constant_bytes = 0;
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> constant_ranges;
};

// The functions that each function may call, directly or not; shared by the kernels of a module.
class CallGraph {
  public:
    explicit CallGraph(const ptx::Module& module);
    // Each once, callees before callers, `entry` last.
    std::vector<std::uint32_t> reachable(std::uint32_t entry) const;
    // The defined functions that a call may reach.
    std::vector<std::uint32_t> callees(const ptx::Function& caller, const ptx::Call& call) const;
    bool in_cycle(std::uint32_t from, std::uint32_t to) const {
        return ring_[from] == ring_[to] && ringed_[from];
    }

  private:
    void find_rings();
    const ptx::Module& module_;
    std::vector<std::vector<std::uint32_t>> callees_;
    std::vector<std::uint32_t> ring_;  // strongly connected component of each function
    std::vector<bool> ringed_;         // component: whether it has a cycle
};

// Looks each handler up once for all instructions with the same form, types and modifiers.
class HandlerCache {
  public:
    BoundHandler find(ptx::FormId form, const Key& key);
    // A row by its spelling, such as "and.pred", for instructions that the decoder adds.
    BoundHandler find(std::string_view opcode);
    // Those of all handlers so far.
    const std::vector<Origin>& origins() const { return origins_; }

  private:
    std::unordered_map<std::uint32_t, std::unordered_map<std::uint64_t, BoundHandler>> known_;
    std::map<std::string, BoundHandler, std::less<>> spelled_;
    std::vector<Origin> origins_;
};

// The integer type of a width, for the extension or truncation of a loaded value.
ptx::Type resizable(unsigned width, bool sign);

class Decoder {
  public:
    Decoder(const ptx::Module& module, std::string_view source, const Placement& placement,
            const CallGraph& graph, HandlerCache& handlers,
            std::shared_ptr<observe::ModuleCounters> counters = nullptr);
    std::unique_ptr<KernelCode> decode(std::uint32_t entry);

  private:
    // A function's part of the kernel's code.
    struct Part {
        std::uint32_t function = 0;
        std::uint32_t start = 0;              // index in the code
        std::vector<std::int32_t> registers;  // offsets; 0: not allocated yet
        std::uint32_t frame = 0;              // bytes, rounded up
        std::uint32_t save = 0;               // bytes of registers saved around recursive calls
        std::uint32_t deepest = 0;            // bytes of its frame and its callees' frames
        std::int32_t top = 0;                 // register: where its alloca memory begins; 0: none
        std::vector<std::uint32_t> block_start;
    };

    [[noreturn]] void fail(std::uint32_t line, const std::string& what,
                           bool unresolved = false) const;

    // decode.cpp: kernel, functions, blocks
    void describe(const ptx::Function& f);
    void describe_parts();
    void place_shared(const std::vector<std::uint32_t>& functions);
    void function(Part& part);
    void count(std::uint32_t i);
    void leave();
    void end_block(const BasicBlock& block, std::uint32_t next);
    void fix_branches(const Part& part);
    void charge_branches();

    // decode_registers.cpp
    std::uint32_t pressure(const std::vector<std::uint32_t>& functions) const;
    std::uint32_t register_limit(const ptx::Function& f) const;

    // decode_memory.cpp
    void memory(const ptx::Instruction& i);
    void parameter_load(const ptx::Instruction& i);
    ptx::Space space_of_access(const ptx::Variable& v, ptx::Space space) const;
    ptx::Space place_address(const ptx::Operand& m, ptx::Space space, DecodedOp& code);
    void in_halves(DecodedOp code, const std::int32_t* values, unsigned width);

    // decode_control.cpp
    void control_flow(const ptx::Instruction& i);
    void barrier(const ptx::Instruction& i);

    // instruction.cpp
    void instruction(const ptx::Instruction& i);
    void plain(const ptx::Instruction& i);
    void call(const ptx::Instruction& i);
    void builtin(const ptx::Instruction& i, const ptx::Call& call, const ptx::Function& to);
    void convert_address(const ptx::Instruction& i);
    void cluster_address(const ptx::Instruction& i);
    void repack(const ptx::Instruction& i);
    void move_vector(const ptx::Instruction& i);

    // matrix.cpp
    void matrix(const ptx::Instruction& i);
    std::shared_ptr<const MatrixLayout> matrix_layout(const ptx::Instruction& i);
    void take_immediates(MatrixOperation& op, const std::vector<std::int64_t>& given);

    // compare.cpp
    void compare(const ptx::Instruction& i);
    void compare_halves(const ptx::Instruction& i);
    void lop3(const ptx::Instruction& i);

    // video.cpp, stack.cpp
    void video(const ptx::Instruction& i);
    void stack(const ptx::Instruction& i);
    bool allocates(const ptx::Function& f) const;

    // atomic.cpp
    void atomic(const ptx::Instruction& i);
    void wide_atomic(const ptx::Instruction& i);
    void vector_atomic(const ptx::Instruction& i);
    void unsynchronised(const ptx::Instruction& i);

    // async.cpp
    void asynchronous(const ptx::Instruction& i);
    void mbarrier(const ptx::Instruction& i, Handler run, ptx::Space space);
    void tensor(const ptx::Instruction& i, AsyncKind kind);
    void tensor_field(const ptx::Instruction& i, ptx::Space space);
    void multimem(const ptx::Instruction& i, ptx::Space space);
    std::int32_t host_address(const ptx::Operand& m, ptx::Space space);

    // decode_texture.cpp
    void texture(const ptx::Instruction& i);
    std::int32_t texture_handle(const ptx::Operand& o);
    const ptx::Operand& element(const ptx::Operand& o, unsigned n) const;

    // operand.cpp: the register file
    std::int32_t allocate(unsigned width);
    std::int32_t allocate_predicate();
    std::int32_t temporary(unsigned width);
    std::int32_t temporary_predicate();
    std::int32_t reg(std::uint32_t index);
    std::int32_t constant(unsigned width, std::uint64_t value, bool placed = false);
    std::int32_t address_of(std::uint32_t variable, std::uint64_t offset, unsigned width);
    std::int32_t special(unsigned which, unsigned width);
    std::int32_t source(const ptx::Operand& o, ptx::Type type);
    std::int32_t relaxed_source(const ptx::Operand& o, ptx::Type type);
    std::int32_t destination(const ptx::Operand& o) {
        return o.kind == ptx::Operand::Kind::reg ? reg(o.index) : 0;
    }
    std::int32_t predicate(const ptx::Operand& o);
    std::int32_t address(const ptx::Operand& o, unsigned width);
    static std::uint32_t local_align(const ptx::Function& f);  // stack.cpp
    std::int32_t frame_address(std::uint32_t variable, std::int64_t offset, unsigned width);
    std::uint64_t variable_address(std::uint32_t variable) const;
    void resize(std::int32_t to, ptx::Type to_type, std::int32_t from, ptx::Type from_type);
    bool is_formal(std::uint32_t variable) const;

    DecodedOp& emit(BoundHandler run);
    DecodedOp& emit(BoundHandler run, std::int32_t d, std::int32_t a = 0, std::int32_t b = 0,
                    std::int32_t c = 0);
    DecodedOp& emit(std::string_view opcode, std::int32_t d, std::int32_t a = 0, std::int32_t b = 0,
                    std::int32_t c = 0) {
        return emit(handlers_.find(opcode), d, a, b, c);
    }
    const ptx::Operand& operand(const ptx::Instruction& i, unsigned n) const {
        return f_->operands[i.operand + n];
    }

    const ptx::Module& module_;
    std::string_view source_;
    const Placement& placement_;
    const CallGraph& graph_;
    HandlerCache& handlers_;
    const std::shared_ptr<observe::ModuleCounters> counters_;  // null: nothing is counted
    KernelCode* kernel_ = nullptr;
    const ptx::Function* f_ = nullptr;  // the function being decoded
    Part* part_ = nullptr;
    std::vector<Part> parts_;
    std::vector<std::uint32_t> part_of_;  // by function; ptx::absent where it is not in the kernel
    std::vector<std::uint32_t> formal_offset_;  // of the entry's parameters
    std::unordered_map<std::uint32_t, std::uint64_t> shared_at_;
    std::set<std::uint32_t> named_variables_;
    std::uint32_t line_ = 0;
    std::uint32_t file_ = 0;  // size of the register file so far, in bytes
    std::uint32_t predicate_file_ = 0, predicates_left_ = 0;
    std::map<std::tuple<unsigned, std::uint64_t, bool>, std::int32_t> constants_;
    std::map<unsigned, std::int32_t> specials_;
    std::vector<std::int32_t> temporaries_[5];  // predicates, and widths 1-2, 4, 8 and 16
    std::size_t temporaries_used_[5] = {};
    std::int32_t carry_ = 0;
    struct Fixup {
        std::uint32_t code, block;
    };
    std::vector<Fixup> fixups_;
    struct TableFixup {
        std::uint32_t code, table;
        std::vector<std::uint32_t> blocks;
    };
    std::vector<TableFixup> table_fixups_;
    std::vector<std::uint32_t> block_of_;  // current function: block of each instruction
    std::vector<std::pair<std::uint32_t, std::uint32_t>> call_fixups_;  // code, function
    std::map<std::pair<std::uint16_t, ptx::Bits>, std::shared_ptr<const MatrixLayout>>
        matrix_layouts_;
    std::size_t targets_ = 0;  // of indirect calls
};

}  // namespace cupola::cpu::interpreter
