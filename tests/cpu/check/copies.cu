// tests/cpu/check/copies.cu - asynchronous copies, and what waits for them. Of a race both lines
// are marked. A mark of `race?` is of a copy whose line is in a header of the toolkit.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>

#include <cuda/barrier>
#include <cuda/pipeline>

#include "case.cuh"

namespace cg = cooperative_groups;

__shared__ __align__(128) int tile[192];

#define COPY(to, from)                                                                      \
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(in_shared(to)), "l"(from) \
                 : "memory")
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(left) asm volatile("cp.async.wait_group " #left ";" ::: "memory")
#define WAIT_ALL asm volatile("cp.async.wait_all;" ::: "memory")
#define BULK_COMMIT asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
#define BULK_WAIT_READ asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")

__device__ __forceinline__ unsigned in_shared(const void* at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}
__device__ __forceinline__ void init(unsigned long long* object, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(in_shared(object)), "r"(count)
                 : "memory");
}
__device__ __forceinline__ void arrive(unsigned long long* object) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(in_shared(object))
                 : "memory");
}
__device__ __forceinline__ void arrive_expecting(unsigned long long* object, int bytes) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], %1; }" ::"r"(
                     in_shared(object)),
                 "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void arrive_when_copied(unsigned long long* object) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(in_shared(object))
                 : "memory");
}
__device__ __forceinline__ void wait(unsigned long long* object, int parity) {
    unsigned done = 0;
    while (!done)
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, "
            "p; }"
            : "=r"(done)
            : "r"(in_shared(object)), "r"(parity)
            : "memory");
}
#define BULK_LOAD(to, from, bytes, object)                                                   \
    asm volatile(                                                                            \
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, " \
        "[%3];" ::"r"(in_shared(to)),                                                        \
        "l"(from), "r"(bytes), "r"(in_shared(object))                                        \
        : "memory")
#define BULK_STORE(to, from, bytes)                                                       \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), \
                 "r"(in_shared(from)), "r"(bytes)                                         \
                 : "memory")

