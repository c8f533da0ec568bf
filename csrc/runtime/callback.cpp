// csrc/runtime/callback.cpp - running callbacks, counting them, and what must not end inside one.
#include "runtime/callback.hpp"

#include <pthread.h>
#include <new>

#include <memory>
#include <vector>

#include "runtime/capture.hpp"
#include "runtime/stream.hpp"

namespace cupola {
namespace {

// Of a thread that is inside a callback: what was let go there. Destructors call the driver, which
// must not be called on that thread.
using Remains = std::vector<Object*>;
thread_local Remains* remains = nullptr;

void* destroy(void* list) {
    std::unique_ptr<Remains> objects(static_cast<Remains*>(list));
    for (Object* object : *objects) delete object;
    return nullptr;
}

// On a thread of its own. Where there can be none they are kept: that is safe.
void destroy_elsewhere(Remains& objects) {
    auto* list = new Remains(std::move(objects));
    pthread_t thread;
    if (pthread_create(&thread, nullptr, &destroy, list) == 0) pthread_detach(thread);
}

}  // namespace

std::atomic<int> Callback::pending{0};

void Object::end() noexcept {
    if (__builtin_expect(remains == nullptr, 1)) {
        delete this;
        return;
    }
    try {
        remains->push_back(this);
    } catch (const std::bad_alloc&) {  // it is kept
    }
}

void Callback::expect() noexcept {
    retain();
    pending.fetch_add(1);
}

void Callback::give_up() noexcept {
    pending.fetch_sub(1);
    release();
}

void Callback::run(void* callback) {
    Remains left;
    remains = &left;
    auto* self = static_cast<Callback*>(callback);
    self->call_(self->data_);
    self->release();
    remains = nullptr;
    if (!left.empty()) destroy_elsewhere(left);
    pending.fetch_sub(1);
}

}  // namespace cupola

using namespace cupola;

int cupola_stream_call(cupola_stream* stream, void (*call)(void*), void* data,
                       void (*release)(void*)) {
    return guard([&] {
        Stream& s = *unwrap(required(stream, "stream"));
        required(reinterpret_cast<void*>(call), "call");
        Current current(s.context);
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        CUPOLA_CALL(cuStreamIsCapturing, s.handle, &status);
        const auto capture = Capture::of(s);
        if (status != CU_STREAM_CAPTURE_STATUS_NONE && !capture)
            fail(CUPOLA_ERROR_VALUE,
                 "the stream is being captured: a function can't be held by the graph of another "
                 "library");
        auto callback = make<Callback>(call, data, release);
        if (capture) {
            CUresult code = driver().cuLaunchHostFunc(s.handle, &Callback::run, callback.get());
            if (code != CUDA_SUCCESS) {
                callback->disown();
                fail_driver(code, "cuLaunchHostFunc");
            }
            std::lock_guard<std::mutex> lock(capture->box->mutex);
            capture->calls.push_back(std::move(callback));
            return;
        }
        callback->expect();
        CUresult code = driver().cuLaunchHostFunc(s.handle, &Callback::run, callback.get());
        if (code == CUDA_SUCCESS) return;
        callback->disown();
        callback->give_up();
        fail_driver(code, "cuLaunchHostFunc");
    });
}

int cupola_callbacks_pending(void) { return Callback::pending.load(std::memory_order_acquire); }
void cupola_callbacks_hold(void) { Callback::pending.fetch_add(1); }
void cupola_callbacks_drop(void) { Callback::pending.fetch_sub(1); }
