// csrc/runtime/array/dlpack.hpp - the structures of DLPack 0.x and 1.x.
#pragma once

#include <cstdint>

#include "cupola/tensor.h"

namespace cupola::dlpack {

struct Device {
    std::int32_t type, id;
};

struct Type {
    std::uint8_t code, bits;
    std::uint16_t lanes;
};

struct Tensor {
    void* data;
    Device device;
    std::int32_t ndim;
    Type type;
    std::int64_t* shape;
    std::int64_t* strides;  // in elements; null: C order
    std::uint64_t byte_offset;
};

struct Managed {
    Tensor tensor;
    void* context;
    void (*deleter)(Managed*);
};

struct Version {
    std::uint32_t major, minor;
};

struct ManagedVersioned {
    Version version;
    void* context;
    void (*deleter)(ManagedVersioned*);
    std::uint64_t flags;
    Tensor tensor;
};

constexpr std::uint32_t major_version = 1, minor_version = 0;
constexpr std::uint64_t read_only = 1, copied = 2;

// Checks a DLTensor; the result refers to it.
cupola_tensor read_tensor(const Tensor& tensor);
// Checks a DLManagedTensor, or a DLManagedTensorVersioned; the result refers to it.
cupola_tensor read_tensor(const void* managed, bool versioned);
// Makes a managed tensor that calls `release(owner)` when its consumer deletes it.
void* make_tensor(const cupola_tensor& tensor, bool versioned, void* owner, void (*release)(void*));
// Calls the tensor's own deleter.
void delete_tensor(void* managed, bool versioned);

}  // namespace cupola::dlpack
