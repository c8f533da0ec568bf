// tests/ptx/toolkit/copies.cu - the toolkit's barriers, pipelines and asynchronous copies.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Each phase, a thread adds what its neighbour had.
extern "C" __global__ void phases(int* out, int count) {
    __shared__ Barrier barrier;
    __shared__ int cells[256];
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    cells[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int n = 0; n < count; ++n) {
        barrier.arrive_and_wait();
        const int other = cells[(threadIdx.x + 1) % blockDim.x];
        Barrier::arrival_token token = barrier.arrive();
        barrier.wait(static_cast<Barrier::arrival_token&&>(token));
        cells[threadIdx.x] += other;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = cells[threadIdx.x];
}

// Threads leave one after another; those that stay go on.
extern "C" __global__ void dropping(int* out) {
    __shared__ Barrier barrier;
    __shared__ int sum;
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        sum = 0;
    }
    __syncthreads();
    for (int n = 0;; ++n) {
        if (n == int(threadIdx.x)) {
            barrier.arrive_and_drop();
            break;
        }
        atomicAdd(&sum, 1);
        barrier.arrive_and_wait();
        out[threadIdx.x] = n;
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockDim.x] = sum;
}

extern "C" __global__ void by_barrier(const int* in, int* out, int tiles) {
    extern __shared__ int tile[];
    __shared__ Barrier barrier;
    const cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&barrier, block.size());
    block.sync();
    int sum = 0;
    for (int n = 0; n < tiles; ++n) {
        cuda::memcpy_async(block, tile, in + n * block.size(), sizeof(int) * block.size(), barrier);
        barrier.arrive_and_wait();
        sum += tile[block.size() - 1 - threadIdx.x] * (n + 1);
        block.sync();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void by_group(const int* in, int* out, int tiles) {
    extern __shared__ int tile[];
    const cg::thread_block block = cg::this_thread_block();
    const int size = block.size();
    cg::memcpy_async(block, tile, in, sizeof(int) * size);
    int sum = 0;
    for (int n = 0; n < tiles; ++n) {
        if (n + 1 < tiles) {
            cg::memcpy_async(block, tile + (n + 1) % 2 * size, in + (n + 1) * size,
                             sizeof(int) * size);
            cg::wait_prior<1>(block);
        } else {
            cg::wait(block);
        }
        sum += tile[n % 2 * size + size - 1 - threadIdx.x] * (n + 1);
        block.sync();
    }
    out[threadIdx.x] = sum;
}

// Half of the threads fill the buffer, the other half reads it.
extern "C" __global__ void by_pipeline(const int* in, int* out, int tiles, int split) {
    extern __shared__ int tile[];
    constexpr int stages = 3;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    const cg::thread_block block = cg::this_thread_block();
    const int size = split ? block.size() / 2 : block.size();
    int sum = 0;
    if (split) {
        const auto role = threadIdx.x < unsigned(size) ? cuda::pipeline_role::producer
                                                       : cuda::pipeline_role::consumer;
        auto pipeline = cuda::make_pipeline(block, &state, role);
        for (int n = 0; n < tiles; ++n) {
            if (role == cuda::pipeline_role::producer) {
                pipeline.producer_acquire();
                cuda::memcpy_async(tile + n % stages * size + threadIdx.x,
                                   in + n * size + threadIdx.x, cuda::aligned_size_t<4>(4),
                                   pipeline);
                pipeline.producer_commit();
            } else {
                pipeline.consumer_wait();
                sum += tile[n % stages * size + 2 * size - 1 - threadIdx.x] * (n + 1);
                pipeline.consumer_release();
            }
        }
    } else {
        auto pipeline = cuda::make_pipeline(block, &state);
        for (int n = 0, ahead = 0; n < tiles; ++n) {
            for (; ahead < tiles && ahead < n + stages; ++ahead) {
                pipeline.producer_acquire();
                cuda::memcpy_async(block, tile + ahead % stages * size, in + ahead * size,
                                   sizeof(int) * size, pipeline);
                pipeline.producer_commit();
            }
            pipeline.consumer_wait();
            sum += tile[n % stages * size + size - 1 - threadIdx.x] * (n + 1);
            pipeline.consumer_release();
        }
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void by_thread(const int4* in, int4* out, int tiles) {
    extern __shared__ int4 wide[];
    auto pipeline = cuda::make_pipeline();
    int4 sum = {0, 0, 0, 0};
    for (int n = 0; n < tiles; ++n) {
        pipeline.producer_acquire();
        cuda::memcpy_async(&wide[threadIdx.x], &in[n * blockDim.x + threadIdx.x],
                           cuda::aligned_size_t<16>(16), pipeline);
        pipeline.producer_commit();
        cuda::pipeline_consumer_wait_prior<0>(pipeline);
        const int4 x = wide[threadIdx.x];
        sum = {sum.x + x.x, sum.y + x.y, sum.z + x.z, sum.w + x.w};
        pipeline.consumer_release();
        __pipeline_memcpy_async(&wide[threadIdx.x], &in[n * blockDim.x + threadIdx.x], 16, 12);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        sum.x += wide[threadIdx.x].x + wide[threadIdx.x].y;
    }
    out[threadIdx.x] = sum;
}

#if __CUDA_ARCH__ >= 900
// A block's bulk copy in, and out again.
extern "C" __global__ void by_bulk(const int* in, int* out, int size) {
    extern __shared__ __align__(128) int tile[];
    __shared__ Barrier barrier;
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        cuda::device::experimental::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    Barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::experimental::cp_async_bulk_global_to_shared(tile, in + blockIdx.x * size,
                                                                   size * sizeof(int), barrier);
        token = cuda::device::barrier_arrive_tx(barrier, 1, size * sizeof(int));
    } else {
        token = barrier.arrive();
    }
    barrier.wait(static_cast<Barrier::arrival_token&&>(token));
    for (int n = threadIdx.x; n < size; n += blockDim.x) tile[n] = tile[n] * 2 + 1;
    cuda::device::experimental::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cuda::device::experimental::cp_async_bulk_shared_to_global(out + blockIdx.x * size, tile,
                                                                   size * sizeof(int));
        cuda::device::experimental::cp_async_bulk_commit_group();
        cuda::device::experimental::cp_async_bulk_wait_group_read<0>();
    }
}
#endif
