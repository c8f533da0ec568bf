// csrc/kernels/algorithms/random.cu - arrays of random numbers, by either generator.
#include "random_each.cuh"

using namespace cupola::random;

namespace {

// Groups of N elements are items: each is made of one call of the generator, rejections aside.
template <int N, class T, class Engine, class Make>
__device__ void fill_groups(Engine engine, T* out, u64 n, u64 stride, Make make) {
    constexpr int bytes = N * sizeof(T) < 16 ? N * sizeof(T) : 16;
    struct alignas(bytes) Group {
        T element[N];
    };
    const u64 thread = this_thread(), groups = n / N + (n % N != 0);
    if (thread >= groups) return;
    const bool aligned = reinterpret_cast<u64>(out) % bytes == 0;
    engine.start(thread);
    for (u64 group = thread; group < groups; group += stride) {
        engine.begin(group);
        Group made;
        make(engine, made.element);
        T* to = out + group * N;
        if (aligned && n - group * N >= N) {
            *reinterpret_cast<Group*>(to) = made;
        } else {
            for (int i = 0; i < N && group * N + i < n; ++i) to[i] = made.element[i];
        }
    }
    engine.finish(thread);
}

template <class Engine>
__device__ void uniform(Engine engine, float* out, u64 n, u64 stride, float low, float range) {
    fill_groups<4>(engine, out, n, stride, [=](Engine& e, float* made) {
        const Words words = e.next();
        for (int i = 0; i < 4; ++i) made[i] = scaled(unit(words.word[i]), range, low);
    });
}
template <class Engine>
__device__ void uniform(Engine engine, double* out, u64 n, u64 stride, double low, double range) {
    fill_groups<2>(engine, out, n, stride, [=](Engine& e, double* made) {
        const Words words = e.next();
        for (int i = 0; i < 2; ++i) made[i] = scaled(unit(words.pair(i)), range, low);
    });
}

template <class Engine>
__device__ void normal(Engine engine, float* out, u64 n, u64 stride, float mean, float deviation) {
    fill_groups<4>(engine, out, n, stride, [=](Engine& e, float* made) {
        const Words words = e.next();
        for (int i = 0; i < 4; i += 2)
            normal_pair(words.word[i], words.word[i + 1], made[i], made[i + 1]);
        for (int i = 0; i < 4; ++i) made[i] = scaled(made[i], deviation, mean);
    });
}
template <class Engine>
__device__ void normal(Engine engine, double* out, u64 n, u64 stride, double mean,
                       double deviation) {
    fill_groups<2>(engine, out, n, stride, [=](Engine& e, double* made) {
        const Words words = e.next();
        normal_pair(words.pair(0), words.pair(1), made[0], made[1]);
        for (int i = 0; i < 2; ++i) made[i] = scaled(made[i], deviation, mean);
    });
}

template <class Engine>
__device__ void exponential(Engine engine, float* out, u64 n, u64 stride, float, float scale) {
    fill_groups<4>(engine, out, n, stride, [=](Engine& e, float* made) {
        const Words words = e.next();
        for (int i = 0; i < 4; ++i) made[i] = -logf(positive_unit(words.word[i])) * scale;
    });
}
template <class Engine>
__device__ void exponential(Engine engine, double* out, u64 n, u64 stride, double, double scale) {
    fill_groups<2>(engine, out, n, stride, [=](Engine& e, double* made) {
        const Words words = e.next();
        for (int i = 0; i < 2; ++i) made[i] = -log(positive_unit(words.pair(i))) * scale;
    });
}

// Lemire: Fast random integer generation in an interval (2019). `count` values from `low` on; 0 is
// all of the word's. The threshold is (2^bits - count) % count.
template <class T, class Engine>
__device__ void integers32(Engine engine, T* out, u64 n, u64 stride, u64 low, u64 count,
                           u64 threshold) {
    fill_groups<4>(engine, out, n, stride, [=](Engine& e, T* made) {
        const Words words = e.next();
        for (int i = 0; i < 4; ++i) {
            u64 product = words.word[i] * (count ? count : 0x100000000ull);
            while (static_cast<u32>(product) < threshold) product = e.next().word[i] * count;
            made[i] = static_cast<T>(low + (product >> 32));
        }
    });
}
template <class T, class Engine>
__device__ void integers64(Engine engine, T* out, u64 n, u64 stride, u64 low, u64 count,
                           u64 threshold) {
    fill_groups<2>(engine, out, n, stride, [=](Engine& e, T* made) {
        const Words words = e.next();
        for (int i = 0; i < 2; ++i) {
            u64 bits = words.pair(i);
            while (bits * count < threshold) bits = e.next().pair(i);
            made[i] = low + (count ? __umul64hi(bits, count) : bits);
        }
    });
}

template <class T, class Engine>
__device__ void fill_continuous(Engine engine, T* out, u64 n, u64 stride, int kind, Parameter a,
                                Parameter b, Parameter c) {
    fill_each(engine, n, stride, [=](auto& numbers, u64 i) {
        out[i] = static_cast<T>(continuous(Continuous{kind}, numbers, a.at(i), b.at(i), c.at(i)));
    });
}

template <class Engine>
__device__ void fill_discrete(Engine engine, i64* out, u64 n, u64 stride, int kind, Parameter a,
                              Parameter b, Count trials) {
    fill_each(engine, n, stride, [=](auto& numbers, u64 i) {
        out[i] = discrete(Discrete{kind}, numbers, a.at(i), b.at(i), trials.at(i));
    });
}

// The index of the first of `count` running sums that is larger than a uniform number.
template <class Engine>
__device__ void choose(Engine engine, i64* out, u64 n, u64 stride, const double* sums, u64 count) {
    fill_each(engine, n, stride, [=](auto& numbers, u64 i) {
        const double u = numbers.uniform();
        u64 first = 0, last = count - 1;
        while (first < last) {
            const u64 middle = (first + last) / 2;
            if (sums[middle] > u)
                last = middle;
            else
                first = middle + 1;
        }
        out[i] = static_cast<i64>(first);
    });
}

}  // namespace

