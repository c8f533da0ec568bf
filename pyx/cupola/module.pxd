# cupola/module.pxd - a loaded image.

from cupola.handles cimport cupola_kernel, cupola_module
from cupola.kernel cimport Kernel

# What a module and its kernels share. A kernel holds this and not the module, which holds the
# kernels: so the image is unloaded as soon as the last of them is let go.
cdef class Image:
    cdef cupola_module* native
    cdef object content  # bytes, or a file that holds them; None: cupola's own
    cdef readonly str name
    cdef readonly object manifest  # parameters by kernel name, or None
    cdef readonly dict names  # as they are spelled in the source, to what the image calls them
    cdef readonly str ptx  # of the same source, for parameter lists; "" where there is none
    cdef readonly str log
    cdef readonly dict types  # what the compiler said of kernels: a type's mangled name, and names
    cdef readonly dict declared  # what the user said of kernels: lists of C parameters
    cdef readonly int device_index
    cdef object known  # weak reference to the module
    cdef object lent  # arrays over its variables, weakly
    cdef dict elsewhere  # modules of the same on other devices

    cdef bytes read(self)

cdef class Module:
    cdef cupola_module* native  # the image's
    cdef Image image_
    cdef dict found  # kernels by the names that were asked for
    cdef object __weakref__

    cdef Kernel find(self, str name)
    cdef Kernel described(self, cupola_kernel* native, str exact)
    cdef int require_ready(self) except -1

# Takes over a reference to a module.
cdef Module adopt(cupola_module* native, str name, object manifest)
