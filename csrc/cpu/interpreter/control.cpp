// csrc/cpu/interpreter/control.cpp - handlers of control flow: branches, calls, barriers, clocks.
#include "cpu/interpreter/control.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "cpu/base/conditional.hpp"
#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/counters.hpp"
#include "cpu/interpreter/device_call.hpp"
#include "cpu/interpreter/device_printf.hpp"

namespace cupola::cpu::interpreter {
namespace {

inline const DecodedOp* go(Warp& w, const DecodedOp* to) {
    return __builtin_expect(to < w.limit, 1) ? to : arrive(w, to);
}

// Charges a backward branch to the time slice.
inline const DecodedOp* charged(Warp& w, const DecodedOp* ip, const DecodedOp* to) {
    if (ip->target <= 0 && (w.budget -= ip->cost) < 0) return end_time_slice(w, to);
    return to;
}

const DecodedOp* jump(const DecodedOp* ip, Warp& w, std::byte*) {
    return charged(w, ip, go(w, ip + ip->target));
}

// An operation before a pc that is a reconvergence point, and that is also reached by fall-through.
const DecodedOp* join(const DecodedOp* ip, Warp& w, std::byte*) { return go(w, ip + 1); }

const DecodedOp* branch(const DecodedOp* ip, Warp& w, std::byte* r) {
    const std::uint32_t p = bits_at(r, ip->op[0]) ^ ((ip->flags & flag::negate) ? all_lanes : 0);
    const std::uint32_t taken = w.mask & p;
    if (taken == 0) return go(w, ip + 1);
    if (taken == w.mask) return charged(w, ip, go(w, ip + ip->target));
    return charged(w, ip, split(w, taken, ip + ip->target, ip + 1));
}

[[gnu::noinline]] const DecodedOp* branch_indexed(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto& table = block_of(w).kernel().tables[static_cast<std::size_t>(ip->imm)];
    const auto* index = at<const std::uint32_t>(r, ip->op[0]);
    for (std::uint32_t m = w.mask; m != 0;) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        if (index[lane] >= table.size()) {
            w.block->fault(w, ip, Fault::Kind::illegal_instruction, lane,
                           "brx.idx index outside of its table", index[lane]);
            return stop_faulted(w);
        }
        std::uint32_t same = 0;
        for (std::uint32_t k = m; k != 0; k &= k - 1)
            if (index[__builtin_ctz(k)] == index[lane]) same |= k & (0u - k);
        make_ready(w, same, ip + table[index[lane]]);
        m &= ~same;
    }
    if ((w.budget -= ip->cost) < 0) {
        const DecodedOp* to = pick(w);
        return end_time_slice(w, to);
    }
    return pick(w);
}

const DecodedOp* guard_begin(const DecodedOp* ip, Warp& w, std::byte* r) {
    const std::uint32_t p = bits_at(r, ip->op[0]) ^ ((ip->flags & flag::negate) ? all_lanes : 0);
    const std::uint32_t mask = w.mask & p;
    w.outer = w.mask;
    if (mask == 0) return ip + ip->target;
    if (mask != w.mask) set_mask(w, mask);
    return ip + 1;
}
const DecodedOp* guard_end(const DecodedOp* ip, Warp& w, std::byte*) {
    if (w.mask != w.outer) set_mask(w, w.outer);
    return ip + 1;
}

template <class F>
void each_lane(std::uint32_t mask, F f) {
    for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(__builtin_ctz(mask)));
}

std::uint32_t* stack_pointers(Warp& w) {
    return at<std::uint32_t>(w.registers, block_of(w).kernel().stack_pointer);
}

void save_registers(Warp& w, const CallSite& site, unsigned lane, std::byte* to, bool restore) {
    std::uint32_t offset = 0;
    for (const auto& [reg, bytes] : site.saved) {
        if (bytes == 0) {
            std::uint32_t& bits = bits_at(w.registers, reg);
            if (restore)
                bits = (bits & ~(1u << lane)) | static_cast<std::uint32_t>(to[offset]) << lane;
            else
                to[offset] = static_cast<std::byte>(bits >> lane & 1);
            offset += 1;
            continue;
        }
        std::byte* at = w.registers + reg + lane * bytes;
        if (restore)
            std::memcpy(at, to + offset, bytes);
        else
            std::memcpy(to + offset, at, bytes);
        offset += bytes;
    }
}

