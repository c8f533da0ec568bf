// tests/cpu/check/sync.cu - barriers and operations of a warp that threads miss. PTX stands
// where the compiler could merge or move the operations.
#include "case.cuh"

#define BARRIER(text) asm volatile(text ::: "memory")

CASE(both_sides, 1, 32) {
    if (tid & 1) {
        BARRIER("bar.sync 0;");  // sync
        x[tid] = 1;
    } else {
        x[tid] = 2;
        BARRIER("bar.sync 0;");  // sync
    }
}
CASE(warp_by_warp, 1, 64) {
    if (tid < 32) {
        BARRIER("bar.sync 0;");
        x[tid] = 1;
    } else {
        x[tid] = 2;
        BARRIER("bar.sync 0;");
    }
}
CASE(not_aligned, 1, 32) {
    if (tid & 1) {
        BARRIER("barrier.sync 0;");
        x[tid] = 1;
    } else {
        x[tid] = 2;
        BARRIER("barrier.sync 0;");
    }
}
CASE(in_an_uneven_loop, 1, 32) {
    for (int i = 0; i < 1 + (x[tid] & 1); ++i) {
        BARRIER("bar.sync 0;");  // sync
        x[tid] += i;
    }
    BARRIER("bar.sync 0;");  // sync?
    y[tid] = x[tid];
}
CASE(in_an_even_loop, 1, 32) {
    for (int i = 0; i < 2; ++i) {
        BARRIER("bar.sync 0;");
        x[tid] += i;
    }
    BARRIER("bar.sync 0;");
    y[tid] = x[tid];
}
CASE(after_exit, 1, 64) {
    if (tid >= 40) return;
    BARRIER("bar.sync 0;");
    y[tid] = x[tid];
}
CASE(half_of_the_block, 1, 64) {
    if (tid < 32)
        BARRIER("bar.sync 1, 64;");  // sync
    else
        BARRIER("bar.sync 2, 64;");  // sync?
}
CASE(both_halves, 1, 64) {
    if (tid < 32)
        BARRIER("bar.sync 1, 32;");
    else
        BARRIER("bar.sync 2, 32;");
}
CASE(more_than_named, 1, 96) {
    BARRIER("bar.sync 1, 64;");  // sync
}
CASE(arrived_for_nobody, 1, 64) {
    if (tid < 32) BARRIER("bar.arrive 1, 64;");  // sync
}
CASE(arrived_for_others, 1, 64) {
    if (tid < 32)
        BARRIER("bar.arrive 1, 64;");
    else
        BARRIER("bar.sync 1, 64;");
}
CASE(mask_without_itself, 1, 32) {
    if (tid < 16) __syncwarp(0xffff0000u);  // sync
    x[tid] = 1;
}
CASE(mask_of_itself, 1, 32) {
    if (tid < 16) __syncwarp(0x0000ffffu);
    x[tid] = 1;
}
CASE(warp_barrier_after_exit, 1, 32) {
    if (x[tid] >= 16) return;
    __syncwarp();  // sync
    x[tid] = 1;
}
CASE(shuffle_after_exit, 1, 32) {
    if (x[tid] >= 16) return;
    x[tid] = __shfl_xor_sync(0xffffffffu, x[tid], 1);  // sync
}
CASE(shuffle_of_half, 1, 32) {
    if (x[tid] >= 16) return;
    x[tid] = __shfl_xor_sync(0x0000ffffu, x[tid], 1);
}
CASE(vote_after_exit, 1, 32) {
    if (x[tid] & 1) return;
    x[tid] = __ballot_sync(0xffffffffu, x[tid] > 5);  // sync
}
CASE(vote_of_those_there, 1, 32) {
    if (x[tid] & 1) return;
    x[tid] = __ballot_sync(0x55555555u, x[tid] > 5);
}
CASE(match_without_itself, 1, 32) {
    if (tid == 3) x[tid] = __match_any_sync(0xfffffff7u & x[255] << 24, x[tid]);  // sync
}
CASE(reduction_after_exit, 1, 32) {
    if (x[tid] == 7) return;
    x[tid] = __reduce_add_sync(0xffffffffu, x[tid]);  // sync
}
CASE(reduction, 1, 32) { x[tid] = __reduce_add_sync(0xffffffffu, x[tid]); }
CASE(two_shuffles, 1, 32) {
    int mine = x[tid], given;
    if (mine & 1) {
        asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(given) : "r"(mine));  // sync?
        x[tid] = given + 1;
    } else {
        asm volatile("shfl.sync.bfly.b32 %0, %1, 2, 31, -1;" : "=r"(given) : "r"(mine));  // sync?
        x[tid] = given + 2;
    }
}
CASE(shuffle_and_barrier, 1, 32) {
    int mine = x[tid], given = 0;
    if (mine < 16)
        asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(given) : "r"(mine));  // sync
    BARRIER("bar.sync 0;");                                                               // sync
    x[tid] = given;
}
CASE(shuffle_then_barrier, 1, 32) {
    int mine = x[tid], given = 0;
    if (mine < 16)
        asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, 65535;" : "=r"(given) : "r"(mine));
    BARRIER("bar.sync 0;");
    x[tid] = given;
}
CASE(part_of_a_warp, 1, 20) { x[tid] = __shfl_xor_sync(0x000fffffu, x[tid], 1); }
