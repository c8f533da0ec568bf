// csrc/kernels/array/raw_pack.cuh - loads and stores contiguous elements as bytes, whatever their
// type.
#pragma once

#include "flat.cuh"

namespace cupola::arrays {

// Contiguous elements as they are in memory, at most mixed_pack bytes.
struct Held {
    uint4 words[mixed_pack / sizeof(uint4)];
};
template <class Word>
__device__ void load_held(unsigned long long address, Held& held) {
    const Word word = *reinterpret_cast<const Word*>(address);
    memcpy(&held, &word, sizeof word);
}
template <class Word>
__device__ void store_held(unsigned long long address, const Held& held) {
    Word word;
    memcpy(&word, &held, sizeof word);
    *reinterpret_cast<Word*>(address) = word;
}
__device__ inline void load_bytes(int bytes, unsigned long long address, Held& held) {
    switch (bytes) {
        case 2:
            return load_held<u16>(address, held);
        case 4:
            return load_held<u32>(address, held);
        case 8:
            return load_held<uint2>(address, held);
        case 32:
            held.words[1] = reinterpret_cast<const uint4*>(address)[1];
            [[fallthrough]];
        case 16:
            return load_held<uint4>(address, held);
    }
}
__device__ inline void store_bytes(int bytes, unsigned long long address, const Held& held) {
    switch (bytes) {
        case 2:
            return store_held<u16>(address, held);
        case 4:
            return store_held<u32>(address, held);
        case 8:
            return store_held<uint2>(address, held);
        case 32:
            reinterpret_cast<uint4*>(address)[1] = held.words[1];
            [[fallthrough]];
        case 16:
            return store_held<uint4>(address, held);
    }
}
template <class S, class C, int n>
__device__ void unpack(const Held& held, C (&values)[n]) {
    if constexpr (n * sizeof(S) <= sizeof held) {
        Pack<S, n> pack;
        memcpy(&pack, &held, sizeof pack);
#pragma unroll
        for (int j = 0; j < n; ++j) values[j] = convert<C>(pack.at[j]);
    }
}
template <class C, int n>
__device__ void unpack_all(int element, const Held& held, C (&values)[n]) {
    switch (element) {
#define CUPOLA_ROW(name, code, computed_type) \
    case code:                                \
        return unpack<name>(held, values);
        CUPOLA_ELEMENTS(CUPOLA_ROW)
#undef CUPOLA_ROW
    }
}
template <class S, class C, int n>
__device__ void pack(const C (&values)[n], Held& held) {
    if constexpr (n * sizeof(S) <= sizeof held) {
        Pack<S, n> pack;
#pragma unroll
        for (int j = 0; j < n; ++j) pack.at[j] = store<S>(values[j]);
        memcpy(&held, &pack, sizeof pack);
    }
}
template <class C, int n>
__device__ void pack_all(int element, const C (&values)[n], Held& held) {
    switch (element) {
#define CUPOLA_ROW(name, code, computed_type) \
    case code:                                \
        return pack<name>(values, held);
        CUPOLA_ELEMENTS(CUPOLA_ROW)
#undef CUPOLA_ROW
    }
}

}  // namespace cupola::arrays
