// csrc/cpu/device/driver/texture_table.hpp - the texture and surface objects of the process, by
// handle.
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "cpu/base/texture.hpp"
#include "cpu/device/base/cuda.hpp"

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

class TextureTable {
  public:
    TextureTable();
    // Handles are never reused, so a stale handle is detected.
    std::uint64_t add(TextureObject object);
    // Throws INVALID_VALUE if there is no texture, or surface, with this handle.
    TextureObject get(std::uint64_t handle, bool surface) const;
    // As on hardware, a launch that was queued before still finds the object.
    bool remove(std::uint64_t handle, bool surface);
    // Removes the objects of a context whose work is done.
    void close(const Context& context);

    // The objects for a launch that is queued now.
    std::shared_ptr<const TextureSpace> space() const;

  private:
    // The time between two removals. It holds what was removed at its end, and the next period.
    // A launch holds the period in which it was queued, so it holds all that was removed later.
    struct Period;

    mutable std::shared_mutex mutex_;
    std::uint64_t last_ = 0;
    std::unordered_map<std::uint64_t, TextureObject> objects_;
    std::shared_ptr<Period> period_;  // the current one
};

}  // namespace cupola::cpu
