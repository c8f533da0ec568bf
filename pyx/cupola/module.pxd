# cupola/module.pxd - a loaded image.

from cupola.handles cimport cupola_kernel, cupola_module
from cupola.kernel cimport Kernel

# State shared by a module and its kernels. A kernel refers to this instead of the module, which
# refers to its kernels. So there is no cycle, and the last reference unloads the image.
cdef class Image:
    cdef object __weakref__
    cdef cupola_module* native
    cdef object content  # the bytes, or a file with them; None for the shipped module
    cdef readonly str name
    cdef readonly object manifest  # parameters by kernel name, or None
    cdef readonly dict names  # from names in the source to names in the image
    cdef readonly str ptx  # PTX of the same source, for parameter lists, or ""
    cdef readonly str log
    cdef readonly dict types  # by kernel, from the compiler: a type's mangled name, names
    cdef readonly dict declared  # by kernel, from the user: a list of C parameters
    cdef readonly int device_index
    cdef object known  # weak reference to the module
    cdef object lent  # arrays over its variables, weakly
    cdef dict elsewhere  # modules of the same image on other devices
    cdef dict bound  # textures and arrays of references, by name
    cdef object origin  # the package and the image's name in it, or None
    cdef unsigned char locked  # a lock of _free_threading.pxd: kernels and the module are made
    cdef str sha256  # hash of the image and its description; None before the first use

    cdef bytes read(self)
    cdef str digest(self)

cdef class Module:
    cdef cupola_module* native  # the image's module
    cdef Image image_
    cdef dict found  # kernels by the names used to find them
    cdef object __weakref__

    cdef Kernel find(self, str name)
    cdef int add_types(self, cupola_kernel* native, str exact) except -1
    cdef int require_ready(self) except -1
    cdef tuple contents(self)  # the content of the module's pickle, if the pickle has the image

# Wraps a module and takes over the caller's reference.
cdef Module adopt(cupola_module* native, str name, object manifest)
