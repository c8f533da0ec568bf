# cupola/texture.pxd - CUDA arrays, textures and surfaces.

from libc.stdint cimport uint64_t

from cupola.handles cimport cupola_cuda_array, cupola_surface, cupola_texture
from cupola.stream cimport Stream

cdef class CudaArray:
    cdef cupola_cuda_array* native  # NULL after free()
    cdef readonly tuple shape
    cdef readonly object dtype  # the dtype of one channel
    cdef readonly int channels
    cdef readonly bint layered
    cdef readonly bint surface
    cdef readonly int device_index

    # A reference that the caller releases without the GIL: another thread may free the array.
    cdef cupola_cuda_array* retained(self) except NULL
    cdef object copy(self, object memory, Stream queue, bint into)

# A texture or surface object, which a kernel takes.
cdef class TextureObject:
    cdef readonly uint64_t handle  # CUtexObject or CUsurfObject
    cdef readonly int device_index
    cdef object source  # keeps memory of other libraries

cdef class Texture(TextureObject):
    cdef cupola_texture* native

cdef class Surface(TextureObject):
    cdef cupola_surface* native
