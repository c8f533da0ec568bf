// csrc/kernels/algorithms/random_engines.cuh - generators of random bits: Philox4x32-10, XORWOW.
#pragma once

#include <cstdint>

namespace cupola::random {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

struct Words {
    u32 word[4];
    __device__ u64 pair(int i) const {
        return static_cast<u64>(word[2 * i + 1]) << 32 | word[2 * i];
    }
};

// The keys of Philox's rounds, made where they are used.
struct RoundKeys {
    u64 first;

    __device__ explicit RoundKeys(u64 key) : first(key) {}
    __device__ u32 low(int round) const { return static_cast<u32>(first) + round * 0x9e3779b9u; }
    __device__ u32 high(int round) const {
        return static_cast<u32>(first >> 32) + round * 0xbb67ae85u;
    }
};

// The keys in registers. The compiler would add them up again for each item, which takes a third
// of the time of a uniform number.
struct HeldKeys {
    u32 keys[10][2];

    __device__ explicit HeldKeys(u64 key) {
        const RoundKeys made(key);
#pragma unroll
        for (int round = 0; round < 10; ++round) {
            keys[round][0] = made.low(round);
            keys[round][1] = made.high(round);
            asm("" : "+r"(keys[round][0]), "+r"(keys[round][1]));
        }
    }
    __device__ u32 low(int round) const { return keys[round][0]; }
    __device__ u32 high(int round) const { return keys[round][1]; }
};

// Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011).
template <class Keys>
__device__ Words philox4x32_10(Words counter, const Keys& keys) {
    u32* c = counter.word;
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const u64 p = 0xd2511f53ull * c[0], q = 0xcd9e8d57ull * c[2];
        c[0] = static_cast<u32>(q >> 32) ^ c[1] ^ keys.low(round);
        c[1] = static_cast<u32>(q);
        c[2] = static_cast<u32>(p >> 32) ^ c[3] ^ keys.high(round);
        c[3] = static_cast<u32>(p);
    }
    return counter;
}

// An item's words have the counters (position + item, upper + k): the low half is the item's, and
// k counts the item's own blocks, so that rejections take nothing from other items.
template <class Keys>
struct Philox {
    Keys keys;
    u64 position, upper;
    u32 number = 0;
    u64 low = 0;

    __device__ Philox(u64 key, u64 position, u64 upper)
        : keys(key), position(position), upper(upper) {}
    __device__ void start(u64) {}
    __device__ void finish(u64) {}
    __device__ void begin(u64 item) {
        low = position + item;
        number = 0;
    }
    __device__ Words next() {
        const u32 third = static_cast<u32>(upper) + number++;
        return philox4x32_10({{static_cast<u32>(low), static_cast<u32>(low >> 32), third,
                               static_cast<u32>(upper >> 32)}},
                             keys);
    }
};

// Marsaglia: Xorshift RNGs (2003), section 3.1, in the order of its variables x, y, z, w, v, d.
struct XorwowState {
    u32 x[5], counter;
    __device__ u32 next() {
        const u32 t = x[0] ^ (x[0] >> 2), last = x[4];
        for (int i = 0; i < 4; ++i) x[i] = x[i + 1];
        x[4] = last ^ (last << 4) ^ t ^ (t << 1);
        counter += 362437u;
        return x[4] + counter;
    }
};

// A thread continues the subsequence of its number; six rows of `count` words are the states.
struct Xorwow {
    u32* states;
    u64 count;
    XorwowState state = {};

    __device__ void start(u64 thread) {
        for (int i = 0; i < 5; ++i) state.x[i] = states[i * count + thread];
        state.counter = states[5 * count + thread];
    }
    __device__ void finish(u64 thread) {
        for (int i = 0; i < 5; ++i) states[i * count + thread] = state.x[i];
        states[5 * count + thread] = state.counter;
    }
    __device__ void begin(u64) {}
    __device__ Words next() {
        Words made;
        for (u32& word : made.word) word = state.next();
        return made;
    }
};

}  // namespace cupola::random
