/* cupola/profile.h - profiles of calls and device work; part of the C ABI. */
#ifndef CUPOLA_PROFILE_H
#define CUPOLA_PROFILE_H

#include "cupola/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupola_profile cupola_profile;

enum {
    CUPOLA_PROFILE_LAUNCH = 1,
    CUPOLA_PROFILE_GRAPH = 2,
    CUPOLA_PROFILE_TO_DEVICE = 3,
    CUPOLA_PROFILE_TO_HOST = 4,
    CUPOLA_PROFILE_ON_DEVICE = 5,
    CUPOLA_PROFILE_FILL = 6,
    CUPOLA_PROFILE_WAIT = 7, /* the host waits for a device */
    CUPOLA_PROFILE_HOST = 8, /* work of the host */
    CUPOLA_PROFILE_RANGE = 9 /* from cupola_profile_begin to its end */
};

typedef struct cupola_profile_record {
    int kind;         /* one of the above */
    const char* name; /* of a kernel or an activity; never freed */
    int device;       /* -1: none */
    uint64_t stream;  /* CUstream; 0 or 1 is the default stream */
    uint64_t thread;  /* the system's number of the calling thread */
    /* Seconds since the profile began: of the call, and of the work on the device; the latter are
     * NaN where there was none, where it became part of a graph, or where it failed. */
    double call_begin, call_end, begin, end;
    uint64_t bytes;               /* of copies and fills */
    cupola_dimensions dimensions; /* of launches */
} cupola_profile_record;

/* Until cupola_profile_stop, all work that this process queues through this library is timed, with
 * two events each. With `ranges`, calls are also NVTX ranges. Profiles may overlap. */
CUPOLA_API int cupola_profile_start(int ranges, cupola_profile** out);
/* Waits for the work queued since the start. Does not report its faults. */
CUPOLA_API int cupola_profile_stop(cupola_profile* profile);
/* Records, in the order in which the calls returned; none before cupola_profile_stop. */
CUPOLA_API size_t cupola_profile_count(const cupola_profile* profile);
CUPOLA_API int cupola_profile_get(const cupola_profile* profile, size_t index,
                                  cupola_profile_record* out);
CUPOLA_API void cupola_profile_release(cupola_profile* profile);

/* A range from here to cupola_profile_end of the same thread. Ranges nest. */
CUPOLA_API int cupola_profile_begin(const char* name);
CUPOLA_API int cupola_profile_end(void);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_PROFILE_H */
