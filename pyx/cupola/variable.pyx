# cupola/variable.pyx - a module's __device__ and __constant__ variables.
# cython: language_level=3
"""Variables of a module."""

from cpython.buffer cimport PyObject_CheckBuffer

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
from cupola.copy cimport require_source
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
            On the host. Where `dtype` is known, numbers are converted to it, by NumPy's same_kind
            rule, and a mapping or a tuple has its fields. Bytes are copied as they are. Where
            `dtype` is None, the value is NumPy's or bytes, of exactly the variable's size: numbers
            of Python have no size.
        stream : Stream, optional
            The stream of the copy; by default the current one.

        Raises
        ------
        ArgumentTypeError
            Where the kind of numbers or the fields of a struct differ from the variable's, or
            nothing describes the fields.
        ArgumentValueError
            Where the number of elements or bytes differs, or a number is out of the dtype's range.
        """
        require_loaded(self)
        cdef Stream queue = as_stream(stream, self.device_index)
        if isinstance(value, (bytes, bytearray, memoryview)):
            given = np.frombuffer(value, np.uint8)
        else:
            given = in_layout(self, value)
        host = np.asarray(given, order="C")
        if host.dtype.hasobject:
            raise ArgumentTypeError(f"{self.name}: a device can't hold Python objects")
        host = native_array(host)
        if <size_t>host.nbytes != self.nbytes:
            raise ArgumentValueError(
                f"{self.name} has {self.nbytes} bytes, the value {host.nbytes} (shape "
                f"{host.shape}, dtype {host.dtype}){conversion(self)}")
        require_source(value, host, queue, "value")
        cdef uint64_t source = host_address(host)
        cdef bint captured = captures(queue, host)  # each launch of the graph reads the variable
        cdef bint wait = stream is None and not captured and is_pinned(source)
        with nogil:
            check(cupola_copy_to_device(self.address, <void*>source, self.nbytes, queue.native))
            if wait:
                queue.wait_done()

    @property
    def dtype(self):
        """The dtype of the variable's elements or struct; None if no manifest has the variable."""
        layout = layout_of(self)
        return None if layout is None else layout.base

    def get(self, dtype=None, stream=None):
        """Copy the value to the host. Waits for the stream.

        Parameters
        ----------
        dtype : data-type, optional
            The element type; by default `Variable.dtype`.
        stream : Stream, optional
            The stream of the copy; by default the current one.

        Returns
        -------
        numpy.ndarray of one axis where a dtype is given
            Without one: a NumPy scalar, or an array of the variable's shape, where
            `Variable.dtype` is known, else bytes.
        """
        require_loaded(self)
        cdef Stream queue = as_stream(stream, self.device_index)
        layout = layout_of(self) if dtype is None else None
        unknown = dtype is None and layout is None
        kind = elements_of(self, np.uint8 if unknown else dtype if layout is None else layout.base)
        refuse_capture(
            queue, f"{self.name}.get()", "let the graph copy with array(dtype).get(out=host)")
        host = np.empty(self.nbytes // <size_t>kind.itemsize, native_dtype(kind))
        cdef uint64_t target = host_address(host)
        with nogil:
            check(cupola_copy_to_host(<void*>target, self.address, self.nbytes, queue.native))
            queue.wait_done()
        if unknown:
            return host.tobytes()
        found = host.astype(kind, copy=False)
        return found if layout is None else found.reshape(layout.shape)[()]

    def array(self, dtype, shape=None):
        """The variable as an array over its own memory, without a copy.

        Parameters
        ----------
        dtype : data-type
            The element type, which the image does not contain. The bytes stay as they are, also
            where it has the other byte order.
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
        kind = elements_of(self, dtype)
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


cdef object layout_of(Variable variable):
    """The variable's dtype with the shape of an array; None if no manifest has the variable."""
    manifest = (<Module>variable.module).image_.manifest
    found = None if manifest is None else manifest.variable(variable.name)
    if found is None or found.base.itemsize == 0 or variable.nbytes % <size_t>found.base.itemsize:
        return None
    if <size_t>found.itemsize == variable.nbytes:
        return found
    return np.dtype((found.base, (variable.nbytes // <size_t>found.base.itemsize,)))


cdef object elements_of(Variable variable, object dtype):
    """The dtype of which the variable has a whole number of elements."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise ArgumentTypeError(
            f"{variable.name}: expected a dtype, as in 'float32', got a {type(dtype).__name__}"
        ) from None
    if kind.hasobject or kind.itemsize == 0 or variable.nbytes % <size_t>kind.itemsize:
        raise ArgumentValueError(
            f"{variable.name} has {variable.nbytes} bytes, not a multiple of {kind}")
    return kind


cdef object in_layout(Variable variable, object value):
    """A value in the variable's layout; as it is where no manifest has the variable."""
    layout = layout_of(variable)
    from cupola.core.struct_guess import number_line, remedy
    from cupola.core.struct_values import for_variable
    if layout is not None:
        try:
            return for_variable(value, layout)
        except ArgumentError as error:
            raise type(error)(f"{variable.name}: {error}") from None
    if (isinstance(value, (np.ndarray, np.generic)) or PyObject_CheckBuffer(value)
            or hasattr(value, "__array__") or hasattr(value, "__array_interface__")):
        return value
    # A Python object has no size in bytes, and a text or a tuple could mean several layouts.
    came = f"{variable.name}: expected {variable.nbytes} bytes, got {type(value).__name__}"
    one = value[0] if isinstance(value, list) and value else value
    if isinstance(one, (Mapping, tuple)):
        raise ArgumentTypeError(f"{came}; {remedy(one, variable.nbytes)}")
    raise ArgumentTypeError(
        f"{came}; no manifest has the variable's type: pass "
        f"{number_line(value, variable.nbytes)}")


cdef str conversion(Variable variable):
    """The remedy for a value of another size."""
    if layout_of(variable) is not None:
        return ""
    return "; no manifest has its type: pass an array of its elements' dtype"


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

    Iterating gives the image's names: ``list(module.globals)``. Those in scopes that C++ reserves
    for compilers and libraries, such as ``cuda::std::__4``, are left out.
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
