// csrc/cpu/interpreter/sample.hpp - one texture fetch: selects and filters texels.
#pragma once

#include <cstdint>

#include "cpu/interpreter/texel.hpp"
#include "cpu/interpreter/texture_view.hpp"
#include "ptx/modifiers.hpp"

namespace cupola::cpu::interpreter {

struct Fetch {
    ptx::Geometry geometry = ptx::Geometry::d1;
    bool integral = false;                    // coordinates and level are integers
    std::uint32_t coordinate[3] = {0, 0, 0};  // bits
    std::int64_t layer = 0;                   // for a cube: the slice, after its face is known
    bool face = false;                        // coordinates are on a face of a cube
    std::int32_t offset[3] = {0, 0, 0};
    // The implicit level is the base level: compute kernels have no derivatives between lanes.
    enum class Level : std::uint8_t { base, given, gradient } level = Level::base;
    std::uint32_t lod = 0;  // bits of a given level
    float gradient[2][3] = {{0, 0, 0}, {0, 0, 0}};
    int component = -1;  // the channel of a gather; else -1
};

// False where a texel is in memory that was freed; `bad` is then its address.
bool sample(TextureView& view, const Fetch& fetch, Texel& texel, std::uintptr_t& bad);

}  // namespace cupola::cpu::interpreter
