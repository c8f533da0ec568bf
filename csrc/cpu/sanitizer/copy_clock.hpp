// csrc/cpu/sanitizer/copy_clock.hpp - the clocks of a thread's asynchronous copies, and of its
// other asynchronous operations.
//
// A copy has the time of its clock when the copy is issued. A commit ends a group of copies, and
// advances the clock. A wait for a group raises the time up to which copies are complete.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cupola::cpu::sanitizer {

using Time = std::uint32_t;

struct CopyClock {
    Time now = 1, complete = 0;
    std::vector<Time> groups;  // the times of committed groups that may be incomplete

    void commit() { groups.push_back(now++); }
    // Waits until `left` groups may be incomplete.
    void wait(std::size_t left) {
        if (groups.size() <= left) return;
        const auto end = groups.end() - static_cast<std::ptrdiff_t>(left);
        complete = std::max(complete, *(end - 1));
        groups.erase(groups.begin(), end);
    }
};

struct CopyClocks {
    enum Kind : unsigned {
        grouped,
        counted,
        bulk_reads,
        bulk_writes,
        products,       // wgmma
        tensor,         // tcgen05.mma, cp and shift
        tensor_loads,   // tcgen05.ld
        tensor_stores,  // tcgen05.st
        kinds
    };
    CopyClock of[kinds];

    // Groups complete in the order of their commits.
    static constexpr bool in_order(Kind kind) { return kind != counted; }
    // Operations of a thread execute in the order in which the thread issues them.
    static constexpr bool pipelined(Kind kind) { return kind == products || kind == tensor; }
};

}  // namespace cupola::cpu::sanitizer
