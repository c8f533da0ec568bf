// csrc/runtime/crew.hpp - threads that help with a copy.
#pragma once

#include <cstddef>
#include <functional>

namespace cupola {

constexpr std::size_t most_crew = 16;

// How many threads may work on one copy, the caller among them: for each direction in which memory
// is copied all the time half of the processors, 8 at most; or as many as CUPOLA_STAGING_THREADS
// says, `most_crew` at most.
std::size_t crew_size(std::size_t directions = 1);

// Calls work(0), work(1), ... work(count - 1), each once, from the caller and as many helpers as
// are free, and returns when all have returned. `count` is at most crew_size(); work never throws.
// Whoever calls it at the same time shares the helpers.
void crew_run(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace cupola
