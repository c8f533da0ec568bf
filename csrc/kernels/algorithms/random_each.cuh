// csrc/kernels/algorithms/random_each.cuh - kernels in which a thread makes one result at a time.
#pragma once

#include "random_discrete.cuh"

namespace cupola::random {

__device__ inline u64 this_thread() { return blockIdx.x * u64{blockDim.x} + threadIdx.x; }

template <class Engine, class Make>
__device__ void fill_each(Engine engine, u64 n, u64 stride, Make make) {
    const u64 thread = this_thread();
    if (thread >= n) return;
    engine.start(thread);
    for (u64 i = thread; i < n; i += stride) {
        engine.begin(i);
        Numbers<Engine> numbers{engine};
        make(numbers, i);
    }
    engine.finish(thread);
}

// A number, or an array with an element for each result.
template <class T>
struct Value {
    const T* array;
    T number;
    __device__ T at(u64 i) const { return array ? array[i] : number; }
};
using Parameter = Value<double>;
using Count = Value<i64>;

}  // namespace cupola::random

// Both generators' kernels of a name. The first argument: how Philox has its keys. Kernels with
// calls keep few values in registers.
#define ARGUMENTS(...) __VA_ARGS__
#define KERNEL(Keys, name, parameters, call, ...)                                           \
    extern "C" __global__ void random_##name##_philox(u64 key, u64 position, u64 upper,     \
                                                      parameters) {                         \
        call(Philox<Keys>(key, position, upper), __VA_ARGS__);                              \
    }                                                                                       \
    extern "C" __global__ void random_##name##_xorwow(u32* states, u64 count, parameters) { \
        call(Xorwow{states, count}, __VA_ARGS__);                                           \
    }
