// csrc/cpu/interpreter/texture.hpp - handlers of texture and surface instructions.
#pragma once

#include "cpu/interpreter/texture_site.hpp"
#include "cpu/interpreter/texture_view.hpp"
#include "cpu/isa/code.hpp"

namespace cupola::cpu::interpreter {

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
