// csrc/cpu/isa/wide.hpp - atomic loads, stores and exchanges of 16 aligned bytes.
//
// x86-64: cmpxchg16b, and aligned vector moves, which processors with AVX execute as one access.
// AArch64: exclusive pairs, and plain pairs where the processor loads them as one access (LSE2).
// Elsewhere: one of 64 spin locks, by address, which plain accesses do
// not take.
#pragma once

#include <cstdint>

#if defined(__aarch64__)
#include <sys/auxv.h>
#elif !defined(__x86_64__)
#include <atomic>
#endif

namespace cupola::cpu::interpreter {

// Always inline: code for several instruction sets includes this file.
#define CUPOLA_WIDE [[gnu::always_inline]] inline

struct Wide {
    std::uint64_t low, high;
};
CUPOLA_WIDE bool operator==(Wide a, Wide b) { return a.low == b.low && a.high == b.high; }

#if defined(__x86_64__)

CUPOLA_WIDE Wide load_wide(std::uint64_t address) {
    using Vector __attribute__((vector_size(16))) = std::uint64_t;
    const auto* p = reinterpret_cast<const Vector*>(address);
    Vector v;
#if defined(__AVX__)
    __asm__ volatile("vmovdqa %1, %0" : "=x"(v) : "m"(*p) : "memory");
#else
    __asm__ volatile("movdqa %1, %0" : "=x"(v) : "m"(*p) : "memory");
#endif
    return {v[0], v[1]};
}

CUPOLA_WIDE void store_wide(std::uint64_t address, Wide value) {
    using Vector __attribute__((vector_size(16))) = std::uint64_t;
    auto* p = reinterpret_cast<Vector*>(address);
    const Vector v = {value.low, value.high};
#if defined(__AVX__)
    __asm__ volatile("vmovdqa %1, %0" : "=m"(*p) : "x"(v) : "memory");
#else
    __asm__ volatile("movdqa %1, %0" : "=m"(*p) : "x"(v) : "memory");
#endif
}

// Returns the old value; stores `value` where the old value equals `expected`.
CUPOLA_WIDE Wide compare_exchange_wide(std::uint64_t address, Wide expected, Wide value) {
    auto* p = reinterpret_cast<Wide*>(address);
    __asm__ volatile("lock cmpxchg16b %0"
                     : "+m"(*p), "+a"(expected.low), "+d"(expected.high)
                     : "b"(value.low), "c"(value.high)
                     : "cc", "memory");
    return expected;
}

#elif defined(__aarch64__)

CUPOLA_WIDE Wide compare_exchange_wide(std::uint64_t address, Wide expected, Wide value) {
    Wide old, kept;
    std::uint32_t failed;
    // Stores the value that was read if it differs from `expected`: the read of two words is atomic
    // only if a store follows.
    do {
        __asm__ volatile("ldaxp %0, %1, [%2]"
                         : "=&r"(old.low), "=&r"(old.high)
                         : "r"(address)
                         : "memory");
        kept = old == expected ? value : old;
        __asm__ volatile("stlxp %w0, %1, %2, [%3]"
                         : "=&r"(failed)
                         : "r"(kept.low), "r"(kept.high), "r"(address)
                         : "memory");
    } while (failed != 0);
    return old;
}

// Linux names LSE2 "uscat". Without LSE2 another thread's store can come between the two words, so
// the load stores what it has read.
CUPOLA_WIDE bool loads_pairs_at_once() {
    constexpr unsigned uscat = 25;
    return (getauxval(AT_HWCAP) >> uscat & 1) != 0;
}

CUPOLA_WIDE Wide load_wide(std::uint64_t address) {
    if (!loads_pairs_at_once()) return compare_exchange_wide(address, {}, {});
    Wide v;
    __asm__ volatile("ldp %0, %1, [%2]" : "=&r"(v.low), "=&r"(v.high) : "r"(address) : "memory");
    return v;
}

CUPOLA_WIDE void store_wide(std::uint64_t address, Wide value) {
    Wide old = load_wide(address);
    for (;;) {
        const Wide seen = compare_exchange_wide(address, old, value);
        if (seen == old) return;
        old = seen;
    }
}

#else

class WidePlace {
  public:
    explicit WidePlace(std::uint64_t address) : flag_(flags[address / 16 % count]) {
        while (flag_.test_and_set(std::memory_order_acquire)) {
        }
    }
    ~WidePlace() { flag_.clear(std::memory_order_release); }
    WidePlace(const WidePlace&) = delete;
    WidePlace& operator=(const WidePlace&) = delete;

  private:
    static constexpr unsigned count = 64;
    static inline std::atomic_flag flags[count] = {};
    std::atomic_flag& flag_;
};

CUPOLA_WIDE Wide load_wide(std::uint64_t address) {
    const WidePlace place(address);
    return *reinterpret_cast<const Wide*>(address);
}

CUPOLA_WIDE void store_wide(std::uint64_t address, Wide value) {
    const WidePlace place(address);
    *reinterpret_cast<Wide*>(address) = value;
}

CUPOLA_WIDE Wide compare_exchange_wide(std::uint64_t address, Wide expected, Wide value) {
    const WidePlace place(address);
    auto* p = reinterpret_cast<Wide*>(address);
    const Wide old = *p;
    if (old == expected) *p = value;
    return old;
}

#endif

CUPOLA_WIDE Wide exchange_wide(std::uint64_t address, Wide value) {
    Wide old = load_wide(address);
    for (;;) {
        const Wide seen = compare_exchange_wide(address, old, value);
        if (seen == old) return old;
        old = seen;
    }
}

#undef CUPOLA_WIDE

}  // namespace cupola::cpu::interpreter
