// benchmarks/op_saxpy.hpp - launches saxpy by the driver's own functions, which bench_ops.py sets.
#pragma once

#include <cstddef>

// On the CPU device host memory has to be registered while a kernel uses it.
struct SaxpyDriver {
    int (*launch)(void* kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  unsigned, void* stream, void** arguments, void** extra);
    int (*lock)(void* memory, std::size_t bytes, unsigned flags);  // null on a GPU
    int (*unlock)(void* memory);
    int (*wait)(void* stream);
    void* kernel;
};

static SaxpyDriver saxpy_driver;  // each library has its own

extern "C" __attribute__((visibility("default"))) void saxpy_set(const SaxpyDriver* driver) {
    saxpy_driver = *driver;
}

inline int saxpy_launch(void* stream, float a, void* x, void* y, void* out, unsigned long n) {
    SaxpyDriver& driver = saxpy_driver;
    void* const memory[] = {x, y, out};
    int locked = 0;
    if (driver.lock)
        while (locked < 3 && driver.lock(memory[locked], n * sizeof(float), 0) == 0) ++locked;
    void* arguments[] = {&a, &x, &y, &out, &n};
    const unsigned blocks = static_cast<unsigned>((n + 127) / 128);
    int status = driver.lock && locked < 3 ? 1
                                           : driver.launch(driver.kernel, blocks, 1, 1, 32, 1, 1, 0,
                                                           stream, arguments, nullptr);
    if (driver.lock && !status) status = driver.wait(stream);
    while (locked) driver.unlock(memory[--locked]);
    return status;
}
