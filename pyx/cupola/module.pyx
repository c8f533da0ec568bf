# cupola/module.pyx - loaded images, with kernels and variables by name.
# cython: language_level=3
"""Modules."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t, uintptr_t
from libc.stdlib cimport calloc, free

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BFLOAT, CUPOLA_BUILD_ID, CUPOLA_CONST, CUPOLA_FLOAT,
    CUPOLA_HIDDEN, CUPOLA_INTEGER, CUPOLA_POINTER, CUPOLA_SIGNED, CUPOLA_STRUCT, CUPOLA_UNSIGNED,
    cupola_kernel_declare, cupola_kernel_declare_text, cupola_kernel_describe,
    cupola_kernel_name, cupola_kernel_release, cupola_link,
    cupola_link_input, cupola_module_describe,
    cupola_module_device, cupola_module_kernel, cupola_module_kernel_count,
    cupola_module_kernel_name, cupola_module_load, cupola_module_load_silent,
    cupola_module_loaded, cupola_module_release,
    cupola_module_unload, cupola_parameter, cupola_shipped_image, text,
)
from cupola._attribute_docs cimport document_attributes
from cupola.abi cimport require
from cupola.device cimport device_index, device_text, is_cpu, known_device
from cupola.error cimport check
from cupola._free_threading cimport lock, unlock
from cupola.kernel cimport adopt as adopt_kernel

import weakref
from collections.abc import Mapping

import cupola.output  # no-cython-lint - before an image with printf is loaded
from cupola.exceptions import (
    ArgumentTypeError, ArgumentValueError, ImageError, UnknownNameError,
)
from cupola.image.file_image import FileImage
from cupola.core.registry import registered

__all__ = ["Module"]

cdef dict KINDS = {
    "pointer": CUPOLA_POINTER,
    "const pointer": CUPOLA_POINTER | CUPOLA_CONST,
    "signed": CUPOLA_INTEGER | CUPOLA_SIGNED,
    "unsigned": CUPOLA_INTEGER | CUPOLA_UNSIGNED,
    "integer": CUPOLA_INTEGER,
    "float": CUPOLA_FLOAT,
    "bfloat": CUPOLA_FLOAT | CUPOLA_BFLOAT,
    "struct": CUPOLA_STRUCT,
    "unknown": 0,
}


cdef Module adopt(cupola_module* native, str name, object manifest):
    cdef Image image = Image.__new__(Image)
    image.native = native
    image.name = name
    image.manifest = manifest
    image.names, image.types, image.declared = {}, {}, {}
    image.ptx = image.log = ""
    image.device_index = cupola_module_device(native)
    return image.module()


# The live images with bytes, by the addresses of their modules in the library.
images = weakref.WeakValueDictionary()


cdef class Image:
    """A loaded image with its metadata; internal to modules and kernels."""

    def __cinit__(self):
        self.native = NULL
        self.lent = weakref.WeakSet()
        self.elsewhere = {}
        self.bound = {}

    def __dealloc__(self):
        with nogil:
            cupola_module_release(self.native)

    cdef bytes read(self):
        """The image as bytes."""
        return self.content if type(self.content) is bytes else self.content.read()

    cdef str digest(self):
        """The SHA-256 of the image and of all that describes its kernels; computed once."""
        cdef str known
        with cython.critical_section(self):
            known = self.sha256
        if known is None:
            import hashlib
            # A manifest's repr also has its path, which differs between machines.
            manifest = getattr(self.manifest, "text", self.manifest)
            described = repr((manifest, self.names, self.ptx, self.types))
            found = hashlib.sha256(self.read())
            found.update(b"\0" + described.encode(errors="replace"))
            known = found.hexdigest()
            with cython.critical_section(self):
                if self.sha256 is None:
                    self.sha256 = known
        return known

    def module(self):
        """The module of this image; a new object where none exists any longer."""
        cdef Module module
        lock(&self.locked)
        try:
            found = None if self.known is None else self.known()
            if found is None:
                module = Module.__new__(Module)
                module.image_ = self
                module.native = self.native
                self.known = weakref.ref(module)
                found = module
        finally:
            unlock(&self.locked)
        return found


cdef int declare(cupola_kernel* kernel, object parameters) except -1:
    """Declare parameters from a manifest; the texts are copied."""
    cdef size_t count = len(parameters), i
    cdef cupola_parameter* list_ = <cupola_parameter*>calloc(count + 1, sizeof(cupola_parameter))
    kept = []
    if list_ == NULL:
        raise MemoryError
    try:
        for i in range(count):
            name, kind, type_name, offset, size = parameters[i][:5]
            kept += [name.encode(errors="replace"), type_name.encode(errors="replace")]
            list_[i].name = kept[-2]
            list_[i].type = kept[-1]
            list_[i].kind = <uint32_t>KINDS[kind] | (CUPOLA_HIDDEN if parameters[i].hidden else 0)
            list_[i].offset = offset
            list_[i].size = size
        check(cupola_kernel_declare(kernel, list_, count))
    finally:
        free(list_)
    return 0


cdef int describe(cupola_kernel* kernel, str type_name, object names) except -1:
    """Describe parameters from a compiler; the texts are copied."""
    cdef size_t count = len(names), i
    cdef const char** list_ = <const char**>calloc(count + 1, sizeof(char*))
    cdef list kept = [name.encode(errors="replace") for name in names]
    cdef bytes mangled = type_name.encode(errors="replace")
    if list_ == NULL:
        raise MemoryError
    try:
        for i in range(count):
            list_[i] = <bytes>kept[i]
        check(cupola_kernel_describe(kernel, mangled, list_, count))
    finally:
        free(list_)
    return 0


def declare_all(Module module not None, signatures):
    """Declare kernels by a dict of their names and parameter lists."""
    if not isinstance(signatures, Mapping):
        raise ArgumentTypeError(
            "signatures is a dict of kernels' names and parameter lists, as in "
            f"{{'axpy': 'float a, const float* x'}}, got {type(signatures).__name__}")
    for name, parameters in signatures.items():
        if type(name) is not str or type(parameters) is not str:
            raise ArgumentTypeError(
                "signatures is a dict of kernels' names and parameter lists, got "
                f"{name!r}: {parameters!r} in it")
        module.find(name).declare(parameters)


cdef object without_code(Module module, str name, object error):
    """The error for a kernel that the image has only for other devices; else `error`."""
    cdef Image image = module.image_
    if image.content is None:
        return error
    from cupola.image import devices, reader
    major, minor = module.device.compute_capability
    device = reader.Device(10 * major + minor, machine_code=not is_cpu(image.device_index))
    held = devices.lacking(image.read(), image.names.get(name, name), device)
    if not held:
        return error
    return UnknownNameError(
        f"{image.name}: the kernel {name} has no code for {device_text(image.device_index)} "
        f"({module.device.name}, compute capability {major}.{minor})\n  the image has it for "
        f"{', '.join(held)}, and the device takes other code of the image\n  build the package "
        f"with architectures = ['{10 * major + minor}'] for the source of the kernel, or with "
        "another source for all targets that has the kernel")


cdef Kernel kernel_of(Module module, str name):
    try:
        return module.find(name)
    except UnknownNameError as error:
        raise without_code(module, name, error) from None


@cython.no_gc_clear
cdef class Module:
    """A loaded image of kernels: ``module["saxpy"]`` is one of them.

    Made by `cupola.load`. A kernel is found by the image's name, the C++ name
    (``"scale(float*, int)"``), or the base name where only one kernel has it. Iterating gives the
    names.

    Parameters
    ----------
    image : bytes-like
        A fatbin, a cubin, or PTX text.
    name : str
        For messages.
    manifest : cupola.image.manifest.Manifest, optional
        Descriptions of the kernels' parameters.
    device : Device or int, optional
        The device to load it on; by default the current one.
    names : dict of str to str, optional
        Alternative names of kernels and variables, with their names in the image.
    ptx : str
        PTX text of the same source, for the kernels' parameters where the image is only machine
        code.
    log : str
        The compiler's output.
    types : dict of str to (str, list of str), optional
        For each kernel, by its name in the image: a mangled name and the parameters' names. The
        mangled name is "" or that of a function template whose argument is the type of a pointer to
        the kernel. `cupola.compile` gets them from the compiler.
    signatures : dict of str to str, optional
        For each kernel, by its name: the argument of `Kernel.declare`.
    prints : bool
        False: no kernel prints or asserts, and the image is not searched for that.
    origin : (str, str or None), optional
        The package that has the image, and the image's name there. Or the name of a kernel library
        and None. Pickles then contain this and a hash.

    Raises
    ------
    ImageError
        Where the image is invalid or has no code for the device; `log` is the PTX compiler's log.

    A module, its kernels and prepared launches can be pickled. The pickle of a package's image has
    its name and a hash; the other process must have the same version of the package. Other pickles
    contain the image. No pickle has the contents of variables. The image is loaded on the device of
    the same number, and only once in each process.
    """

    def __cinit__(self):
        self.native = NULL
        self.found = {}

    def __init__(self, image, str name="image", manifest=None, device=None, *, dict names=None,
                 str ptx="", str log="", dict types=None, signatures=None, bint prints=True,
                 tuple origin=None):
        cdef int index = device_index(device)
        cdef cupola_module* native = NULL
        cdef Py_buffer view
        cdef Image made
        if self.native != NULL:
            raise TypeError("a Module is initialized only once")
        mapped = image.map() if isinstance(image, FileImage) else image
        try:
            PyObject_GetBuffer(mapped, &view, PyBUF_SIMPLE)
        except (TypeError, BufferError) as error:
            raise ArgumentTypeError(
                f"an image is given as contiguous bytes, got {type(image).__name__}: {error}"
            ) from None
        made = Image.__new__(Image)
        try:
            with nogil:
                if prints:
                    check(cupola_module_load(index, view.buf, view.len, &native))
                else:
                    check(cupola_module_load_silent(index, view.buf, view.len, &native))
            made.native = native
            made.content = (
                image if type(image) is bytes or mapped is not image
                else PyBytes_FromStringAndSize(<char*>view.buf, view.len))
        except ImageError as error:
            raise ImageError(f"{name}: {error}", error.log) from None
        finally:
            PyBuffer_Release(&view)
        if ptx:
            described = ptx.encode()
            check(cupola_module_describe(native, described, len(described)))
        made.name = name
        made.manifest = manifest
        made.names = dict(names or {})
        made.types = dict(types or {})
        made.declared = {}
        made.ptx = ptx
        made.log = log
        made.origin = origin
        made.device_index = index
        made.known = weakref.ref(self)
        images[<uintptr_t>native] = made
        self.image_ = made
        self.native = native
        if signatures is not None:
            declare_all(self, signatures)

    cdef int require_ready(self) except -1:
        if self.native == NULL:  # made by __new__ without __init__
            raise ArgumentTypeError("this cupola.Module was never initialized")
        return 0

    cdef Kernel find(self, str name):
        self.require_ready()
        known = self.found.get(name)
        if known is not None:
            return <Kernel>known
        cdef cupola_kernel* native = NULL
        cdef bint adopted = False
        if "\0" in name:
            raise UnknownNameError(f"the module has no kernel {name!r}")
        encoded = self.image_.names.get(name, name).encode(errors="surrogatepass")
        cdef const char* wanted = encoded
        with nogil:
            check(cupola_module_kernel(self.native, wanted, &native))
        # Without a GIL, no thread launches the kernel while another one adds its types.
        lock(&self.image_.locked)
        try:
            exact = text(cupola_kernel_name(native))
            # One object for each kernel, for all of its names; another thread may have been first.
            kernel = self.found.get(exact)
            if kernel is None:
                self.add_types(native, exact)
                adopted = True  # the kernel releases it, also where an error follows
                kernel = self.found.setdefault(exact, adopt_kernel(native, self.image_))
        finally:
            unlock(&self.image_.locked)
            if not adopted:
                cupola_kernel_release(native)
        self.found[name] = kernel
        return <Kernel>kernel

    cdef int add_types(self, cupola_kernel* native, str exact) except -1:
        try:
            if self.image_.manifest is not None and exact in self.image_.manifest:
                declare(native, self.image_.manifest[exact])
        except ImageError as error:
            raise ImageError(f"{self.name}: its manifest: {error}", error.log) from None
        if exact in self.image_.types:
            mangled, names = self.image_.types[exact]
            describe(native, mangled, names)
        if exact in self.image_.declared:
            declared = self.image_.declared[exact].encode(errors="replace")
            check(cupola_kernel_declare_text(native, declared))
        return 0

    def __getattr__(self, str name not None):
        raise AttributeError(
            f"a cupola.Module has no attribute {name!r}: a kernel of that name is "
            f"module[{name!r}], a variable module.globals[{name!r}]", name=name)

    def __getitem__(self, str name not None):
        return kernel_of(self, name)

    def kernel(self, str name not None):
        """A kernel by name.

        Parameters
        ----------
        name : str
            The image's name, the C++ name, or the base name where only one kernel has it.

        Returns
        -------
        Kernel

        Raises
        ------
        NotFoundError
            Also a KeyError. The message lists similar names, or the names with the same base name.
            If the image has the kernel only for targets that this device does not take, the message
            names these targets.
        """
        return kernel_of(self, name)

    @property
    def kernels(self):
        """The kernels' names, as in the image.

        Returns
        -------
        tuple of str
        """
        cdef size_t count = 0, i
        cdef const char* name = NULL
        names = []
        self.require_ready()
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
        return registered("Variables")(self)

    @property
    def textures(self):
        """The texture and surface references, which images of CUDA 11 and older have.

        Returns
        -------
        TextureReferences
            ``module.textures["image"] = cupola.Texture(array)``
        """
        return registered("TextureReferences")(self)

    @property
    def name(self):
        """The module's name in messages: the file that the image was read from."""
        self.require_ready()
        return self.image_.name

    @property
    def image(self):
        """The image it was loaded from, as bytes: a fatbin, also packed, a cubin, or PTX text."""
        cdef const void* data = NULL
        cdef size_t size = 0
        self.require_ready()
        if self.image_.content is not None:
            return self.image_.read()
        cupola_shipped_image(&data, &size)
        return PyBytes_FromStringAndSize(<char*>data, size)

    @property
    def log(self):
        """The compiler's output, such as warnings; empty where nothing was compiled."""
        self.require_ready()
        return self.image_.log

    @property
    def device_index(self):
        """Number of the device it is loaded on."""
        self.require_ready()
        return self.image_.device_index

    @property
    def device(self):
        """The device it is loaded on."""
        return known_device(self.device_index)

    @property
    def loaded(self):
        """False once `unload` was called."""
        return cupola_module_loaded(self.native) != 0

    def unload(self):
        """Unload the image now, instead of with the last reference to module and kernels.

        Waits for all work of the device. Later uses of the module, its kernels and variables raise
        an error. No other thread may launch one of the kernels at the same time.

        Raises
        ------
        ArgumentValueError
            Where arrays over its variables are still in use, a graph holds its kernels, a
            stream is being captured, or the module is cupola's own.
        """
        self.require_ready()
        if self.image_.content is None:
            raise ArgumentValueError(f"{self.name} can't be unloaded: cupola's functions use them")
        lent = ", ".join(sorted({place.name for place in self.image_.lent}))
        if lent:
            raise ArgumentValueError(
                f"{self.name} can't be unloaded while arrays over its variables are in use: "
                f"{lent}")
        with nogil:
            check(cupola_module_unload(self.native))
        self.found.clear()  # a further look-up is an error

    def on(self, device):
        """The same image on another device, loaded there once as long as this module is in use.

        Parameters
        ----------
        device : Device or int

        Returns
        -------
        Module
            This module itself where it is on that device.
        """
        cdef int index = device_index(device)
        if index == self.device_index:
            return self
        if self.image_.content is None:
            return registered("shipped_kernels")(index)
        known = self.image_.elsewhere.get(index)
        if known is None or not known.loaded:
            content, name, _, about, digest = self.contents()
            known = take_module(content, name, index, about, digest)
            self.image_.elsewhere[index] = known
        return known

    cdef tuple contents(self):
        """The arguments of `take_module` for this module."""
        cdef Image image = self.image_
        if not self.loaded:
            raise ArgumentValueError(f"{self.name} was unloaded, and can't be pickled")
        about = (
            image.manifest, image.names, image.ptx, image.log, image.types, dict(image.declared))
        return image.read(), image.name, image.device_index, about, image.digest()

    def __reduce__(self):
        cdef Image image = self.image_
        self.require_ready()
        if image.content is None:
            return registered("shipped_kernels"), (image.device_index,)
        if image.origin is None:
            return take_module, self.contents()
        if not self.loaded:
            raise ArgumentValueError(f"{self.name} was unloaded, and can't be pickled")
        version = registered("version_of")(image.origin[0])
        return registered("take_from_package"), (
            image.origin, image.digest(), version, image.device_index, dict(image.declared))

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
        gone = "" if self.loaded else ", unloaded"
        return f"<cupola.Module {self.name} on {device_text(self.device_index)}{gone}>"


