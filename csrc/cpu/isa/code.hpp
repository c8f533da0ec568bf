// csrc/cpu/isa/code.hpp - decoded instructions, and the state of a warp and its block.
//
// Sources that are compiled once for each instruction set include it, so it holds plain data only.
//
// A register file is one contiguous piece of memory. A register of 32 lanes has a fixed, 64-byte
// aligned offset, and its lanes are contiguous; a predicate has 32 bits. Constants and special
// registers are in the register file too, so every operand is an offset. The code is threaded:
// each handler ends with a jump to the next handler.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/base/fault.hpp"
#include "cpu/base/range.hpp"

#if defined(__clang__)
// Loops over lanes that call the maths library are not vectorized; that is expected.
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

namespace cupola::cpu::interpreter {

inline constexpr unsigned lanes = 32;
inline constexpr std::uint32_t all_lanes = 0xffffffffu;

struct DecodedOp;
struct Warp;
using Handler = const DecodedOp* (*)(const DecodedOp*, Warp&, std::byte* registers);

// The kind of an operation that no row of the instruction table describes: the decoder adds it, or
// composes an instruction of it.
enum class Pseudo : std::uint8_t {
    none,  // a row of the table, or an operation whose effects are unknown
    jump,
    join,
    branch,
    branch_indexed,
    guard_begin,
    guard_end,
    call,
    call_indirect,
    call_end,
    ret,
    exit,
    trap,
    breakpoint,
    barrier,
    barrier_arrive,
    cluster_arrive,
    cluster_wait,
    sleep,
    read_clock,      // reads a clock or a timer, and writes `bytes`
    runtime_call,    // a call of the device runtime: accesses the thread's frame only
    load_parameter,  // loads `bytes` bytes
    pack,            // `count` elements of `bytes` into one register
    unpack,
    count_lines,  // for coverage: imm is a counter
    count_branch,
    count_table,  // counts a branch through a table of `slot` labels
};

struct DecodedOp {
    Handler run = nullptr;
    std::int32_t op[6] = {0, 0, 0, 0, 0, 0};  // offsets in the register file
    std::int64_t imm = 0;     // constant, address offset, or index into the kernel's lists
    std::int32_t target = 0;  // branch: relative to this DecodedOp
    std::uint32_t line = 0;   // in the PTX text
    std::uint32_t slot = 0;   // memory access: index of its cached range
    std::uint16_t cost = 0;   // backward branch: share of the time slice
    std::uint8_t flags = 0;
    std::uint8_t count = 1;    // elements of a vector access
    std::uint32_t origin = 0;  // its instruction in KernelCode::origins, from 1; 0: none
    Pseudo pseudo = Pseudo::none;
    std::uint8_t bytes = 0;  // size of an element, for some pseudo-operations
};

// A handler, and what it executes: a row of the table or a pseudo-operation.
struct BoundHandler {
    constexpr BoundHandler(Handler handler = nullptr, Pseudo what = Pseudo::none,
                           unsigned element_bytes = 0, unsigned elements = 1)
        : run(handler),
          pseudo(what),
          bytes(static_cast<std::uint8_t>(element_bytes)),
          count(static_cast<std::uint8_t>(elements)) {}
    explicit operator bool() const { return run != nullptr; }
    void bind(DecodedOp& code) const {
        code.run = run;
        code.origin = origin;
        code.pseudo = pseudo;
        code.bytes = bytes;
        code.count = count;
    }

