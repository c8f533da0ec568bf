// csrc/dropin/cudart/stream/copy_array.cpp - copies from and to arrays of one and two dimensions.
//
// Offsets into a row are in bytes. Functions that take a count continue in the next row.
#include "dropin/cudart/copy.hpp"
#include "dropin/cudart/cudart.hpp"

#include <algorithm>

namespace cupola::cudart {
namespace {

cudaError_t copy_to_array(const Driver& d, cudaArray_t to, std::size_t x, std::size_t y,
                          const void* from, std::size_t pitch, std::size_t width,
                          std::size_t height, cudaMemcpyKind kind, const cudaStream_t* stream) {
    CUmemorytype side{};
    if (!to) return cudaErrorInvalidResourceHandle;
    if (width == 0 || height == 0) return cudaSuccess;
    if (const cudaError_t error = side_facing_array(kind, false, side); error != cudaSuccess)
        return error;
    if (is_pitch_too_small(pitch, width, height)) return cudaErrorInvalidPitchValue;
    CUDA_MEMCPY2D copy{};
    set_destination(copy, to, x, y);
    set_source(copy, side, from, pitch);
    return run_copy(d, copy, width, height, stream);
}

cudaError_t copy_from_array(const Driver& d, void* to, std::size_t pitch, cudaArray_const_t from,
                            std::size_t x, std::size_t y, std::size_t width, std::size_t height,
                            cudaMemcpyKind kind, const cudaStream_t* stream) {
    CUmemorytype side{};
    if (!from) return cudaErrorInvalidResourceHandle;
    if (width == 0 || height == 0) return cudaSuccess;
    if (const cudaError_t error = side_facing_array(kind, true, side); error != cudaSuccess)
        return error;
    if (is_pitch_too_small(pitch, width, height)) return cudaErrorInvalidPitchValue;
    CUDA_MEMCPY2D copy{};
    set_destination(copy, side, to, pitch);
    set_source(copy, from, x, y);
    return run_copy(d, copy, width, height, stream);
}

// A position in the rows of an array, for copies of a count of bytes. A position behind the end of
// a row is one in the rows that follow.
class RowPosition {
  public:
    RowPosition(std::size_t x, std::size_t y, std::size_t row)
        : x(x % row), y(y + x / row), row_(row) {}
    std::size_t left() const { return row_ - x; }
    bool is_at_start() const { return x == 0; }
    void advance(std::size_t width, std::size_t height) {
        x += width;
        y += height - 1;
        if (x < row_) return;
        x = 0;
        ++y;
    }
    std::size_t x, y;

  private:
    std::size_t row_;
};

// Copies `count` bytes: the rest of a row, whole rows at once, and the start of a last row.
// copy(width, height, done) copies at the current positions; `done` bytes precede them.
template <class Copy>
cudaError_t copy_count(std::size_t count, RowPosition& at, RowPosition* other, Copy copy) {
    for (std::size_t done = 0; done < count;) {
        std::size_t width = std::min(count - done, at.left());
        if (other) width = std::min(width, other->left());
        const bool whole = at.is_at_start() && width == at.left() &&
                           (!other || (other->is_at_start() && width == other->left()));
        const std::size_t height = whole ? (count - done) / width : 1;
        if (const cudaError_t error = copy(width, height, done); error != cudaSuccess) return error;
        at.advance(width, height);
        if (other) other->advance(width, height);
        done += width * height;
    }
    return cudaSuccess;
}

cudaError_t copy_count_to_array(const Driver& d, cudaArray_t to, std::size_t x, std::size_t y,
                                const void* from, std::size_t count, cudaMemcpyKind kind,
                                const cudaStream_t* stream) {
    if (!to) return cudaErrorInvalidResourceHandle;
    if (!from) return cudaErrorInvalidValue;
    ArrayRow row{};
    if (const cudaError_t error = row_of(d, to, row); error != cudaSuccess) return error;
    RowPosition at(x, y, row.bytes);
    return copy_count(
        count, at, nullptr, [&](std::size_t width, std::size_t height, std::size_t done) {
            return copy_to_array(d, to, at.x, at.y, static_cast<const char*>(from) + done, width,
                                 width, height, kind, stream);
        });
}

cudaError_t copy_count_from_array(const Driver& d, void* to, cudaArray_const_t from, std::size_t x,
                                  std::size_t y, std::size_t count, cudaMemcpyKind kind,
                                  const cudaStream_t* stream) {
    if (!from) return cudaErrorInvalidResourceHandle;
    if (!to) return cudaErrorInvalidValue;
    ArrayRow row{};
    if (const cudaError_t error = row_of(d, from, row); error != cudaSuccess) return error;
    RowPosition at(x, y, row.bytes);
    return copy_count(count, at, nullptr,
                      [&](std::size_t width, std::size_t height, std::size_t done) {
                          return copy_from_array(d, static_cast<char*>(to) + done, width, from,
                                                 at.x, at.y, width, height, kind, stream);
                      });
}

cudaError_t check_array_copy(cudaMemcpyKind kind) {
    return kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault
               ? cudaSuccess
               : cudaErrorInvalidMemcpyDirection;
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from,
                                              size_t pitch, size_t width, size_t height,
                                              cudaMemcpyKind kind) {
    return entry([&](const Driver& d) {
        return copy_to_array(d, to, x, y, from, pitch, width, height, kind, nullptr);
    });
}

CUPOLA_CUDART cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y,
                                                   const void* from, size_t pitch, size_t width,
                                                   size_t height, cudaMemcpyKind kind,
                                                   cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return copy_to_array(d, to, x, y, from, pitch, width, height, kind, &stream);
    });
}

