/* cupola/stream.h - streams, and host functions in stream order; part of the C ABI. */
#ifndef CUPOLA_STREAM_H
#define CUPOLA_STREAM_H

#include "cupola/library.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupola_stream cupola_stream;

enum { CUPOLA_STREAM_NON_BLOCKING = 1 }; /* does not wait for the legacy default stream */

CUPOLA_API int cupola_stream_create(int device, unsigned flags, int priority, cupola_stream** out);
/* The lowest and highest priority of the device's streams; higher priorities are smaller numbers.
 */
CUPOLA_API int cupola_stream_priorities(int device, int* least, int* greatest);
CUPOLA_API int cupola_stream_priority(cupola_stream* stream, int* priority, unsigned* flags);
/* A stream owned by other code; `release(owner)` is called when cupola no longer needs it. */
CUPOLA_API int cupola_stream_wrap(int device, void* handle, void* owner, void (*release)(void*),
                                  cupola_stream** out);
/* This thread's current stream of the device, a new reference: the last one pushed, else the
 * legacy default stream. */
CUPOLA_API int cupola_stream_current(int device, cupola_stream** out);
/* As above, without a reference: valid until this thread's current stream changes. */
CUPOLA_API int cupola_stream_peek(int device, cupola_stream** out);
CUPOLA_API int cupola_stream_push(cupola_stream* stream);
CUPOLA_API int cupola_stream_pop(cupola_stream* stream); /* fails unless it was pushed last */
CUPOLA_API int cupola_stream_synchronize(cupola_stream* stream);
CUPOLA_API int cupola_stream_query(cupola_stream* stream, int* done);
/* Later work of the stream waits for all work queued on `handle`, any CUstream of the same device.
 * Where only the first stream is captured, the caller waits instead: a graph can't wait for work
 * outside of it. */
CUPOLA_API int cupola_stream_follow(cupola_stream* stream, void* handle);
CUPOLA_API void* cupola_stream_handle(const cupola_stream* stream); /* CUstream */
CUPOLA_API int cupola_stream_device(const cupola_stream* stream);
CUPOLA_API void cupola_stream_retain(cupola_stream* stream);
CUPOLA_API void cupola_stream_release(cupola_stream* stream);

/* Queues call(data). It runs on a thread of the driver after all earlier work; later work waits for
 * it. It must not call the driver, so nearly no function of this library. Objects that it releases
 * are deleted on another thread. release(data), where given, is called after it. Where earlier work
 * fails, neither is called. */
CUPOLA_API int cupola_stream_call(cupola_stream* stream, void (*call)(void*), void* data,
                                  void (*release)(void*));
/* The number of such calls in this process that have not returned. Check it before you queue work
 * while holding a lock that the calls need, such as the GIL. Queueing may wait for a stream that
 * waits for such a call, which waits for the lock: a deadlock. */
CUPOLA_API int cupola_callbacks_pending(void);
/* Counts one more call until the matching drop: for a thread that releases the lock and then queues
 * a call. */
CUPOLA_API void cupola_callbacks_hold(void);
CUPOLA_API void cupola_callbacks_drop(void);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_STREAM_H */
