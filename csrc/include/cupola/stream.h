/* cupola/stream.h - streams, and functions of the program that run in their order; part of the C
 * ABI. */
#ifndef CUPOLA_STREAM_H
#define CUPOLA_STREAM_H

#include "cupola/library.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupola_stream cupola_stream;

enum { CUPOLA_STREAM_NON_BLOCKING = 1 }; /* does not wait for the legacy default stream */

CUPOLA_API int cupola_stream_create(int device, unsigned flags, int priority, cupola_stream** out);
/* The least and the greatest priority of the device's streams: the greatest is the smaller. */
CUPOLA_API int cupola_stream_priorities(int device, int* least, int* greatest);
CUPOLA_API int cupola_stream_priority(cupola_stream* stream, int* priority, unsigned* flags);
/* A stream that somebody else owns; `release(owner)` is called when cupola no longer needs it. */
CUPOLA_API int cupola_stream_wrap(int device, void* handle, void* owner, void (*release)(void*),
                                  cupola_stream** out);
/* This thread's current stream of the device, a new reference: the last one pushed, else the
 * legacy default stream. */
CUPOLA_API int cupola_stream_current(int device, cupola_stream** out);
/* The same without a reference: valid until this thread's current stream changes. */
CUPOLA_API int cupola_stream_peek(int device, cupola_stream** out);
CUPOLA_API int cupola_stream_push(cupola_stream* stream);
CUPOLA_API int cupola_stream_pop(cupola_stream* stream); /* fails unless it was pushed last */
CUPOLA_API int cupola_stream_synchronize(cupola_stream* stream);
CUPOLA_API int cupola_stream_query(cupola_stream* stream, int* done);
/* What is queued from now on waits for all that was queued on the stream of this handle, a CUstream
 * of the same device that anybody owns. Where the stream is captured and the other is not, the
 * caller waits instead: a graph can't wait for work outside of it. */
CUPOLA_API int cupola_stream_follow(cupola_stream* stream, void* handle);
CUPOLA_API void* cupola_stream_handle(const cupola_stream* stream); /* CUstream */
CUPOLA_API int cupola_stream_device(const cupola_stream* stream);
CUPOLA_API void cupola_stream_retain(cupola_stream* stream);
CUPOLA_API void cupola_stream_release(cupola_stream* stream);

/* Queues call(data): it runs when all before it is done, on a thread of the driver's, and what
 * comes after it waits for it. It must not use the driver, and so next to nothing of this library;
 * what it releases is released elsewhere. release(data), where given, follows it. Where work before
 * it fails neither is ever called. */
CUPOLA_API int cupola_stream_call(cupola_stream* stream, void (*call)(void*), void* data,
                                  void (*release)(void*));
/* How many such calls of this process have yet to return. Whoever holds a lock that they take, as
 * Python's global one, while he queues work looks here first: queueing may wait for a stream that
 * waits for a call that waits for the lock. */
CUPOLA_API int cupola_callbacks_pending(void);
/* Counts as one from here to drop: for a thread that is about to let go of the lock and then to
 * queue a call. */
CUPOLA_API void cupola_callbacks_hold(void);
CUPOLA_API void cupola_callbacks_drop(void);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_STREAM_H */
