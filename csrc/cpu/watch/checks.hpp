// csrc/cpu/watch/checks.hpp - what CUPOLA_CPU_CHECK asks to be looked for.
#pragma once

namespace cupola::cpu::watch {

struct Checks {
    bool memory = false;  // accesses of what is not, or no longer, allocated
    bool race = false;    // accesses that nothing orders
    bool init = false;    // reads of what was never written
    bool sync = false;    // barriers and warp operations that threads miss

    bool any() const { return memory || watching(); }
    // Each access is looked at as it is made, by one thread a grid.
    bool watching() const { return race || init || sync; }
};

}  // namespace cupola::cpu::watch