// Pushes the callee's frames of the active lanes. False: a fault has been noted.
bool push_frames(const DecodedOp* ip, Warp& w, BlockState& block, const CallSite& site) {
    std::uint32_t* sp = stack_pointers(w);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        if (w.depth[lane] >= block.kernel().call_depth ||
            std::uint64_t{sp[lane]} + site.frame + site.needed > block.local_bytes) {
            block.fault(w, ip, Fault::Kind::stack_overflow, lane, "calls are nested too deeply",
                        w.depth[lane]);
            return false;
        }
        std::byte* frame = block.local_of(w, lane) + sp[lane];
        save_registers(w, site, lane, frame + site.save_at, false);
        for (const Copy& c : site.arguments) std::memcpy(frame + c.to, frame + c.from, c.bytes);
        sp[lane] += site.frame;
        w.returns[lane * block.kernel().call_depth + w.depth[lane]++] = {ip + 1, site.frame};
    }
    return true;
}

[[gnu::noinline]] const DecodedOp* call_indirect(const DecodedOp* ip, Warp& w, std::byte* r) {
    BlockState& block = block_of(w);
    const CallSite& site = block.kernel().calls[static_cast<std::size_t>(ip->imm)];
    const auto* address = at<const std::uint64_t>(r, ip->op[0]);
    const DecodedOp* to[lanes];
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        to[lane] = nullptr;
        for (const auto& [known, start] : site.targets)
            if (known == address[lane]) to[lane] = block.code() + start;
        if (!to[lane]) {
            block.fault(w, ip, Fault::Kind::illegal_instruction, lane,
                        "call of an address that is not a function of this prototype",
                        address[lane]);
            return stop_faulted(w);
        }
    }
    if (!push_frames(ip, w, block, site)) return stop_faulted(w);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        make_ready(w, 1u << lane, to[lane]);
    }
    const DecodedOp* next = pick(w);
    return (w.budget -= ip->cost) < 0 ? end_time_slice(w, next) : next;
}

[[gnu::noinline]] const DecodedOp* call(const DecodedOp* ip, Warp& w, std::byte*) {
    BlockState& block = block_of(w);
    const CallSite& site = block.kernel().calls[static_cast<std::size_t>(ip->imm)];
    if (!push_frames(ip, w, block, site)) return stop_faulted(w);
    if ((w.budget -= ip->cost) < 0) return end_time_slice(w, go(w, ip + ip->target));
    return go(w, ip + ip->target);
}

