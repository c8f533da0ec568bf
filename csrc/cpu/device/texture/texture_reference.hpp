// csrc/cpu/device/texture/texture_reference.hpp - texture and surface references: variables of a
// module that the program binds to arrays or memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/base/texture.hpp"
#include "cpu/device/base/cuda.hpp"
#include "cpu/interpreter/execute.hpp"

namespace cupola::cpu {

class Context;
class Driver;

class TextureReference {
  public:
    // `address` of the variable is its handle in device code; 0 for a reference without a module.
    TextureReference(const Context* context, std::string name, std::uintptr_t address,
                     bool surface);

    CUtexref handle() { return reinterpret_cast<CUtexref>(this); }
    const Context* context() const { return context_; }
    const std::string& name() const { return name_; }
    std::uintptr_t address() const { return address_; }
    bool surface() const { return surface_; }

    // The texture that a launch uses now; null if no valid binding exists.
    std::shared_ptr<const Texture> texture(const Driver& driver) const;

    struct State {
        CUDA_RESOURCE_DESC resource{};
        bool bound = false;
        CUDA_TEXTURE_DESC description{};
        CUarray_format format = CU_AD_FORMAT_FLOAT;
        unsigned channels = 1;
    };
    template <class Change>
    void change(Change&& change) {
        std::lock_guard lock(mutex_);
        change(state_);
    }
    State state() const {
        std::lock_guard lock(mutex_);
        return state_;
    }

  private:
    const Context* const context_;
    const std::string name_;
    const std::uintptr_t address_;
    const bool surface_;
    mutable std::mutex mutex_;
    State state_;
};

// The references of one module.
class References {
  public:
    References(const Context& context, const Image& image);
    ~References() { forget(); }
    void forget() const;  // removes their handles
    std::shared_ptr<TextureReference> find(std::string_view name, bool surface) const;
    std::vector<std::pair<std::uint64_t, std::shared_ptr<const Texture>>> bound() const;

  private:
    Driver& driver_;  // queued work may keep references longer than their context
    std::vector<std::shared_ptr<TextureReference>> all_;
};

}  // namespace cupola::cpu
