// cupola/makers.cuh - device code of the kernels that cupola.elementwise, reduction and scan make.
//
// The generated source contains this text; it is compiled by NVRTC and by nvcc.
#pragma once

#ifndef INFINITY  // NVRTC has no <math.h>
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif

namespace cupola {

// cupola/kernel_constants.py has these constants, too: the build reads this header.
constexpr int maker_axes = 8;
[[maybe_unused]] constexpr int maker_block = 256;
[[maybe_unused]] constexpr int maker_align = 16;  // bytes: an accumulator's largest alignment
[[maybe_unused]] constexpr unsigned all_lanes = 0xffffffffu;

// -- elements ---------------------------------------------------------------------------------

// An element of 16 bits: operators compute with float, and a store rounds once.
template <class Bits>
struct SmallFloat {
    Bits bits;

    SmallFloat() = default;
    __device__ SmallFloat(float value) : bits(value) {}
    __device__ operator float() const { return static_cast<float>(bits); }
    __device__ SmallFloat& operator+=(float x) { return *this = float(*this) + x; }
    __device__ SmallFloat& operator-=(float x) { return *this = float(*this) - x; }
    __device__ SmallFloat& operator*=(float x) { return *this = float(*this) * x; }
    __device__ SmallFloat& operator/=(float x) { return *this = float(*this) / x; }
};

template <class T>
struct alignas(2 * sizeof(T)) Complex {
    T re, im;

    Complex() = default;
    __device__ Complex(T real, T imag = 0) : re(real), im(imag) {}
    template <class Other>
    __device__ explicit Complex(const Complex<Other>& x) : re(x.re), im(x.im) {}
    __device__ T real() const { return re; }
    __device__ T imag() const { return im; }
    __device__ Complex operator-() const { return {-re, -im}; }
    friend __device__ Complex operator+(Complex x, Complex y) { return {x.re + y.re, x.im + y.im}; }
    friend __device__ Complex operator-(Complex x, Complex y) { return {x.re - y.re, x.im - y.im}; }
    friend __device__ Complex operator*(Complex x, Complex y) {
        return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
    }
    friend __device__ Complex operator/(Complex x, Complex y) {
        // Smith's method: no intermediate value overflows where the quotient does not.
        if (fabs(y.re) >= fabs(y.im)) {
            const T ratio = y.im / y.re, divisor = y.re + y.im * ratio;
            return {(x.re + x.im * ratio) / divisor, (x.im - x.re * ratio) / divisor};
        }
        const T ratio = y.re / y.im, divisor = y.re * ratio + y.im;
        return {(x.re * ratio + x.im) / divisor, (x.im * ratio - x.re) / divisor};
    }
    friend __device__ bool operator==(Complex x, Complex y) { return x.re == y.re && x.im == y.im; }
    friend __device__ bool operator!=(Complex x, Complex y) { return !(x == y); }
    friend __device__ Complex conj(Complex x) { return {x.re, -x.im}; }
    friend __device__ T abs(Complex x) { return hypot(x.re, x.im); }
    __device__ Complex& operator+=(Complex x) { return *this = *this + x; }
    __device__ Complex& operator-=(Complex x) { return *this = *this - x; }
    __device__ Complex& operator*=(Complex x) { return *this = *this * x; }
    __device__ Complex& operator/=(Complex x) { return *this = *this / x; }
};

using complex64 = Complex<float>;
using complex128 = Complex<double>;

// -- strides ----------------------------------------------------------------------------------

// The axes of `count` arrays, with their strides in bytes. The arrays have `n` elements in C order.
template <int count>
struct Layout {
    long long axes, n;
    long long shape[maker_axes];
    long long strides[count ? count : 1][maker_axes];

    __device__ long long offset(int array, long long i) const {
        long long found = 0;
        for (int axis = int(axes) - 1; axis > 0; --axis)
            found += take(i, axis) * strides[array][axis];
        return axes ? found + i * strides[array][0] : 0;
    }

    __device__ void offsets(long long i, long long (&found)[count ? count : 1]) const {
        for (int k = 0; k < count; ++k) found[k] = 0;
        for (int axis = int(axes) - 1; axis > 0; --axis) {
            const long long at = take(i, axis);
            for (int k = 0; k < count; ++k) found[k] += at * strides[k][axis];
        }
        if (axes)
            for (int k = 0; k < count; ++k) found[k] += i * strides[k][0];
    }

