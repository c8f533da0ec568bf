# cupola/_recent_shape.pxd - the grid and block of a kernel's last launch; internal.
#
# A launch with the same objects takes the checked dimensions from there. Threads read them without
# a lock: the version is odd while a thread writes them, and differs afterwards.

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF

from cupola._abi cimport cupola_dimensions
from cupola._free_threading cimport load, store
from cupola.kernel cimport Kernel

cdef inline bint recall(
    Kernel kernel, object grid, object block, cupola_dimensions* dimensions
) noexcept:
    """Whether grid and block are those of the last launch, whose dimensions it then gives."""
    cdef unsigned version = load(kernel.recent_version)
    cdef unsigned axis
    if (
        load(kernel.recent_grid) != <PyObject*>grid or load(kernel.recent_block) != <PyObject*>block
        or version & 1
    ):
        return False
    for axis in range(7):
        (<unsigned*>dimensions)[axis] = load(kernel.recent[axis])
    return load(kernel.recent_version) == version


cdef inline int remember(
    Kernel kernel, object grid, object block, const cupola_dimensions* dimensions
) except -1:
    """Keep them for `recall`."""
    cdef PyObject* replaced_grid
    cdef PyObject* replaced_block
    cdef unsigned axis
    Py_INCREF(grid)
    Py_INCREF(block)
    with cython.critical_section(kernel):
        store(kernel.recent_version, <unsigned>(kernel.recent_version + 1))
        replaced_grid, replaced_block = kernel.recent_grid, kernel.recent_block
        store(kernel.recent_grid, <PyObject*>grid)
        store(kernel.recent_block, <PyObject*>block)
        for axis in range(7):
            store(kernel.recent[axis], (<const unsigned*>dimensions)[axis])
        store(kernel.recent_version, <unsigned>(kernel.recent_version + 1))
    Py_XDECREF(replaced_grid)
    Py_XDECREF(replaced_block)
    return 0
