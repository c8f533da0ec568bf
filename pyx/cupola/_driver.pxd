# cupola/_driver.pxd - cupola/driver.h; internal.

cdef extern from "cupola/driver.h" nogil:
    ctypedef struct cupola_driver_symbol:
        const char* name
        int version
        void (*function)() noexcept nogil

    const cupola_driver_symbol* cupola_driver_symbols(size_t* count)
    int cupola_driver_check(int code, const char* call)