  private:
    // The index along an axis; `i` becomes the index along the axes before this axis.
    __device__ long long take(long long& i, int axis) const {
        const long long length = shape[axis];
        if (n <= 0xffffffffll) {  // a division of 64 bits takes several times as long
            const unsigned all = unsigned(i), quotient = all / unsigned(length);
            i = quotient;
            return all - quotient * unsigned(length);
        }
        const long long all = i;
        i = all / length;
        return all - i * length;
    }
};

// The pointer that is `bytes` bytes after `start`.
template <class T>
__device__ T* shifted(T* start, long long bytes) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(start) + bytes);
}
template <class T>
__device__ const T* shifted(const T* start, long long bytes) {
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(start) + bytes);
}

// An array with strides, indexed in C order like a pointer.
template <class T, int count>
class View {
  public:
    __device__ View(T* start, const Layout<count>& layout, int array)
        : start_(start), here_(start), at_(-1), layout_(layout), array_(array) {}

    // Keeps the address of an element, which `operator[]` then does not compute.
    __device__ void seek(long long i, long long offset) { at_ = i, here_ = moved(offset); }

    __device__ T& operator[](long long i) const {
        return i == at_ ? *here_ : *moved(layout_.offset(array_, i));
    }

  private:
    __device__ T* moved(long long offset) const { return shifted(start_, offset); }

    T* start_;
    T* here_;
    long long at_;
    const Layout<count>& layout_;
    int array_;
};

// -- groups of elements -----------------------------------------------------------------------

// How a launch deals out `groups` groups of `n` elements: each group in `chunks` of `length`
// elements, each chunk to `threads` threads of a block: 1, a warp or all, always a power of two.
struct Chunks {
    long long groups, n, chunks, length, threads;

    __device__ long long first_task() const {
        return (blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x) / threads;
    }
    __device__ long long step() const {
        return gridDim.x * static_cast<long long>(blockDim.x) / threads;
    }
    __device__ int rank() const { return threadIdx.x & (static_cast<int>(threads) - 1); }
    __device__ long long begin(long long task) const { return task % chunks * length; }
    __device__ long long end(long long task) const {
        const long long last = begin(task) + length;
        return last < n ? last : n;
    }
};

// The type in which a reduction or scan computes.
template <class T>
struct AccumulatorOf {
    using type = T;
};
template <class Bits>
struct AccumulatorOf<SmallFloat<Bits>> {
    using type = float;
};
template <class T>
using Accumulator = typename AccumulatorOf<T>::type;

// The value of another lane, of which `shuffle` exchanges one word; all lanes of the warp call it.
template <class T, class Shuffle>
__device__ T exchange(const T& value, Shuffle shuffle) {
    constexpr int count = (sizeof(T) + 3) / 4;
    unsigned words[count] = {};
    memcpy(words, &value, sizeof(T));
    for (unsigned& word : words) word = shuffle(word);
    T found;
    memcpy(&found, words, sizeof(T));
    return found;
}
// The value of the lane `distance` lanes before or after this lane; this lane's own value where the
// warp has no such lane. The CPU device shuffles by a distance with vectors, and by an index lane
// by lane.
template <class T>
__device__ T of_lane_before(const T& value, int distance) {
    return exchange(value,
                    [&](unsigned word) { return __shfl_up_sync(all_lanes, word, distance); });
}
template <class T>
__device__ T of_lane_after(const T& value, int distance) {
    return exchange(value,
                    [&](unsigned word) { return __shfl_down_sync(all_lanes, word, distance); });
}
template <class T>
__device__ T of_last_lane(const T& value) {
    return exchange(value, [&](unsigned word) { return __shfl_sync(all_lanes, word, 31); });
}

// One value for each warp of the block.
template <class T>
__device__ T* of_warps() {
    __shared__ alignas(maker_align) unsigned char storage[maker_block / 32 * sizeof(T)];
    return reinterpret_cast<T*>(storage);
}

