// csrc/cpu/api/atomic.cpp - cu* entry points: which atomic operations two devices, or a device and
// the host, perform on each other's memory. On the CPU device those are all of PTX.
//
// Headers before CUDA 13.0 lack the functions' enumerations, so operations and capabilities are
// numbers here, and the functions get their names as aliases.
#include <cstddef>
#include <iterator>

#include "cpu/device/driver/driver.hpp"

using namespace cupola::cpu;

#define CUPOLA_HIDDEN extern "C" __attribute__((visibility("hidden"), used))

namespace {

enum AtomicCapability : unsigned {
    is_signed = 1,
    is_unsigned = 2,
    reduction = 4,
    scalar_32 = 8,
    scalar_64 = 16,
    scalar_128 = 32,
    vector_32x4 = 64,
};
constexpr unsigned any_word = is_signed | is_unsigned | scalar_32 | scalar_64;

// The capabilities by the number of the operation. PTX has no minimum or maximum of 32-bit floats.
constexpr unsigned atomic_capabilities[] = {
    any_word | reduction,                                         // add
    any_word | reduction,                                         // min
    any_word | reduction,                                         // max
    is_unsigned | scalar_32 | reduction,                          // increment
    is_unsigned | scalar_32 | reduction,                          // decrement
    any_word | reduction,                                         // and
    any_word | reduction,                                         // or
    any_word | reduction,                                         // xor
    any_word | scalar_128,                                        // exchange
    any_word | scalar_128,                                        // compare and swap
    is_signed | scalar_32 | scalar_64 | vector_32x4 | reduction,  // add of floats
    0,                                                            // min of floats
    0,                                                            // max of floats
};

void find_capabilities(unsigned* capabilities, const int* operations, unsigned count) {
    for (unsigned n = 0; n < count; ++n)
        require(operations[n] >= 0 &&
                static_cast<std::size_t>(operations[n]) < std::size(atomic_capabilities));
    for (unsigned n = 0; n < count; ++n) capabilities[n] = atomic_capabilities[operations[n]];
}

}  // namespace

CUPOLA_HIDDEN CUresult host_atomics(unsigned* capabilities, const int* operations, unsigned count,
                                    CUdevice device) {
    return entry([&] {
        require(capabilities && operations && count > 0);
        Driver::get().device(device);
        find_capabilities(capabilities, operations, count);
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuDeviceGetHostAtomicCapabilities, host_atomics);

CUPOLA_HIDDEN CUresult peer_atomics(unsigned* capabilities, const int* operations, unsigned count,
                                    CUdevice from, CUdevice to) {
    return entry([&] {
        require(capabilities && operations && count > 0);
        Driver::get().device(from);
        Driver::get().device(to);
        require(from != to, CUDA_ERROR_INVALID_DEVICE);
        find_capabilities(capabilities, operations, count);
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuDeviceGetP2PAtomicCapabilities, peer_atomics);
