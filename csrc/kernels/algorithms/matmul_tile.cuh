// csrc/kernels/algorithms/matmul_tile.cuh - the operands of matrix products, and the order of
// tiles.
#pragma once

#include <cstdint>

#include "../constants.h"

namespace cupola::products {

using namespace constants;

using i64 = std::int64_t;

// A matrix of `lines` by `depth` elements: products sum over the depth. Elements of the depth are
// next to each other (deep), or else those of a column of lines.
template <class T>
struct Operand {
    const T* first;
    i64 step;  // between the other neighbours
    i64 lines, depth;
    bool deep;
    bool aligned;  // every vector of 16 bytes is aligned

    __device__ T at(i64 line, i64 k) const {
        if (line >= lines || k >= depth) return T{};
        return deep ? first[line * step + k] : first[k * step + line];
    }
};

template <class T>
struct alignas(16) Vector {
    static constexpr int size = 16 / sizeof(T);
    T element[size];
};

// A thread's vector of each step: whole ones by one access, others with zeros beyond the matrix.
template <int Lines, int Depth, class T>
struct Source {
    static constexpr int size = Vector<T>::size;
    const T* at;
    i64 jump;
    i64 whole;  // steps that begin below this depth have whole vectors

    __device__ static int line_of(bool deep, int number) {
        return deep ? number / (Depth / size) : number % (Lines / size) * size;
    }
    __device__ static int depth_of(bool deep, int number) {
        return deep ? number % (Depth / size) * size : number / (Lines / size);
    }

    __device__ Source() {}
    __device__ Source(const Operand<T>& from, i64 first_line, int number) {
        const i64 line = first_line + line_of(from.deep, number);
        const int k = depth_of(from.deep, number);
        const bool inside = line + (from.deep ? 1 : size) <= from.lines;
        at = from.first + (from.deep ? line * from.step + k : k * from.step + line);
        jump = from.deep ? Depth : Depth * from.step;
        whole = from.aligned && inside ? from.depth - k - (from.deep ? size - 1 : 0) : 0;
    }

    // The vector of the step that begins at `k`; null where it is not whole.
    __device__ const Vector<T>* next(i64 k) {
        const Vector<T>* vector = reinterpret_cast<const Vector<T>*>(at);
        at += jump;
        return k < whole ? vector : nullptr;
    }
    __device__ Vector<T> next(const Operand<T>& from, i64 first_line, i64 k, int number) {
        const Vector<T>* vector = next(k);
        return vector ? *vector : partial(from, first_line, k, number);
    }

    // Not inlined: only edges of the matrix need it, and it would take registers of the sums.
    __device__ __noinline__ static Vector<T> partial(const Operand<T>& from, i64 first_line, i64 k,
                                                     int number) {
        const i64 line = first_line + line_of(from.deep, number);
        k += depth_of(from.deep, number);
        Vector<T> made;
        for (int i = 0; i < size; ++i)
            made.element[i] = from.deep ? from.at(line, k + i) : from.at(line + i, k);
        return made;
    }
};

struct Tile {
    i64 row, column;
};

// Tiles in bands of 8 rows of tiles: blocks that run together share rows and columns in the cache.
__device__ inline Tile tile_of(i64 number, i64 rows, i64 columns) {
    constexpr i64 high = 8;
    const i64 band = number / (high * columns), start = band * high;
    const i64 height = rows - start < high ? rows - start : high;
    const i64 rest = number - start * columns;
    return {start + rest % height, rest / height};
}

template <class T>
__device__ Operand<T> operand(const T* first, i64 step, i64 lines, i64 depth, int deep) {
    const bool aligned =
        reinterpret_cast<std::uint64_t>(first) % 16 == 0 && step % Vector<T>::size == 0;
    return {first, step, lines, depth, deep != 0, aligned};
}

}  // namespace cupola::products