    Handler run;
    std::uint32_t origin = 0;  // as in DecodedOp
    Pseudo pseudo;
    std::uint8_t bytes, count;
};

namespace flag {
inline constexpr std::uint8_t address32 = 1;  // the address register has 32 bits
inline constexpr std::uint8_t strong = 2;     // volatile, relaxed, acquire, release
inline constexpr std::uint8_t acquire = 4;
inline constexpr std::uint8_t release = 8;
inline constexpr std::uint8_t negate = 16;   // branch on a false predicate
inline constexpr std::uint8_t aligned = 32;  // barrier: a warp's lanes arrive by one instruction
}  // namespace flag

// Lanes that are ready to run at one pc.
struct Group {
    std::uint32_t mask;
    const DecodedOp* pc;
};

// Lanes that wait for a barrier of the block, or for other lanes of their warp.
struct Waiting {
    std::uint32_t mask;
    const DecodedOp* pc;    // where they continue
    const DecodedOp* code;  // the instruction that they wait in
    std::int32_t barrier;   // number of the block's barrier; -1: a barrier of the warp
    std::uint32_t want;     // barrier of the warp: lanes that must arrive
};

struct Return {
    const DecodedOp* pc;
    std::uint32_t frame;  // bytes by which the call moved the stack pointer
};

enum class Status : std::uint8_t { ready, done, blocked, yielded, faulted };

struct Block;

// One component of %tid in a warp: the values of lanes 0 and 16. `holds`: in the 15 lanes after
// each, x increases by one, and y and z stay the same.
struct ThreadAffine {
    std::uint32_t low, high;
    bool holds;
};

// Fields that every time slice reads come first, in two cache lines.
struct Warp {
    alignas(64) std::uint32_t mask = 0;
    std::uint32_t masked = 0;  // the mask that lane_mask holds
    std::uint32_t outer = 0;   // the mask outside a guarded instruction
    std::uint32_t live = 0;    // lanes that have not exited
    // Branches at or beyond this operation check the ready groups.
    const DecodedOp* limit = nullptr;
    std::int32_t budget = 0;  // cost of backward branches left in the time slice
    std::int32_t forced = 0;  // number of further branches at which code order is ignored
    Block* block = nullptr;
    std::byte* registers = nullptr;
    unsigned ready_count = 0, waiting_count = 0;
    std::uint32_t turn = 0;
    bool lenient = false;  // the next warp operation accepts missing lanes
    Status status = Status::ready;
    std::uint8_t index = 0;     // the warp's index in the block
    Group resume;               // where a yielded warp continues
    Return* returns = nullptr;  // [lane][depth]
    std::uint32_t arrived = 0;  // lanes that arrived at the cluster's barrier in this phase
    std::int64_t wake = 0;      // a sleeping warp: wake-up time of the steady clock; else 0
    alignas(64) std::int32_t lane_mask[lanes] = {};  // 0 or -1 in each lane, as in `masked`
    alignas(64) std::uint64_t address[lanes];        // addresses of the current access
    Waiting waiting[lanes];
    Group ready[lanes + 1];  // sorted, lowest pc last
    std::uint32_t depth[lanes];
    ThreadAffine thread[3];
};

// One of the 16 barriers of a block.
struct BarrierState {
    std::uint32_t come[lanes] = {};  // arrived lanes of each warp
    std::uint32_t threads = 0;       // number of arrived threads
    std::uint32_t count = 0;         // expected threads; 0: all
    std::uint32_t yes = 0;           // bar.red: threads whose predicate was true
};

// How the lanes' addresses relate to each other.
enum class Pattern : std::uint8_t { scattered, contiguous, uniform };

// The bits by which an address names the shared memory of the block of a rank. A block has at most
// 227 KiB. As on hardware, the rank begins at bit 24; bit 30 tells such an address from an offset.
inline constexpr unsigned rank_shift = 24;
inline constexpr std::uint64_t window_bits(unsigned rank) {
    return std::uint64_t{1} << 30 | std::uint64_t{rank} << rank_shift;
}

// Updates of global memory that a worker has combined, and makes later. An entry has an address, or
// 0, and the combined operands.
struct DeferredUpdates {
    static constexpr unsigned entries = 64;
    static constexpr std::int32_t full_credit = 256;

    void (*make)(DeferredUpdates&) = nullptr;  // null: no update is deferred
    // Falls with each entry that another address replaces. Below 0, updates are not deferred.
    std::int32_t credit = full_credit;
    std::uint64_t address[entries] = {}, value[entries];

    void make_all() {
        if (make) make(*this);
        make = nullptr;
    }
};

// The block's state that handlers need. The virtual functions are the slow paths.
struct Block {
    std::uintptr_t shared = 0;
    std::uint64_t shared_bytes = 0;
    // Bits above the offset in the addresses of .shared variables: 0, or the bits of the block's
    // rank.
    std::uint64_t shared_window = 0;
    // Bits of the block's rank in addresses of the .shared::cluster window.
    std::uint64_t rank_window = window_bits(0);
    // The shared memories of the cluster's blocks, at a fixed stride.
    std::uintptr_t cluster = 0;
    std::uint64_t cluster_bytes = 0, cluster_stride = 0;
    std::uintptr_t local = 0;  // local memory of thread 0
    std::uint64_t local_bytes = 0;
    std::uintptr_t parameters = 0;
    std::uint64_t parameter_bytes = 0;
    Range* ranges = nullptr;               // cached, one for each access of the kernel
    std::uint32_t index_of_block[3] = {};  // %ctaid
    std::uint32_t shape[3] = {1, 1, 1};    // %ntid
    // Machine code runs blocks of a row up to this one.
    std::uint32_t batch_end = 0;
    std::uint32_t batched_threads = 0;  // number of the next block's threads that ran already
    unsigned warp_count = 0, live_warps = 0, live_threads = 0;
    // Whether threads wait at a barrier: an exit may then complete it.
    bool awaited = false;
    // Whether no other block shares the thread.
    bool alone = false;
    Warp* running_warp = nullptr;  // the warp whose machine code runs, or ran last
    BarrierState barriers[16];
    std::uint32_t used_barriers = 0;  // bit mask of barriers that need a reset
    DeferredUpdates deferred;
    std::uint64_t* counts = nullptr;  // for coverage; null where the kernel has no counters

