# cupola/_shape.pxd - the record of a kernel's last grid and block; internal.
#
# `_recent_shape.pxd` reads and writes it by functions of C++, which modules in C can't include.

from cpython.object cimport PyObject

cdef struct RecentShape:
    PyObject* grid
    PyObject* block
    unsigned dimensions[7]  # the numbers of a cupola_dimensions
    unsigned version
