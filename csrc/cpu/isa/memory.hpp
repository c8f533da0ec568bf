// csrc/cpu/isa/memory.hpp - loads and stores: address patterns, checks, transfer.
#pragma once

#include <cstring>

#include "cpu/isa/bind.hpp"
#include "cpu/isa/wide.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// The meaning of an address: a host address, an offset in the block's shared memory, or an offset
// in the thread's local memory.
enum class Window { flat, shared, local };

// Reads the lanes' addresses; an inactive lane gets the address of the first active lane.
inline std::uint64_t collect(const DecodedOp* ip, Warp& w, const std::byte* a) {
    const unsigned first = static_cast<unsigned>(__builtin_ctz(w.mask));
    const auto offset = static_cast<std::uint64_t>(ip->imm);
    if (ip->flags & flag::address32) {
        const auto* p = reinterpret_cast<const std::uint32_t*>(a);
        for (unsigned i = 0; i < lanes; ++i)
            w.address[i] = static_cast<std::uint32_t>(p[i] + static_cast<std::uint32_t>(offset));
    } else {
        const auto* p = reinterpret_cast<const std::uint64_t*>(a);
        for (unsigned i = 0; i < lanes; ++i) w.address[i] = p[i] + offset;
    }
    const std::uint64_t base = w.address[first];
    if (w.mask != all_lanes)
        for (unsigned i = 0; i < lanes; ++i) w.address[i] = w.lane_mask[i] ? w.address[i] : base;
    return base;
}

// Converts w.address, where some are not aligned offsets of the window: in shared memory they may
// name the block's rank. False: a fault has been noted.
template <Window W>
[[gnu::noinline]] bool resolve_unusual(const DecodedOp* ip, Warp& w, unsigned bytes) {
    Block& b = *w.block;
    const std::uint64_t size = W == Window::shared ? b.shared_bytes : b.local_bytes;
    bool outside = false, aligned = true;
    for (std::uint64_t& x : w.address) {
        if constexpr (W == Window::shared) x = b.shared_offset(x);
        outside |= !fits(x, bytes, size);
        aligned &= (x & (bytes - 1)) == 0;
    }
    for (unsigned i = 0; i < lanes && (outside || !aligned); ++i) {
        const std::uint64_t x = w.address[i];
        if (outside ? fits(x, bytes, size) : (x & (bytes - 1)) == 0) continue;
        b.fault(w, ip, outside ? FaultKind::illegal_address : FaultKind::misaligned_address, i,
                W == Window::shared ? "shared memory" : "local memory", x);
        return false;
    }
    if constexpr (W == Window::shared)
        for (std::uint64_t& x : w.address) x += b.shared;
    return true;
}

// Converts the access's addresses to host addresses in w.address, and checks them. False: a fault
// has been noted.
template <Window W>
bool resolve_addresses(const DecodedOp* ip, Warp& w, const std::byte* a, unsigned bytes, bool write,
                       Pattern& pattern) {
    const std::uint64_t base = collect(ip, w, a);
    std::uint64_t low = ~std::uint64_t{0}, high = 0, all = 0, off_line = 0;
    for (unsigned i = 0; i < lanes; ++i) {
        const std::uint64_t x = w.address[i];
        low = x < low ? x : low;
        high = x > high ? x : high;
        all |= x;
        off_line |= x ^ (base + i * std::uint64_t{bytes});
    }
    pattern = low == high     ? Pattern::uniform
              : off_line == 0 ? Pattern::contiguous
                              : Pattern::scattered;
    Block& b = *w.block;
    const bool aligned = (all & (bytes - 1)) == 0;
    if constexpr (W == Window::flat) {
        const Range& range = b.ranges[ip->slot];
        if (aligned && low >= range.begin && range.allows(high, bytes, write)) return true;
        return b.resolve(w, ip, bytes, write);
    } else {
        const std::uint64_t size = W == Window::shared ? b.shared_bytes : b.local_bytes;
        if (!aligned || !fits(high, bytes, size)) return resolve_unusual<W>(ip, w, bytes);
        if constexpr (W == Window::shared) {
            for (unsigned i = 0; i < lanes; ++i) w.address[i] += b.shared;
        } else {
            const std::uint64_t from = b.local + std::uint64_t{w.index} * lanes * b.local_bytes;
            for (unsigned i = 0; i < lanes; ++i) w.address[i] += from + i * b.local_bytes;
            pattern = Pattern::scattered;
        }
        return true;
    }
}

