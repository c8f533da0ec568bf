# cupola/variable.pyx - a module's __device__ and __constant__ variables.
# cython: language_level=3
"""Variables of a module."""

import math
from collections.abc import Mapping

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_copy_to_device, cupola_copy_to_host,
    cupola_module_global, cupola_module_variable_count, cupola_module_variable_name, text,
)
from cupola._attribute_docs cimport document_attributes
from cupola.abi cimport require
from cupola.array cimport host_address, is_pinned, lay
from cupola.device cimport known_device
from cupola.element cimport native_array, native_dtype
from cupola.error cimport check
from cupola.layout cimport as_shape
from cupola.module cimport Module
from cupola.stream cimport Stream, as_stream, captures, refuse_capture

from cupola.exceptions import (
    ArgumentError, ArgumentTypeError, ArgumentValueError, UnknownNameError,
)


cdef class Variable:
    """A ``__device__`` or ``__constant__`` variable; `set` and `get` copy all of it."""

    def __init__(self, Module module not None, str name not None):
        cdef size_t nbytes = 0
        cdef uint64_t address = 0
        if "\0" in name:
            raise UnknownNameError(f"the module has no variable {name!r}")
        module.require_ready()
        known = module.image_.names
        exact = known.get(name) or known.get("&" + name) or name
        encoded = exact.encode(errors="surrogatepass")
        check(cupola_module_global(module.native, encoded, &address, &nbytes))
        self.module = module
        self.name = name
        self.address = address
        self.nbytes = nbytes
        self.device_index = module.device_index

    @property
    def device(self):
        """The device that owns its memory."""
        return known_device(self.device_index)

    def set(self, value, stream=None):
        """Copy a value in.

        Parameters
        ----------
        value : array_like or bytes; for a struct also a mapping or a tuple
            On the host, with exactly as many bytes as the variable. A mapping or a tuple has the
            fields of `dtype`.
        stream : Stream, optional
            The stream of the copy; by default the current one.

        Raises
        ------
        ArgumentTypeError
            Where the fields of a struct differ from the variable's, or nothing describes these.
        ArgumentValueError
            Where the number of bytes differs.
        """
        require_loaded(self)
        cdef Stream queue = as_stream(stream, self.device_index)
        if isinstance(value, (bytes, bytearray, memoryview)):
            value = np.frombuffer(value, np.uint8)
        elif isinstance(value, (Mapping, tuple, np.void, np.ndarray)):
            value = fields_of(self, value)
        host = np.asarray(value, order="C")
        if host.dtype.hasobject:
            raise ArgumentTypeError(f"{self.name}: a device can't hold Python objects")
        host = native_array(host)
        if <size_t>host.nbytes != self.nbytes:
            raise ArgumentValueError(
                f"{self.name} has {self.nbytes} bytes, the value {host.nbytes} (shape "
                f"{host.shape}, dtype {host.dtype})")
        cdef uint64_t source = host_address(host)
        cdef bint captured = captures(queue, host)  # each launch of the graph reads it
        if captured and isinstance(value, np.ndarray) and not value.flags.c_contiguous:
            raise ArgumentValueError(
                f"{self.name}: a host array that a graph copies from must be C-contiguous, since "
                "each launch reads it: the stream is being captured; pass "
                "numpy.ascontiguousarray(value) for its values now")
        cdef bint wait = stream is None and not captured and is_pinned(source)
        with nogil:
            check(cupola_copy_to_device(self.address, <void*>source, self.nbytes, queue.native))
            if wait:
                queue.wait_done()

    @property
    def dtype(self):
        """The dtype of the variable's elements or struct; None if no manifest has the variable."""
        manifest = (<Module>self.module).image_.manifest
        if manifest is None:
            return None
        found = manifest.variable(self.name)
        return None if found is None or self.nbytes % max(1, found.itemsize) else found.base

    def get(self, dtype=None, stream=None):
        """Copy the value to the host. Waits for the stream.

        Parameters
        ----------
        dtype : data-type, optional
            The element type.
        stream : Stream, optional
            The stream of the copy; by default the current one.

        Returns
        -------
        bytes, or numpy.ndarray of one axis where a dtype is given
        """
        require_loaded(self)
        cdef Stream queue = as_stream(stream, self.device_index)
        kind = np.dtype(np.uint8 if dtype is None else dtype)
        if kind.hasobject or kind.itemsize == 0 or self.nbytes % <size_t>kind.itemsize:
            raise ArgumentValueError(
                f"{self.name} has {self.nbytes} bytes, not a multiple of {kind}")
        refuse_capture(queue)
        host = np.empty(self.nbytes // <size_t>kind.itemsize, native_dtype(kind))
        cdef uint64_t target = host_address(host)
        with nogil:
            check(cupola_copy_to_host(<void*>target, self.address, self.nbytes, queue.native))
            queue.wait_done()
        return host.tobytes() if dtype is None else host.astype(kind, copy=False)

    def array(self, dtype, shape=None):
        """The variable as an array over its own memory, without a copy.

        Parameters
        ----------
        dtype : data-type
            The element type, which the image does not contain.
        shape : int or sequence of int, optional
            By default one axis with all elements.

        Returns
        -------
        Array
            It keeps the module loaded. Do not write a ``__constant__`` variable while kernels that
            read it run.

        Raises
        ------
        ArgumentValueError
            Where shape and dtype do not have exactly the variable's bytes.
        """
        cdef Exported exported
        require_loaded(self)
        kind = np.dtype(dtype)
        if kind.hasobject or kind.itemsize == 0 or self.nbytes % <size_t>kind.itemsize:
            raise ArgumentValueError(
                f"{self.name} has {self.nbytes} bytes, not a multiple of {kind}")
        count = self.nbytes // <size_t>kind.itemsize
        axes = (count,) if shape is None else as_shape(shape)
        if math.prod(axes) != count:
            raise ArgumentValueError(
                f"{self.name} has {count} elements of {kind}, which do not fit the shape {axes}")
        exported = Exported.__new__(Exported)
        exported.variable = self
        exported.name = self.name
        (<Module>self.module).image_.lent.add(exported)
        return lay(axes, None, kind, None, exported, self.address, self.device_index)

    def __repr__(self):
        return f"<cupola.variable.Variable {self.name}: {self.nbytes} bytes at {self.address:#x}>"


cdef object fields_of(Variable variable, object value):
    """A value with the fields of the variable's struct; any value where it has none."""
    layout = variable.dtype
    from cupola.core.struct_values import difference, line_for, packed
    try:
        if isinstance(value, (np.void, np.ndarray)):
            if layout is not None and value.dtype.names is not None:
                other = difference(value.dtype, layout)
                if other:
                    raise ArgumentTypeError(f"got a struct {other}; the variable's is {layout}")
            return value
        if layout is not None and layout.names is not None:
            if layout.itemsize == <Py_ssize_t>variable.nbytes:
                return packed(value, layout)
            return np.array([packed(one, layout) for one in value])
    except ArgumentError as error:
        raise type(error)(f"{variable.name}: {error}") from None
    if isinstance(value, Mapping):
        raise ArgumentTypeError(
            f"{variable.name}: expected {variable.nbytes} bytes, got a {type(value).__name__}; no "
            "manifest has the struct's fields: with their types, pass "
            f"{line_for(value, variable.nbytes)}")
    return value


cdef class Exported:
    """The owner of arrays over a variable: keeps the module, and shows it that they are in use."""

    cdef object __weakref__
    cdef readonly Variable variable
    cdef readonly str name


cdef int require_loaded(Variable variable) except -1:
    if not variable.module.loaded:
        raise ArgumentValueError(f"{variable.name}: its module was unloaded")
    return 0


cdef class Variables:
    """A module's variables by name: ``module.globals["table"].set(values)``.

    Iterating gives the image's names: ``list(module.globals)``.
    """

    cdef Module module

    def __init__(self, Module module not None):
        self.module = module

    def __getitem__(self, str name not None):
        return Variable(self.module, name)

    def __iter__(self):
        """The image's names; raises where the image can't be read."""
        cdef size_t count = 0, i
        cdef const char* name = NULL
        names = []
        if self.module is None:
            raise TypeError("these variables were never initialized: use module.globals")
        self.module.require_ready()
        check(cupola_module_variable_count(self.module.native, &count))
        for i in range(count):
            check(cupola_module_variable_name(self.module.native, i, &name))
            names.append(text(name))
        return iter(names)

    def __len__(self):
        return len(list(iter(self)))

    def __contains__(self, str name not None):
        try:
            Variable(self.module, name)
        except UnknownNameError:
            return False
        return True


document_attributes(Variable, {
    "module": "The `Module` that has the variable.",
    "name": "The name in the image.",
    "address": "The address on the device.",
    "nbytes": "The number of bytes.",
    "device_index": "The index of the device, an int.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
