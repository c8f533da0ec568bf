// csrc/cpu/interpreter/control.hpp - handlers of control flow, shared by all instruction sets.
#pragma once

#include "cpu/isa/code.hpp"

namespace cupola::cpu::interpreter {

// The result that a barrier returns to its threads; in DecodedOp::count.
enum class BarrierKind : std::uint8_t { plain, popc, all, any };

struct Control {
    BoundHandler jump, join, branch, branch_indexed;
    BoundHandler guard_begin, guard_end;
    BoundHandler call, call_indirect, call_end, ret, exit, trap, breakpoint;
    BoundHandler barrier, barrier_arrive;
    BoundHandler read_clock, read_clock_high, read_clock64;
    BoundHandler read_timer, read_timer_low, read_timer_high;
    BoundHandler print, assertion, allocate, release, set_condition, call_runtime;
    BoundHandler sleep;
    BoundHandler count_lines, count_branch, count_table;
};
extern const Control control;

// cluster.cpp. op: [0] result, [1] address, [2] rank for map_*. `generic` addresses are host
// addresses, `window` addresses those of .shared::cluster.
struct ClusterControl {
    BoundHandler arrive, wait;
    Handler generic_of_window, window_of_generic;
    Handler map_generic, map_window32, map_window64;
    Handler rank_of_generic, rank_of_window32, rank_of_window64;
};
extern const ClusterControl cluster_control;

// Pack `count` elements of `bytes` bytes into one register, or unpack them. Null: no such form.
BoundHandler pack_handler(unsigned bytes, unsigned count);
BoundHandler unpack_handler(unsigned bytes, unsigned count);

// bar.red: writes the result to the lanes when the barrier completes.
void write_barrier_result(Warp& w, const Waiting& waiting, std::uint32_t yes,
                          std::uint32_t threads);

}  // namespace cupola::cpu::interpreter
