// csrc/cpu/texture.hpp - textures and surfaces as device code sees them: where their texels lie,
// what these are made of, and how a fetch finds and joins them. Plain data, which the driver's half
// of the CPU device makes and the half that runs PTX reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cupola::cpu {

// What a texel is made of: channels that are alike.
struct TexelFormat {
    enum class Kind : std::uint8_t { natural, integer, real };  // unsigned, signed, floating point
    Kind kind = Kind::real;
    std::uint8_t bytes = 4;     // of a channel: 1, 2 or 4
    std::uint8_t channels = 1;  // 1, 2 or 4
    unsigned size() const { return unsigned{bytes} * channels; }
};

// A box of texels: an array, a level of a mipmapped one, or a stretch of global memory. Layers and
// the faces of cubes are its depth.
struct Texels {
    std::uintptr_t begin = 0;
    std::uint32_t width = 1, height = 1, depth = 1;
    std::uint64_t row = 0, slice = 0;  // bytes from one to the next
};

struct Sampler {
    enum class Address : std::uint8_t { wrap, clamp, mirror, border };
    std::array<Address, 3> address{Address::clamp, Address::clamp, Address::clamp};
    bool linear = false;      // else the nearest texel
    bool normalized = false;  // coordinates go from 0 to 1
    bool as_integer = false;  // integers of 8 and 16 bits are not turned into fractions
    bool srgb = false;
    bool seamless = false;  // filters across the edges of a cube
    bool level_linear = false;
    float level_bias = 0, level_least = 0, level_most = 0;
    std::array<float, 4> border{};
};

struct Texture {
    TexelFormat format;
    bool surface = false;
    // Whether texels lie in global memory, which may be freed under it, or in an array of its own.
    bool in_memory = false;
    std::uint8_t axes = 1;  // that it has by itself; layers and faces apart
    bool layered = false, cube = false;
    std::vector<Texels> levels;  // one at least
    Sampler sampler;
    std::shared_ptr<const void> held;  // what the texels lie in
};

// Which textures and surfaces there are at this moment.
class TextureSpace {
  public:
    virtual ~TextureSpace() = default;
    // Null where no such handle is alive.
    virtual std::shared_ptr<const Texture> find(std::uint64_t handle) const = 0;
};

}  // namespace cupola::cpu
