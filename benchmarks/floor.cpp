// benchmarks/floor.cpp - the least that the same work costs in C++: the driver called directly.
// Compiled by floor.py and called through ctypes, so that floor and cupola are timed in one
// process.
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace {

double seconds() {
    using clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void*, void**, void**);

using Copy = int (*)(std::uint64_t, std::uint64_t, std::size_t, void*);
using Wait = int (*)(void*);
using Allocate = int (*)(std::uint64_t*, std::size_t, void*);
using Free = int (*)(std::uint64_t, void*);

}  // namespace

// Seconds that `count` copies take, each waited for: cuMemcpyHtoDAsync or cuMemcpyDtoHAsync.
extern "C" double floor_copy(void* copy, void* wait, std::uint64_t to, std::uint64_t from,
                             std::size_t bytes, void* stream, int count) {
    auto queue = reinterpret_cast<Copy>(copy);
    auto finish = reinterpret_cast<Wait>(wait);
    const double start = seconds();
    for (int i = 0; i < count; ++i)
        if (queue(to, from, bytes, stream) != 0 || finish(stream) != 0) return -1;
    return seconds() - start;
}

// Seconds that `count` allocations from the driver's pool take, each freed at once.
extern "C" double floor_allocate(void* allocate, void* free, std::size_t bytes, void* stream,
                                 int count) {
    auto take = reinterpret_cast<Allocate>(allocate);
    auto give = reinterpret_cast<Free>(free);
    const double start = seconds();
    for (int i = 0; i < count; ++i) {
        std::uint64_t address = 0;
        if (take(&address, bytes, stream) != 0 || give(address, stream) != 0) return -1;
    }
    return seconds() - start;
}

// Seconds that `count` calls of cuLaunchKernel take, arguments packed beforehand.
extern "C" double floor_launch(void* launch, void* function, void* stream, unsigned grid,
                               unsigned block, void** parameters, int count) {
    auto call = reinterpret_cast<Launch>(launch);
    const double start = seconds();
    for (int i = 0; i < count; ++i)
        if (call(function, grid, 1, 1, block, 1, 1, 0, stream, parameters, nullptr) != 0) return -1;
    return seconds() - start;
}

// Seconds that `count` calls of cuGraphLaunch take.
extern "C" double floor_graph(void* launch, void* exec, void* stream, int count) {
    auto call = reinterpret_cast<int (*)(void*, void*)>(launch);
    const double start = seconds();
    for (int i = 0; i < count; ++i)
        if (call(exec, stream) != 0) return -1;
    return seconds() - start;
}
