// csrc/cpu/exec/code.hpp - decoded instructions, and the state of the warp that runs them. Shared
// by the sources that are compiled once for each instruction set, so it holds plain data alone.
//
// A warp's registers are one stretch of bytes: a register of 32 lanes lies 64-byte aligned at a
// fixed offset, lane by lane; a predicate is 32 bits. Constants and special registers lie there
// too, so an operand is an offset whatever it is. Code is threaded: each handler does its work and
// jumps to the next handler.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/fault.hpp"
#include "cpu/range.hpp"

#if defined(__clang__)
// A loop over lanes that calls a function of the maths library stays a loop; that is no fault.
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

namespace cupola::cpu::exec {

inline constexpr unsigned lanes = 32;
inline constexpr std::uint32_t all_lanes = 0xffffffffu;

struct Code;
struct Warp;
using Handler = const Code* (*)(const Code*, Warp&, std::byte* registers);

struct Code {
    Handler run = nullptr;
    std::int32_t op[6] = {0, 0, 0, 0, 0, 0};  // offsets in the register file
    std::int64_t imm = 0;     // constant, address offset, or index into the kernel's lists
    std::int32_t target = 0;  // of a branch: relative to this Code
    std::uint32_t line = 0;   // in the PTX text
    std::uint32_t slot = 0;   // memory access: which cached range
    std::uint16_t cost = 0;   // backward branch: share of the warp's turn
    std::uint8_t flags = 0;
    std::uint8_t count = 1;  // elements of a vector access
};

namespace flag {
inline constexpr std::uint8_t address32 = 1;  // the address register has 32 bits
inline constexpr std::uint8_t strong = 2;     // volatile, relaxed, acquire, release
inline constexpr std::uint8_t acquire = 4;
inline constexpr std::uint8_t release = 8;
inline constexpr std::uint8_t negate = 16;   // branch on a false predicate
inline constexpr std::uint8_t aligned = 32;  // barrier: a warp's lanes come by one instruction
}  // namespace flag

// Lanes that stand at one place and may run.
struct Group {
    std::uint32_t mask;
    const Code* pc;
};

// Lanes that wait: for a barrier of the block, or for other lanes of their warp.
struct Waiting {
    std::uint32_t mask;
    const Code* pc;        // where they go on
    const Code* code;      // the instruction they wait in
    std::int32_t barrier;  // of the block, or -1
    std::uint32_t want;    // of the warp: lanes that must come
};

struct Return {
    const Code* pc;
    std::uint32_t frame;  // bytes that the call moved the stack pointer by
};

enum class Status : std::uint8_t { ready, done, blocked, yielded, faulted };

struct Block;

// One of %tid in a warp: the values of lanes 0 and 16, and whether those of the lanes behind each
// follow by one for x, or are the same for y and z.
struct ThreadLine {
    std::uint32_t low, high;
    bool holds;
};

// What every turn looks at comes first, in two lines of the cache.
struct Warp {
    alignas(64) std::uint32_t mask = 0;
    std::uint32_t masked = 0;     // what lane_mask says: the mask, where lanes run
    std::uint32_t outer = 0;      // the mask around a guarded instruction
    std::uint32_t live = 0;       // lanes that have not exited
    const Code* limit = nullptr;  // a branch to here or beyond looks for waiting lanes
    std::int32_t budget = 0;      // backward branches before others get a turn
    std::int32_t forced = 0;      // branches for which the order of code does not count
    Block* block = nullptr;
    std::byte* registers = nullptr;
    unsigned ready_count = 0, waiting_count = 0;
    std::uint32_t turn = 0;
    bool lenient = false;  // the next warp operation takes whatever lanes there are
    Status status = Status::ready;
    std::uint8_t index = 0;     // in the block
    Group resume;               // of a warp that has yielded
    Return* returns = nullptr;  // [lane][depth]
    std::uint32_t arrived = 0;  // lanes that have come to the cluster's barrier in this phase
    std::int64_t wake = 0;      // of a warp that sleeps: when it goes on, by the steady clock; or 0
    alignas(64) std::int32_t lane_mask[lanes] = {};  // 0 or -1, as `masked` says
    alignas(64) std::uint64_t address[lanes];        // of the access at hand
    Waiting waiting[lanes];
    Group ready[lanes + 1];  // sorted, lowest place last
    std::uint32_t depth[lanes];
    ThreadLine thread[3];
};

// One of the 16 barriers of a block.
struct BarrierState {
    std::uint32_t come[lanes] = {};  // lanes of each warp
    std::uint32_t threads = 0;       // of them
    std::uint32_t count = 0;         // threads that it waits for; 0: all
    std::uint32_t yes = 0;           // bar.red: threads whose predicate was true
};

// How lanes' addresses lie to each other.
enum class Pattern : std::uint8_t { scattered, contiguous, uniform };

// What a memory access needs of the block. The virtual calls are the slow ways.
struct Block {
    std::uintptr_t shared = 0;
    std::uint64_t shared_bytes = 0;
    // The shared memories of the cluster's blocks follow each other at a distance.
    std::uintptr_t cluster = 0;
    std::uint64_t cluster_bytes = 0, cluster_stride = 0;
    std::uintptr_t local = 0;  // of thread 0
    std::uint64_t local_bytes = 0;
    std::uintptr_t parameters = 0;
    std::uint64_t parameter_bytes = 0;
    Range* ranges = nullptr;               // cached, one for each access of the kernel
    std::uint32_t index_of_block[3] = {};  // %ctaid
    std::uint32_t shape[3] = {1, 1, 1};    // %ntid
    std::uint32_t end_of_sweep = 0;        // in a row, of blocks that are done at once
    std::uint32_t swept_warps = 0;         // of the block behind them, the first so many are done
    unsigned warp_count = 0, live_warps = 0, live_threads = 0;
    // Whether somebody has come to a barrier: an exit may be what completes it.
    bool awaited = false;
    // Whether no other block waits for the end of its turn.
    bool alone = false;
    Warp* at_work = nullptr;  // the warp that machine code runs, or has run last
    BarrierState barriers[16];
    std::uint32_t used_barriers = 0;  // a bit for each whose state is not a fresh one's

