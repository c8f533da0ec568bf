# cupola/module.pyx - a loaded image: its kernels and variables by name.
# cython: language_level=3
"""Modules."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BFLOAT, CUPOLA_BUILD_ID, CUPOLA_CONST, CUPOLA_FLOAT,
    CUPOLA_INTEGER, CUPOLA_POINTER, CUPOLA_SIGNED, CUPOLA_STRUCT, CUPOLA_UNSIGNED,
    cupola_kernel_declare, cupola_kernel_name, cupola_kernel_release, cupola_module_device,
    cupola_module_kernel, cupola_module_kernel_count, cupola_module_kernel_name, cupola_module_load,
    cupola_module_release, cupola_parameter, text,
)
from cupola.abi cimport require
from cupola.device cimport device_index, known_device
from cupola.error cimport check
from cupola.kernel cimport adopt as adopt_kernel

from cupola.exceptions import ArgumentTypeError, ImageError, UnknownNameError

cdef dict KINDS = {
    "pointer": CUPOLA_POINTER,
    "const pointer": CUPOLA_POINTER | CUPOLA_CONST,
    "signed": CUPOLA_INTEGER | CUPOLA_SIGNED,
    "unsigned": CUPOLA_INTEGER | CUPOLA_UNSIGNED,
    "float": CUPOLA_FLOAT,
    "bfloat": CUPOLA_FLOAT | CUPOLA_BFLOAT,
    "struct": CUPOLA_STRUCT,
    "unknown": 0,
}


cdef Module adopt(cupola_module* native, str name, object manifest):
    cdef Module module = Module.__new__(Module)
    module.native = native
    module.name = name
    module.manifest = manifest
    module.device_index = cupola_module_device(native)
    return module


cdef int declare(cupola_kernel* kernel, object parameters) except -1:
    """Hand on what a manifest tells; its texts are copied."""
    cdef size_t count = len(parameters), i
    cdef cupola_parameter* list_ = <cupola_parameter*>calloc(count + 1, sizeof(cupola_parameter))
    kept = []
    if list_ == NULL:
        raise MemoryError
    try:
        for i in range(count):
            name, kind, type_name, offset, size = parameters[i]
            kept += [name.encode(), type_name.encode()]
            list_[i].name = kept[-2]
            list_[i].type = kept[-1]
            list_[i].kind = <uint32_t>KINDS[kind]
            list_[i].offset = offset
            list_[i].size = size
        check(cupola_kernel_declare(kernel, list_, count))
    finally:
        free(list_)
    return 0


@cython.no_gc_clear
cdef class Module:
    """A loaded image of kernels: ``module["saxpy"]`` is one of them.

    Made by `cupola.load`. Names are found as the image has them, as C++ writes them
    (``"scale(float*, int)"``), or by the base name alone where only one kernel has it. Iterating
    gives the names.

    Parameters
    ----------
    image : bytes-like
        A fatbin, a cubin, or PTX text.
    name : str
        For messages.
    manifest : dict, optional
        What `cupola.images.read_manifest` gives.
    device : Device or int, optional
        The one to load it on; by default the current one.

    Raises
    ------
    ImageError
        Where the image is broken or has no code for the device; `log` tells of PTX.

    Attributes
    ----------
    name : str
    """

    def __cinit__(self):
        self.native = NULL
        self.found = {}

    def __init__(self, image, str name="image", manifest=None, device=None):
        cdef int index = device_index(device)
        cdef cupola_module* native = NULL
        cdef Py_buffer view
        if self.native != NULL:
            raise TypeError("a Module is initialised once")
        try:
            PyObject_GetBuffer(image, &view, PyBUF_SIMPLE)
        except (TypeError, BufferError) as error:
            raise ArgumentTypeError(
                f"an image is given as contiguous bytes, got {type(image).__name__}: {error}"
            ) from None
        try:
            with nogil:
                check(cupola_module_load(index, view.buf, view.len, &native))
        except ImageError as error:
            raise ImageError(f"{name}: {error}", error.log) from None
        finally:
            PyBuffer_Release(&view)
        self.native = native
        self.name = name
        self.manifest = manifest
        self.device_index = index

    def __dealloc__(self):
        # Kernels hold the image too; it is unloaded after the last of them.
        with nogil:
            cupola_module_release(self.native)

    cdef Kernel find(self, str name):
        known = self.found.get(name)
        if known is not None:
            return <Kernel>known
        cdef cupola_kernel* native = NULL
        if "\0" in name:
            raise UnknownNameError(f"the module has no kernel {name!r}")
        encoded = name.encode(errors="surrogatepass")
        cdef const char* wanted = encoded
        with nogil:
            check(cupola_module_kernel(self.native, wanted, &native))
        exact = text(cupola_kernel_name(native))
        # One object a kernel, by whatever name it was found; another thread may have been first.
        kernel = self.found.get(exact)
        if kernel is None:
            kernel = self.found.setdefault(exact, self.described(native, exact))
        else:
            cupola_kernel_release(native)
        self.found[name] = kernel
        return <Kernel>kernel

    cdef Kernel described(self, cupola_kernel* native, str exact):
        try:
            if self.manifest is not None and exact in self.manifest:
                declare(native, self.manifest[exact])
        except ImageError as error:
            cupola_kernel_release(native)
            raise ImageError(f"{self.name}: its manifest: {error}", error.log) from None
        return adopt_kernel(native, self)

    def __getitem__(self, str name not None):
        return self.find(name)

    def kernel(self, str name not None):
        """A kernel by name.

        Parameters
        ----------
        name : str
            As the image has it, as C++ writes it, or the base name where only one has it.

        Returns
        -------
        Kernel

        Raises
        ------
        NotFoundError
            Also a KeyError; names the nearest, or those that share the base name.
        """
        return self.find(name)

    @property
    def kernels(self):
        """The kernels' names as the image has them.

        Returns
        -------
        tuple of str
        """
        cdef size_t count = 0, i
        cdef const char* name = NULL
        names = []
        check(cupola_module_kernel_count(self.native, &count))
        for i in range(count):
            check(cupola_module_kernel_name(self.native, i, &name))
            names.append(text(name))
        return tuple(names)

    @property
    def globals(self):
        """The ``__device__`` and ``__constant__`` variables by name.

        Returns
        -------
        Variables
            ``module.globals["table"].set(values)``
        """
        from cupola.variable import Variables
        return Variables(self)

    @property
    def device(self):
        """The device it is loaded on."""
        return known_device(self.device_index)

    def __iter__(self):
        return iter(self.kernels)

    def __len__(self):
        return len(self.kernels)

    def __contains__(self, str name not None):
        try:
            self.find(name)
        except UnknownNameError:
            return False
        return True

    def __repr__(self):
        return f"<cupola.Module {self.name} on device {self.device_index}>"


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