cdef void keep_image(void* owner, const void* image, size_t size) noexcept nogil:
    with gil:
        try:
            (<list>owner).append(PyBytes_FromStringAndSize(<char*>image, size))
        except MemoryError:
            pass  # link_images reports the empty list


def link_images(list inputs, device):
    """Link several images to one with the driver's linker.

    Parameters
    ----------
    inputs : list of (str, bytes)
        A name for messages, and PTX text, a fatbin or a cubin.
    device : Device or int
        The target device.
    """
    cdef int index = device_index(device)
    cdef size_t count = len(inputs), i
    cdef cupola_link_input* list_ = <cupola_link_input*>calloc(
        count + 1, sizeof(cupola_link_input))
    if list_ == NULL:
        raise MemoryError
    cdef list kept = [(name.encode(), <bytes>content) for name, content in inputs], made = []
    try:
        for i in range(count):
            list_[i].name = <bytes>(<tuple>kept[i])[0]
            list_[i].data = <char*><bytes>(<tuple>kept[i])[1]
            list_[i].size = len(<bytes>(<tuple>kept[i])[1])
        with nogil:
            check(cupola_link(index, list_, count, keep_image, <void*>made))
    finally:
        free(list_)
    if not made:
        raise MemoryError
    return made[0]


# Unpickled modules, so that each image is loaded once.
taken = weakref.WeakValueDictionary()