// The threads' values, combined in their order. The first thread of each `threads` has the result.
template <class T, class Combine>
__device__ T reduce_threads(T value, long long threads, Combine combine) {
    if (threads == 1) return value;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    // All lanes combine, although few of these values are used: a condition would cost more.
    for (int distance = 1; distance < 32; distance *= 2)
        value = combine(value, of_lane_after(value, distance));
    if (threads == 32) return value;
    T* values = of_warps<T>();
    if (lane == 0) values[warp] = value;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int other = 1; other < maker_block / 32; ++other)
            value = combine(value, values[other]);
    __syncthreads();
    return value;
}

// The elements from `begin` to `end`: each thread those in its steps, then the threads together.
template <class T, class Map, class Combine>
__device__ T reduce(long long begin, long long end, const Chunks& chunks, const T& neutral, Map map,
                    Combine combine) {
    T value = neutral;
    for (long long i = begin + chunks.rank(); i < end; i += chunks.threads)
        value = combine(value, map(i));
    return reduce_threads(value, chunks.threads, combine);
}

// The threads' values before each thread, combined in their order; `total` combines the values of
// all threads.
template <class T, class Combine>
__device__ T scan_threads(T value, long long threads, const T& neutral, Combine combine, T& total) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int distance = 1; distance < 32; distance *= 2) {
        const T other = of_lane_before(value, distance);
        if (lane >= distance) value = combine(other, value);
    }
    total = of_last_lane(value);
    const T left = of_lane_before(value, 1);
    const T before = lane == 0 ? neutral : left;
    if (threads == 32) return before;
    T* values = of_warps<T>();
    if (lane == 31) values[warp] = value;
    __syncthreads();
    T prefix = neutral;
    total = neutral;
    for (int other = 0; other < maker_block / 32; ++other) {
        if (other < warp) prefix = combine(prefix, values[other]);
        total = combine(total, values[other]);
    }
    __syncthreads();
    return combine(prefix, before);
}

enum { scan_items = 8 };  // consecutive elements of a thread

// Calls `each(k)` for the thread's elements `first + k` before `end`. `whole`: all elements are
// before `end`.
template <class Each>
__device__ void each_item(bool whole, long long first, long long end, Each each) {
    // Constant indices keep the elements in registers.
    if (whole) {
#pragma unroll
        for (int k = 0; k < scan_items; ++k) each(k);
    } else {
#pragma unroll
        for (int k = 0; k < scan_items; ++k)
            if (first + k < end) each(k);
    }
}

// The elements from `begin` to `end` in their order. The first thread of the chunk has the result.
template <class T, class Map, class Combine>
__device__ T scan_total(long long begin, long long end, const Chunks& chunks, const T& neutral,
                        Map map, Combine combine) {
    T total = neutral;
    const long long length = scan_items * chunks.threads;
    for (long long tile = begin; tile < end; tile += length) {
        const long long first = tile + scan_items * chunks.rank();
        T own = neutral;
        each_item(tile + length <= end, first, end,
                  [&](int k) { own = combine(own, map(first + k)); });
        total = combine(total, reduce_threads(own, chunks.threads, combine));
    }
    return total;
}

// Calls `write(i, before, value)` for the elements from `begin` to `end`, where `before` combines
// `prefix` and the elements before `i`.
template <class T, class Map, class Combine, class Write>
__device__ void scan(long long begin, long long end, const Chunks& chunks, T prefix,
                     const T& neutral, Map map, Combine combine, Write write) {
    if (chunks.threads == 1) {
        for (long long i = begin; i < end; ++i) {
            const T value = map(i);
            write(i, prefix, value);
            prefix = combine(prefix, value);
        }
        return;
    }
    const long long length = scan_items * chunks.threads;
    for (long long tile = begin; tile < end; tile += length) {
        const bool whole = tile + length <= end;
        const long long first = tile + scan_items * chunks.rank();
        T values[scan_items];
        T own = neutral, total;
        each_item(whole, first, end, [&](int k) { values[k] = map(first + k); });
        each_item(whole, first, end, [&](int k) { own = combine(own, values[k]); });
        T before = combine(prefix, scan_threads(own, chunks.threads, neutral, combine, total));
        each_item(whole, first, end, [&](int k) {
            write(first + k, before, values[k]);
            before = combine(before, values[k]);
        });
        prefix = combine(prefix, total);
    }
}

__device__ inline long long first_index() {
    return blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
}
__device__ inline long long index_step() { return gridDim.x * static_cast<long long>(blockDim.x); }

}  // namespace cupola
