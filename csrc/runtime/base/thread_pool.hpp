// csrc/runtime/base/thread_pool.hpp - threads that share the work of a copy of host memory.
#pragma once

#include <cstddef>
#include <functional>

namespace cupola {

constexpr std::size_t max_pool_threads = 16;

// The number of threads for one copy, the caller included: half of the processors, at most 8 for
// each direction that is copied continuously.
std::size_t default_pool_threads(std::size_t directions = 1);

// Calls work(0), work(1), ... work(count - 1), each once, on the calling thread and on idle threads
// of the pool. Returns when all calls have returned. `count` is at most `max_pool_threads`; `work`
// must not throw. Concurrent callers share the pool.
void run_in_pool(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace cupola
