// csrc/cpu/emitted/lane_vectors.hpp - registers of 32 lanes as vectors of the processor.
#pragma once

#include "cpu/emitted/rows.hpp"

#define CUPOLA_INLINE [[gnu::always_inline]] inline

namespace cupola::cpu::CUPOLA_ISA {

// 32 lanes of E bytes each, as vectors: compilers keep arrays of lanes in memory across a loop, but
// not vectors. Code takes each vector by a constant index, since an index that a loop changes also
// keeps them in memory.
template <unsigned E>
struct Lanes {
    static constexpr unsigned size = lanes * E < vector_bytes ? lanes * E : vector_bytes;
    static constexpr unsigned count = lanes * E / size;
    using Vector __attribute__((vector_size(size))) = std::uint8_t;
    using Each = std::make_index_sequence<count>;
    Vector v[count];
};

// A vector at an address of any alignment. GCC 12 copies 32 bytes by memcpy in two halves, and a
// load of the whole vector then waits until both are in the cache.
template <class V>
CUPOLA_INLINE V read_vector(const void* from) {
    using Unaligned __attribute__((vector_size(sizeof(V)), aligned(1), may_alias)) = std::uint8_t;
    return V(*static_cast<const Unaligned*>(from));
}
template <class V>
CUPOLA_INLINE void write_vector_at(void* to, V v) {
    using Unaligned __attribute__((vector_size(sizeof(V)), aligned(1), may_alias)) = std::uint8_t;
    *static_cast<Unaligned*>(to) = Unaligned(v);
}

template <unsigned E, std::size_t... K>
CUPOLA_INLINE void write_lanes(std::index_sequence<K...>, const Lanes<E>& from, std::byte* to) {
    (write_vector_at(to + K * Lanes<E>::size, from.v[K]), ...);
}
template <unsigned E, std::size_t... K>
CUPOLA_INLINE void read_lanes(std::index_sequence<K...>, const std::byte* from, Lanes<E>& to) {
    using V = typename Lanes<E>::Vector;
    ((to.v[K] = read_vector<V>(from + K * Lanes<E>::size)), ...);
}
template <class T>
CUPOLA_INLINE void unpack(const Lanes<sizeof(T)>& from, T* to) {
    write_lanes(typename Lanes<sizeof(T)>::Each(), from, reinterpret_cast<std::byte*>(to));
}
template <class T>
CUPOLA_INLINE void pack(const T* from, Lanes<sizeof(T)>& to) {
    read_lanes(typename Lanes<sizeof(T)>::Each(), reinterpret_cast<const std::byte*>(from), to);
}

template <unsigned E, std::size_t... K>
CUPOLA_INLINE bool is_zero(std::index_sequence<K...>, const Lanes<E>& all) {
    return is_zero((all.v[K] | ...));
}
template <unsigned E>
CUPOLA_INLINE bool is_zero(const Lanes<E>& all) {
    return is_zero(typename Lanes<E>::Each(), all);
}

}  // namespace cupola::cpu::CUPOLA_ISA