    // Checks every active lane's address one by one. False: a fault has been noted.
    virtual bool resolve(Warp& w, const Code* ip, unsigned bytes, bool write) = 0;
    virtual void fault(Warp& w, const Code* ip, FaultKind kind, unsigned lane, const char* what,
                       std::uint64_t address) = 0;
    virtual bool is_constant(std::uintptr_t address) const = 0;
    // Whether a lane may read or write a stretch of whole 16 bytes. False: a fault has been noted.
    virtual bool bulk(Warp& w, const Code* ip, unsigned lane, std::uint64_t address,
                      std::uint64_t bytes, bool write) = 0;

  protected:
    ~Block() = default;
};

extern const Code halt;  // its handler leaves the warp

// schedule.cpp: who runs next.
void set_mask(Warp& w, std::uint32_t mask);
const Code* arrive(Warp& w, const Code* at);  // the running lanes have come to `at`
const Code* expire(Warp& w, const Code* at);  // and their turn is over
// The running lanes sleep for so long, and go on at `at`.
const Code* doze(Warp& w, const Code* at, std::uint32_t nanoseconds);
const Code* split(Warp& w, std::uint32_t first_mask, const Code* first, const Code* second);
const Code* pick(Warp& w);  // the running lanes are gone
void make_ready(Warp& w, std::uint32_t mask, const Code* at);
const Code* wait_for_lanes(Warp& w, std::uint32_t want, const Code* code, const Code* then);
const Code* stop_faulted(Warp& w);
bool force_ready(Warp& w);  // lets lanes go that wait for others in vain

// A handler does its work in a Body and goes on with the next one. Where the compiler can be relied
// upon to turn the last call into a jump, it is one; else the loop in `run_warp` makes it.
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
const Code* threaded(const Code* ip, Warp& w, std::byte* r) {
    const Code* next = Body(ip, w, r);
#if CUPOLA_THREADED
    CUPOLA_TAIL return next->run(next, w, r);
#else
    return next;
#endif
}

// Up to a multiple.
constexpr std::uint64_t rounded(std::uint64_t n, std::uint64_t to) {
    return (n + to - 1) / to * to;
}

// Always inline: a copy compiled for one instruction set must not serve another.
template <class T>
[[gnu::always_inline]] inline T* at(std::byte* registers, std::int32_t offset) {
    return static_cast<T*>(__builtin_assume_aligned(registers + offset, alignof(T)));
}

[[gnu::always_inline]] inline std::uint32_t& bits_at(std::byte* registers, std::int32_t offset) {
    return *reinterpret_cast<std::uint32_t*>(registers + offset);
}

}  // namespace cupola::cpu::exec
