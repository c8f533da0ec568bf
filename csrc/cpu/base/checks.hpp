// csrc/cpu/base/checks.hpp - the checks that CUPOLA_CPU_CHECK enables.
#pragma once

namespace cupola::cpu {

struct Checks {
    bool memory = false;  // accesses to memory that is not allocated, or was freed
    bool race = false;    // conflicting accesses without an order
    bool init = false;    // reads of memory that was never written
    bool sync = false;    // barriers and warp operations with missing threads

    bool any() const { return memory || watching(); }
    // Whether every access is checked at the time of the access; each grid then runs on one thread.
    bool watching() const { return race || init || sync; }
};

}  // namespace cupola::cpu
