// csrc/kernels/algorithms/random_states.cu - generators with a state for each thread, which
// cupola.pycuda.curandom seeds and skips one by one.
#include "random_discrete.cuh"

using namespace cupola::random;

namespace {

// Spreads a seed over words: the finalizer of MurmurHash3 on a counter.
__device__ u32 spread(u32 seed, u32 place) {
    u32 x = seed + 0x9e3779b9u * (place + 1);
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

struct XorwowThread {
    XorwowState state;
    __device__ void start(u32 seed, u32 number) {
        for (int i = 0; i < 5; ++i) state.x[i] = spread(seed ^ spread(number, 77), i);
        state.x[0] |= 1;  // not all zeros
        state.counter = spread(seed, number);
    }
    __device__ u32 next() { return state.next(); }
    __device__ void skip(u64 count) {
        while (count--) state.next();
    }
};

// L'Ecuyer: Good parameters and implementations for combined multiple recursive random number
// generators (1999).
struct Mrg32k3aThread {
    u32 x[3], y[3];
    static constexpr u64 m1 = 4294967087, m2 = 4294944443;
    __device__ void start(u32 seed, u32 number) {
        for (int i = 0; i < 3; ++i) {
            x[i] = static_cast<u32>(1 + spread(seed ^ spread(number, 77), i) % (m1 - 1));
            y[i] = static_cast<u32>(1 + spread(seed ^ spread(number, 77), i + 3) % (m2 - 1));
        }
    }
    __device__ u32 step() {
        const u64 a = (1403580ull * x[1] + 810728ull * (m1 - x[0]) % m1) % m1;
        const u64 b = (527612ull * y[2] + 1370589ull * (m2 - y[0]) % m2) % m2;
        x[0] = x[1], x[1] = x[2], x[2] = static_cast<u32>(a);
        y[0] = y[1], y[1] = y[2], y[2] = static_cast<u32>(b);
        return static_cast<u32>((a + m1 - b) % m1);
    }
    // A number of 32 bits. A step has fewer values, so the low halves of two steps are joined.
    __device__ u32 next() { return step() << 16 ^ step() >> 8; }
    __device__ void skip(u64 count) {
        while (count--) next();
    }
};

struct PhiloxThread {
    u32 key[2], counter[4], made[4], used, unused;
    __device__ void start(u32 seed, u32 number) {
        key[0] = seed, key[1] = 0;
        counter[0] = counter[1] = 0, counter[2] = number, counter[3] = 0;
        used = 4, unused = 0;
    }
    __device__ u32 next() {
        if (used == 4) {
            const RoundKeys keys(static_cast<u64>(key[1]) << 32 | key[0]);
            const Words words =
                philox4x32_10({{counter[0], counter[1], counter[2], counter[3]}}, keys);
            for (int i = 0; i < 4; ++i) made[i] = words.word[i];
            if (++counter[0] == 0) ++counter[1];
            used = 0;
        }
        return made[used++];
    }
    __device__ void skip(u64 count) {
        while (count && used < 4) ++used, --count;
        const u64 at = (u64{counter[1]} << 32 | counter[0]) + count / 4;
        counter[0] = static_cast<u32>(at), counter[1] = static_cast<u32>(at >> 32);
        for (count %= 4; count; --count) next();
    }
};

// The numbers of a thread's state. Uniform numbers lie between 0 and 1, both excluded.
template <class State>
struct ThreadNumbers {
    State state;
    __device__ u32 word() { return state.next(); }
    __device__ u64 bits() {
        const u64 high = state.next();
        return high << 32 | state.next();
    }
    __device__ double uniform() { return open_unit(bits()); }
    __device__ double positive() { return open_unit(bits()); }

    __device__ void uniform(float& out) { out = ((word() >> 9) + 0.5f) * 0x1p-23f; }
    __device__ void uniform(double& out) { out = uniform(); }
    __device__ void uniform(u32& out) { out = word(); }
    __device__ void uniform(u64& out) { out = bits(); }
    __device__ void normal(float& one, float& other) {
        const u32 first = word();
        normal_pair(first, word(), one, other);
    }
    __device__ void normal(double& one, double& other) {
        const u64 first = bits();
        normal_pair(first, bits(), one, other);
    }
};

__device__ u32 thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <class State, class Each>
__device__ void each(State* states, u64 n, Each make) {
    const u64 number = thread_number(), stride = u64{gridDim.x} * blockDim.x;
    ThreadNumbers<State> numbers{states[number]};
    for (u64 i = number; i < n; i += stride) make(numbers, i);
    states[number] = numbers.state;
}

template <class State, class T>
__device__ void uniform(State* states, T* out, u64 n) {
    each(states, n, [=](auto& numbers, u64 i) { numbers.uniform(out[i]); });
}

template <class State, class T>
__device__ void normal(State* states, T* out, u64 n, double mean, double deviation, bool logs) {
    T other = 0;
    bool have = false;
    each(states, n, [=](auto& numbers, u64 i) mutable {
        T one = other;
        if (!have) numbers.normal(one, other);
        have = !have;
        one = T(mean) + T(deviation) * one;
        out[i] = logs ? exp(one) : one;
    });
}

// Poisson numbers of one mean, or with each element's present value as its mean.
template <class State, class T>
__device__ void poisson(State* states, T* out, u64 n, double mean, bool one) {
    each(states, n, [=](auto& numbers, u64 i) {
        out[i] = static_cast<T>(poisson_of(numbers, one ? mean : static_cast<double>(out[i])));
    });
}

}  // namespace

#define STATES(name, State)                                                                       \
    extern "C" __global__ void states_start_##name(State* states, const int* seeds, u64 offset) { \
        State state;                                                                              \
        state.start(static_cast<u32>(seeds[thread_number()]), thread_number());                   \
        state.skip(offset);                                                                       \
        states[thread_number()] = state;                                                          \
    }                                                                                             \
    extern "C" __global__ void states_skip_##name(State* states, u64 count) {                     \
        states[thread_number()].skip(count);                                                      \
    }                                                                                             \
    extern "C" __global__ void states_skip_each_##name(State* states, const u64* counts) {        \
        states[thread_number()].skip(counts[thread_number()]);                                    \
    }                                                                                             \
    UNIFORM(name, State, u, u32)                                                                  \
    UNIFORM(name, State, l, u64)                                                                  \
    UNIFORM(name, State, f, float)                                                                \
    UNIFORM(name, State, d, double)                                                               \
    NORMAL(name, State, f, float)                                                                 \
    NORMAL(name, State, d, double)                                                                \
    POISSON(name, State, u, u32)                                                                  \
    POISSON(name, State, f, float)                                                                \
    POISSON(name, State, d, double)
#define UNIFORM(name, State, letter, T)                                                         \
    extern "C" __global__ void states_uniform_##letter##_##name(State* states, T* out, u64 n) { \
        uniform(states, out, n);                                                                \
    }
#define NORMAL(name, State, letter, T)                                           \
    extern "C" __global__ void states_normal_##letter##_##name(                  \
        State* states, T* out, u64 n, double mean, double deviation, int logs) { \
        normal(states, out, n, mean, deviation, logs);                           \
    }
#define POISSON(name, State, letter, T)                                                       \
    extern "C" __global__ void states_poisson_##letter##_##name(State* states, T* out, u64 n, \
                                                                double mean, int one) {       \
        poisson(states, out, n, mean, one);                                                   \
    }

STATES(xorwow, XorwowThread)
STATES(mrg32k3a, Mrg32k3aThread)
STATES(philox, PhiloxThread)
