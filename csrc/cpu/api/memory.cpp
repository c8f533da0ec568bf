// csrc/cpu/api/memory.cpp - cu* entry points: allocation, pinned and managed memory.
//
// In NVIDIA's library the unsuffixed names (cuMemAlloc, cuMemcpyHtoD, ...) are CUDA 2's functions
// with 32-bit sizes and addresses. Here they are aliases of the 64-bit functions. An address on
// this device does not fit 32 bits, so the old functions could only fail. Scripts often bind the
// plain names with pointer-sized arguments, and these work. Sizes passed as 32-bit integers also
// work: the calling conventions zero-extend them.
#include "cpu/device/memory/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/launch/graph_memory.hpp"
#include "cpu/device/stream/pool.hpp"
#include "cpu/device/stream/stream.hpp"

using namespace cupola::cpu;

namespace {

Allocation owned(const Context& context, Allocation::Kind kind, unsigned flags) {
    Allocation like;
    like.kind = kind;
    like.flags = flags;
    like.device = context.device().ordinal();
    like.context = &context;
    return like;
}

CUresult allocate_device(CUdeviceptr* out, size_t bytes, Allocation::Kind kind, unsigned flags) {
    const auto& context = Context::usable();
    Capture::forbid(Driver::get());
    *out = Driver::get().memory.allocate(owned(*context, kind, flags), bytes, 0,
                                         context->device().budget());
    return CUDA_SUCCESS;
}

CUresult allocate_host(void** out, size_t bytes, unsigned flags) {
    return entry([&] {
        constexpr unsigned known =
            CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
        require(out && !(flags & ~known));
        const auto& context = Context::usable();
        Capture::forbid(Driver::get());
        if (bytes == 0) {  // succeeds and allocates nothing, as on hardware
            *out = nullptr;
            return CUDA_SUCCESS;
        }
        const auto begin = Driver::get().memory.allocate(
            owned(*context, Allocation::Kind::host, flags), bytes, 4096, Driver::get().host_memory);
        *out = reinterpret_cast<void*>(begin);
        return CUDA_SUCCESS;
    });
}

// The host allocation or registered range at a pointer.
Allocation pinned(const void* pointer) {
    const auto found = Driver::get().memory.at(reinterpret_cast<std::uintptr_t>(pointer));
    require(found && found->on_host());
    return *found;
}

// A kernel's access to a registered but unmapped page would crash the process.
bool mapped(std::uintptr_t begin, std::size_t bytes) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const std::uintptr_t first = begin / page * page;
    const std::size_t length = begin + bytes - first;
    std::vector<unsigned char> pages((length + page - 1) / page);
    return mincore(reinterpret_cast<void*>(first), length, pages.data()) == 0;
}

}  // namespace

CUPOLA_API CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
    return entry([&] {
        const Budget& budget = Context::usable()->device().budget();
        if (free) *free = budget.free();
        if (total) *total = budget.total();
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuMemGetInfo, cuMemGetInfo_v2);

CUPOLA_API CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
    return entry([&] {
        require(out && bytes > 0);
        return allocate_device(out, bytes, Allocation::Kind::device, 0);
    });
}
CUPOLA_ALIAS(cuMemAlloc, cuMemAlloc_v2);

CUPOLA_API CUresult cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height,
                                       unsigned int element) {
    return entry([&] {
        require(out && pitch && width && height);
        require(element == 4 || element == 8 || element == 16);
        constexpr size_t align = MemoryMap::alignment;
        size_t row = 0, bytes = 0;
        require(!__builtin_add_overflow(width, align - 1, &row) &&
                    !__builtin_mul_overflow(row / align * align, height, &bytes) &&
                    bytes <= Context::usable()->device().budget().total(),
                CUDA_ERROR_OUT_OF_MEMORY);
        row = row / align * align;
        require(width <= 2147483647);  // the device attribute MAX_PITCH
        const CUresult result = allocate_device(out, bytes, Allocation::Kind::device, 0);
        *pitch = row;
        return result;
    });
}
CUPOLA_ALIAS(cuMemAllocPitch, cuMemAllocPitch_v2);

