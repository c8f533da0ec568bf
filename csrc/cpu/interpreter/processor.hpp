// csrc/cpu/interpreter/processor.hpp - the levels of x86-64 that a processor supports.
//
// Reads the features that cpuid reports and the registers that the system saves. The ABI's document
// lists those of x86-64-v3 and -v4.
#pragma once

#if defined(__x86_64__)

#include <cpuid.h>

#include <cstdint>

namespace cupola::cpu::interpreter {

struct Processor {
    std::uint32_t basic = 0;     // cpuid 1, ecx
    std::uint32_t extended = 0;  // cpuid 0x80000001, ecx
    std::uint32_t more = 0;      // cpuid 7, ebx
    std::uint64_t saved = 0;     // XCR0; 0 where this register cannot be read

    constexpr bool runs_v2() const {
        // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF.
        return has(basic, {0, 9, 13, 19, 20, 23}) && has(extended, {0});
    }
    constexpr bool runs_v3() const {
        // FMA, MOVBE, OSXSAVE, AVX, F16C; LZCNT; BMI1, AVX2, BMI2; xmm and ymm.
        return runs_v2() && has(basic, {12, 22, 27, 28, 29}) && has(extended, {5}) &&
               has(more, {3, 5, 8}) && (saved & 0x6) == 0x6;
    }
    constexpr bool runs_v4() const {
        // AVX512F, DQ, CD, BW, VL; the mask registers and all of zmm.
        return runs_v3() && has(more, {16, 17, 28, 30, 31}) && (saved & 0xe6) == 0xe6;
    }

  private:
    template <std::size_t N>
    static constexpr bool has(std::uint32_t word, const unsigned (&bits)[N]) {
        for (const unsigned bit : bits)
            if ((word >> bit & 1) == 0) return false;
        return true;
    }
};

inline Processor this_processor() {
    constexpr unsigned osxsave = 27;
    Processor p;
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d)) p.basic = c;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d)) p.extended = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) p.more = b;
    if (p.basic >> osxsave & 1) {
        std::uint32_t low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        p.saved = std::uint64_t{high} << 32 | low;
    }
    return p;
}

}  // namespace cupola::cpu::interpreter

#endif
