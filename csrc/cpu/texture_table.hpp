// csrc/cpu/texture_table.hpp - the texture and surface objects of the process, by handle.
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "cpu/cuda.hpp"
#include "cpu/texture.hpp"

namespace cupola::cpu {

class Context;

// An object with the descriptors that it was created from.
struct TextureObject {
    std::shared_ptr<const Texture> texture;
    const Context* context = nullptr;
    CUDA_RESOURCE_DESC resource{};
    CUDA_TEXTURE_DESC description{};
    CUDA_RESOURCE_VIEW_DESC view{};
};

class TextureTable final : public TextureSpace {
  public:
    // Handles are never reused, so a stale handle is detected.
    std::uint64_t add(TextureObject object);
    // Throws INVALID_VALUE if there is no texture, or surface, with this handle.
    TextureObject get(std::uint64_t handle, bool surface) const;
    bool remove(std::uint64_t handle, bool surface);
    void close(const Context& context);

    std::shared_ptr<const Texture> find(std::uint64_t handle) const override;

  private:
    mutable std::shared_mutex mutex_;
    std::uint64_t last_ = 0;
    std::unordered_map<std::uint64_t, TextureObject> objects_;
};

}  // namespace cupola::cpu
