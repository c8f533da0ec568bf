# cupola/module.pxd - a loaded image.

from cupola.abi cimport cupola_abi_1
from cupola.handles cimport cupola_kernel, cupola_module
from cupola.kernel cimport Kernel

cdef class Module:
    cdef cupola_module* native
    cdef dict found  # kernels by the names that were asked for
    cdef object manifest  # parameters by kernel name, or None
    cdef readonly int device_index
    cdef readonly str name

    cdef Kernel find(self, str name)
    cdef Kernel described(self, cupola_kernel* native, str exact)

# Takes over a reference to a module.
cdef Module adopt(cupola_module* native, str name, object manifest)
