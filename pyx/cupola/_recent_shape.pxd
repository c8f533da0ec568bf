# cupola/_recent_shape.pxd - the grid and block of a kernel's last launch; internal.
#
# A launch with the same objects takes the checked dimensions from there. Threads read them without
# a lock: the version is odd while a thread writes them, and differs afterwards.

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF

from cupola._free_threading cimport load, store
from cupola._shape cimport RecentShape

cdef inline bint recall(
    RecentShape* recent, object grid, object block, unsigned* dimensions
) noexcept:
    """Whether grid and block are those of the last launch, whose dimensions it then gives."""
    cdef unsigned version = load(recent.version)
    cdef unsigned axis
    if (
        load(recent.grid) != <PyObject*>grid or load(recent.block) != <PyObject*>block
        or version & 1
    ):
        return False
    for axis in range(7):
        dimensions[axis] = load(recent.dimensions[axis])
    return load(recent.version) == version


cdef inline int remember(
    object owner, RecentShape* recent, object grid, object block,
    const unsigned* dimensions
) except -1:
    """Keep them for `recall`, in the structure of an object."""
    cdef PyObject* replaced_grid
    cdef PyObject* replaced_block
    cdef unsigned axis
    Py_INCREF(grid)
    Py_INCREF(block)
    with cython.critical_section(owner):
        store(recent.version, <unsigned>(recent.version + 1))
        replaced_grid, replaced_block = recent.grid, recent.block
        store(recent.grid, <PyObject*>grid)
        store(recent.block, <PyObject*>block)
        for axis in range(7):
            store(recent.dimensions[axis], dimensions[axis])
        store(recent.version, <unsigned>(recent.version + 1))
    Py_XDECREF(replaced_grid)
    Py_XDECREF(replaced_block)
    return 0
