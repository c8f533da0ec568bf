// csrc/dropin/cudart/stream/event.cpp - events are recorded.
#include "dropin/cudart/cudart.hpp"

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return entry([&](const Driver& d) { return d.EventRecord(event, stream); });
}

CUPOLA_CUDART cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                                   unsigned flags) {
    return entry([&](const Driver& d) { return d.EventRecordWithFlags(event, stream, flags); });
}
