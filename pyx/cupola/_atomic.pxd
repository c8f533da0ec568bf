# cupola/_atomic.pxd - loads of fields that another thread may store; internal.
#
# Inline functions of public .pxd files use these macros: users also compile such files as C, and
# the functions of `_free_threading.pxd`, which cupola's modules use, are C++.

from cupola.handles cimport cupola_memory

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define CUPOLA_LOAD(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
    #else
    #define CUPOLA_LOAD(place) (place)
    #endif
    """
    bint load_flag "CUPOLA_LOAD"(bint place) noexcept nogil
    cupola_memory* load_memory "CUPOLA_LOAD"(cupola_memory* place) noexcept nogil
