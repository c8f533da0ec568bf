// csrc/kernels/doublify.cu - two small kernels that double numbers in place.
#include <cstdint>

#include "threads.cuh"

// Doubles a 4 x 4 array in one 4 x 4 block: thread (x, y) doubles a[4 y + x]. Threads outside of
// 4 x 4, and blocks after the first, do nothing.
extern "C" __global__ void doublify(float* a) {
    if (threadIdx.x >= 4 || threadIdx.y >= 4 || threadIdx.z != 0) return;
    if (blockIdx.x != 0 || blockIdx.y != 0 || blockIdx.z != 0) return;
    a[4 * threadIdx.y + threadIdx.x] *= 2;
}

// An array on the device. Its NumPy type: np.dtype([("length", "i4"), ("pad", "i4"), ("ptr",
// "u8")]).
struct DeviceArray {
    std::int32_t length;
    std::int32_t pad;
    float* ptr;
};

// Block b (numbered x first) doubles the array of arrays[b]; the grid has a block for each.
extern "C" __global__ void double_array(DeviceArray* arrays) {
    const std::size_t block =
        (std::size_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const DeviceArray array = arrays[block];
    for (std::int64_t i = block_thread(); i < array.length; i += block_threads()) array.ptr[i] *= 2;
}