// After a call: copies results, and restores registers that a recursive callee may have used.
[[gnu::noinline]] const DecodedOp* call_end(const DecodedOp* ip, Warp& w, std::byte*) {
    BlockState& block = block_of(w);
    const CallSite& site = block.kernel().calls[static_cast<std::size_t>(ip->imm)];
    const std::uint32_t* sp = stack_pointers(w);
    each_lane(w.mask, [&](unsigned lane) {
        std::byte* frame = block.local_of(w, lane) + sp[lane];
        save_registers(w, site, lane, frame + site.save_at, true);
        for (const Copy& c : site.results) std::memcpy(frame + c.to, frame + c.from, c.bytes);
    });
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* ret(const DecodedOp*, Warp& w, std::byte*) {
    BlockState& block = block_of(w);
    std::uint32_t* sp = stack_pointers(w);
    each_lane(w.mask, [&](unsigned lane) {
        const Return& back = w.returns[lane * block.kernel().call_depth + --w.depth[lane]];
        sp[lane] -= back.frame;
        make_ready(w, 1u << lane, back.pc);
    });
    return pick(w);
}

const DecodedOp* exit_lanes(const DecodedOp*, Warp& w, std::byte*) {
    return block_of(w).exit_lanes(w);
}

const DecodedOp* trap(const DecodedOp* ip, Warp& w, std::byte*) {
    w.block->fault(w, ip, Fault::Kind::trap, static_cast<unsigned>(__builtin_ctz(w.mask)), "trap",
                   0);
    return stop_faulted(w);
}
const DecodedOp* brkpt(const DecodedOp* ip, Warp& w, std::byte*) {
    w.block->fault(w, ip, Fault::Kind::trap, static_cast<unsigned>(__builtin_ctz(w.mask)), "brkpt",
                   0);
    return stop_faulted(w);
}

// Operands: destination, barrier, threads, predicate.
std::uint32_t uniform(Warp& w, std::byte* r, std::int32_t offset) {
    return at<const std::uint32_t>(r, offset)[__builtin_ctz(w.mask)];
}
const DecodedOp* barrier(const DecodedOp* ip, Warp& w, std::byte* r) {
    return block_of(w).arrive_at(w, ip, uniform(w, r, ip->op[1]), uniform(w, r, ip->op[2]), true,
                                 bits_at(r, ip->op[3]));
}
const DecodedOp* barrier_arrive(const DecodedOp* ip, Warp& w, std::byte* r) {
    return block_of(w).arrive_at(w, ip, uniform(w, r, ip->op[1]), uniform(w, r, ip->op[2]), false,
                                 0);
}

std::uint64_t nanoseconds(bool wall) {
    using namespace std::chrono;
    return static_cast<std::uint64_t>(
        wall ? duration_cast<std::chrono::nanoseconds>(system_clock::now().time_since_epoch())
                   .count()
             : duration_cast<std::chrono::nanoseconds>(steady_clock::now().time_since_epoch())
                   .count());
}
template <bool Wall, class T, unsigned Shift>
[[gnu::noinline]] const DecodedOp* read_time(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto value = static_cast<T>(nanoseconds(Wall) >> Shift);
    T* d = at<T>(r, ip->op[0]);
    each_lane(w.mask, [&](unsigned lane) { d[lane] = value; });
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* print(const DecodedOp* ip, Warp& w, std::byte*) {
    BlockState& block = block_of(w);
    const CallSite& site = block.kernel().calls[static_cast<std::size_t>(ip->imm)];
    const std::uint32_t* sp = stack_pointers(w);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        std::byte* frame = block.local_of(w, lane) + sp[lane];
        std::uint64_t format = 0, arguments = 0;
        std::memcpy(&format, frame + site.arguments[0].from, 8);
        std::memcpy(&arguments, frame + site.arguments[1].from, 8);
        std::int32_t written = 0;
        if (!print_formatted(block, w, ip, lane, format, arguments, written))
            return stop_faulted(w);
        if (!site.results.empty()) std::memcpy(frame + site.results[0].to, &written, 4);
    }
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* assertion(const DecodedOp* ip, Warp& w, std::byte*) {
    BlockState& block = block_of(w);
    const CallSite& site = block.kernel().calls[static_cast<std::size_t>(ip->imm)];
    const auto lane = static_cast<unsigned>(__builtin_ctz(w.mask));
    const std::byte* frame = block.local_of(w, lane) + stack_pointers(w)[lane];
    report_assertion(block, w, ip, lane, frame, site);
    return stop_faulted(w);
}

// malloc and free in device code.
[[gnu::noinline]] const DecodedOp* allocate(const DecodedOp* ip, Warp& w, std::byte*) {
    BlockState& block = block_of(w);
    const CallSite& site = block.kernel().calls[static_cast<std::size_t>(ip->imm)];
    const std::uint32_t* sp = stack_pointers(w);
    DeviceHeap* heap = block.launch().heap;
    each_lane(w.mask, [&](unsigned lane) {
        std::byte* frame = block.local_of(w, lane) + sp[lane];
        std::uint64_t bytes = 0;
        std::memcpy(&bytes, frame + site.arguments[0].from, 8);
        const std::uint64_t got = heap ? heap->allocate(bytes) : 0;
        std::memcpy(frame + site.results[0].to, &got, 8);
        if (got != 0) block.notify([&](auto& each) { each.allocated(got, rounded(bytes, 4)); });
    });
    return ip + 1;
}
[[gnu::noinline]] const DecodedOp* release(const DecodedOp* ip, Warp& w, std::byte*) {
    BlockState& block = block_of(w);
    const CallSite& site = block.kernel().calls[static_cast<std::size_t>(ip->imm)];
    const std::uint32_t* sp = stack_pointers(w);
    DeviceHeap* heap = block.launch().heap;
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        std::uint64_t address = 0;
        std::memcpy(&address, block.local_of(w, lane) + sp[lane] + site.arguments[0].from, 8);
        if (address == 0 || (heap && heap->release(address))) continue;
        block.fault(w, ip, Fault::Kind::illegal_address, lane,
                    "free of an address that malloc did not return", address);
        return stop_faulted(w);
    }
    return ip + 1;
}

// cudaGraphSetConditional(handle, value)
[[gnu::noinline]] const DecodedOp* set_condition(const DecodedOp* ip, Warp& w, std::byte*) {
    BlockState& block = block_of(w);
    const CallSite& site = block.kernel().calls[static_cast<std::size_t>(ip->imm)];
    const std::uint32_t* sp = stack_pointers(w);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const std::byte* frame = block.local_of(w, lane) + sp[lane];
        std::uint64_t handle = 0;
        std::uint32_t value = 0;
        std::memcpy(&handle, frame + site.arguments[0].from, 8);
        std::memcpy(&value, frame + site.arguments[1].from, 4);
        auto* const word = reinterpret_cast<ConditionalWord*>(
            block.reach(w, ip, lane, handle, sizeof(ConditionalWord), alignof(ConditionalWord),
                        observe::Touch::atomic));
        if (!word) return stop_faulted(w);
        if (word->known != ConditionalWord::mark) {
            block.fault(w, ip, Fault::Kind::illegal_address, lane,
                        "cudaGraphSetConditional with an invalid handle", handle);
            return stop_faulted(w);
        }
        __atomic_store_n(&word->value, value, __ATOMIC_RELAXED);
    }
    return ip + 1;
}