CASE(read_without_a_wait, 1, 64) {
    COPY(tile + tid, x + tid);  // race
    COMMIT;
    y[tid] = tile[tid];  // race
}
CASE(read_after_a_wait, 1, 64) {
    COPY(tile + tid, x + tid);
    COMMIT;
    WAIT(0);
    y[tid] = tile[tid];
}
CASE(wait_for_no_group, 1, 64) {
    COPY(tile + tid, x + tid);  // race
    WAIT(0);
    y[tid] = tile[tid];  // race
}
CASE(wait_for_all, 1, 64) {
    COPY(tile + tid, x + tid);
    WAIT_ALL;
    y[tid] = tile[tid];
}
CASE(second_of_two_groups, 1, 64) {
    COPY(tile + tid, x + tid);
    COMMIT;
    COPY(tile + 64 + tid, x + 64 + tid);  // race
    COMMIT;
    WAIT(1);
    y[tid] = tile[tid] + tile[64 + tid];  // race
}
CASE(first_of_two_groups, 1, 64) {
    COPY(tile + tid, x + tid);
    COMMIT;
    COPY(tile + 64 + tid, x + 64 + tid);
    COMMIT;
    WAIT(1);
    y[tid] = tile[tid];
    WAIT(0);
    y[64 + tid] = tile[64 + tid];
}
CASE(barrier_without_a_wait, 1, 64) {
    COPY(tile + tid, x + tid);  // race
    COMMIT;
    __syncthreads();
    y[tid] = tile[tid ^ 32];  // race
}
CASE(wait_without_a_barrier, 1, 64) {
    COPY(tile + tid, x + tid);  // race
    WAIT_ALL;
    y[tid] = tile[tid ^ 32];  // race
}
CASE(barrier_before_the_wait, 1, 64) {
    COPY(tile + tid, x + tid);  // race
    COMMIT;
    __syncthreads();
    WAIT(0);
    y[tid] = tile[tid ^ 32];  // race
}
CASE(wait_and_barrier, 1, 64) {
    COPY(tile + tid, x + tid);
    COMMIT;
    WAIT(0);
    __syncthreads();
    y[tid] = tile[tid ^ 32];
}
CASE(wait_and_warp_barrier, 1, 64) {
    COPY(tile + tid, x + tid);
    WAIT_ALL;
    __syncwarp();
    y[tid] = tile[tid ^ 1];
}
CASE(source_written_early, 1, 64) {
    COPY(tile + tid, x + tid);  // race
    x[tid] = 1;                 // race
    WAIT_ALL;
    y[tid] = tile[tid];
}
CASE(source_written_after_the_wait, 1, 64) {
    COPY(tile + tid, x + tid);
    WAIT_ALL;
    x[tid] = 1;
    y[tid] = tile[tid];
}
CASE(source_read_at_the_same_time, 1, 64) {
    COPY(tile + tid, x + tid);
    y[tid] = x[tid];
    WAIT_ALL;
    y[64 + tid] = tile[tid];
}
CASE(destination_written_early, 1, 64) {
    COPY(tile + tid, x + tid);  // race
    tile[tid] = 1;              // race
    WAIT_ALL;
    y[tid] = tile[tid];
}
CASE(destination_written_before, 1, 64) {
    tile[tid] = 1;
    COPY(tile + tid, x + tid);
    WAIT_ALL;
    y[tid] = tile[tid];
}
CASE(two_copies_to_one_place, 1, 64) {
    COPY(tile + tid, x + tid);       // race
    COPY(tile + tid, x + 64 + tid);  // race
    WAIT_ALL;
    y[tid] = tile[tid];
}
CASE(a_copy_over_an_earlier_one, 1, 64) {
    COPY(tile + tid, x + tid);
    WAIT_ALL;
    y[tid] = tile[tid];
    COPY(tile + tid, x + 64 + tid);
    WAIT_ALL;
    y[tid] += tile[tid];
}
// A ring of three tiles; a tile is copied two turns before it is read.
#define RING(left)                                                       \
    int sum = 0;                                                         \
    for (int n = 0; n < 2; ++n) {                                        \
        COPY(tile + 64 * n + tid, x + 16 * n + tid); /* the first two */ \
        COMMIT;                                                          \
    }
#define TURN(n, left) \
    WAIT(left);       \
    __syncthreads();  \
    sum += tile[64 * (n % 3) + (tid ^ 32)]