def take_module(bytes content, str name, int device, tuple about, str digest):
    """Make a module from its pickled contents."""
    manifest, names, ptx, log, types, declared = about
    mark = digest, name, device, repr(declared)
    module = taken.get(mark)
    if module is None or not module.loaded:
        module = Module(
            content, name, manifest, device, names=names, ptx=ptx, log=log, types=types,
            signatures=declared)
        taken[mark] = module
    return module


def description_of(Module module not None):
    """The arguments with which `Module` makes the same module of its image again.

    Returns
    -------
    dict
        ``image``, ``name``, ``manifest``, ``names``, ``ptx``, ``types``, ``signatures``.
    """
    cdef Image image = module.image_
    return {
        "image": module.image, "name": image.name, "manifest": image.manifest,
        "names": dict(image.names), "ptx": image.ptx, "types": dict(image.types),
        "signatures": dict(image.declared),
    }


def digest_of(Module module not None):
    """The SHA-256 of an image and of all that describes its kernels, in hexadecimal digits."""
    module.require_ready()
    return module.image_.digest()


document_attributes(Image, {
    "name": "The name that errors and records show: of a file, its path.",
    "manifest": "The parameters by kernel, from the manifest beside the image; None without one.",
    "names": "The names in the image by the names in the source.",
    "ptx": "PTX of the same source, of which parameter lists are read; empty where there is none.",
    "log": "The driver's messages from the load; empty where there are none.",
    "types": "By kernel, the parameters' mangled types and names from the compiler.",
    "declared": "By kernel, the parameters that `declare` or ``signatures=`` gave.",
    "device_index": "The index of the device, an int.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
