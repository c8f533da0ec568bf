// csrc/runtime/abi/pipeline.cpp - the functions of cupola/pipeline.h.
#include "cupola/pipeline.h"

#include "runtime/pipeline/pipeline.hpp"

using namespace cupola;

namespace {

// Runs one step of a slot. A function of the caller may stop the pipeline in it.
template <class Body>
int take_step(cupola_pipeline* pipeline, Body&& body) {
    bool stopped = false;
    const int status = guard([&] {
        Pipeline& p = *unwrap(check_not_null(pipeline, "pipeline"));
        try {
            body(p);
        } catch (const Stopped&) {
            stopped = true;
        }
    });
    return stopped ? CUPOLA_PIPELINE_STOPPED : status;
}

}  // namespace

int cupola_pipeline_create(const cupola_pipeline_array* arrays, size_t count, int64_t length,
                           cupola_pipeline** out) {
    return guard([&] {
        check_not_null(out, "out");
        *out = wrap(make<Pipeline>(arrays, count, length).detach());
    });
}

int64_t cupola_pipeline_chunks(const cupola_pipeline* pipeline) {
    return pipeline ? unwrap(pipeline)->chunks() : 0;
}

size_t cupola_pipeline_slots(const cupola_pipeline* pipeline) {
    return pipeline ? unwrap(pipeline)->slots() : 0;
}

int cupola_pipeline_add_slot(cupola_pipeline* pipeline, cupola_stream* stream,
                             cupola_memory* const* device, cupola_memory* const* staging,
                             size_t* slot) {
    return guard([&] {
        check_not_null(slot, "slot");
        *slot =
            unwrap(check_not_null(pipeline, "pipeline"))
                ->add_slot(*unwrap(check_not_null(stream, "stream")),
                           check_not_null(device, "device"), check_not_null(staging, "staging"));
    });
}

int cupola_pipeline_set_kernel(cupola_pipeline* pipeline, size_t slot, cupola_kernel* kernel,
                               const cupola_dimensions* dimensions, const void* arguments,
                               size_t count, const uint32_t* forms) {
    return guard([&] {
        unwrap(check_not_null(pipeline, "pipeline"))
            ->set_kernel(slot, *unwrap(check_not_null(kernel, "kernel")),
                         check_not_null(dimensions, "dimensions"),
                         static_cast<const char*>(check_not_null(arguments, "arguments")), count,
                         check_not_null(forms, "forms"));
    });
}

int cupola_pipeline_set_call(cupola_pipeline* pipeline, int (*call)(void*, size_t, int64_t),
                             void* data) {
    return guard([&] {
        Pipeline& p = *unwrap(check_not_null(pipeline, "pipeline"));
        p.call = call;
        p.call_data = data;
    });
}

int cupola_pipeline_set_report(cupola_pipeline* pipeline, int (*report)(void*, int64_t), void* data,
                               double interval) {
    return guard([&] {
        Pipeline& p = *unwrap(check_not_null(pipeline, "pipeline"));
        p.report = report;
        p.report_data = data;
        p.interval = std::chrono::duration<double>(interval);
    });
}

int cupola_pipeline_fill(cupola_pipeline* pipeline, size_t slot, int64_t chunk) {
    return take_step(pipeline, [&](Pipeline& p) { p.fill(slot, chunk); });
}

int cupola_pipeline_upload(cupola_pipeline* pipeline, size_t slot) {
    return take_step(pipeline, [&](Pipeline& p) { p.upload(slot); });
}

int cupola_pipeline_launch(cupola_pipeline* pipeline, size_t slot) {
    return take_step(pipeline, [&](Pipeline& p) { p.launch(slot); });
}

int cupola_pipeline_download(cupola_pipeline* pipeline, size_t slot) {
    return take_step(pipeline, [&](Pipeline& p) { p.download(slot); });
}

int cupola_pipeline_drain(cupola_pipeline* pipeline, size_t slot) {
    return take_step(pipeline, [&](Pipeline& p) { p.drain(slot); });
}

int64_t cupola_pipeline_chunk(const cupola_pipeline* pipeline, size_t slot) {
    return pipeline ? unwrap(pipeline)->chunk(slot) : -1;
}

int cupola_pipeline_ready(cupola_pipeline* pipeline, size_t slot, int* ready) {
    return take_step(pipeline,
                     [&](Pipeline& p) { *check_not_null(ready, "ready") = p.ready(slot); });
}

int cupola_pipeline_run(cupola_pipeline* pipeline) {
    bool stopped = false;
    const int status = guard([&] {
        try {
            unwrap(check_not_null(pipeline, "pipeline"))->run();
        } catch (const Stopped&) {
            stopped = true;
        }
    });
    return stopped ? CUPOLA_PIPELINE_STOPPED : status;
}

int cupola_pipeline_finish(cupola_pipeline* pipeline, int succeeded) {
    return guard([&] { unwrap(check_not_null(pipeline, "pipeline"))->finish(succeeded != 0); });
}

void cupola_pipeline_failed(const cupola_pipeline* pipeline, int64_t* first, int64_t* last) {
    *first = *last = -1;
    if (pipeline) unwrap(pipeline)->failed(*first, *last);
}

void cupola_pipeline_release(cupola_pipeline* pipeline) {
    if (pipeline) unwrap(pipeline)->release();
}
