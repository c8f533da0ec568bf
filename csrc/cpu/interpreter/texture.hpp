// csrc/cpu/interpreter/texture.hpp - texture and surface instructions: decoded form, handlers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/interpreter/execute.hpp"
#include "cpu/isa/code.hpp"
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

// A texture, and the range of global memory where it was last found.
struct TextureView {
    std::uint64_t handle = 0;
    std::shared_ptr<const Texture> texture;
    Range reach;
    const AddressSpace* memory = nullptr;

    // The address of a texel; null if its memory does not exist (any more).
    std::byte* find(std::uintptr_t address, unsigned bytes);
};

// The views that a block has used. They are few, so lookup is linear.
class TextureViews {
  public:
    // Null if no texture or surface has this handle.
    TextureView* find(std::uint64_t handle, const Launch& launch);

  private:
    std::vector<TextureView> views_;
};

const TextureSite& site_of(const DecodedOp* ip, Warp& w);
// The view that a lane names. Null: a fault has been noted.
TextureView* view_of(const DecodedOp* ip, Warp& w, std::byte* r, const TextureSite& site,
                     unsigned lane, bool surface);

struct TextureControl {
    Handler fetch, query, is_kind;
};
extern const TextureControl texture_control;

// surface.cpp
struct SurfaceControl {
    Handler load, store, reduce;
};
extern const SurfaceControl surface_control;

}  // namespace cupola::cpu::interpreter
