// csrc/cpu/device/texture/texture_reference.cpp - a module's references and their bindings.
#include "cpu/device/texture/texture_reference.hpp"

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/texture/texture_object.hpp"

namespace cupola::cpu {

TextureReference::TextureReference(const Context* context, std::string name, std::uintptr_t address,
                                   bool surface)
    : context_(context), name_(std::move(name)), address_(address), surface_(surface) {
    // By default coordinates are clamped and not normalized.
    for (auto& mode : state_.description.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
}

std::shared_ptr<const Texture> TextureReference::texture(const Driver& driver) const {
    const State state = this->state();
    if (!state.bound) return nullptr;
    try {
        return surface_ ? make_surface(driver, state.resource)
                        : make_texture(driver, state.resource, state.description, nullptr);
    } catch (const Failure&) {
        return nullptr;  // the bound memory was freed, so a fetch fails
    }
}

References::References(const Context& context, const Image& image) : driver_(context.driver()) {
    for (const Variable& v : image.variables()) {
        if (v.role != Variable::Role::texture && v.role != Variable::Role::surface) continue;
        all_.push_back(std::make_shared<TextureReference>(&context, v.name, v.address,
                                                          v.role == Variable::Role::surface));
        driver_.texture_references.add(all_.back());
    }
}

void References::forget() const {
    for (const auto& reference : all_) driver_.texture_references.remove(reference.get());
}

std::shared_ptr<TextureReference> References::find(std::string_view name, bool surface) const {
    for (const auto& reference : all_)
        if (reference->name() == name && reference->surface() == surface) return reference;
    return nullptr;
}

std::vector<std::pair<std::uint64_t, std::shared_ptr<const Texture>>> References::bound() const {
    std::vector<std::pair<std::uint64_t, std::shared_ptr<const Texture>>> all;
    for (const auto& reference : all_)
        all.emplace_back(reference->address(), reference->texture(driver_));
    return all;
}

}  // namespace cupola::cpu
