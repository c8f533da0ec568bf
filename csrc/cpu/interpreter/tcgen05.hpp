// csrc/cpu/interpreter/tcgen05.hpp - instructions on tensor memory: decoded form and handlers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpu/interpreter/instruction_descriptor.hpp"
#include "cpu/isa/code.hpp"
#include "ptx/tcgen05.hpp"
#include "ptx/type.hpp"

namespace cupola::cpu::interpreter {

// tcgen05.ld and tcgen05.st. DecodedOp::imm is the index in the kernel's list; op[1]: register of
// the address.
struct TensorAccess {
    explicit TensorAccess(ptx::Bits modifiers) : form(modifiers) {}

    ptx::TensorAccessForm form;
    std::uint32_t offset = 0;  // added to the address
    unsigned second = 0;       // .16x32bx2: columns from the first half to the second half
    std::vector<std::int32_t> registers;
    // tcgen05.ld.red: what it reduces the registers by, to which register.
    ptx::ColumnReduction reduction{};
    ptx::Type type{};
    bool magnitude = false, nan = false;
    std::int32_t reduced = 0;
};

class BlockState;

// An address in tensor memory: a register, and a number that is added to it.
struct TensorAddress {
    std::int32_t at = 0;
    std::uint32_t offset = 0;
};

inline constexpr char no_peer[] = "cta_group::2 needs a cluster in which the block has a peer";

// The registers of tcgen05.mma. DecodedOp::imm is its index in the kernel's list.
struct TensorProduct {
    ProductKind kind;
    TensorAddress d, a, metadata, scales_a, scales_b;
    bool a_in_tensor_memory = false;  // else a.at is a descriptor of shared memory
    std::int32_t b = 0, instruction = 0;
    bool masked = false;
    std::int32_t mask[8] = {};      // lanes of D that stay as they are, of each block
    std::int32_t add = 0;           // predicate: D is added to the product
    unsigned halvings = 0;          // D is divided by 2 to this power before that
    bool shifts_rows = false;       // .ashift
    std::int32_t zero_columns = 0;  // descriptor of the columns of B that are 0; 0: none
};

// tcgen05.cp. DecodedOp::imm is the index in the kernel's list; op: [1] address in tensor memory,
// [2] descriptor of shared memory.
struct TensorCopy {
    ptx::CopyShape shape{};
    ptx::CopyFormat format{};
    std::uint32_t offset = 0;  // added to the address
    bool pair = false;
};

struct TensorMemoryControl {
    // op: [1] generic address of the result, [2] columns; imm: bit 0 for a pair of blocks, bit 1
    // for an exclusive allocation.
    Handler allocate;
    // op: [1] address in tensor memory, [2] columns; imm: as above.
    Handler release;
    Handler relinquish;
    Handler load, store, multiply;
    Handler copy;
    // op: [1] address in tensor memory; imm: is added to it; bit 32: for a pair of blocks.
    Handler shift;
    // op: [1] generic address of an mbarrier, [2] mask of the cluster's blocks; 0: this block.
    Handler commit;
    Handler wait_loads, wait_stores;  // without an effect: loads and stores are complete
};
extern const TensorMemoryControl tensor_memory_control;

// tensor_access.cpp
const DecodedOp* load_columns(const DecodedOp* ip, Warp& w, std::byte* r);
const DecodedOp* store_columns(const DecodedOp* ip, Warp& w, std::byte* r);
// tensor_copy.cpp
const DecodedOp* copy_columns(const DecodedOp* ip, Warp& w, std::byte* r);
const DecodedOp* shift_rows(const DecodedOp* ip, Warp& w, std::byte* r);
// tensor_product.cpp
const DecodedOp* multiply_columns(const DecodedOp* ip, Warp& w, std::byte* r);

// tensor_allocation.cpp: notes a fault of the warp's first lane, and stops the warp.
const DecodedOp* stop_at_fault(const DecodedOp* ip, Warp& w, FaultKind kind,
                               const std::string& what);
// Whether the lanes have one value in a register of 32 bits.
bool is_uniform(const Warp& w, const std::uint32_t* values);
std::string columns_text(unsigned first, unsigned count);
// Says that a block lacks columns; a block of a pair is named by its rank.
std::string not_allocated(const BlockState& block, bool pair, unsigned first, unsigned count);

}  // namespace cupola::cpu::interpreter
