// csrc/cpu/base/texture.hpp - textures and surfaces for device code: addresses and format of
// texels, and the sampling modes. Plain data: the driver half writes it, the half that executes PTX
// reads it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cupola::cpu {

// The format of a texel: channels of one type.
struct TexelFormat {
    enum class Kind : std::uint8_t { natural, integer, real };  // unsigned, signed, floating point
    Kind kind = Kind::real;
    std::uint8_t bytes = 4;     // bytes of a channel: 1, 2 or 4
    std::uint8_t channels = 1;  // 1, 2 or 4
    unsigned size() const { return unsigned{bytes} * channels; }
};

// A box of texels: an array, a level of a mipmapped array, or a range of global memory. Layers and
// cube faces are its depth.
struct Texels {
    std::uintptr_t begin = 0;
    std::uint32_t width = 1, height = 1, depth = 1;
    std::uint64_t row = 0, slice = 0;  // bytes between rows, and between slices
};

struct Sampler {
    enum class Address : std::uint8_t { wrap, clamp, mirror, border };
    std::array<Address, 3> address{Address::clamp, Address::clamp, Address::clamp};
    bool linear = false;      // otherwise the nearest texel
    bool normalized = false;  // coordinates are in [0, 1)
    bool as_integer = false;  // 8-bit and 16-bit integers are not converted to fractions
    bool srgb = false;
    bool seamless = false;  // filters across the edges of a cube
    bool level_linear = false;
    float level_bias = 0, level_least = 0, level_most = 0;
    std::array<float, 4> border{};
};

struct Texture {
    TexelFormat format;
    bool surface = false;
    // Whether texels are in global memory, which the program may free, and not in an array.
    bool in_memory = false;
    std::uint8_t axes = 1;  // number of axes without layers and faces
    bool layered = false, cube = false;
    std::vector<Texels> levels;  // at least one
    Sampler sampler;
    std::shared_ptr<const void> held;  // keeps the texels alive
};

// The textures and surfaces that a launch can use.
class TextureSpace {
  public:
    virtual ~TextureSpace() = default;
    // Null if no texture or surface had the handle when the launch was queued or later.
    virtual std::shared_ptr<const Texture> find(std::uint64_t handle) const = 0;
};

}  // namespace cupola::cpu
