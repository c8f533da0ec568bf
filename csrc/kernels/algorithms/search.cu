// csrc/kernels/algorithms/search.cu - places of values among sorted ones.
#include "moved.cuh"

namespace cupola::algorithms {}

using namespace cupola::algorithms;

// The element that each place of a repetition has: the number of ends that are not above it.
extern "C" __global__ void search_repeats(const i64* ends, i64* out, i64 count, i64 n) {
#pragma unroll 1
    for (i64 p = first<i64>(); p < n; p += threads<i64>()) {
        i64 low = 0, high = count;
        while (low < high) {
            const i64 middle = low + (high - low) / 2;
            if (ends[middle] <= p)
                low = middle + 1;
            else
                high = middle;
        }
        out[p] = low;
    }
}
