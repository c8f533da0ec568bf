// csrc/cpu/texture_table.hpp - the texture and surface objects of the process, by their numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "cpu/cuda.hpp"
#include "cpu/texture.hpp"

namespace cupola::cpu {

class Context;

// An object with all that it was made from.
struct TextureObject {
    std::shared_ptr<const Texture> texture;
    const Context* context = nullptr;
    CUDA_RESOURCE_DESC resource{};
    CUDA_TEXTURE_DESC description{};
    CUDA_RESOURCE_VIEW_DESC view{};
};

class TextureTable final : public TextureSpace {
  public:
    // A number is never used twice, so that one whose object is gone is known.
    std::uint64_t add(TextureObject object);
    // INVALID_VALUE where there is no texture, or surface, of this number.
    TextureObject get(std::uint64_t handle, bool surface) const;
    bool remove(std::uint64_t handle, bool surface);
    void close(const Context& context);

    std::shared_ptr<const Texture> find(std::uint64_t handle) const override;

  private:
    mutable std::shared_mutex mutex_;
    std::uint64_t last_ = 0;
    std::unordered_map<std::uint64_t, TextureObject> objects_;
};

// Throws Failure with what cuTexObjectCreate and cuSurfObjectCreate answer.
std::shared_ptr<const Texture> make_texture(const CUDA_RESOURCE_DESC& resource,
                                            const CUDA_TEXTURE_DESC& description,
                                            const CUDA_RESOURCE_VIEW_DESC* view);
std::shared_ptr<const Texture> make_surface(const CUDA_RESOURCE_DESC& resource);

}  // namespace cupola::cpu
