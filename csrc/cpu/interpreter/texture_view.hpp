// csrc/cpu/interpreter/texture_view.hpp - the textures that a block has used.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/interpreter/execute.hpp"

namespace cupola::cpu::interpreter {

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

}  // namespace cupola::cpu::interpreter
