// csrc/cpu/exec/texture.hpp - instructions on textures and surfaces: what they name, their
// handlers, and what a block remembers of the textures it has read.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/exec/code.hpp"
#include "cpu/execute.hpp"
#include "ptx/modifiers.hpp"
#include "ptx/type.hpp"

namespace cupola::cpu::exec {

// The semantics that rows of the table's chapter name.
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

// What does not fit in a Code: where the operands are in the register file. Of those that are not
// written, 0.
struct TextureSite {
    TextureOperation operation = TextureOperation::Fetch;
    ptx::Geometry geometry = ptx::Geometry::d1;
    ptx::Outside outside = ptx::Outside::none;
    ptx::Query query = ptx::Query::width;
    ptx::Atomic atomic = ptx::Atomic::add;
    ptx::Type type = ptx::Type::none;
    std::uint8_t component = 0;  // of a gather
    bool integral = false;       // coordinates, and levels, are integers
    std::uint8_t values = 1;
    std::int32_t value[4] = {0, 0, 0, 0};  // destinations, or what is stored
    std::int32_t resident = 0;             // predicate
    std::int32_t handle = 0;
    std::int32_t layer = 0;
    std::int32_t coordinate[3] = {0, 0, 0};
    std::int32_t level = 0;
    std::int32_t gradient[2][3] = {{0, 0, 0}, {0, 0, 0}};
    std::int32_t offset[3] = {0, 0, 0};
};

// A texture, and which part of global memory it was last found in.
struct TextureView {
    std::uint64_t handle = 0;
    std::shared_ptr<const Texture> texture;
    Range reach;
    const AddressSpace* memory = nullptr;

    // Where a texel lies; null where there is no memory (any more).
    std::byte* find(std::uintptr_t address, unsigned bytes);
};

// Those that a block has read, few as they are.
class TextureViews {
  public:
    // Null where there is no texture, or surface, of this handle.
    TextureView* find(std::uint64_t handle, const Launch& launch);

  private:
    std::vector<TextureView> views_;
};

const TextureSite& site_of(const Code* ip, Warp& w);
// Of a lane. Null: the fault is noted.
TextureView* view_of(const Code* ip, Warp& w, std::byte* r, const TextureSite& site, unsigned lane,
                     bool surface);

struct TextureControl {
    Handler fetch, query, is_kind;
};
extern const TextureControl texture_control;

// surface.cpp
struct SurfaceControl {
    Handler load, store, reduce;
};
extern const SurfaceControl surface_control;

}  // namespace cupola::cpu::exec
