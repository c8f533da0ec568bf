// csrc/cpu/array.hpp - CUDA arrays and mipmapped arrays: texels in memory without a device address.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/cuda.hpp"
#include "cpu/texture.hpp"

namespace cupola::cpu {

class Budget;
class Context;
class MipmappedArray;

// The largest extents, those of compute capability 5.0 to 9.0. Device attributes return the same.
struct ArrayLimits {
    static constexpr unsigned line = 131072;
    static constexpr unsigned plane_x = 131072, plane_y = 65536;
    static constexpr unsigned box = 16384;
    static constexpr unsigned layered = 32768, layers = 2048;
    static constexpr unsigned cube = 32768, cube_layers = 2046;
    static constexpr unsigned gather = 32768;
    static constexpr unsigned mipmapped = 32768;
    static constexpr unsigned surface_line = 32768;
    static constexpr unsigned linear = 1u << 28;  // texels of a texture in linear memory
    static constexpr unsigned pitch_x = 131072, pitch_y = 65000, pitch = 2097120;
};

// Memory of a device's budget, released with the last array in it.
class ArrayMemory {
  public:
    // Throws OUT_OF_MEMORY.
    ArrayMemory(std::size_t size, Budget& budget);
    ~ArrayMemory();
    ArrayMemory(const ArrayMemory&) = delete;
    ArrayMemory& operator=(const ArrayMemory&) = delete;
    std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(data_); }
    std::size_t size() const { return size_; }

  private:
    const std::size_t size_;
    Budget& budget_;
    void* data_;
};

class Array {
  public:
    Array(const Context* context, const CUDA_ARRAY3D_DESCRIPTOR& shape, const TexelFormat& format,
          const Texels& texels, std::shared_ptr<const ArrayMemory> memory, bool level)
        : context_(context),
          shape_(shape),
          format_(format),
          texels_(texels),
          memory_(std::move(memory)),
          level_(level) {}
    // Checks the descriptor. Throws INVALID_VALUE, or NOT_SUPPORTED for a kind that this device
    // lacks.
    static std::shared_ptr<Array> make(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& shape);

    CUarray handle() { return reinterpret_cast<CUarray>(this); }
    const Context* context() const { return context_; }
    const CUDA_ARRAY3D_DESCRIPTOR& shape() const { return shape_; }
    const TexelFormat& format() const { return format_; }
    const Texels& texels() const { return texels_; }
    const std::shared_ptr<const ArrayMemory>& memory() const { return memory_; }
    bool level() const { return level_; }  // a level of a mipmapped array, which owns it
    static std::shared_ptr<Array> from(CUarray handle);  // throws INVALID_VALUE for null

  private:
    const Context* const context_;
    const CUDA_ARRAY3D_DESCRIPTOR shape_;
    const TexelFormat format_;
    const Texels texels_;
    const std::shared_ptr<const ArrayMemory> memory_;
    const bool level_;
};

class MipmappedArray {
  public:
    static std::shared_ptr<MipmappedArray> make(Context& context,
                                                const CUDA_ARRAY3D_DESCRIPTOR& shape,
                                                unsigned levels);
    CUmipmappedArray handle() { return reinterpret_cast<CUmipmappedArray>(this); }
    const Context* context() const { return context_; }
    const std::vector<std::shared_ptr<Array>>& levels() const { return levels_; }
    const std::shared_ptr<const ArrayMemory>& memory() const { return levels_[0]->memory(); }

    static std::shared_ptr<MipmappedArray> from(CUmipmappedArray handle);

  private:
    const Context* context_ = nullptr;
    std::vector<std::shared_ptr<Array>> levels_;
};

// The limit in an attribute; nothing if the attribute is not a limit of arrays.
std::optional<int> array_limit(CUdevice_attribute attribute);

// Throws INVALID_VALUE for an unknown format, NOT_SUPPORTED for one that this device lacks.
TexelFormat texel_format(CUarray_format format, unsigned channels);

}  // namespace cupola::cpu
