// csrc/cpu/api/context.cpp - cu* entry points: contexts.
#include "cpu/device/context/context.hpp"

#include "cpu/api/handle.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/lifecycle/context_lifecycle.hpp"
#include "cpu/device/stream/pool.hpp"
#include "cpu/device/stream/stream.hpp"

using namespace cupola::cpu;

namespace {

CUresult create(CUcontext* out, unsigned flags, CUdevice device) {
    return entry([&] {
        require(out);
        Context::check_flags(flags);
        auto context = std::make_shared<Context>(Driver::get().device(device), flags, false);
        open_context(*context, flags);
        Driver::get().contexts.add(context);
        *out = context->handle();
        Context::stack().push_back({std::move(context), nullptr});
        return CUDA_SUCCESS;
    });
}

CUresult synchronize(const std::shared_ptr<Context>& context) {
    context->check();
    Capture::forbid(*context);
    cupola::cpu::synchronize(*context);
    context->device().pool()->settle();
    return context->error();
}

}  // namespace

CUPOLA_API CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
    return create(context, flags, device);
}
CUPOLA_ALIAS(cuCtxCreate, cuCtxCreate_v2);

// Execution affinity, which restricts a context to some multiprocessors, is not supported.
CUPOLA_API CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int count,
                                   unsigned int flags, CUdevice device) {
    if (affinity || count) return entry([] { return CUDA_ERROR_NOT_SUPPORTED; });
    return create(context, flags, device);
}

CUPOLA_API CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters,
                                   unsigned int flags, CUdevice device) {
    if (parameters && (parameters->execAffinityParams || parameters->cigParams))
        return entry([] { return CUDA_ERROR_NOT_SUPPORTED; });
    return create(context, flags, device);
}

CUPOLA_API CUresult cuCtxDestroy_v2(CUcontext handle) {
    return entry([&] {
        require(handle != nullptr);
        auto context = context_of(handle);
        require(!context->primary(), CUDA_ERROR_INVALID_CONTEXT);
        context = Driver::get().contexts.remove(handle);
        require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
        close_context(*context);
        auto& stack = Context::stack();
        if (!stack.empty() && stack.back().context == context) stack.pop_back();
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuCtxDestroy, cuCtxDestroy_v2);

CUPOLA_API CUresult cuCtxPushCurrent_v2(CUcontext handle) {
    return entry([&] {
        require(handle != nullptr);
        Context::stack().push_back(named_context(handle));
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuCtxPushCurrent, cuCtxPushCurrent_v2);

CUPOLA_API CUresult cuCtxPopCurrent_v2(CUcontext* out) {
    return entry([&] {
        Context::current();
        const CUcontext handle = Context::stack().back().handle();
        Context::stack().pop_back();
        if (out) *out = handle;
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuCtxPopCurrent, cuCtxPopCurrent_v2);

CUPOLA_API CUresult cuCtxSetCurrent(CUcontext handle) {
    return entry([&] {
        auto& stack = Context::stack();
        if (!handle) {
            if (!stack.empty()) stack.pop_back();
            return CUDA_SUCCESS;
        }
        auto current = named_context(handle);
        if (stack.empty())
            stack.push_back(std::move(current));
        else
            stack.back() = std::move(current);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxGetCurrent(CUcontext* out) {
    return entry([&] {
        require(out);
        const auto& stack = Context::stack();
        *out = stack.empty() ? nullptr : stack.back().handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
    return entry([&] {
        require(device);
        *device = context_or_current(context)->device().ordinal();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxGetDevice(CUdevice* device) { return cuCtxGetDevice_v2(device, nullptr); }

CUPOLA_API CUresult cuCtxGetFlags(unsigned int* flags) {
    return entry([&] {
        require(flags);
        *flags = Context::current()->flags;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxSetFlags(unsigned int flags) {
    return entry([&] {
        Context::check_flags(flags);
        Context::current()->flags = flags;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
    return entry([&] {
        require(id);
        *id = context_or_current(context)->id();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxGetApiVersion(CUcontext context, unsigned int* version) {
    return entry([&] {
        require(version);
        context_or_current(context);
        *version = 3020;  // the same constant as in NVIDIA's driver
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxSynchronize_v2(CUcontext context) {
    return entry([&] { return synchronize(context_or_current(context)); });
}

CUPOLA_API CUresult cuCtxSynchronize(void) { return cuCtxSynchronize_v2(nullptr); }

namespace {

// The limits that exist, as on an H200.
void check_limit(CUlimit limit) {
    require(limit >= 0 && limit < CU_LIMIT_MAX);
    require(limit != CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH && limit != 9, CUDA_ERROR_UNSUPPORTED_LIMIT);
}

}  // namespace

CUPOLA_API CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
    return entry([&] {
        require(value);
        check_limit(limit);
        *value = Context::usable()->get_limit(limit);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    return entry([&] {
        check_limit(limit);
        const auto& context = Context::usable();
        // Graphics limits are read-only. There is no L2 cache to reserve.
        require(limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE, CUDA_ERROR_NOT_PERMITTED);
        // The heap is already allocated, so its size cannot change.
        require(limit != CU_LIMIT_MALLOC_HEAP_SIZE || !context->heap().made());
        // Each device has this limit.
        require(limit != CU_LIMIT_STACK_SIZE || value <= 512 << 10);
        if (limit != CU_LIMIT_PERSISTING_L2_CACHE_SIZE) context->set_limit(limit, value);
        return CUDA_SUCCESS;
    });
}

// The settings of caches and banks have no effect; they are stored and returned.

CUPOLA_API CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
    return entry([&] {
        require(config);
        *config = static_cast<CUfunc_cache>(Context::usable()->cache_config.load());
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
    return entry([&] {
        require(config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL);
        Context::usable()->cache_config = config;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
    return entry([&] {
        require(config);
        *config = static_cast<CUsharedconfig>(Context::usable()->shared_config.load());
        return CUDA_SUCCESS;
    });
}

// As on devices since 3.7, the bank size is fixed; the setting is accepted and ignored.
CUPOLA_API CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
    return entry([&] {
        require(config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
                config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
        Context::usable();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxResetPersistingL2Cache(void) {
    return entry([&] {
        Context::usable();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    return entry([&] {
        Context::usable();
        if (least) *least = 0;
        if (greatest) *greatest = -5;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags) {
    return entry([&] {
        require(flags == 0);
        const auto& context = Context::usable();
        const auto peer = context_of(handle);
        require(&peer->device() != &context->device(), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
        const std::uint64_t bit = std::uint64_t{1} << peer->device().ordinal();
        require(!(context->peers.fetch_or(bit) & bit), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxDisablePeerAccess(CUcontext handle) {
    return entry([&] {
        const auto& context = Context::usable();
        const auto peer = context_of(handle);
        const std::uint64_t bit = std::uint64_t{1} << peer->device().ordinal();
        require(context->peers.fetch_and(~bit) & bit, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
        return CUDA_SUCCESS;
    });
}
