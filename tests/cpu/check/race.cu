// tests/cpu/check/race.cu - accesses that nothing orders. Of a race both lines are marked.
#include "case.cuh"

extern __shared__ int dynamic[];
__device__ int counter, lock, data, ready;

#define BARRIER(text) asm volatile(text ::: "memory")

CASE(no_barrier, 1, 64) {
    __shared__ int s[64];
    s[tid] = x[tid];       // race
    y[tid] = s[tid ^ 32];  // race
}
CASE(barrier, 1, 64) {
    __shared__ int s[64];
    s[tid] = x[tid];
    __syncthreads();
    y[tid] = s[tid ^ 32];
}
CASE(one_barrier_a_turn, 1, 64) {
    __shared__ int s[64];
    for (int i = 0; i < 3; ++i) {
        s[tid] = x[tid] + i;  // race
        __syncthreads();
        y[tid] = s[tid ^ 32];  // race
    }
}
CASE(two_barriers_a_turn, 1, 64) {
    __shared__ int s[64];
    for (int i = 0; i < 3; ++i) {
        s[tid] = x[tid] + i;
        __syncthreads();
        y[tid] = s[tid ^ 32];
        __syncthreads();
    }
}
CASE(no_warp_barrier, 1, 32) {
    __shared__ int s[32];
    s[tid] = x[tid];      // race
    y[tid] = s[tid ^ 1];  // race
}
CASE(warp_barrier, 1, 32) {
    __shared__ int s[32];
    s[tid] = x[tid];
    __syncwarp();
    y[tid] = s[tid ^ 1];
}
CASE(warp_barrier_for_a_block, 1, 64) {
    __shared__ int s[64];
    s[tid] = x[tid];  // race
    __syncwarp();
    y[tid] = s[tid ^ 32];  // race
}
CASE(warp_barrier_of_halves, 1, 32) {
    __shared__ int s[32];
    s[tid] = x[tid];  // race
    __syncwarp(tid < 16 ? 0x0000ffffu : 0xffff0000u);
    y[tid] = s[tid ^ 16];  // race
}
CASE(warp_barrier_within_halves, 1, 32) {
    __shared__ int s[32];
    s[tid] = x[tid];
    __syncwarp(tid < 16 ? 0x0000ffffu : 0xffff0000u);
    y[tid] = s[tid ^ 8];
}
CASE(all_write_one, 1, 64) {
    __shared__ int s;
    s = x[tid];  // race
    __syncthreads();
    y[tid] = s;
}
CASE(all_write_the_same, 1, 64) {
    __shared__ int s;
    s = 7;
    __syncthreads();
    y[tid] = s;
}
CASE(reduction_without_barriers, 1, 64) {
    __shared__ int s[64];
    s[tid] = x[tid];
    __syncthreads();
    for (int half = 32; half > 0; half /= 2)
        if (tid < half) s[tid] += s[tid + half];  // race
    if (tid == 0) y[0] = s[0];
}
CASE(reduction, 1, 64) {
    __shared__ int s[64];
    s[tid] = x[tid];
    for (int half = 32; half > 0; half /= 2) {
        __syncthreads();
        if (tid < half) s[tid] += s[tid + half];
    }
    if (tid == 0) y[0] = s[0];
}
CASE(shared_counts, 1, 64) {
    __shared__ int s[4];
    if (tid < 4) s[tid] = 0;
    __syncthreads();
    s[x[tid] & 3]++;  // race
    __syncthreads();
    if (tid < 4) y[tid] = s[tid];
}
CASE(shared_atomic_counts, 1, 64) {
    __shared__ int s[4];
    if (tid < 4) s[tid] = 0;
    __syncthreads();
    atomicAdd(&s[x[tid] & 3], 1);
    __syncthreads();
    if (tid < 4) y[tid] = s[tid];
}
CASE(dynamic_tile, 1, 64) {
    dynamic[tid] = x[tid];       // race
    y[tid] = dynamic[63 - tid];  // race
}
CASE(overlapping_widths, 1, 64) {
    reinterpret_cast<short*>(dynamic)[tid] = tid;  // race
    if (tid >= 32) y[tid] = dynamic[tid - 32];     // race
}
CASE(bytes_side_by_side, 1, 64) {
    reinterpret_cast<char*>(dynamic)[tid] = tid;
    x[tid] = reinterpret_cast<char*>(dynamic)[tid];
}
CASE(some_of_the_block, 1, 96) {
    __shared__ int s[64];
    if (tid < 64) {
        s[tid] = x[tid];  // race
        BARRIER("bar.sync 1, 64;");
    }
    y[tid] = s[tid & 63 ^ 32];  // race
}
CASE(each_half_by_itself, 1, 128) {
    __shared__ int s[128];
    s[tid] = x[tid];
    if (tid < 64)
        BARRIER("bar.sync 1, 64;");
    else
        BARRIER("bar.sync 2, 64;");
    y[tid] = s[tid ^ 32];
}
CASE(arrive_and_wait, 1, 64) {
    __shared__ int s[32];
    if (tid < 32) {
        s[tid] = x[tid];
        BARRIER("bar.arrive 1, 64;");
    } else {
        BARRIER("bar.sync 1, 64;");
        y[tid] = s[tid - 32];
    }
}
CASE(written_after_arriving, 1, 64) {
    __shared__ int s[32];
    if (tid < 32) {
        BARRIER("bar.arrive 1, 64;");
        s[tid] = x[tid];  // race
    } else {
        BARRIER("bar.sync 1, 64;");
        y[tid] = s[tid - 32];  // race
    }
}
CASE(blocks_write_one, 4, 32) {
    if (tid == 0) y[0] = bid;  // race
}
CASE(blocks_write_their_own, 4, 32) {
    if (tid == 0) y[bid] = bid;
}
CASE(count_without_atomics, 4, 1) {
    x[0] += 1;  // race
}
CASE(count, 4, 32) { atomicAdd(&x[0], 1); }
CASE(neighbour_block, 4, 1) {
    y[bid] = bid;               // race
    x[bid] = y[(bid + 3) & 3];  // race
}
CASE(in_a_block_of_global_memory, 1, 64) {
    y[tid] = x[tid];       // race
    x[tid] = y[tid ^ 32];  // race
}
CASE(in_global_memory_with_barriers, 1, 64) {
    y[tid] = x[tid];
    __syncthreads();
    x[tid] = y[tid ^ 32];
}
CASE(atomic_and_plain, 2, 32) {
    if (tid == 0 && bid == 0) x[255] = 1;  // race
    atomicAdd(&x[255], 1);                 // race
}
// An example of the CUDA C++ programming guide.
CASE(compare_and_swap, 2, 32) {
    int seen = x[0], mine;
    do {
        mine = seen;
        seen = atomicCAS(&x[0], mine, mine + 3);
    } while (seen != mine);
}
// The last block adds up what all blocks have stored: nothing orders this without the fence.
template <bool Fence>
__device__ __forceinline__ void last_block(int* x, int* y) {
    __shared__ bool last;
    if (tid == 0) {
        y[bid] = x[bid];  // race last_without_fence
        if (Fence) __threadfence();
        last = atomicAdd(&counter, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && tid < gridDim.x) x[tid] = y[tid] + 1;  // race last_without_fence
    if (last && tid == 0) counter = 0;
}
CASE(last_without_fence, 4, 32) {
    last_block<false>(x, y);  // race?
}
CASE(last_with_fence, 4, 32) { last_block<true>(x, y); }
CASE(flag_without_fence, 1, 64) {
    __shared__ int s;
    volatile int* flag = dynamic;
    if (tid == 0) *flag = 0;
    __syncthreads();
    if (tid == 0) {
        s = x[5];  // race
        *flag = 1;
    }
    if (tid == 32) {
        while (*flag == 0) {
        }
        y[0] = s;  // race
    }
}
CASE(flag_with_fence, 1, 64) {
    __shared__ int s;
    volatile int* flag = dynamic;
    if (tid == 0) *flag = 0;
    __syncthreads();
    if (tid == 0) {
        s = x[5];
        __threadfence_block();
        *flag = 1;
    }
    if (tid == 32) {
        while (*flag == 0) {
        }
        __threadfence_block();
        y[0] = s;
    }
}
CASE(release_and_acquire, 2, 1) {
    if (bid == 0) {
        data = y[5];
        asm volatile("st.release.gpu.b32 [%0], 1;" ::"l"(&ready) : "memory");
    } else {
        int seen;
        do asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(seen) : "l"(&ready) : "memory");
        while (seen == 0);
        y[0] = data;
        ready = 0;
    }
}
CASE(locked, 4, 32) {
    if (tid == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {
        }
        __threadfence();
        x[0] += 1;
        __threadfence();
        atomicExch(&lock, 0);
    }
}
CASE(lock_left_open, 4, 32) {
    if (tid == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {
        }
        __threadfence();
        x[0] += 1;  // race
        atomicExch(&lock, 0);
    }
}
CASE(asynchronous_copy, 1, 64) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(dynamic + tid));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + tid));  // race
    asm volatile("cp.async.wait_all;" ::: "memory");
    y[tid] = dynamic[tid ^ 32];  // race
}
CASE(asynchronous_copy_and_barrier, 1, 64) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(dynamic + tid));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + tid));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    y[tid] = dynamic[tid ^ 32];
}
CASE(heap_used_again, 2, 1) {
    auto* piece = static_cast<volatile int*>(malloc(40));
    *piece = x[bid];
    y[bid] = *piece;
    free(const_cast<int*>(piece));
}
CASE(heap_of_a_neighbour, 1, 2) {
    __shared__ char* other;
    if (tid == 0) other = static_cast<char*>(malloc(16));
    __syncthreads();
    other[8] = tid;  // race
    free(malloc(16));
    if (tid == 0) free(other);
}
CASE(cluster_barrier, 1, 64) {
    dynamic[tid] = x[tid];
    BARRIER("barrier.cluster.arrive;");
    BARRIER("barrier.cluster.wait;");
    y[tid] = dynamic[tid ^ 32];
}
// Threads that come to the wait when all have arrived long ago.
template <bool Waits>
__device__ __forceinline__ void late(int* x, int* y) {
    dynamic[tid] = x[tid];  // race before_the_cluster_wait
    BARRIER("barrier.cluster.arrive;");
    if (tid >= 32) {
#pragma unroll 1
        for (int i = 0; i < 9; ++i) __nanosleep(1);
        if (Waits) BARRIER("barrier.cluster.wait;");
        y[tid] = dynamic[tid - 32];  // race before_the_cluster_wait
        if (!Waits) BARRIER("barrier.cluster.wait;");
    } else {
        BARRIER("barrier.cluster.wait;");
    }
}
CASE(before_the_cluster_wait, 1, 64) {
    late<false>(x, y);  // race?
}
CASE(late_at_the_cluster_wait, 1, 64) { late<true>(x, y); }
CASE(first_word_is_no_cluster_barrier, 1, 64) {
    volatile int* first = dynamic;
    if (tid < 32) dynamic[tid + 1] = x[tid];  // race
    BARRIER("barrier.cluster.arrive;");
    if (tid >= 32) y[tid] = *first + dynamic[tid - 31];  // race
    BARRIER("barrier.cluster.wait;");
}
CASE(exited_before_the_barrier, 1, 64) {
    __shared__ int s[64];
    s[tid] = x[tid];
    if (tid >= 32) return;
    __syncthreads();
    y[tid] = s[tid + 32];
}
