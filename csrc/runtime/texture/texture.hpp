// csrc/runtime/texture/texture.hpp - textures and surfaces, and references of modules to them.
#pragma once

#include <memory>

#include "runtime/module/module.hpp"
#include "runtime/texture/cuda_array.hpp"

namespace cupola {

class Texture : public RetainedObject {
  public:
    Texture(Ref<CudaArray> array, const cupola_sampling& sampling);
    Texture(Context& context, const cupola_texture_memory& memory, const cupola_sampling& sampling);
    ~Texture() override;

    // Binds a module's texture reference to the same texels, read in the same way.
    void bind(Module& module, const char* name) const;

    Context& context;
    CUtexObject handle = 0;

  private:
    void create(const CUDA_RESOURCE_DESC& resource);
    unsigned flags(int format) const;

    const cupola_sampling sampling_;
    Ref<CudaArray> array_;                          // null for memory
    cupola_texture_memory memory_{};                // used where array_ is null
    std::shared_ptr<RetainedObjects> held_memory_;  // cupola's own at the address
};

class Surface : public RetainedObject {
  public:
    explicit Surface(Ref<CudaArray> array);
    ~Surface() override;

    Context& context;
    CUsurfObject handle = 0;

  private:
    Ref<CudaArray> array_;
};

// The module's texture reference; null where it has none of that name.
CUtexref texture_reference(Module& module, const char* name);
void bind_surface(Module& module, const char* name, const CudaArray& array);

inline Texture* unwrap(cupola_texture* texture) { return reinterpret_cast<Texture*>(texture); }
inline const Texture* unwrap(const cupola_texture* texture) {
    return reinterpret_cast<const Texture*>(texture);
}
inline cupola_texture* wrap(Texture* texture) { return reinterpret_cast<cupola_texture*>(texture); }
inline Surface* unwrap(cupola_surface* surface) { return reinterpret_cast<Surface*>(surface); }
inline const Surface* unwrap(const cupola_surface* surface) {
    return reinterpret_cast<const Surface*>(surface);
}
inline cupola_surface* wrap(Surface* surface) { return reinterpret_cast<cupola_surface*>(surface); }

}  // namespace cupola
