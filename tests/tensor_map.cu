// tests/tensor_map.cu - copies a box of a tensor into shared memory, and back with 1 added.
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int rows = 8, columns = 32;

// `out` receives the box in the order of shared memory.
template <typename T>
__global__ void take(const __grid_constant__ CUtensorMap map, T* out, int row, int column) {
    __shared__ alignas(1024) T box[rows * columns];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier loaded;
    if (threadIdx.x == 0) {
        init(&loaded, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    barrier::arrival_token token;
    const int corner[2] = {column, row};
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, box, &map, corner,
                                  cuda::device::barrier_native_handle(loaded));
        token = cuda::device::barrier_arrive_tx(loaded, 1, sizeof(box));
    } else {
        token = loaded.arrive();
    }
    loaded.wait(std::move(token));
    for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) out[i] = box[i];
    for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) box[i] = box[i] + T(1);
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    // A GPU faults at a store that begins before the tensor.
    if (threadIdx.x == 0 && row >= 0 && column >= 0) {
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, corner, box);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

template __global__ void take<float>(const __grid_constant__ CUtensorMap, float*, int, int);
template __global__ void take<int>(const __grid_constant__ CUtensorMap, int*, int, int);
