/* cupola/event.h - events; part of the C ABI. */
#ifndef CUPOLA_EVENT_H
#define CUPOLA_EVENT_H

#include "cupola/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupola_event cupola_event;

/* An interprocess event has no timing. */
enum { CUPOLA_EVENT_BLOCKING = 1, CUPOLA_EVENT_NO_TIMING = 2, CUPOLA_EVENT_INTERPROCESS = 4 };

CUPOLA_API int cupola_event_create(int device, unsigned flags, cupola_event** out);
/* A handle by which another process opens the event. Keep the event as long as other processes use
 * it. */
CUPOLA_API int cupola_event_export(cupola_event* event, unsigned char handle[64]);
CUPOLA_API int cupola_event_import(int device, const unsigned char handle[64], cupola_event** out);
CUPOLA_API int cupola_event_record(cupola_event* event, cupola_stream* stream);
CUPOLA_API int cupola_event_synchronize(cupola_event* event);
CUPOLA_API int cupola_event_query(cupola_event* event, int* done);
CUPOLA_API int cupola_event_elapsed(cupola_event* start, cupola_event* stop, double* seconds);
CUPOLA_API void* cupola_event_handle(const cupola_event* event); /* CUevent */
CUPOLA_API int cupola_event_device(const cupola_event* event);
CUPOLA_API void cupola_event_retain(cupola_event* event);
CUPOLA_API void cupola_event_release(cupola_event* event);

/* Later work of the stream waits for the event. */
CUPOLA_API int cupola_stream_wait(cupola_stream* stream, cupola_event* event);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_EVENT_H */
