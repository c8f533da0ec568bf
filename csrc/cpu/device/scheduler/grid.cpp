// csrc/cpu/device/scheduler/grid.cpp - stores the first fault of a grid.
#include "cpu/device/scheduler/grid.hpp"

#include <utility>

namespace cupola::cpu {

void Grid::note(Fault what) {
    {
        std::lock_guard lock(mutex);
        if (!fault) fault = std::move(what);
    }
    stop.store(true);
}

}  // namespace cupola::cpu