// A function of the device runtime, for one lane after the other.
[[gnu::noinline]] const DecodedOp* call_runtime(const DecodedOp* ip, Warp& w, std::byte*) {
    BlockState& block = block_of(w);
    const CallSite& site = block.kernel().calls[static_cast<std::size_t>(ip->imm)];
    const std::uint32_t* sp = stack_pointers(w);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        if (!call_device_function(block, w, ip, lane, block.local_of(w, lane) + sp[lane], site))
            return stop_faulted(w);
    }
    return ip + 1;
}

// op: [1] nanoseconds. A warp sleeps as long as its shortest lane; a GPU sleeps at most 1 ms.
[[gnu::noinline]] const DecodedOp* sleep(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* time = at<const std::uint32_t>(r, ip->op[1]);
    std::uint32_t least = 1'000'000;
    each_lane(w.mask, [&](unsigned lane) { least = std::min(least, time[lane]); });
    return doze(w, ip + 1, least);
}

const DecodedOp* count_lines(const DecodedOp* ip, Warp& w, std::byte*) {
    interpreter::count_lines(w, w.mask, static_cast<std::uint32_t>(ip->imm));
    return ip + 1;
}
const DecodedOp* count_branch(const DecodedOp* ip, Warp& w, std::byte* r) {
    const std::uint32_t p = bits_at(r, ip->op[0]) ^ ((ip->flags & flag::negate) ? all_lanes : 0);
    interpreter::count_branch(w, w.mask, p, static_cast<std::uint32_t>(ip->imm));
    return ip + 1;
}
const DecodedOp* count_table(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* index = at<const std::uint32_t>(r, ip->op[0]);
    std::uint64_t* const counts = w.block->counts + ip->imm;
    each_lane(w.mask, [&](unsigned lane) {
        if (index[lane] < ip->slot) ++counts[index[lane]];
    });
    return ip + 1;
}

const DecodedOp* leave(const DecodedOp*, Warp&, std::byte*) { return nullptr; }

template <unsigned Bytes, unsigned Count, bool Pack>
[[gnu::noinline]] const DecodedOp* repack(const DecodedOp* ip, Warp& w, std::byte* r) {
    std::byte* whole = r + ip->op[0];
    for (unsigned k = 0; k < Count; ++k) {
        std::byte* part = r + ip->op[1 + k];
        if (!Pack && ip->op[1 + k] == 0) continue;  // `_`
        each_lane(w.mask, [&](unsigned lane) {
            std::byte* a = whole + lane * (Bytes * Count) + k * Bytes;
            std::byte* b = part + lane * Bytes;
            std::memcpy(Pack ? a : b, Pack ? b : a, Bytes);
        });
    }
    return ip + 1;
}

