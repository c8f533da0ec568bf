// csrc/cpu/exec/control.hpp - handlers of control flow, which are the same for every instruction
// set.
#pragma once

#include "cpu/exec/code.hpp"

namespace cupola::cpu::exec {

// What a barrier gives its threads; in Code::count.
enum class BarrierKind : std::uint8_t { plain, popc, all, any };

struct Control {
    Handler jump, join, branch, branch_indexed;
    Handler guard_begin, guard_end;
    Handler call, call_end, ret, exit, trap, brkpt;
    Handler barrier, barrier_arrive;
    Handler read_clock, read_clock_high, read_clock64, read_timer, read_timer_low, read_timer_high;
    Handler print, assertion;
    Handler sleep;
    Handler call_indirect;
    Handler allocate, release, set_condition;
};
extern const Control control;

// cluster.cpp. Addresses: op[0] from op[1], for map_* the rank in op[2]; `generic` are host
// addresses, `window` those of .shared::cluster.
struct ClusterControl {
    Handler arrive, wait;
    Handler generic_of_window, window_of_generic;
    Handler map_generic, map_window32, map_window64;
    Handler rank_of_generic, rank_of_window32, rank_of_window64;
};
extern const ClusterControl cluster_control;

// atomic.cpp. op: [1] address; imm: bytes that it has to be a multiple of.
extern const Handler alignment_check;

// Packing `count` elements of `bytes` each into one register, and the way back. nullptr: no such.
Handler pack_handler(unsigned bytes, unsigned count);
Handler unpack_handler(unsigned bytes, unsigned count);

// bar.red: what its lanes are given when the barrier is complete.
void write_barrier_result(Warp& w, const Waiting& waiting, std::uint32_t yes,
                          std::uint32_t threads);

}  // namespace cupola::cpu::exec
