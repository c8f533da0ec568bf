// csrc/cpu/tensor_map.hpp - what a tensor map of the CPU device holds: cuTensorMapEncodeTiled
// writes it, kernels read it from wherever a program has put its 128 bytes.
#pragma once

#include <cstdint>

namespace cupola::cpu {

struct TensorMap {
    static constexpr std::uint64_t mark = 0x70616d726f736e74;
    enum Fill : std::uint8_t { zeros, nan16, nan32, nan64 };

    std::uint64_t known = 0;  // mark, or it is none
    std::uint64_t address = 0;
    std::uint64_t stride[4] = {};  // bytes, of all axes but the first
    std::uint32_t size[5] = {}, box[5] = {};
    std::uint8_t step[5] = {};
    std::uint8_t rank = 0, element = 0;  // bytes
    std::uint8_t swizzle = 0;  // bits of an address that are changed, above the lowest four
    std::uint8_t fill = zeros;
};
static_assert(sizeof(TensorMap) <= 128);

}  // namespace cupola::cpu
