// csrc/runtime/pipeline/host_array.cpp - copies parts of a strided host array to or from C order.
#include "runtime/pipeline/host_array.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/base/streaming.hpp"

namespace cupola {
namespace {

// Copies `count` runs of `size` bytes at a stride, from or to contiguous memory.
template <bool reading, std::size_t size, class Byte>
void move_runs(Byte* other, char* host, std::int64_t stride, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, other += size, host += stride) {
        if constexpr (reading)
            std::memcpy(other, host, size);
        else
            std::memcpy(host, other, size);
    }
}

// Runs of at least this size are copied past the caches.
constexpr std::size_t long_run = std::size_t{64} << 10;

template <bool reading, class Byte>
void move_runs(Byte* other, char* host, std::int64_t stride, std::size_t count, std::size_t size) {
    if (size >= long_run) {
        for (std::size_t i = 0; i < count; ++i, other += size, host += stride) {
            if constexpr (reading)
                copy_past_caches(other, host, size);
            else
                copy_past_caches(host, other, size);
        }
        return;
    }
    switch (size) {
        case 1:
            return move_runs<reading, 1>(other, host, stride, count);
        case 2:
            return move_runs<reading, 2>(other, host, stride, count);
        case 4:
            return move_runs<reading, 4>(other, host, stride, count);
        case 8:
            return move_runs<reading, 8>(other, host, stride, count);
        case 16:
            return move_runs<reading, 16>(other, host, stride, count);
        default:
            for (std::size_t i = 0; i < count; ++i, other += size, host += stride) {
                if constexpr (reading)
                    std::memcpy(other, host, size);
                else
                    std::memcpy(host, other, size);
            }
    }
}

}  // namespace

HostArray::HostArray(void* host, const std::int64_t* shape, const std::int64_t* strides, int ndim,
                     std::size_t itemsize)
    : host_(static_cast<char*>(host)),
      row_stride_(strides[0]),
      row_bytes_(itemsize),
      run_(itemsize) {
    int axis = ndim;
    while (axis > 0 &&
           (shape[axis - 1] == 1 || strides[axis - 1] == static_cast<std::int64_t>(run_)))
        run_ *= static_cast<std::size_t>(shape[--axis]);
    for (int i = 0; i < axis; ++i)
        axes_.push_back({static_cast<std::size_t>(shape[i]), strides[i]});
    for (int i = 1; i < ndim; ++i) row_bytes_ *= static_cast<std::size_t>(shape[i]);
    if (std::find(shape, shape + ndim, 0) != shape + ndim) axes_.clear();  // an empty array
}

// The begin of a run, and the number of runs from it to the end of the last axis.
char* HostArray::run_at(std::size_t index, std::size_t& following) const {
    char* at = host_;
    following = axes_.back().length - index % axes_.back().length;
    for (std::size_t i = axes_.size(); i-- > 0;) {
        const Axis& axis = axes_[i];
        at += static_cast<std::int64_t>(index % axis.length) * axis.stride;
        index /= axis.length;
    }
    return at;
}

template <bool reading, class Byte>
void HostArray::move(Byte* other, std::size_t begin, std::size_t end) const {
    if (axes_.empty()) return move_runs<reading>(other, host_ + begin, 0, 1, end - begin);
    while (begin < end) {
        std::size_t following = 0;
        char* const at = run_at(begin / run_, following);
        const std::size_t skipped = begin % run_;
        std::size_t length = 0;
        if (skipped || end - begin < run_) {  // a part of a run
            length = std::min(run_ - skipped, end - begin);
            move_runs<reading>(other, at + skipped, 0, 1, length);
        } else {
            const std::size_t count = std::min(following, (end - begin) / run_);
            length = count * run_;
            move_runs<reading>(other, at, axes_.back().stride, count, run_);
        }
        begin += length;
        other += length;
    }
}

void HostArray::read(char* to, std::size_t begin, std::size_t end) const {
    move<true>(to, begin, end);
}

void HostArray::write(const char* from, std::size_t begin, std::size_t end) const {
    move<false>(from, begin, end);
}

}  // namespace cupola
