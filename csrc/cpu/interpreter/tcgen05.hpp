// csrc/cpu/interpreter/tcgen05.hpp - instructions on tensor memory: decoded form and handlers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpu/isa/code.hpp"
#include "ptx/tcgen05.hpp"

namespace cupola::cpu::interpreter {

// tcgen05.ld and tcgen05.st. DecodedOp::imm is the index in the kernel's list; op[1]: register of
// the address.
struct TensorAccess {
    explicit TensorAccess(ptx::Bits modifiers) : form(modifiers) {}

    ptx::TensorAccessForm form;
    std::uint32_t offset = 0;  // added to the address
    unsigned second = 0;       // .16x32bx2: columns from the first half to the second half
    std::vector<std::int32_t> registers;
};

// The registers of tcgen05.mma. DecodedOp::imm is its index in the kernel's list.
struct TensorProduct {
    ptx::TensorKind kind{};
    std::int32_t d = 0, a = 0, b = 0, instruction = 0;
    std::uint32_t offset_d = 0, offset_a = 0;  // added to addresses in tensor memory
    bool a_in_tensor_memory = false;           // else `a` is a descriptor of shared memory
    bool masked = false;
    std::int32_t mask[4] = {};  // lanes of D that stay as they are
    std::int32_t add = 0;       // predicate: D is added to the product
};

struct TensorMemoryControl {
    // op: [1] generic address of the result, [2] columns.
    Handler allocate;
    // op: [1] address in tensor memory, [2] columns.
    Handler release;
    Handler relinquish;
    Handler load, store, multiply;
    // op: [1] generic address of an mbarrier, [2] mask of the cluster's blocks; 0: this block.
    Handler commit;
};
extern const TensorMemoryControl tensor_memory_control;

// tensor_access.cpp
const DecodedOp* load_columns(const DecodedOp* ip, Warp& w, std::byte* r);
const DecodedOp* store_columns(const DecodedOp* ip, Warp& w, std::byte* r);
// tensor_product.cpp
const DecodedOp* multiply_columns(const DecodedOp* ip, Warp& w, std::byte* r);

// tensor_allocation.cpp: notes a fault of the warp's first lane, and stops the warp.
const DecodedOp* stop_at_fault(const DecodedOp* ip, Warp& w, FaultKind kind,
                               const std::string& what);
// Whether the lanes have one value in a register of 32 bits.
bool is_uniform(const Warp& w, const std::uint32_t* values);
std::string columns_text(unsigned first, unsigned count);

}  // namespace cupola::cpu::interpreter
