// csrc/cpu/device/stream/copy.cpp - checks copies and fills, and moves their bytes.
#include "cpu/device/stream/copy.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/stream/stream.hpp"

namespace cupola::cpu {
namespace {

// The number of bytes from the first byte of a side to the end of its last row. A result that
// overflows is an invalid argument.
std::size_t extent(const Side& side, const Copy& copy) {
    std::size_t bytes = copy.width, more = 0;
    require(!__builtin_mul_overflow(side.pitch, copy.height - 1, &more));
    require(!__builtin_add_overflow(bytes, more, &bytes));
    require(!__builtin_mul_overflow(side.slice, copy.depth - 1, &more));
    require(!__builtin_add_overflow(bytes, more, &bytes));
    require(!__builtin_add_overflow(side.address, bytes, &more));
    return bytes;
}

// True for pageable host memory. Known memory must be inside one allocation or adjacent mapped
// pieces, and writable if it is the destination.
bool check(const MemoryMap& memory, const Side& side, std::size_t bytes, bool write,
           Accesses& accesses) {
    if (side.array) return false;  // the range of an array is already checked
    const auto allocation = memory.at(side.address);
    if (!allocation) {
        require(side.space != Side::Space::device && side.address != 0);
        return true;
    }
    require(memory.reaches(side.address, bytes, write));
    require(allocation->open || side.space != Side::Space::device);
    accesses.add({side.address, bytes, write});
    return false;
}

// The operation that runs in the stream. `body` gets the memory map. If memory of the work was
// freed, the work fails like an access of a kernel.
template <class Body>
std::unique_ptr<Operation> work(const Accesses& accesses, const Stream& stream, Body body) {
    return task([accesses, context = stream.context_pointer(),
                 body = std::move(body)](CUresult status) {
        if (status != CUDA_SUCCESS) return;
        MemoryMap& memory = context->driver().memory;
        const MemoryMap::Pin pin(memory);
        if (!accesses.possible(memory))
            return context->poison(CUDA_ERROR_ILLEGAL_ADDRESS,
                                   "memory of a copy or fill was freed or unmapped before it ran");
        body(memory);
    });
}

void move(MemoryMap& memory, const Copy& copy) {
    auto* to = reinterpret_cast<std::byte*>(copy.destination.address);
    const auto* from = reinterpret_cast<const std::byte*>(copy.source.address);
    for (std::size_t z = 0; z < copy.depth; ++z)
        for (std::size_t y = 0; y < copy.height; ++y) {
            std::byte* const row = to + z * copy.destination.slice + y * copy.destination.pitch;
            std::memmove(row, from + z * copy.source.slice + y * copy.source.pitch, copy.width);
            memory.wrote(reinterpret_cast<std::uintptr_t>(row), copy.width);
        }
}

// Contiguous rows are copied as one row.
void flatten(Copy& copy) {
    if (copy.height > 1 && copy.source.pitch == copy.width &&
        copy.destination.pitch == copy.width &&
        (copy.depth == 1 || (copy.source.slice == copy.width * copy.height &&
                             copy.destination.slice == copy.width * copy.height))) {
        copy.width *= copy.height * copy.depth;
        copy.height = copy.depth = 1;
    }
}

template <class T>
void fill_row(void* row, T value, std::size_t count) {
    std::fill_n(static_cast<T*>(row), count, value);
}

void run(MemoryMap& memory, const Fill& fill) {
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
        memory.wrote(reinterpret_cast<std::uintptr_t>(row), fill.width * fill.element);
    }
}

// Checks the copy or fill, and returns its work.
Accesses accesses_of(const MemoryMap& memory, const Copy& what) {
    require(what.width && what.height && what.depth);
    Accesses accesses;
    check(memory, what.destination, extent(what.destination, what), true, accesses);
    check(memory, what.source, extent(what.source, what), false, accesses);
    return accesses;
}

Accesses accesses_of(const MemoryMap& memory, const Fill& what) {
    require(what.width && what.height);
    require(what.element == 1 || what.element == 2 || what.element == 4);
    require(what.destination % what.element == 0);
    Copy shape;
    require(!__builtin_mul_overflow(what.width, what.element, &shape.width));
    shape.height = what.height;
    if (what.height > 1) require(what.pitch >= shape.width && what.pitch % what.element == 0);
    const Side side{Side::Space::device, what.destination, what.pitch, 0};
    Accesses accesses;
    check(memory, side, extent(side, shape), true, accesses);
    return accesses;
}

}  // namespace

bool Accesses::possible(const MemoryMap& memory) const {
    return std::all_of(sides.begin(), sides.begin() + count, [&](const Access& side) {
        return memory.accessible(side.address, side.bytes, side.write);
    });
}

CheckedCopy checked(const MemoryMap& memory, const Copy& what) {
    CheckedCopy made;
    made.to_pageable =
        check(memory, what.destination, extent(what.destination, what), true, made.accesses);
    made.from_pageable =
        check(memory, what.source, extent(what.source, what), false, made.accesses);
    made.copy = what;
    flatten(made.copy);
    return made;
}

std::unique_ptr<Operation> copy_operation(const CheckedCopy& what, const Stream& stream) {
    return work(what.accesses, stream,
                [copy = what.copy](MemoryMap& memory) { move(memory, copy); });
}

std::unique_ptr<Operation> staged_operation(const CheckedCopy& what, const Stream& stream) {
    Copy copy = what.copy;
    auto bytes = std::make_unique<std::byte[]>(copy.width * copy.height * copy.depth);
    Copy aside = copy;
    aside.destination = {Side::Space::host, reinterpret_cast<std::uintptr_t>(bytes.get()),
                         copy.width, copy.width * copy.height};
    move(stream.context_pointer()->driver().memory, aside);
    copy.source = aside.destination;
    return work(what.accesses, stream,
                [copy, bytes = std::move(bytes)](MemoryMap& memory) { move(memory, copy); });
}

void check(const MemoryMap& memory, const Copy& what) { accesses_of(memory, what); }

std::unique_ptr<Operation> copy_operation(const Copy& what, const Stream& stream) {
    require(what.width && what.height && what.depth);
    return copy_operation(checked(stream.context_pointer()->driver().memory, what), stream);
}

void check(const MemoryMap& memory, const Fill& what) { accesses_of(memory, what); }

std::unique_ptr<Operation> fill_operation(const Fill& what, const Stream& stream) {
    return work(accesses_of(stream.context_pointer()->driver().memory, what), stream,
                [what](MemoryMap& memory) { run(memory, what); });
}

}  // namespace cupola::cpu