    // The offset that an address of this block's shared memory names. An address of another block
    // stays as it is, which is too large for an offset.
    std::uint64_t shared_offset(std::uint64_t address) const {
        const std::uint64_t offset = address - rank_window;
        return offset >> rank_shift == 0 ? offset : address;
    }

    // Checks the address of each active lane. False: a fault has been noted.
    virtual bool resolve(Warp& w, const DecodedOp* ip, unsigned bytes, bool write) = 0;
    virtual void fault(Warp& w, const DecodedOp* ip, FaultKind kind, unsigned lane,
                       const char* what, std::uint64_t address) = 0;
    virtual bool is_constant(std::uintptr_t address) const = 0;
    // Whether a lane may access a multiple of 16 bytes. False: a fault has been noted.
    virtual bool bulk(Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t address,
                      std::uint64_t bytes, bool write) = 0;

  protected:
    ~Block() = default;
};

extern const DecodedOp halt;  // its handler leaves the warp

// lane_schedule.cpp: selects the lanes that run next.
void set_mask(Warp& w, std::uint32_t mask);
const DecodedOp* arrive(Warp& w, const DecodedOp* at);  // the running lanes reach `at`
const DecodedOp* end_time_slice(Warp& w,
                                // As `arrive`, and ends the time slice of the arriving lanes.
                                const DecodedOp* at);
// The running lanes sleep, then continue at `at`.
const DecodedOp* doze(Warp& w, const DecodedOp* at, std::uint32_t nanoseconds);
const DecodedOp* split(Warp& w, std::uint32_t first_mask, const DecodedOp* first,
                       const DecodedOp* second);
const DecodedOp* pick(Warp& w);  // no lane runs now: selects the lanes that run next
void make_ready(Warp& w, std::uint32_t mask, const DecodedOp* at);
const DecodedOp* wait_for_lanes(Warp& w, std::uint32_t want, const DecodedOp* code,
                                const DecodedOp* then);
const DecodedOp* stop_faulted(Warp& w);
// A seeded order interrupts the running lanes before `at`: other lanes run, or other warps.
const DecodedOp* interrupt(Warp& w, const DecodedOp* at);
bool force_ready(Warp& w);  // releases lanes whose partners do not arrive

// A handler is a Body that then calls the next handler. The handler makes this call itself where
// the compiler is known to turn the call into a jump; elsewhere the loop in BlockState::enter makes
// the call.
#if defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && defined(__OPTIMIZE__)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CUPOLA_THREADED 0
#elif __has_cpp_attribute(clang::musttail)
#define CUPOLA_THREADED 1
#define CUPOLA_TAIL [[clang::musttail]]
#else
#define CUPOLA_THREADED 0
#endif
#elif defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define CUPOLA_THREADED 1
#define CUPOLA_TAIL
#else
#define CUPOLA_THREADED 0
#endif

template <Handler Body>
const DecodedOp* threaded(const DecodedOp* ip, Warp& w, std::byte* r) {
    const DecodedOp* next = Body(ip, w, r);
#if CUPOLA_THREADED
    CUPOLA_TAIL return next->run(next, w, r);
#else
    return next;
#endif
}

// Rounds up to a multiple of `to`.
constexpr std::uint64_t rounded(std::uint64_t n, std::uint64_t to) {
    return (n + to - 1) / to * to;
}

// Always inline: the linker must not share a copy that was compiled for another instruction set.
template <class T>
[[gnu::always_inline]] inline T* at(std::byte* registers, std::int32_t offset) {
    return static_cast<T*>(__builtin_assume_aligned(registers + offset, alignof(T)));
}

[[gnu::always_inline]] inline std::uint32_t& bits_at(std::byte* registers, std::int32_t offset) {
    return *reinterpret_cast<std::uint32_t*>(registers + offset);
}

}  // namespace cupola::cpu::interpreter
