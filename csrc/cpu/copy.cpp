// csrc/cpu/copy.cpp - checking and doing copies and fills.
#include "cpu/copy.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "cpu/capture.hpp"
#include "cpu/context.hpp"
#include "cpu/driver.hpp"
#include "cpu/stream.hpp"

namespace cupola::cpu {
namespace {

// Up to here pageable memory is copied aside at the call. More would cost memory for little time,
// and NVIDIA's driver waits for such copies too.
constexpr std::size_t staged = 64 << 10;

// The last byte of a side is `extent - 1` behind its first. Overflow is a wrong argument.
std::size_t extent(const Side& side, const Copy& copy) {
    std::size_t bytes = copy.width, more = 0;
    require(!__builtin_mul_overflow(side.pitch, copy.height - 1, &more));
    require(!__builtin_add_overflow(bytes, more, &bytes));
    require(!__builtin_mul_overflow(side.slice, copy.depth - 1, &more));
    require(!__builtin_add_overflow(bytes, more, &bytes));
    require(!__builtin_add_overflow(side.address, bytes, &more));
    return bytes;
}

// True for pageable host memory. Whatever lies in the map must lie in one allocation.
bool check(const Side& side, std::size_t bytes) {
    const auto allocation = Driver::get().memory.at(side.address);
    if (!allocation) {
        require(side.space != Side::Space::device && side.address != 0);
        return true;
    }
    require(bytes <= allocation->end() - side.address);
    return false;
}

void move(const Copy& copy) {
    auto* to = reinterpret_cast<std::byte*>(copy.destination.address);
    const auto* from = reinterpret_cast<const std::byte*>(copy.source.address);
    for (std::size_t z = 0; z < copy.depth; ++z)
        for (std::size_t y = 0; y < copy.height; ++y)
            std::memmove(to + z * copy.destination.slice + y * copy.destination.pitch,
                         from + z * copy.source.slice + y * copy.source.pitch, copy.width);
}

// Contiguous rows are one row, and one call.
void flatten(Copy& copy) {
    if (copy.height > 1 && copy.source.pitch == copy.width &&
        copy.destination.pitch == copy.width &&
        (copy.depth == 1 || (copy.source.slice == copy.width * copy.height &&
                             copy.destination.slice == copy.width * copy.height))) {
        copy.width *= copy.height * copy.depth;
        copy.height = copy.depth = 1;
    }
}

struct Staged {
    Copy copy;
    std::unique_ptr<std::byte[]> bytes;
};

void submit_staged(Copy copy, Stream& stream) {
    auto bytes = std::make_unique<std::byte[]>(copy.width * copy.height * copy.depth);
    Copy aside = copy;
    aside.destination = {Side::Space::host, reinterpret_cast<std::uintptr_t>(bytes.get()),
                         copy.width, copy.width * copy.height};
    move(aside);
    copy.source = aside.destination;
    stream.submit(task([copy, bytes = std::move(bytes)](CUresult status) {
        if (status == CUDA_SUCCESS) move(copy);
    }));
}

template <class T>
void fill_row(void* row, T value, std::size_t count) {
    std::fill_n(static_cast<T*>(row), count, value);
}

void run(const Fill& fill) {
    for (std::size_t y = 0; y < fill.height; ++y) {
        auto* row = reinterpret_cast<std::byte*>(fill.destination) + y * fill.pitch;
        switch (fill.element) {
            case 1:
                std::memset(row, static_cast<int>(fill.value & 0xff), fill.width);
                break;
            case 2:
                fill_row(row, static_cast<std::uint16_t>(fill.value), fill.width);
                break;
            default:
                fill_row(row, fill.value, fill.width);
        }
    }
}

}  // namespace

CUresult copy(const Copy& what, Stream& stream, bool wait) {
    if (what.width == 0 || what.height == 0 || what.depth == 0) return CUDA_SUCCESS;
    const bool to_pageable = check(what.destination, extent(what.destination, what));
    const bool from_pageable = check(what.source, extent(what.source, what));
    Copy copy = what;
    flatten(copy);
    if (wait) {
        Capture::forbid();
        Capture::forbid(stream);
    }
    if (const auto capture = Capture::of(stream)) {
        capture->add(stream, what);
        return CUDA_SUCCESS;
    }
    const std::size_t bytes = copy.width * copy.height * copy.depth;
    if (!wait && from_pageable && !to_pageable && bytes <= staged) {
        submit_staged(copy, stream);
        return CUDA_SUCCESS;
    }
    auto operation = task([copy](CUresult status) {
        if (status == CUDA_SUCCESS) move(copy);
    });
    if (!wait && !from_pageable && !to_pageable) {
        stream.submit(std::move(operation));
        return CUDA_SUCCESS;
    }
    stream.perform(std::move(operation));
    return stream.context_pointer()->error();
}

CUresult copy(Side::Space to, std::uintptr_t destination, Side::Space from, std::uintptr_t source,
              std::size_t bytes, Stream& stream, bool wait) {
    Copy line;
    line.destination = {to, destination, 0, 0};
    line.source = {from, source, 0, 0};
    line.width = bytes;
    return copy(line, stream, wait);
}

void check(const Copy& what) {
    require(what.width && what.height && what.depth);
    check(what.destination, extent(what.destination, what));
    check(what.source, extent(what.source, what));
}

std::unique_ptr<Operation> copy_operation(const Copy& what) {
    check(what);
    Copy copy = what;
    flatten(copy);
    return task([copy](CUresult status) {
        if (status == CUDA_SUCCESS) move(copy);
    });
}

void check(const Fill& what) {
    require(what.width && what.height);
    require(what.element == 1 || what.element == 2 || what.element == 4);
    require(what.destination % what.element == 0);
    Copy shape;
    require(!__builtin_mul_overflow(what.width, what.element, &shape.width));
    shape.height = what.height;
    if (what.height > 1) require(what.pitch >= shape.width && what.pitch % what.element == 0);
    const Side side{Side::Space::device, what.destination, what.pitch, 0};
    check(side, extent(side, shape));
}

std::unique_ptr<Operation> fill_operation(const Fill& what) {
    check(what);
    return task([what](CUresult status) {
        if (status == CUDA_SUCCESS) run(what);
    });
}

CUresult fill(const Fill& what, Stream& stream, bool wait) {
    if (what.width == 0 || what.height == 0) return CUDA_SUCCESS;
    auto operation = fill_operation(what);
    if (const auto capture = Capture::of(stream)) {
        capture->add(stream, what);
        return CUDA_SUCCESS;
    }
    if (!wait) {
        stream.submit(std::move(operation));
        return CUDA_SUCCESS;
    }
    stream.perform(std::move(operation));
    return stream.context_pointer()->error();
}

}  // namespace cupola::cpu
