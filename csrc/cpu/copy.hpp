// csrc/cpu/copy.hpp - copies and fills: what is checked at the call, what is done in the stream.
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
    enum class Space { device, host, unified, array };  // unified: the address tells
    Space space = Space::unified;
    std::uintptr_t address = 0;
    std::size_t pitch = 0;           // bytes from row to row
    std::size_t slice = 0;           // bytes from slice to slice
    std::shared_ptr<Array> array{};  // that the address lies in
};

struct Copy {
    Side destination, source;
    std::size_t width = 0;  // bytes
    std::size_t height = 1, depth = 1;
};

// `wait`: the synchronous call, which returns when host memory was read or written.
CUresult copy(const Copy& what, Stream& stream, bool wait);
CUresult copy(Side::Space to, std::uintptr_t destination, Side::Space from, std::uintptr_t source,
              std::size_t bytes, Stream& stream, bool wait);

// As the nodes of a graph have them: checked, and as work; again each time it is launched, since
// memory may be gone.
void check(const Copy& what);
std::unique_ptr<Operation> copy_operation(const Copy& what, const Stream& stream);
// Where CUDA's description says, for copies of boxes.
Copy box_copy(const CUDA_MEMCPY3D& box);

struct Fill {
    std::uintptr_t destination = 0;
    std::size_t pitch = 0;  // bytes from row to row
    std::uint32_t value = 0;
    std::size_t element = 1;  // bytes: 1, 2 or 4
    std::size_t width = 0;    // elements
    std::size_t height = 1;
};

CUresult fill(const Fill& what, Stream& stream, bool wait);
void check(const Fill& what);
std::unique_ptr<Operation> fill_operation(const Fill& what, const Stream& stream);

}  // namespace cupola::cpu
