// csrc/cpu/device/texture/texture_object.hpp - creates textures and surfaces from CUDA's
// descriptors.
#pragma once

#include <memory>

#include "cpu/base/texture.hpp"
#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

class Driver;

// Throws Failure with the results of cuTexObjectCreate and cuSurfObjectCreate.
std::shared_ptr<const Texture> make_texture(const Driver& driver,
                                            const CUDA_RESOURCE_DESC& resource,
                                            const CUDA_TEXTURE_DESC& description,
                                            const CUDA_RESOURCE_VIEW_DESC* view);
std::shared_ptr<const Texture> make_surface(const Driver& driver,
                                            const CUDA_RESOURCE_DESC& resource);

}  // namespace cupola::cpu
