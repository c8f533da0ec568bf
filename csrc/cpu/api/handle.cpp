// csrc/cpu/api/handle.cpp - looks handles up in the driver of the process.
#include "cpu/api/handle.hpp"

#include <utility>

#include "cpu/device/context/green_context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/module/library.hpp"
#include "cpu/device/stream/event.hpp"
#include "cpu/device/stream/stream.hpp"
#include "cpu/device/texture/array.hpp"

namespace cupola::cpu {

CurrentContext named_context(CUcontext handle) {
    if (auto context = Driver::get().contexts.find(handle)) return {std::move(context), nullptr};
    const auto view = Driver::get().context_views.get(handle, CUDA_ERROR_INVALID_CONTEXT);
    return {view->context, view};
}

std::shared_ptr<Context> context_of(CUcontext handle) { return named_context(handle).context; }

std::shared_ptr<Context> context_or_current(CUcontext handle) {
    return handle ? context_of(handle) : Context::current();
}

std::shared_ptr<Stream> stream_of(CUstream handle) {
    if (handle == nullptr || handle == CU_STREAM_LEGACY) return Context::usable()->legacy();
    if (handle == CU_STREAM_PER_THREAD) return per_thread_stream(Context::usable());
    // Another stream has its own context; the current context does not matter.
    auto stream = Driver::get().streams.get(handle, CUDA_ERROR_INVALID_HANDLE);
    stream->context()->check();
    require(!stream->green || stream->green->alive(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return stream;
}

std::shared_ptr<Event> event_of(CUevent handle) {
    require(handle != nullptr, CUDA_ERROR_INVALID_HANDLE);
    return Driver::get().events.get(handle, CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

std::shared_ptr<Function> function_of(CUfunction handle) {
    Driver& driver = Driver::get();
    if (auto function = driver.functions.find(handle)) return function;
    if (auto kernel = driver.kernels.find(handle)) return kernel->function(Context::usable());
    fail(CUDA_ERROR_INVALID_HANDLE);
}

std::shared_ptr<Array> array_of(CUarray handle) { return Array::from(Driver::get(), handle); }

std::shared_ptr<MipmappedArray> mipmapped_array_of(CUmipmappedArray handle) {
    return MipmappedArray::from(Driver::get(), handle);
}

}  // namespace cupola::cpu