template <class T>
T fetch(std::uint64_t address) {
    if constexpr (sizeof(T) <= 8) {
        return __atomic_load_n(reinterpret_cast<const T*>(address), __ATOMIC_RELAXED);
    } else {
        const interpreter::Wide wide = interpreter::load_wide(address);
        return {wide.low, wide.high};
    }
}
template <class T>
void put(std::uint64_t address, T value) {
    if constexpr (sizeof(T) <= 8)
        __atomic_store_n(reinterpret_cast<T*>(address), value, __ATOMIC_RELAXED);
    else
        interpreter::store_wide(address, {value.low, value.high});
}

template <Window W, class T>
struct LoadAs {
    // Not inlined: the function's stack frame must end before the jump to the next handler.
    [[gnu::noinline]] static const DecodedOp* body(const DecodedOp* ip, Warp& w, std::byte* r) {
        Pattern pattern;
        const unsigned count = ip->count;
        if (!resolve_addresses<W>(ip, w, r + ip->op[4], count * unsigned{sizeof(T)}, false,
                                  pattern))
            return stop_faulted(w);
        if (count == 1 && pattern == Pattern::contiguous && w.mask == all_lanes &&
            !(ip->flags & flag::strong)) {
            std::memcpy(at<T>(r, ip->op[0]), reinterpret_cast<const void*>(w.address[0]),
                        lanes * sizeof(T));
            return ip + 1;
        }
        for (unsigned k = 0; k < count; ++k) {
            T* d = at<T>(r, ip->op[k]);
            const std::uint64_t offset = k * sizeof(T);
            if (pattern == Pattern::uniform) {
                const T value = fetch<T>(w.address[0] + offset);
                if (w.mask == all_lanes) {
                    for (unsigned i = 0; i < lanes; ++i) d[i] = value;
                } else {
                    for (unsigned i = 0; i < lanes; ++i) d[i] = w.lane_mask[i] ? value : d[i];
                }
            } else if (w.mask == all_lanes) {
                for (unsigned i = 0; i < lanes; ++i) d[i] = fetch<T>(w.address[i] + offset);
            } else {
                for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
                    const auto i = static_cast<unsigned>(__builtin_ctz(m));
                    d[i] = fetch<T>(w.address[i] + offset);
                }
            }
        }
        if (ip->flags & flag::acquire) __atomic_thread_fence(__ATOMIC_ACQUIRE);
        return ip + 1;
    }
    static constexpr Handler handler = &threaded<&body>;
};

template <Window W, class T>
struct StoreAs {
    [[gnu::noinline]] static const DecodedOp* body(const DecodedOp* ip, Warp& w, std::byte* r) {
        Pattern pattern;
        const unsigned count = ip->count;
        if (!resolve_addresses<W>(ip, w, r + ip->op[4], count * unsigned{sizeof(T)}, true, pattern))
            return stop_faulted(w);
        if (ip->flags & flag::release) __atomic_thread_fence(__ATOMIC_RELEASE);
        if (count == 1 && pattern == Pattern::contiguous && w.mask == all_lanes &&
            !(ip->flags & flag::strong)) {
            std::memcpy(reinterpret_cast<void*>(w.address[0]), at<T>(r, ip->op[0]),
                        lanes * sizeof(T));
            return ip + 1;
        }
        for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
            const auto i = static_cast<unsigned>(__builtin_ctz(m));
            for (unsigned k = 0; k < count; ++k)
                put<T>(w.address[i] + k * sizeof(T), at<T>(r, ip->op[k])[i]);
        }
        return ip + 1;
    }
    static constexpr Handler handler = &threaded<&body>;
};

constexpr Window window_of(ptx::Space space) {
    return space == ptx::Space::shared  ? Window::shared
           : space == ptx::Space::local ? Window::local
                                        : Window::flat;
}

// A transfer depends on the size only: the decoder adds sign extension.
template <unsigned Bytes>
using Raw = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t,
                       std::conditional_t<Bytes == 4, std::uint32_t,
                                          std::conditional_t<Bytes == 8, std::uint64_t, Quad>>>>;

