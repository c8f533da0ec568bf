// csrc/cpu/exec/sample.hpp - one fetch of a texture: which texels it reads and how it joins them.
#pragma once

#include <cstdint>

#include "cpu/exec/texel.hpp"
#include "cpu/exec/texture.hpp"

namespace cupola::cpu::exec {

struct Fetch {
    ptx::Geometry geometry = ptx::Geometry::d1;
    bool integral = false;                    // coordinates and level are integers
    std::uint32_t coordinate[3] = {0, 0, 0};  // bits
    std::int64_t layer = 0;                   // of a cube, once its face is known, the slice
    bool face = false;                        // coordinates are on a cube's face
    std::int32_t offset[3] = {0, 0, 0};
    // Where none is given, that is the base as well: code that computes has no neighbours to ask.
    enum class Level : std::uint8_t { base, given, gradient } level = Level::base;
    std::uint32_t lod = 0;  // bits, of a level that is given
    float gradient[2][3] = {{0, 0, 0}, {0, 0, 0}};
    int component = -1;  // of a gather; else -1
};

// False where a texel lies in memory that is gone; then `bad` is where.
bool sample(TextureView& view, const Fetch& fetch, Texel& texel, std::uintptr_t& bad);

}  // namespace cupola::cpu::exec
