// csrc/kernels/divisor.h - quotients of small numbers without a division, for host and device.
#pragma once

#include <cstdint>

namespace cupola {

// The quotient n / by of a number n < 2^31 is (umulhi(n, factor) + n) >> shift.
struct Divisor {
    unsigned by, factor, shift;
};

inline Divisor divisor(std::uint64_t length) {
    const auto by = static_cast<unsigned>(length);
    unsigned shift = 0;
    while ((std::uint64_t{1} << shift) < by) ++shift;
    const std::uint64_t factor =
        ((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - by)) / by + 1;
    return {by, static_cast<unsigned>(factor), shift};
}

#ifdef __CUDACC__
__device__ inline unsigned quotient(unsigned n, const Divisor& divisor) {
    return (__umulhi(n, divisor.factor) + n) >> divisor.shift;
}
#endif

}  // namespace cupola
