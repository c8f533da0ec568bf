// benchmarks/cub.cu - CUB's device-wide algorithms as functions, which bench_algorithms.py calls.
//
// Each returns the bytes of temporary memory where `temporary` is null, else it does the work.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

namespace {

template <class Run>
std::size_t call(void* temporary, std::size_t bytes, Run run) {
    if (run(temporary, bytes) != cudaSuccess) return ~std::size_t{0};
    return bytes;
}

}  // namespace

#define FLOOR(name, in_type, out_type)                                                       \
    extern "C" std::size_t cub_##name(void* temporary, std::size_t bytes, const in_type* in, \
                                      out_type* out, long long* count, long long n,          \
                                      cudaStream_t stream)

FLOOR(sort, float, float) {
    return call(temporary, bytes, [&](void* where, std::size_t& size) {
        return cub::DeviceRadixSort::SortKeys(where, size, in, out, n, 0, 32, stream);
    });
}

FLOOR(scan, float, float) {
    return call(temporary, bytes, [&](void* where, std::size_t& size) {
        return cub::DeviceScan::InclusiveSum(where, size, in, out, n, stream);
    });
}

extern "C" std::size_t cub_select(void* temporary, std::size_t bytes, const float* in,
                                  const unsigned char* flags, float* out, long long* count,
                                  long long n, cudaStream_t stream) {
    return call(temporary, bytes, [&](void* where, std::size_t& size) {
        return cub::DeviceSelect::Flagged(where, size, in, flags, out, count, n, stream);
    });
}

// The input is sorted, as it is in cupola's numpy.unique.
FLOOR(unique, float, float) {
    return call(temporary, bytes, [&](void* where, std::size_t& size) {
        return cub::DeviceSelect::Unique(where, size, in, out, count, n, stream);
    });
}

FLOOR(histogram, float, int) {
    return call(temporary, bytes, [&](void* where, std::size_t& size) {
        return cub::DeviceHistogram::HistogramEven(where, size, in, out, 257, 0.0f, 1.0f, n,
                                                   stream);
    });
}
