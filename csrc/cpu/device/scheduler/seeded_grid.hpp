// csrc/cpu/device/scheduler/seeded_grid.hpp - runs the clusters of a grid in a seeded order, on one
// thread.
#pragma once

namespace cupola::cpu {

struct Grid;

// `grid.launch.order` is set. Throws std::bad_alloc.
void run_seeded(Grid& grid);

}  // namespace cupola::cpu
