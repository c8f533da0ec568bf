// csrc/cpu/exec/blend.hpp - joining texels by weights, to the bits that devices of capability 9.0
// give: weights are 256ths, and sums have the widths of such devices' filters.
#pragma once

#include <cstdint>

#include "cpu/exec/texel.hpp"

namespace cupola::cpu::exec {

// Along an axis: how much of the second of two texels goes into the result, in 256ths. A plane of
// four texels has `share` 256ths of the whole; what each of them has is rounded, and they sum up to
// that. In the order (0, 0), (1, 0), (0, 1), (1, 1).
struct PlaneWeights {
    std::uint32_t of[4];
};
PlaneWeights plane_weights(std::uint32_t x, std::uint32_t y, std::uint32_t share);

// A texel's channels, before they are fractions: `fetched` for what stays floating point.
class Blend {
  public:
    Blend(const TexelFormat& format, const Sampler& sampler);
    // Texels of one plane follow each other.
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

}  // namespace cupola::cpu::exec
