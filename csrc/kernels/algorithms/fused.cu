// csrc/kernels/algorithms/fused.cu - functions of several operations, in one pass over the
// elements.
//
// Each operation rounds to the stored type, as separate operations do. So results have the same
// bits as those of NumPy's operations one after the other.
#include "../array/predicate.cuh"
#include "moved.cuh"

namespace cupola::algorithms {

using namespace arrays;

// An operand: elements, one element for all, or a value for all where there is no pointer.
template <class S>
struct Source {
    using C = computed<S>;
    const S* elements;
    bool is_array;
    C value;

    __device__ Source(const S* at, int step, C given)
        : elements(at), is_array(at && step), value(at && !step ? convert<C>(*at) : given) {}

    template <int lanes>
    __device__ void load(i64 group, C (&values)[lanes]) const {
        struct alignas(lanes * sizeof(S)) Group {
            S at[lanes];
        };
        Group loaded;
        if (is_array) loaded = reinterpret_cast<const Group*>(elements)[group];
#pragma unroll
        for (int j = 0; j < lanes; ++j) values[j] = is_array ? convert<C>(loaded.at[j]) : value;
    }
    __device__ bool is_aligned(unsigned bytes) const {
        return !is_array || reinterpret_cast<u64>(elements) % bytes == 0;
    }
};

template <int lanes, class R, class S, int count, class Of>
__device__ void apply_to(R* out, const Source<S> (&from)[count], i64 begin, i64 end, Of of) {
    struct alignas(lanes * sizeof(R)) Group {
        R at[lanes];
    };
#pragma unroll 1
    for (i64 group = begin + first<i64>(); group < end; group += algorithms::threads<i64>()) {
        computed<S> values[count][lanes];
#pragma unroll
        for (int k = 0; k < count; ++k) from[k].template load<lanes>(group, values[k]);
        Group made;
#pragma unroll
        for (int j = 0; j < lanes; ++j) {
            computed<S> of_element[count];
#pragma unroll
            for (int k = 0; k < count; ++k) of_element[k] = values[k][j];
            made.at[j] = of(of_element);
        }
        reinterpret_cast<Group*>(out)[group] = made;
    }
}

// A thread loads 16 bytes of each operand at once; elements that are not aligned so, and the last
// ones, are loaded each for itself.
template <class R, class S, int count, class Of>
__device__ void apply(R* out, const Source<S> (&from)[count], i64 n, Of of) {
    constexpr int lanes = 16 / sizeof(S);
    bool aligned = reinterpret_cast<u64>(out) % (lanes * sizeof(R)) == 0;
    for (int k = 0; k < count; ++k) aligned = aligned && from[k].is_aligned(16);
    const i64 whole = aligned ? n / lanes : 0;
    apply_to<lanes>(out, from, 0, whole, of);
    apply_to<1>(out, from, whole * lanes, n, of);
}

struct Scalars {
    u64 bits[2];  // in the computed type
};

template <class S>
__device__ computed<S> value_of(u64 bits) {
    const unsigned long long words[2] = {bits, 0};
    return scalar_of<computed<S>>(words);
}

template <class S>
__device__ void clip(const S* x, const S* low, const S* high, S* out, i64 n, int low_step,
                     int high_step, const Scalars& scalars) {
    using C = computed<S>;
    const Source<S> from[3] = {{x, 1, C{}},
                               {low, low_step, value_of<S>(scalars.bits[0])},
                               {high, high_step, value_of<S>(scalars.bits[1])}};
    apply(out, from, n, [](const C(&v)[3]) {
        return store<S>(arithmetic::minimum::of(arithmetic::maximum::of(v[0], v[1]), v[2]));
    });
}

// The result of an operation as it would be stored and loaded again.
template <class S, class C>
__device__ C rounded(C x) {
    return convert<C>(store<S>(x));
}

// These are not contracted to an operation that rounds once.
__device__ inline f32 product(f32 x, f32 y) { return __fmul_rn(x, y); }
__device__ inline f64 product(f64 x, f64 y) { return __dmul_rn(x, y); }

// Whether elements differ by at most atol + rtol * abs(y), or are equal.
template <class S>
__device__ void close(const S* x, const S* y, std::uint8_t* out, i64 n, int x_step, int y_step,
                      int equal_nan, f64 x_value, f64 y_value, f64 rtol, f64 atol) {
    using C = computed<S>;
    const Source<S> from[2] = {{x, x_step, static_cast<C>(x_value)},
                               {y, y_step, static_cast<C>(y_value)}};
    const C relative = static_cast<C>(rtol), absolute = static_cast<C>(atol);
    apply(out, from, n, [=](const C(&v)[2]) {
        const C part = rounded<S>(product(relative, fabs(v[1])));
        const C apart = fabs(rounded<S>(v[0] - v[1]));
        const bool within =
            apart <= rounded<S>(absolute + part) && predicate::isfinite::of(v[1], C{});
        const bool both_nan = equal_nan && v[0] != v[0] && v[1] != v[1];
        return static_cast<std::uint8_t>(within || v[0] == v[1] || both_nan);
    });
}

}  // namespace cupola::algorithms

using namespace cupola::algorithms;

#define CUPOLA_CLIP(name)                                                               \
    extern "C" __global__ void __launch_bounds__(256)                                   \
        clip_##name(const cupola::arrays::name* x, const cupola::arrays::name* low,     \
                    const cupola::arrays::name* high, cupola::arrays::name* out, i64 n, \
                    int low_step, int high_step, Scalars scalars) {                     \
        clip<cupola::arrays::name>(x, low, high, out, n, low_step, high_step, scalars); \
    }
#define CUPOLA_CLOSE(name)                                                                     \
    extern "C" __global__ void __launch_bounds__(256)                                          \
        close_##name(const cupola::arrays::name* x, const cupola::arrays::name* y,             \
                     std::uint8_t* out, i64 n, int x_step, int y_step, int equal_nan,          \
                     double x_value, double y_value, double rtol, double atol) {               \
        close<cupola::arrays::name>(x, y, out, n, x_step, y_step, equal_nan, x_value, y_value, \
                                    rtol, atol);                                               \
    }
#define CUPOLA_REAL(name) \
    CUPOLA_CLIP(name)     \
    CUPOLA_CLOSE(name)
CUPOLA_CLIP(i8)
CUPOLA_CLIP(i16)
CUPOLA_CLIP(i32)
CUPOLA_CLIP(i64)
CUPOLA_CLIP(u8)
CUPOLA_CLIP(u16)
CUPOLA_CLIP(u32)
CUPOLA_CLIP(u64)
CUPOLA_REAL(f16)
CUPOLA_REAL(f32)
CUPOLA_REAL(f64)
