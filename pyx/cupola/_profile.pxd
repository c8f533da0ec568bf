# cupola/_profile.pxd - cupola/profile.h; internal.

from libc.stdint cimport uint64_t

from cupola._abi cimport cupola_dimensions

cdef extern from *:
    """
    typedef struct cupola_profile cupola_profile;
    """
    ctypedef struct cupola_profile:
        pass

cdef extern from "cupola/profile.h" nogil:
    enum:
        CUPOLA_PROFILE_LAUNCH
        CUPOLA_PROFILE_GRAPH
        CUPOLA_PROFILE_TO_DEVICE
        CUPOLA_PROFILE_TO_HOST
        CUPOLA_PROFILE_ON_DEVICE
        CUPOLA_PROFILE_FILL
        CUPOLA_PROFILE_WAIT
        CUPOLA_PROFILE_HOST
        CUPOLA_PROFILE_RANGE

    ctypedef struct cupola_profile_record:
        int kind
        const char* name
        int device
        uint64_t stream
        uint64_t thread
        double call_begin
        double call_end
        double begin
        double end
        uint64_t bytes
        cupola_dimensions dimensions

    int cupola_profile_start(int ranges, cupola_profile** out)
    int cupola_profile_stop(cupola_profile* profile)
    size_t cupola_profile_count(const cupola_profile* profile)
    int cupola_profile_get(
        const cupola_profile* profile, size_t index, cupola_profile_record* out)
    void cupola_profile_release(cupola_profile* profile)
    int cupola_profile_begin(const char* name)
    int cupola_profile_end()