CUPOLA_API CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned int flags) {
    return entry([&] {
        require(out && bytes > 0);
        require(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
        return allocate_device(out, bytes, Allocation::Kind::managed, flags);
    });
}

// Waits for all work first, because an earlier kernel may still use the memory.
CUPOLA_API CUresult cuMemFree_v2(CUdeviceptr address) {
    return entry([&] {
        if (address == 0) {
            Context::usable();
            return CUDA_SUCCESS;
        }
        Driver& driver = Driver::get();
        const auto find = [&] {
            const auto found = driver.memory.at(address);
            require(found && found->begin == address && !found->on_host() && !found->module &&
                    (found->kind != Allocation::Kind::imported || found->pool) &&
                    found->kind != Allocation::Kind::mapped);
            return *found;
        };
        find();
        const auto& context = Context::usable();
        Capture::forbid(Driver::get());
        synchronize(*context);
        const Allocation found = find();
        if (found.kind == Allocation::Kind::managed) driver.advice.forget(found.begin, found.end());
        if (found.kind == Allocation::Kind::pool)
            const_cast<Pool*>(found.pool)->free_now(address);
        else if (found.kind == Allocation::Kind::imported)
            driver.memory.drop_closed(address, driver.memory.close(address), driver.budget(found));
        else if (found.kind == Allocation::Kind::graph)
            require(GraphMemory::at(Driver::get(), address)->give());
        else
            driver.memory.release(address, driver.budget(found));
        return context->error();
    });
}
CUPOLA_ALIAS(cuMemFree, cuMemFree_v2);

CUPOLA_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
    return entry([&] {
        Context::usable();
        const auto found = Driver::get().memory.at(address);
        require(found.has_value(), CUDA_ERROR_NOT_FOUND);
        if (base) *base = found->begin;
        if (size) *size = found->size;
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuMemGetAddressRange, cuMemGetAddressRange_v2);

// Pinned memory.

CUPOLA_API CUresult cuMemAllocHost_v2(void** out, size_t bytes) {
    return allocate_host(out, bytes, 0);
}
CUPOLA_ALIAS(cuMemAllocHost, cuMemAllocHost_v2);

CUPOLA_API CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned int flags) {
    return allocate_host(out, bytes, flags);
}

CUPOLA_API CUresult cuMemFreeHost(void* pointer) {
    return entry([&] {
        const auto& context = Context::usable();
        if (!pointer) return CUDA_SUCCESS;
        const auto find = [&] {
            const Allocation found = pinned(pointer);
            require(found.kind == Allocation::Kind::host &&
                    found.begin == reinterpret_cast<std::uintptr_t>(pointer));
            return found;
        };
        find();
        Capture::forbid(Driver::get());
        synchronize(*context);
        Driver::get().memory.release(find().begin, Driver::get().host_memory);
        return context->error();
    });
}

CUPOLA_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* pointer,
                                                 unsigned int flags) {
    return entry([&] {
        Context::usable();
        require(out && flags == 0);
        pinned(pointer);
        *out = reinterpret_cast<CUdeviceptr>(pointer);
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2);

CUPOLA_API CUresult cuMemHostGetFlags(unsigned int* flags, void* pointer) {
    return entry([&] {
        Context::usable();
        require(flags);
        const Allocation found = pinned(pointer);
        // With unified addressing all pinned memory is mapped; NVIDIA's driver reports the same.
        *flags = found.flags | CU_MEMHOSTALLOC_DEVICEMAP;
        // Both kinds have these two flags, with the same numbers.
        if (found.kind == Allocation::Kind::registered)
            *flags &= CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned int flags) {
    return entry([&] {
        constexpr unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                   CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
        const auto& context = Context::usable();
        require(pointer && bytes > 0 && !(flags & ~known));
        require(!(flags & CU_MEMHOSTREGISTER_IOMEMORY), CUDA_ERROR_NOT_SUPPORTED);
        Capture::forbid(Driver::get());
        Allocation range = owned(*context, Allocation::Kind::registered, flags);
        range.begin = reinterpret_cast<std::uintptr_t>(pointer);
        range.size = bytes;
        std::uintptr_t end;
        require(!__builtin_add_overflow(range.begin, bytes, &end));
        const auto there = Driver::get().memory.at(range.begin);
        require(!there || there->kind != Allocation::Kind::host);
        require(!Driver::get().memory.overlaps(range.begin, end),
                CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        require(mapped(range.begin, bytes));
        Driver::get().memory.add_registered(range);
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuMemHostRegister, cuMemHostRegister_v2);

CUPOLA_API CUresult cuMemHostUnregister(void* pointer) {
    return entry([&] {
        const auto& context = Context::usable();
        const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
        const auto find = [&] {
            const auto found = Driver::get().memory.at(begin);
            require(begin != 0 && (!found || found->kind != Allocation::Kind::host));
            require(found && found->kind == Allocation::Kind::registered && found->begin == begin,
                    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        };
        find();
        synchronize(*context);
        find();
        Driver::get().memory.remove_registered(begin);
        return CUDA_SUCCESS;
    });
}
