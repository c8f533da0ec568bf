// csrc/cpu/interpreter/blend.hpp - weighted sums of texels, bit-exact to devices of capability 9.0.
//
// Weights are 256ths, and sums have the widths of such devices' filters.
#pragma once

#include <cstdint>

#include "cpu/interpreter/texel.hpp"

namespace cupola::cpu::interpreter {

// `x` and `y`: the weight of the second of two texels along an axis, in 256ths. The four texels of
// a plane get `share` 256ths of the result. Their weights are rounded so that they sum to `share`.
// Order: (0, 0), (1, 0), (0, 1), (1, 1).
struct PlaneWeights {
    std::uint32_t of[4];
};
PlaneWeights plane_weights(std::uint32_t x, std::uint32_t y, std::uint32_t share);

// Sums weighted texels as they are stored; `result` normalizes the sums.
class Blend {
  public:
    Blend(const TexelFormat& format, const Sampler& sampler);
    // The texels of one plane are added one after another.
    void begin_plane();
    void add(const Texel& texel, std::uint32_t weight);
    Texel result();

  private:
    enum class Kind : std::uint8_t { single, half, natural, integer };
    struct Term {
        std::uint32_t bits, weight;
    };
    float joined_real(unsigned channel);
    float joined_whole(unsigned channel) const;

    Kind kind_[4];
    const TexelFormat format_;
    static constexpr unsigned most = 16;  // two levels of eight
    Term terms_[4][most];
    unsigned count_ = 0;
    unsigned planes_[4];  // where each begins
    unsigned plane_count_ = 0;
};

}  // namespace cupola::cpu::interpreter
