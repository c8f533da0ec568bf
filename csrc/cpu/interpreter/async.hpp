// csrc/cpu/interpreter/async.hpp - kinds and handlers of asynchronous copies.
//
// A copy is complete when it is issued. PTX allows that order. Groups of copies and waits for them
// then have no effect, and machine code omits these operations. The race check sees the operations.
// An mbarrier counts the arrivals and bytes of a copy in the same time slice.
#pragma once

#include <cstdint>

#include "cpu/isa/code.hpp"
#include "ptx/modifiers.hpp"
#include "ptx/table.hpp"

namespace cupola::cpu::interpreter {

class BlockState;

// Named as the semantics in the table's rows.
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
    MbarrierCheckLayout,
    CopyAsync,
    CommitGroup,
    WaitGroup,
    WaitAll,
    CommitBulk,
    WaitBulk,
    WaitBulkRead,
    Nothing,
    BulkToShared,
    BulkMasked,
    BulkInside,
    BulkMulticast,
    BulkToCluster,
    BulkToGlobal,
    BulkReduce,
    StoreAsync,
    StoreRelease,
    StoreZeros,
    ReduceAsync,
    ReduceRelease,
    FenceAddress,
    CreatePolicy,
    TensorLoad,
    TensorSend,
    TensorStore,
    TensorReduce,
    TensorReplace,
    TensorCopyFence,
    Multimem,
    TryCancel,
    TryCancelForAll,
    QueryCanceled,
    QueryBlock,
};

// The kind of an instruction in the table's chapter of asynchronous copies, and of no other one.
AsyncKind async_kind_of(ptx::FormId form);
constexpr bool is_async(ptx::FormId form) {
    return form.group() == static_cast<unsigned>(ptx::InstructionGroupId::async);
}

// Whether an instruction commits a group of copies or waits for a group.
constexpr bool is_of_group(AsyncKind kind) {
    return kind >= AsyncKind::CommitGroup && kind <= AsyncKind::WaitBulkRead;
}

// op: [0] result, [1] generic address of the object, [2] count, state or parity; imm: 1 for
// .layout::v1. Returns nullptr where `kind` is not of an mbarrier.
Handler mbarrier_handler(AsyncKind kind);

struct AsyncControl {
    // op: [1] generic address of an mbarrier, [2] bytes that have arrived.
    Handler complete;
    // The report of a phase. op: [0] whether there is one, [2] its value of 8 bits.
    Handler report;
    // op: [1] generic destination, [2] source, [3] bytes read, [4] predicate: read none; imm: bytes
    // written.
    Handler copy;
    // op: [1] generic destination, [2] source, [3] bytes.
    Handler bulk;
    // As bulk, and [4] generic address of the mbarrier, [5] mask of the cluster's blocks.
    Handler multicast;
    // op: [1] generic destination in the block's shared memory, [3] bytes; count: the bytes of that
    // register.
    Handler zeros;
    // As bulk, and [4] a mask of the bytes in each 16.
    Handler masked;
    // As bulk, and [4], [5] bytes at both ends that may be out of bounds.
    Handler inside;
    // Commits a group of copies, or waits for a group. imm of a wait: the number of groups that may
    // be incomplete.
    Handler group;
};
extern const AsyncControl async_control;

// cluster_launch.cpp
struct ClusterLaunchControl {
    // op: [1] generic address of the response, [2] of an mbarrier; imm: 1 for all blocks of the
    // cluster.
    Handler cancel;
    // op: [0] predicate, [1] response.
    Handler is_canceled;
    // op: [0] result, [1] response; imm: the axis.
    Handler first_block;
};
extern const ClusterLaunchControl cluster_launch_control;

// tensor.cpp. op: [0] bytes that were loaded, [1] generic address of the box, [2] of the tensor
// map, [4] of an mbarrier, [5] mask of the cluster's blocks. imm: an index into the kernel's
// tables, a TensorMode from mode_bit on, and flags. The table lists the coordinates' registers, and
// with `shifted` the registers of their offsets. `pair`: the mbarriers of all copies are in blocks
// of the same parity as the block of [4].
struct TensorControl {
    static constexpr unsigned mode_bit = 32;
    static constexpr std::int64_t shifted = std::int64_t{1} << 40, pair = shifted << 1;
    Handler load, store, send;
    // op: [1] generic address of the map, [2] new value; imm: Field, and the axis above it.
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
        swizzle_atomicity,
    };
};
extern const TensorControl tensor_control;

// The same offset in another block of the cluster, as an address. Returns 0 for an invalid address
// or rank.
std::uint64_t place_in_block(const BlockState& block, unsigned rank, std::uint64_t address);
// One arrival at an mbarrier. False: a fault has been noted.
bool report_arrival(Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t object);
// Adds received bytes to an mbarrier. False: a fault has been noted.
bool report_bytes(Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t object,
                  std::uint32_t bytes);

}  // namespace cupola::cpu::interpreter