CASE(ring_of_tiles, 1, 64) {
    RING(1);
    for (int n = 0; n < 6; ++n) {
        TURN(n, 1);
        if (n < 4) COPY(tile + 64 * ((n + 2) % 3) + tid, x + 16 * (n + 2) + tid);
        COMMIT;
    }
    y[tid] = sum;
}
CASE(ring_that_waits_for_too_few, 1, 64) {
    RING(2);  // race
    for (int n = 0; n < 6; ++n) {
        TURN(n, 2);                                                                // race
        if (n < 4) COPY(tile + 64 * ((n + 2) % 3) + tid, x + 16 * (n + 2) + tid);  // race
        COMMIT;
    }
    y[tid] = sum;
}
CASE(ring_without_commits_at_its_end, 1, 64) {
    RING(1);
    for (int n = 0; n < 6; ++n) {
        TURN(n, 1);  // race
        if (n < 4) {
            COPY(tile + 64 * ((n + 2) % 3) + tid, x + 16 * (n + 2) + tid);  // race
            COMMIT;
        }
    }
    y[tid] = sum;
}
CASE(ring_of_two_tiles_for_three, 1, 64) {
    RING(1);
    for (int n = 0; n < 6; ++n) {
        WAIT(1);
        __syncthreads();
        sum += tile[64 * (n % 2) + (tid ^ 32)];                              // race
        if (n < 4) COPY(tile + 64 * (n % 2) + tid, x + 16 * (n + 2) + tid);  // race
        COMMIT;
    }
    y[tid] = sum;
}
CASE(primitives, 1, 64) {
    __pipeline_memcpy_async(tile + tid, x + tid, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[tid] = tile[tid ^ 32];
}
CASE(primitives_without_a_wait, 1, 64) {
    __pipeline_memcpy_async(tile + tid, x + tid, 4);  // race?
    __pipeline_commit();
    __syncthreads();
    y[tid] = tile[tid ^ 32];  // race
}
CASE(pipeline_of_a_thread, 1, 64) {
    auto pipeline = cuda::make_pipeline();
    int sum = 0;
    for (int n = 0, ahead = 0; n < 6; ++n) {
        for (; ahead < 6 && ahead < n + 2; ++ahead) {
            pipeline.producer_acquire();
            cuda::memcpy_async(tile + 64 * (ahead % 2) + tid, x + 16 * ahead + tid, sizeof(int),
                               pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += tile[64 * (n % 2) + tid];
        pipeline.consumer_release();
    }
    y[tid] = sum;
}
CASE(pipeline_without_a_wait, 1, 64) {
    auto pipeline = cuda::make_pipeline();
    pipeline.producer_acquire();
    cuda::memcpy_async(tile + tid, x + tid, sizeof(int), pipeline);  // race?
    pipeline.producer_commit();
    y[tid] = tile[tid];  // race
    pipeline.consumer_wait();
}
CASE(pipeline_of_a_block, 1, 64) {
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int n = 0, ahead = 0; n < 6; ++n) {
        for (; ahead < 6 && ahead < n + 2; ++ahead) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, tile + 64 * (ahead % 2), x + 16 * ahead, 256, pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += tile[64 * (n % 2) + (tid ^ 32)];
        pipeline.consumer_release();
    }
    y[tid] = sum;
}
CASE(pipeline_of_producers_and_consumers, 1, 64) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    const auto role = tid < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipeline = cuda::make_pipeline(block, &state, role);
    int sum = 0;
    for (int n = 0; n < 6; ++n) {
        if (tid < 32) {
            pipeline.producer_acquire();
            cuda::memcpy_async(tile + 64 * (n % 2) + tid, x + 16 * n + tid, sizeof(int), pipeline);
            pipeline.producer_commit();
        } else {
            pipeline.consumer_wait();
            sum += tile[64 * (n % 2) + tid - 32];
            pipeline.consumer_release();
        }
    }
    y[tid] = sum;
}
CASE(counted_by_a_barrier, 1, 64) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    auto block = cg::this_thread_block();
    if (tid == 0) init(&barrier, 64);
    __syncthreads();
    cuda::memcpy_async(block, tile, x, cuda::aligned_size_t<16>(256), barrier);
    barrier.arrive_and_wait();
    y[tid] = tile[tid ^ 32];
}
CASE(counted_by_a_barrier_without_a_wait, 1, 64) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (tid == 0) init(&barrier, 64);
    __syncthreads();
    cuda::memcpy_async(tile + tid, x + tid, cuda::aligned_size_t<4>(4), barrier);  // race?
    auto token = barrier.arrive();
    y[tid] = tile[tid];  // race
    barrier.wait(std::move(token));
}
CASE(copied_by_a_group, 1, 64) {
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, x, cuda::aligned_size_t<16>(256));
    cg::wait(block);
    y[tid] = tile[tid ^ 32];
}
CASE(copied_by_a_group_without_a_wait, 1, 64) {
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, x, cuda::aligned_size_t<16>(256));  // race?
    block.sync();
    y[tid] = tile[tid ^ 32];  // race
    cg::wait(block);
}
// One warp copies, and one reads: an mbarrier for the tile that is full, and for the empty one.
CASE(a_warp_that_copies, 1, 64) {
    __shared__ unsigned long long full, empty;
    if (tid == 0) {
        init(&full, 32);
        init(&empty, 32);
    }
    __syncthreads();
    int sum = 0;
    for (int n = 0; n < 5; ++n) {
        if (tid < 32) {
            if (n != 0) wait(&empty, (n - 1) & 1);
            COPY(tile + tid, x + 32 * n + tid);
            arrive_when_copied(&full);
        } else {
            wait(&full, n & 1);
            sum += tile[63 - tid];
            arrive(&empty);
        }
    }
    y[tid] = sum;
}
CASE(a_warp_that_arrives_at_once, 1, 64) {
    __shared__ unsigned long long full;
    if (tid == 0) init(&full, 32);
    __syncthreads();
    if (tid < 32) {
        COPY(tile + tid, x + tid);  // race
        arrive(&full);
    } else {
        wait(&full, 0);
        y[tid] = tile[63 - tid];  // race
    }
}
CASE(bulk_copy, 1, 64) {
    __shared__ unsigned long long full;
    if (tid == 0) init(&full, 1);
    __syncthreads();
    if (tid == 0) {
        arrive_expecting(&full, 256);
        BULK_LOAD(tile, x, 256, &full);
    }
    wait(&full, 0);
    y[tid] = tile[tid];
}
CASE(bulk_copy_without_a_wait, 1, 64) {
    __shared__ unsigned long long full;
    if (tid == 0) init(&full, 1);
    __syncthreads();
    if (tid == 0) {
        arrive_expecting(&full, 256);
        BULK_LOAD(tile, x, 256, &full);  // race
    }
    __syncthreads();
    y[tid] = tile[tid];  // race
}
CASE(bulk_copy_that_one_thread_awaits, 1, 64) {
    __shared__ unsigned long long full;
    if (tid == 0) {
        init(&full, 1);
        arrive_expecting(&full, 256);
        BULK_LOAD(tile, x, 256, &full);
        wait(&full, 0);
    }
    __syncthreads();
    y[tid] = tile[tid];
}
CASE(ring_of_bulk_copies, 1, 64) {
    __shared__ unsigned long long full[2], empty[2];
    if (tid < 2) {
        init(full + tid, 1);
        init(empty + tid, 64);
    }
    __syncthreads();
    int sum = 0;
    for (int n = 0; n < 6; ++n) {
        if (tid == 0) {
            if (n >= 2) wait(empty + n % 2, (n / 2 - 1) & 1);
            arrive_expecting(full + n % 2, 256);
            BULK_LOAD(tile + 64 * (n % 2), x + 16 * n, 256, full + n % 2);
        }
        wait(full + n % 2, n / 2 & 1);
        sum += tile[64 * (n % 2) + tid];
        arrive(empty + n % 2);
    }
    y[tid] = sum;
}
CASE(ring_of_bulk_copies_over_what_is_read, 1, 64) {
    __shared__ unsigned long long full[2];
    if (tid < 2) init(full + tid, 1);
    __syncthreads();
    int sum = 0;
    for (int n = 0; n < 6; ++n) {
        if (tid == 0) {
            arrive_expecting(full + n % 2, 256);
            BULK_LOAD(tile + 64 * (n % 2), x + 16 * n, 256, full + n % 2);  // race
        }
        wait(full + n % 2, n / 2 & 1);
        sum += tile[64 * (n % 2) + tid];  // race
    }
    y[tid] = sum;
}
CASE(bulk_store, 1, 64) {
    tile[tid] = x[tid];
    __syncthreads();
    if (tid == 0) {
        BULK_STORE(y, tile, 256);
        BULK_COMMIT;
        BULK_WAIT_READ;
    }
    __syncthreads();
    tile[tid] = 0;
}
CASE(bulk_store_of_what_is_written, 1, 64) {
    tile[tid] = x[tid];
    __syncthreads();
    if (tid == 0) {
        BULK_STORE(y, tile, 256);  // race
        BULK_COMMIT;
    }
    __syncthreads();
    tile[tid] = 0;  // race
}
CASE(bulk_store_that_is_read, 1, 64) {
    tile[tid] = x[tid];
    __syncthreads();
    if (tid == 0) {
        BULK_STORE(y, tile, 256);  // race
        BULK_COMMIT;
        BULK_WAIT_READ;
        x[0] = y[5];  // race
    }
}
CASE(bulk_store_that_is_read_after_a_wait, 1, 64) {
    tile[tid] = x[tid];
    __syncthreads();
    if (tid == 0) {
        BULK_STORE(y, tile, 256);
        BULK_COMMIT;
        BULK_WAIT;
        x[0] = y[5];
    }
}
