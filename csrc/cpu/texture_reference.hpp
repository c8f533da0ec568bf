// csrc/cpu/texture_reference.hpp - texture and surface references: variables of a module that calls
// of the driver bind to arrays or memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/cuda.hpp"
#include "cpu/execute.hpp"
#include "cpu/texture.hpp"

namespace cupola::cpu {

class Context;

class TextureReference {
  public:
    // `address`: of the variable, which is the number that device code knows it by; 0 for one that
    // is no module's.
    TextureReference(const Context* context, std::string name, std::uintptr_t address,
                     bool surface);

    CUtexref handle() { return reinterpret_cast<CUtexref>(this); }
    const Context* context() const { return context_; }
    const std::string& name() const { return name_; }
    std::uintptr_t address() const { return address_; }
    bool surface() const { return surface_; }

    // What a grid that is launched now reads; null where nothing is bound that suits.
    std::shared_ptr<const Texture> texture() const;

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

// Those of one module.
class References {
  public:
    References(const Context* context, const Image& image);
    ~References() { forget(); }
    void forget() const;  // their handles are gone
    std::shared_ptr<TextureReference> find(std::string_view name, bool surface) const;
    std::vector<std::pair<std::uint64_t, std::shared_ptr<const Texture>>> bound() const;

  private:
    std::vector<std::shared_ptr<TextureReference>> all_;
};

}  // namespace cupola::cpu
