# cupola/_work.pxd - the C ABI of recorded work; internal: it needs work.h.

from libc.stdint cimport uint64_t

from cupola.handles cimport cupola_stream

cdef extern from "cupola/work.h" nogil:
    ctypedef struct cupola_work:
        pass

    ctypedef struct cupola_work_plan:
        pass

    ctypedef struct cupola_extent:
        uint64_t address
        uint64_t bytes

    int cupola_work_begin(cupola_stream* stream, bint skip, cupola_work** out)
    void cupola_work_end(cupola_work* work)
    void cupola_work_release(cupola_work* work)
    void cupola_work_refuse()
    int cupola_work_usable(const cupola_work* work)
    size_t cupola_work_allocations(const cupola_work* work)
    int cupola_work_allocation(const cupola_work* work, size_t index, cupola_extent* out)
    int cupola_work_plan_create(
        const cupola_work* first, const cupola_work* second, const cupola_extent* first_operands,
        const cupola_extent* second_operands, size_t count, cupola_work_plan** out)
    void cupola_work_plan_release(cupola_work_plan* plan)
    int cupola_work_plan_run(
        cupola_work_plan* plan, const uint64_t* addresses, size_t count, cupola_stream* stream,
        bint at_once)