CUPOLA_CUDART cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from,
                                                size_t x, size_t y, size_t width, size_t height,
                                                cudaMemcpyKind kind) {
    return entry([&](const Driver& d) {
        return copy_from_array(d, to, pitch, from, x, y, width, height, kind, nullptr);
    });
}

CUPOLA_CUDART cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from,
                                                     size_t x, size_t y, size_t width,
                                                     size_t height, cudaMemcpyKind kind,
                                                     cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return copy_from_array(d, to, pitch, from, x, y, width, height, kind, &stream);
    });
}

CUPOLA_CUDART cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y,
                                                   cudaArray_const_t from, size_t from_x,
                                                   size_t from_y, size_t width, size_t height,
                                                   cudaMemcpyKind kind) {
    return entry([&](const Driver& d) {
        if (!from) return cudaErrorInvalidResourceHandle;
        if (!to) return cudaErrorInvalidValue;
        if (const cudaError_t error = check_array_copy(kind); error != cudaSuccess) return error;
        CUDA_MEMCPY2D copy{};
        set_destination(copy, to, to_x, to_y);
        set_source(copy, from, from_x, from_y);
        return width == 0 || height == 0 ? cudaSuccess : run_copy(d, copy, width, height, nullptr);
    });
}

CUPOLA_CUDART cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from,
                                            size_t count, cudaMemcpyKind kind) {
    return entry([&](const Driver& d) {
        return copy_count_to_array(d, to, x, y, from, count, kind, nullptr);
    });
}

CUPOLA_CUDART cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y,
                                                 const void* from, size_t count,
                                                 cudaMemcpyKind kind, cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return copy_count_to_array(d, to, x, y, from, count, kind, &stream);
    });
}

CUPOLA_CUDART cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y,
                                              size_t count, cudaMemcpyKind kind) {
    return entry([&](const Driver& d) {
        return copy_count_from_array(d, to, from, x, y, count, kind, nullptr);
    });
}

CUPOLA_CUDART cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x,
                                                   size_t y, size_t count, cudaMemcpyKind kind,
                                                   cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return copy_count_from_array(d, to, from, x, y, count, kind, &stream);
    });
}

CUPOLA_CUDART cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y,
                                                 cudaArray_const_t from, size_t from_x,
                                                 size_t from_y, size_t count, cudaMemcpyKind kind) {
    return entry([&](const Driver& d) {
        if (!to || !from) return cudaErrorInvalidResourceHandle;
        if (const cudaError_t error = check_array_copy(kind); error != cudaSuccess) return error;
        ArrayRow to_row{}, from_row{};
        if (const cudaError_t error = row_of(d, to, to_row); error != cudaSuccess) return error;
        if (const cudaError_t error = row_of(d, from, from_row); error != cudaSuccess) return error;
        RowPosition to_at(to_x, to_y, to_row.bytes), from_at(from_x, from_y, from_row.bytes);
        return copy_count(count, to_at, &from_at,
                          [&](std::size_t width, std::size_t height, std::size_t) {
                              CUDA_MEMCPY2D copy{};
                              set_destination(copy, to, to_at.x, to_at.y);
                              set_source(copy, from, from_at.x, from_at.y);
                              return run_copy(d, copy, width, height, nullptr);
                          });
    });
}
