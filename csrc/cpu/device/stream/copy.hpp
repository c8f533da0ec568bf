// csrc/cpu/device/stream/copy.hpp - copies and fills: their checks, and their work in a stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/base/operation.hpp"

namespace cupola::cpu {

class Array;
class MemoryMap;
class Stream;

// One side of a copy. Offsets are already in `address`.
struct Side {
    enum class Space { device, host, unified, array };  // unified: determined by the address
    Space space = Space::unified;
    std::uintptr_t address = 0;
    std::size_t pitch = 0;           // bytes between rows
    std::size_t slice = 0;           // bytes between slices
    std::shared_ptr<Array> array{};  // the array that contains the address
};

struct Copy {
    Side destination, source;
    std::size_t width = 0;  // bytes
    std::size_t height = 1, depth = 1;
    std::shared_ptr<const CUDA_MEMCPY3D> given{};  // of a graph's node that the program described
};

// The ranges that the work accesses. Another stream or context may free them while it is queued.
struct Accesses {
    struct Access {
        std::uintptr_t address;
        std::size_t bytes;
        bool write;
    };
    std::array<Access, 2> sides{};  // two for a copy
    std::size_t count = 0;

    void add(const Access& side) { sides[count++] = side; }
    bool possible(const MemoryMap& memory) const;
};

// A copy after its checks. A side is pageable if it is host memory that the driver does not know.
struct CheckedCopy {
    Copy copy;  // contiguous rows are one row
    Accesses accesses;
    bool to_pageable = false, from_pageable = false;
};
CheckedCopy checked(const MemoryMap& memory, const Copy& what);
std::unique_ptr<Operation> copy_operation(const CheckedCopy& what, const Stream& stream);
// Copies the source now, and returns the work that writes it to the destination.
std::unique_ptr<Operation> staged_operation(const CheckedCopy& what, const Stream& stream);

// Copies and fills of graph nodes: checked, and returned as work. Each launch checks again, because
// memory may have been freed.
void check(const MemoryMap& memory, const Copy& what);
std::unique_ptr<Operation> copy_operation(const Copy& what, const Stream& stream);
// The address of a copied region in CUDA's description.
Copy box_copy(const CUDA_MEMCPY3D& box);

struct Fill {
    std::uintptr_t destination = 0;
    std::size_t pitch = 0;  // bytes between rows
    std::uint32_t value = 0;
    std::size_t element = 1;  // bytes: 1, 2 or 4
    std::size_t width = 0;    // elements
    std::size_t height = 1;
};

void check(const MemoryMap& memory, const Fill& what);
std::unique_ptr<Operation> fill_operation(const Fill& what, const Stream& stream);

}  // namespace cupola::cpu