template <bool Pack>
Handler repack_handler(unsigned bytes, unsigned count) {
    switch (bytes * 16 + count) {
        case 1 * 16 + 2:
            return &threaded<&repack<1, 2, Pack>>;
        case 1 * 16 + 4:
            return &threaded<&repack<1, 4, Pack>>;
        case 2 * 16 + 2:
            return &threaded<&repack<2, 2, Pack>>;
        case 2 * 16 + 4:
            return &threaded<&repack<2, 4, Pack>>;
        case 4 * 16 + 2:
            return &threaded<&repack<4, 2, Pack>>;
        case 4 * 16 + 4:
            return &threaded<&repack<4, 4, Pack>>;
        case 8 * 16 + 2:
            return &threaded<&repack<8, 2, Pack>>;
        default:
            return nullptr;
    }
}

DecodedOp make_halt() {
    DecodedOp code;
    code.run = &leave;
    return code;
}

}  // namespace

const DecodedOp halt = make_halt();

BoundHandler pack_handler(unsigned bytes, unsigned count) {
    return {repack_handler<true>(bytes, count), Pseudo::pack, bytes, count};
}
BoundHandler unpack_handler(unsigned bytes, unsigned count) {
    return {repack_handler<false>(bytes, count), Pseudo::unpack, bytes, count};
}

const Control control{
    {&threaded<&jump>, Pseudo::jump},
    {&threaded<&join>, Pseudo::join},
    {&threaded<&branch>, Pseudo::branch},
    {&threaded<&branch_indexed>, Pseudo::branch_indexed},
    {&threaded<&guard_begin>, Pseudo::guard_begin},
    {&threaded<&guard_end>, Pseudo::guard_end},
    {&threaded<&call>, Pseudo::call},
    {&threaded<&call_indirect>, Pseudo::call_indirect},
    {&threaded<&call_end>, Pseudo::call_end},
    {&threaded<&ret>, Pseudo::ret},
    {&threaded<&exit_lanes>, Pseudo::exit},
    {&threaded<&trap>, Pseudo::trap},
    {&threaded<&brkpt>, Pseudo::breakpoint},
    {&threaded<&barrier>, Pseudo::barrier},
    {&threaded<&barrier_arrive>, Pseudo::barrier_arrive},
    {&threaded<&read_time<false, std::uint32_t, 0>>, Pseudo::read_clock, 4},
    {&threaded<&read_time<false, std::uint32_t, 32>>, Pseudo::read_clock, 4},
    {&threaded<&read_time<false, std::uint64_t, 0>>, Pseudo::read_clock, 8},
    {&threaded<&read_time<true, std::uint64_t, 0>>, Pseudo::read_clock, 8},
    {&threaded<&read_time<true, std::uint32_t, 0>>, Pseudo::read_clock, 4},
    {&threaded<&read_time<true, std::uint32_t, 32>>, Pseudo::read_clock, 4},
    {&threaded<&print>, Pseudo::runtime_call},
    {&threaded<&assertion>, Pseudo::runtime_call},
    {&threaded<&allocate>, Pseudo::runtime_call},
    {&threaded<&release>, Pseudo::runtime_call},
    {&threaded<&set_condition>, Pseudo::runtime_call},
    {&threaded<&call_runtime>, Pseudo::runtime_call},
    {&threaded<&sleep>, Pseudo::sleep},
    {&threaded<&count_lines>, Pseudo::count_lines},
    {&threaded<&count_branch>, Pseudo::count_branch},
    {&threaded<&count_table>, Pseudo::count_table},
};

void write_barrier_result(Warp& w, const Waiting& waiting, std::uint32_t yes,
                          std::uint32_t threads) {
    const std::int32_t to = waiting.code->op[0];
    const auto kind = static_cast<BarrierKind>(waiting.code->count);
    if (kind == BarrierKind::popc) {
        auto* d = at<std::uint32_t>(w.registers, to);
        each_lane(waiting.mask, [&](unsigned lane) { d[lane] = yes; });
    } else if (kind != BarrierKind::plain) {
        const bool out = kind == BarrierKind::all ? yes == threads : yes != 0;
        std::uint32_t& p = bits_at(w.registers, to);
        p = (p & ~waiting.mask) | (out ? waiting.mask : 0);
    }
}

}  // namespace cupola::cpu::interpreter
