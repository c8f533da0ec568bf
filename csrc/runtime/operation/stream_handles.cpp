// csrc/runtime/operation/stream_handles.cpp - keeps the last streams of other libraries.
#include "runtime/operation/stream_handles.hpp"

namespace cupola {

Stream& stream_of_handle(Context& context, CUstream handle) {
    if (!handle || handle == CU_STREAM_LEGACY) return *context.default_stream;
    struct Known {
        CUstream handle = nullptr;
        Ref<Stream> stream;
    };
    constexpr unsigned kept = 4;
    thread_local Known known[kept];
    thread_local unsigned oldest = 0;
    for (const Known& one : known)
        if (one.handle == handle && one.stream && &one.stream->context == &context)
            return *one.stream;
    Known& slot = known[oldest++ % kept];
    slot = {handle, make<Stream>(context, handle)};
    return *slot.stream;
}

}  // namespace cupola
