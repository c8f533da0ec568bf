// csrc/cpu/device/texture/array.hpp - CUDA arrays and mipmapped arrays: texels in memory without a
// device address.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/base/texture.hpp"
#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

class Budget;
class Context;
class Driver;
class MipmappedArray;

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
    // Throws INVALID_VALUE for null.
    static std::shared_ptr<Array> from(const Driver& driver, CUarray handle);

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

    static std::shared_ptr<MipmappedArray> from(const Driver& driver, CUmipmappedArray handle);

  private:
    const Context* context_ = nullptr;
    std::vector<std::shared_ptr<Array>> levels_;
};

// Throws INVALID_VALUE for an unknown format, NOT_SUPPORTED for one that this device lacks.
TexelFormat texel_format(CUarray_format format, unsigned channels);

}  // namespace cupola::cpu
