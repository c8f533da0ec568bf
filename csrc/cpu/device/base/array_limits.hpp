// csrc/cpu/device/base/array_limits.hpp - the largest extents of arrays and textures.
#pragma once

#include <optional>

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

// The largest extents, those of compute capability 5.0 to 9.0. Device attributes return the same.
struct ArrayLimits {
    static constexpr unsigned line = 131072;
    static constexpr unsigned plane_x = 131072, plane_y = 65536;
    static constexpr unsigned box = 16384;
    static constexpr unsigned layered = 32768, layers = 2048;
    static constexpr unsigned cube = 32768, cube_layers = 2046;
    static constexpr unsigned gather = 32768;
    static constexpr unsigned mipmapped = 32768;
    static constexpr unsigned surface_line = 32768;
    static constexpr unsigned linear = 1u << 28;  // texels of a texture in linear memory
    static constexpr unsigned pitch_x = 131072, pitch_y = 65000, pitch = 2097120;
};

// The limit in an attribute; nothing if the attribute is not a limit of arrays.
std::optional<int> array_limit(CUdevice_attribute attribute);

}  // namespace cupola::cpu
