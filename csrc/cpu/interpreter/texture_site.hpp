// csrc/cpu/interpreter/texture_site.hpp - the decoded form of a texture or surface instruction.
#pragma once

#include <cstdint>

#include "ptx/modifiers.hpp"
#include "ptx/type.hpp"

namespace cupola::cpu::interpreter {

// Named as the semantics in the table's rows.
enum class TextureOperation : std::uint8_t {
    Fetch,
    FetchBase,
    FetchLevel,
    FetchGradient,
    Gather,
    QueryTexture,
    QueryLevel,
    IsTexture,
    IsSampler,
    IsSurface,
    SurfaceLoad,
    SurfaceStore,
    SurfaceStoreTexel,
    SurfaceReduce,
    SurfaceReduceTexel,
    QuerySurface,
};

// The operands' offsets in the register file, which do not fit in a DecodedOp. 0: no such operand.
struct TextureSite {
    TextureOperation operation = TextureOperation::Fetch;
    ptx::Geometry geometry = ptx::Geometry::d1;
    ptx::Outside outside = ptx::Outside::none;
    ptx::Query query = ptx::Query::width;
    ptx::Atomic atomic = ptx::Atomic::add;
    ptx::Type type = ptx::Type::none;
    std::uint8_t component = 0;  // of a gather
    bool integral = false;       // coordinates and levels are integers
    std::uint8_t values = 1;
    std::int32_t value[4] = {0, 0, 0, 0};  // destinations, or values to store
    std::int32_t resident = 0;             // predicate
    std::int32_t handle = 0;
    std::int32_t layer = 0;
    std::int32_t coordinate[3] = {0, 0, 0};
    std::int32_t level = 0;
    std::int32_t gradient[2][3] = {{0, 0, 0}, {0, 0, 0}};
    std::int32_t offset[3] = {0, 0, 0};
};

}  // namespace cupola::cpu::interpreter
