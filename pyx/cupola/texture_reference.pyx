# cupola/texture_reference.pyx - a module's texture and surface references.
# cython: language_level=3
"""Texture references of modules, as images of CUDA 11 and older have them."""

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola._texture cimport (
    cupola_cuda_array_release, cupola_module_bind_surface, cupola_module_bind_texture,
    cupola_module_has_texture,
)
from cupola.abi cimport require
from cupola.error cimport check
from cupola.handles cimport cupola_cuda_array
from cupola.module cimport Module
from cupola.texture cimport CudaArray, Texture

from cupola.exceptions import ArgumentTypeError, UnknownNameError


cdef class TextureReferences:
    """A module's texture and surface references: ``module.textures["image"] = texture``.

    A value is a `Texture`, or a `CudaArray` for a surface reference. It is bound for later
    launches, and kept until another one is bound or the module is released. ``name in
    module.textures`` says whether there is a texture reference of that name.
    """

    cdef Module module

    def __init__(self, Module module not None):
        self.module = module

    def __setitem__(self, str name not None, value):
        cdef cupola_cuda_array* array
        self.module.require_ready()
        known = name.encode(errors="surrogatepass")
        if "\0" in name:
            raise UnknownNameError(f"the module has no reference {name!r}")
        if isinstance(value, Texture):
            check(cupola_module_bind_texture(
                self.module.native, known, (<Texture>value).native))
        elif isinstance(value, CudaArray):
            array = (<CudaArray>value).retained()
            try:
                check(cupola_module_bind_surface(self.module.native, known, array))
            finally:
                with nogil:
                    cupola_cuda_array_release(array)
        else:
            raise ArgumentTypeError(
                f"{name}: expected a cupola.Texture, or a cupola.CudaArray for a surface "
                f"reference, got {type(value).__name__}")
        self.module.image_.bound[name] = value

    def __getitem__(self, str name not None):
        self.module.require_ready()
        if name in self.module.image_.bound:
            return self.module.image_.bound[name]
        raise UnknownNameError(
            f"nothing was bound to {name}: assign a cupola.Texture to module.textures[{name!r}]")

    def __contains__(self, str name not None):
        cdef int found = 0
        self.module.require_ready()
        if "\0" in name:
            return False
        check(cupola_module_has_texture(
            self.module.native, name.encode(errors="surrogatepass"), &found))
        return found != 0


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
