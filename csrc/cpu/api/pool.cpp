// csrc/cpu/api/pool.cpp - cu* entry points: memory pools and stream-ordered allocation.
#include "cpu/device/stream/pool.hpp"

#include <climits>

#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/stream/stream.hpp"

using namespace cupola::cpu;

namespace {

std::shared_ptr<Pool> pool_of(CUmemoryPool handle) {
    return Driver::get().pools.get(handle, CUDA_ERROR_INVALID_VALUE);
}

// In a capture, an allocation becomes a node of the graph.
CUdeviceptr captured(Capture& capture, Stream& stream, const PoolPlace& place, size_t bytes) {
    const auto memory = GraphMemory::make(stream.context_pointer()->driver(), place, bytes);
    capture.add(stream, AllocateNode{memory});
    return memory->address();
}

}  // namespace

CUPOLA_API CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream handle) {
    return entry([&] {
        require(out);
        const auto stream = stream_of(handle);
        const auto capture = Capture::of(*stream);
        *out = 0;
        if (bytes == 0) return CUDA_SUCCESS;  // returns a null address, as on hardware
        if (!capture) Capture::forbid(Driver::get());
        Device& device = stream->context_pointer()->device();
        *out = capture ? captured(*capture, *stream, device.pool()->place(), bytes)
                       : device.pool()->allocate(*stream, bytes);
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuMemAllocAsync_ptsz(CUdeviceptr* out, size_t bytes, CUstream stream) {
    return cuMemAllocAsync(out, bytes, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool pool,
                                            CUstream handle) {
    return entry([&] {
        require(out);
        const auto stream = stream_of(handle);
        const auto capture = Capture::of(*stream);
        const auto from = pool_of(pool);
        *out = 0;
        if (bytes == 0) return CUDA_SUCCESS;
        if (!capture) {
            Capture::forbid(Driver::get());
            *out = from->allocate(*stream, bytes);
            return CUDA_SUCCESS;
        }
        // Memory of a graph is device memory or managed memory.
        require(from->place().on_device() || from->place().managed(), CUDA_ERROR_NOT_SUPPORTED);
        *out = captured(*capture, *stream, from->place(), bytes);
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* out, size_t bytes, CUmemoryPool pool,
                                                 CUstream stream) {
    return cuMemAllocFromPoolAsync(out, bytes, pool, Stream::per_thread(stream));
}

// Also accepts memory from cuMemAlloc, which is freed when the stream reaches the call.
CUPOLA_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
    return entry([&] {
        const auto stream = stream_of(handle);
        const auto capture = Capture::of(*stream);
        if (address == 0) return CUDA_SUCCESS;
        if (capture) {
            capture->add(*stream, FreeNode{GraphMemory::at(Driver::get(), address)});
            return CUDA_SUCCESS;
        }
        Capture::forbid(Driver::get());
        Driver& driver = Driver::get();
        const auto found = driver.memory.at(address);
        require(found && found->begin == address && !found->on_host() && !found->module &&
                (found->kind != Allocation::Kind::imported || found->pool) &&
                found->kind != Allocation::Kind::mapped);
        if (found->kind == Allocation::Kind::imported) {
            stream->submit(task([address, id = driver.memory.close(address), &driver,
                                 &budget = driver.budget(*found)](CUresult) {
                driver.memory.drop_closed(address, id, budget);
            }));
            return CUDA_SUCCESS;
        }
        if (found->kind == Allocation::Kind::graph) {
            const auto memory = GraphMemory::at(Driver::get(), address);
            require(memory->give());
            // The memory stays allocated until the stream reaches the free.
            stream->submit(task([memory](CUresult) {}));
            return CUDA_SUCCESS;
        }
        if (found->kind == Allocation::Kind::pool) {
            const_cast<Pool*>(found->pool)->free_on(*stream, address);
            return CUDA_SUCCESS;
        }
        stream->submit(task([id = found->id, address](CUresult) {
            Driver& then = Driver::get();
            const auto now = then.memory.at(address);
            if (now && now->id == id) then.memory.release(address, then.budget(*now));
        }));
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
    return cuMemFreeAsync(address, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
    return entry([&] {
        require(out && properties);
        Capture::forbid(Driver::get());
        const auto place = PoolPlace::of(Driver::get().devices.size(), properties->allocType,
                                         properties->location, true);
        require(!place.managed() || (properties->maxSize == 0 && properties->usage == 0));
        constexpr unsigned known =
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC;
        require((properties->handleTypes & ~known) == 0);
        require(!(properties->handleTypes & CU_MEM_HANDLE_TYPE_FABRIC), CUDA_ERROR_NOT_SUPPORTED);
        const bool shared = properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE;
        require(!shared || (!place.managed() && place.location.type != CU_MEM_LOCATION_TYPE_HOST));
        const auto pool = shared ? Pool::make_shareable(Driver::get(), place, properties->maxSize)
                                 : Pool::make(Driver::get(), place, properties->maxSize, false);
        *out = pool->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemPoolDestroy(CUmemoryPool handle) {
    return entry([&] {
        auto pool = pool_of(handle);
        require(!pool->is_default());
        require(Driver::get().pools.remove(handle) != nullptr);
        if (!pool->imported() && Pool::current_of(Driver::get(), pool->place()) == pool)
            Pool::set_current(Pool::default_of(Driver::get(), pool->place()));
        pool->retire();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    return entry([&] {
        const auto which = pool_of(pool);
        Capture::forbid(Driver::get());
        which->trim(keep);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                          void* value) {
    return entry([&] {
        require(value);
        const auto which = pool_of(pool);
        Capture::forbid(Driver::get());
        which->get(attribute, value);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                          void* value) {
    return entry([&] {
        require(value);
        pool_of(pool)->set(attribute, value);
        return CUDA_SUCCESS;
    });
}

// All device memory is host memory, so every device can always access every device's pool. A pool
// of the host is accessible to all devices or to none, by the last setting for any device.

CUPOLA_API CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access,
                                       size_t count) {
    return entry([&] {
        const auto which = pool_of(pool);
        require(access && count);
        const bool devices = which->place().on_device() && !which->place().managed();
        for (size_t i = 0; i < count; ++i) {
            const CUmemAccessDesc& each = access[i];
            const bool on_host = each.location.type == CU_MEM_LOCATION_TYPE_HOST;
            require(on_host || each.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
            if (on_host) {  // the host can access host and managed pools, but no device pool
                require(!devices && (each.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
                                     which->place().managed()),
                        CUDA_ERROR_NOT_SUPPORTED);
                continue;
            }
            const Device& device = Driver::get().device(each.location.id);
            require(each.flags != CU_MEM_ACCESS_FLAGS_PROT_READ, CUDA_ERROR_NOT_SUPPORTED);
            require(each.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
                    each.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
            require(!devices || &device != &which->device() ||
                        each.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                    CUDA_ERROR_INVALID_DEVICE);
            which->open(each.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        }
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool,
                                       CUmemLocation* location) {
    return entry([&] {
        const auto which = pool_of(pool);
        require(flags && location && location->type != CU_MEM_LOCATION_TYPE_NONE);
        const auto from = PoolPlace::of(Driver::get().devices.size(), CU_MEM_ALLOCATION_TYPE_PINNED,
                                        *location, false);
        // NVIDIA's driver reports no access for managed memory, which all devices can access.
        const bool access = !which->place().managed() &&
                            (from.on_device() ? which->open() : !which->place().on_device());
        *flags = access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return CUDA_SUCCESS;
    });
}

// Pools that processes share.

CUPOLA_API CUresult cuMemPoolExportToShareableHandle(void* out, CUmemoryPool handle,
                                                     CUmemAllocationHandleType type,
                                                     unsigned long long flags) {
    return entry([&] {
        const auto pool = pool_of(handle);
        require(out && flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        require(pool->file() && !pool->imported());
        *static_cast<int*>(out) = pool->file()->duplicate();
        return CUDA_SUCCESS;
    });
}

// The pointer argument holds a file descriptor.
CUPOLA_API CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* out, void* handle,
                                                       CUmemAllocationHandleType type,
                                                       unsigned long long flags) {
    return entry([&] {
        require(out && flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        const auto descriptor = reinterpret_cast<std::uintptr_t>(handle);
        require(descriptor <= INT_MAX, CUDA_ERROR_UNKNOWN);
        *out = Pool::open(Driver::get(), static_cast<int>(descriptor))->handle();
        return CUDA_SUCCESS;
    });
}

static_assert(sizeof(CUmemPoolPtrExportData) == SharedFile::name_size);

CUPOLA_API CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* out, CUdeviceptr address) {
    return entry([&] {
        Driver& driver = Driver::get();
        const auto found = driver.memory.at(address);
        require(out && found && found->begin == address && found->shareable);
        driver.memory.share(address, driver.gate, found->pool->file()->number())->name(out);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemPoolImportPointer(CUdeviceptr* out, CUmemoryPool handle,
                                           CUmemPoolPtrExportData* data) {
    return entry([&] {
        const auto pool = pool_of(handle);
        require(out && data && pool->imported());
        Allocation like;
        like.device = pool->device().ordinal();
        like.context = Context::usable().get();
        like.pool = pool.get();
        like.importer = pool;
        like.open = pool->open();
        like.place =
            pool->place().on_device() ? Allocation::Place::device : Allocation::Place::host;
        *out = Driver::get().memory.open(like, data, pool->file()->number());
        return CUDA_SUCCESS;
    });
}
