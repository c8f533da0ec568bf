// csrc/cpu/interpreter/texture_view.cpp - finds textures by their handles, and texels in memory.
#include "cpu/interpreter/texture_view.hpp"

#include <utility>

namespace cupola::cpu::interpreter {

std::byte* TextureView::find(std::uintptr_t address, unsigned bytes) {
    if (texture->in_memory && !reach.allows(address, bytes, false)) {
        reach = memory ? memory->find(address) : Range{};
        if (!reach.allows(address, bytes, false)) {
            reach = {};
            return nullptr;
        }
    }
    return reinterpret_cast<std::byte*>(address);
}

TextureView* TextureViews::find(std::uint64_t handle, const Launch& launch) {
    for (TextureView& view : views_)
        if (view.handle == handle) return &view;
    std::shared_ptr<const Texture> texture;
    for (const auto& [number, bound] : launch.references)
        if (number == handle) texture = bound;
    if (!texture && launch.textures) texture = launch.textures->find(handle);
    if (!texture) return nullptr;
    if (views_.size() == 32) views_.erase(views_.begin());
    views_.push_back({handle, std::move(texture), {}, launch.memory});
    return &views_.back();
}

}  // namespace cupola::cpu::interpreter
