// csrc/cpu/exec/async.hpp - the table's chapter on asynchronous copies: what its rows do, and the
// handlers, which are the same for every instruction set.
//
// A copy is done when it is issued: that is one of the orders which PTX allows, and then groups of
// copies need no books. What counts arrivals and bytes is told in the same turn.
#pragma once

#include <string_view>

#include "cpu/exec/code.hpp"
#include "cpu/tensor_map.hpp"
#include "ptx/modifiers.hpp"

namespace cupola::cpu::exec {

class BlockState;

std::string_view spelled(ptx::Atomic operation);

// By the names of the table's semantics.
enum class AsyncKind : std::uint8_t {
    MbarrierInit,
    MbarrierInval,
    MbarrierExpect,
    MbarrierComplete,
    MbarrierArrive,
    MbarrierArriveExpect,
    MbarrierDrop,
    MbarrierDropExpect,
    MbarrierArriveCopied,
    MbarrierArriveCounted,
    MbarrierTest,
    MbarrierTestParity,
    MbarrierTry,
    MbarrierTryParity,
    MbarrierPending,
    CopyAsync,
    Nothing,
    BulkToShared,
    BulkMulticast,
    BulkToCluster,
    BulkToGlobal,
    BulkReduce,
    StoreAsync,
    ReduceAsync,
    FenceAddress,
    CreatePolicy,
    TensorLoad,
    TensorSend,
    TensorStore,
    TensorReduce,
    TensorReplace,
    TensorCopyFence,
    Multimem,
};

// op: [0] result, [1] generic address of the object, [2] count, state or parity. nullptr: the kind
// is of no mbarrier.
Handler mbarrier_handler(AsyncKind kind);

struct AsyncControl {
    // op: [1] generic address of an mbarrier, [2] bytes that have come.
    Handler complete;
    // op: [1] generic address written, [2] read, [3] bytes read, [4] predicate: read none;
    // imm: bytes written.
    Handler copy;
    // op: [1] generic address written, [2] read, [3] bytes.
    Handler bulk;
    // As bulk, and [4] generic address of the mbarrier, [5] which blocks of the cluster.
    Handler multicast;
};
extern const AsyncControl async_control;

// tensor.cpp. op: [0] bytes that were loaded, [1] generic address of the box, [2] of the tensor
// map, [4] of an mbarrier and [5] which blocks of the cluster; imm: which of the kernel's tables
// has the coordinates' registers, and where `shifted` those of what is added to them;
// `columns` where the map has to be one of columns.
struct TensorControl {
    static constexpr std::int64_t columns = std::int64_t{1} << 32, shifted = columns << 1;
    Handler load, store, send;
    // op: [1] generic address of the map, [2] what is put there; imm: Field, and above it the axis.
    Handler replace;
    enum class Field : std::uint8_t {
        global_address,
        rank,
        box_dim,
        global_dim,
        global_stride,
        element_stride,
        elemtype,
        interleave_layout,
        swizzle_mode,
        fill_mode,
    };
};
extern const TensorControl tensor_control;

// Joins elements in global memory with others. False: there is no such operation on the type.
using ReduceElements = bool (*)(TensorMap::Element type, std::byte* to, const std::byte* from,
                                std::size_t bytes);
// op as of a store.
const Code* reduce_tile(const Code* ip, Warp& w, std::byte* r, ReduceElements reduce);

// The place of a block of the cluster that is where an address is in another one; of what is no
// place or block of it 0.
std::uint64_t place_in_block(const BlockState& block, unsigned rank, std::uint64_t address);
// Tells an mbarrier of bytes that have come. False: a fault has been noted.
bool report_bytes(Warp& w, const Code* ip, unsigned lane, std::uint64_t object,
                  std::uint32_t bytes);

}  // namespace cupola::cpu::exec