#define REALS(name)                                                                                \
    KERNEL(HeldKeys, name##_f32, ARGUMENTS(float* out, u64 n, u64 stride, float a, float b), name, \
           out, n, stride, a, b)                                                                   \
    KERNEL(HeldKeys, name##_f64, ARGUMENTS(double* out, u64 n, u64 stride, double a, double b),    \
           name, out, n, stride, a, b)
#define INTEGERS(bits, T, size)                                                      \
    KERNEL(HeldKeys, integers##bits##_##size,                                        \
           ARGUMENTS(T* out, u64 n, u64 stride, u64 low, u64 values, u64 threshold), \
           integers##bits, out, n, stride, low, values, threshold)
#define CONTINUOUS(name, T)                                                                \
    KERNEL(RoundKeys, continuous_##name,                                                   \
           ARGUMENTS(T* out, u64 n, u64 stride, int kind, const double* a_array, double a, \
                     const double* b_array, double b, const double* c_array, double c),    \
           fill_continuous, out, n, stride, kind, {a_array, a}, {b_array, b}, {c_array, c})

REALS(uniform)
REALS(normal)
REALS(exponential)
INTEGERS(32, std::uint8_t, 1)
INTEGERS(32, std::uint16_t, 2)
INTEGERS(32, u32, 4)
INTEGERS(32, u64, 8)
INTEGERS(64, u64, 8)
CONTINUOUS(f32, float)
CONTINUOUS(f64, double)
KERNEL(RoundKeys, discrete,
       ARGUMENTS(i64* out, u64 n, u64 stride, int kind, const double* a_array, double a,
                 const double* b_array, double b, const i64* trials_array, i64 trials),
       fill_discrete, out, n, stride, kind, {a_array, a}, {b_array, b}, {trials_array, trials})
KERNEL(RoundKeys, choice, ARGUMENTS(i64* out, u64 n, u64 stride, const double* sums, u64 values),
       choose, out, n, stride, sums, values)