template <template <Window, class> class Access>
struct MemoryAccess {
    using Whole = void;
    template <class M>
    static Handler handler(const Key& key) {
        using T = Raw<ptx::bytes_of(M::type)>;
        switch (window_of(static_cast<ptx::Space>(field::space.get(key.modifiers)))) {
            case Window::shared:
                return Access<Window::shared, T>::handler;
            case Window::local:
                return Access<Window::local, T>::handler;
            case Window::flat:
                break;
        }
        return Access<Window::flat, T>::handler;
    }
};
using Load = MemoryAccess<LoadAs>;
using Store = MemoryAccess<StoreAs>;

// A kernel's parameter: one address for all lanes, checked by the decoder.
template <class T>
struct LoadParameterAs {
    static inline const DecodedOp* body(const DecodedOp* ip, Warp& w, std::byte* r) {
        T value;
        std::memcpy(&value,
                    reinterpret_cast<const void*>(w.block->parameters +
                                                  static_cast<std::uint64_t>(ip->imm)),
                    sizeof value);
        T* d = at<T>(r, ip->op[0]);
        if (w.mask == all_lanes)
            for (unsigned i = 0; i < lanes; ++i) d[i] = value;
        else
            for (unsigned i = 0; i < lanes; ++i) d[i] = w.lane_mask[i] ? value : d[i];
        return ip + 1;
    }
    static constexpr Handler handler = &threaded<&body>;
};

struct Move {
    template <class M, class T>
    static constexpr bool vectors = true;
    template <class M, class T>
    static void lane(T& d, T a) {
        d = a;
    }
};

struct Prefetch {
    using Whole = void;
    static inline const DecodedOp* body(const DecodedOp* ip, Warp&, std::byte*) { return ip + 1; }
    template <class M>
    static Handler handler(const Key&) {
        return &threaded<&body>;
    }
};

struct IsSpace {
    using Whole = void;
    template <ptx::Space S>
    [[gnu::noinline]] static const DecodedOp* body(const DecodedOp* ip, Warp& w, std::byte* r) {
        collect(ip, w, r + ip->op[1]);
        const Block& b = *w.block;
        std::uint32_t bits = 0;
        for (unsigned i = 0; i < lanes; ++i) {
            const std::uint64_t x = w.address[i];
            const std::uint64_t mine =
                b.local + (std::uint64_t{w.index} * lanes + i) * b.local_bytes;
            const bool shared = x - b.shared < b.shared_bytes;
            const bool cluster = x - b.cluster < b.cluster_bytes;
            const bool local = x - mine < b.local_bytes;
            const bool parameter = x - b.parameters < b.parameter_bytes;
            bool is = false;
            switch (S) {
                case ptx::Space::shared:
                    is = shared;
                    break;
                case ptx::Space::cluster_shared:
                    is = cluster;
                    break;
                case ptx::Space::local:
                    is = local;
                    break;
                case ptx::Space::param:
                    is = parameter;
                    break;
                case ptx::Space::constant:
                    is = !cluster && !local && b.is_constant(x);
                    break;
                default:
                    is = !cluster && !local && !parameter && !b.is_constant(x);
                    break;
            }
            bits |= static_cast<std::uint32_t>(is) << i;
        }
        std::uint32_t& p = bits_at(r, ip->op[0]);
        p = (p & ~w.mask) | (bits & w.mask);
        return ip + 1;
    }
    template <class M>
    static Handler handler(const Key& key) {
        switch (static_cast<ptx::Space>(field::space.get(key.modifiers))) {
            case ptx::Space::shared:
                return &threaded<&body<ptx::Space::shared>>;
            case ptx::Space::cluster_shared:
                return &threaded<&body<ptx::Space::cluster_shared>>;
            case ptx::Space::local:
                return &threaded<&body<ptx::Space::local>>;
            case ptx::Space::param:
                return &threaded<&body<ptx::Space::param>>;
            case ptx::Space::constant:
                return &threaded<&body<ptx::Space::constant>>;
            default:
                return &threaded<&body<ptx::Space::global>>;
        }
    }
};

}  // namespace cupola::cpu::CUPOLA_ISA
