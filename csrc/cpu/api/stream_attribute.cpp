// csrc/cpu/api/stream_attribute.cpp - cu* entry points: attributes of streams. All except the
// priority are stored and returned, without effect.
#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/launch.hpp"
#include "cpu/device/stream/stream.hpp"

#undef cuStreamGetAttribute
#undef cuStreamSetAttribute
#undef cuStreamCopyAttributes

using namespace cupola::cpu;

namespace {

bool of_streams(CUstreamAttrID id) {
    switch (static_cast<int>(id)) {
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
            return true;
        default:
            return false;
    }
}

CUstreamAttrValue initial(const Stream& stream, CUstreamAttrID id) {
    CUstreamAttrValue value{};
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) value.priority = stream.priority();
    if (id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) value.syncPolicy = CU_SYNC_POLICY_AUTO;
    if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) value.memSyncDomainMap = {0, 1};
    return value;
}

// Applies the rules for the attribute of a launch.
void check_value(CUstreamAttrID id, const CUstreamAttrValue& value) {
    CUlaunchConfig config{};
    CUlaunchAttribute one{};
    one.id = id;
    one.value = value;
    config.attrs = &one;
    config.numAttrs = 1;
    shape_of(Driver::get(), config);
}

}  // namespace

CUPOLA_API CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID id,
                                         CUstreamAttrValue* out) {
    return entry([&] {
        require(out && of_streams(id));
        const auto stream = stream_of(handle);
        *out = stream->attributes.get(id).value_or(initial(*stream, id));
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuStreamGetAttribute_ptsz(CUstream stream, CUstreamAttrID id,
                                              CUstreamAttrValue* out) {
    return cuStreamGetAttribute(Stream::per_thread(stream), id, out);
}

CUPOLA_API CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID id,
                                         const CUstreamAttrValue* value) {
    return entry([&] {
        require(value && of_streams(id));
        const auto stream = stream_of(handle);
        check_value(id, *value);
        // The priority of a stream cannot change.
        if (id != CU_LAUNCH_ATTRIBUTE_PRIORITY) stream->attributes.set(id, *value);
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuStreamSetAttribute_ptsz(CUstream stream, CUstreamAttrID id,
                                              const CUstreamAttrValue* value) {
    return cuStreamSetAttribute(Stream::per_thread(stream), id, value);
}

CUPOLA_API CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
    return entry([&] {
        const auto into = stream_of(to), of = stream_of(from);
        into->attributes.take(of->attributes.all());
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuStreamCopyAttributes_ptsz(CUstream to, CUstream from) {
    return cuStreamCopyAttributes(Stream::per_thread(to), Stream::per_thread(from));
}
