// csrc/cpu/copy.hpp - copies and fills: checks at the call, and work in the stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include <memory>

#include "cpu/cuda.hpp"
#include "cpu/operation.hpp"

namespace cupola::cpu {

class Array;
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
};

// `wait`: a synchronous call, which returns after host memory was read or written.
CUresult copy(const Copy& what, Stream& stream, bool wait);
CUresult copy(Side::Space to, std::uintptr_t destination, Side::Space from, std::uintptr_t source,
              std::size_t bytes, Stream& stream, bool wait);

// Copies and fills of graph nodes: checked, and returned as work. Each launch checks again, because
// memory may have been freed.
void check(const Copy& what);
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

CUresult fill(const Fill& what, Stream& stream, bool wait);
void check(const Fill& what);
std::unique_ptr<Operation> fill_operation(const Fill& what, const Stream& stream);

}  // namespace cupola::cpu
