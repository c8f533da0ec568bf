// csrc/runtime/abi/bench.cpp - the C++ loops of cupola/bench.h.
#include "cupola/bench.h"

#include <chrono>

#include "runtime/context/device.hpp"

using namespace cupola;

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

void counted(int count) {
    if (count < 1)
        fail(CUPOLA_ERROR_VALUE,
             "the loop has " + std::to_string(count) + " turns; at least 1 is needed");
}

}  // namespace

int cupola_bench_launch(int device, void* function, void* stream, uint32_t grid, uint32_t block,
                        void** parameters, int count, int wait, double* seconds) {
    return guard([&] {
        check_not_null(function, "function");
        check_not_null(seconds, "seconds");
        counted(count);
        const Context& c = context(device);
        ContextScope current(c);
        const Driver& d = c.driver;
        auto* const kernel = static_cast<CUfunction>(function);
        auto* const queue = static_cast<CUstream>(stream);
        const auto start = Clock::now();
        for (int i = 0; i < count; ++i)
            check(d,
                  d.cuLaunchKernel(kernel, grid, 1, 1, block, 1, 1, 0, queue, parameters, nullptr),
                  "cuLaunchKernel");
        if (wait) check(d, d.cuStreamSynchronize(queue), "cuStreamSynchronize");
        *seconds = since(start);
    });
}

int cupola_bench_copy(int device, uint64_t address, void* host, size_t bytes, int direction,
                      void* stream, int count, double* seconds) {
    return guard([&] {
        check_not_null(host, "host");
        check_not_null(seconds, "seconds");
        counted(count);
        if (direction != CUPOLA_TO_DEVICE && direction != CUPOLA_TO_HOST)
            fail(CUPOLA_ERROR_VALUE, "unknown direction " + std::to_string(direction));
        const Context& c = context(device);
        ContextScope current(c);
        const Driver& d = c.driver;
        auto* const queue = static_cast<CUstream>(stream);
        const auto start = Clock::now();
        for (int i = 0; i < count; ++i) {
            if (direction == CUPOLA_TO_DEVICE)
                check(d, d.cuMemcpyHtoDAsync(address, host, bytes, queue), "cuMemcpyHtoDAsync");
            else
                check(d, d.cuMemcpyDtoHAsync(host, address, bytes, queue), "cuMemcpyDtoHAsync");
            check(d, d.cuStreamSynchronize(queue), "cuStreamSynchronize");
        }
        *seconds = since(start);
    });
}
