# cupola/creation.pyx - functions that make arrays.
# cython: language_level=3
"""Making arrays."""

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola.abi cimport require
from cupola.array cimport Array, foreign_array, is_foreign, lay, new_array
from cupola.copy cimport copy_on_device, require_source, upload
from cupola.device cimport device_index
from cupola.element cimport native_array, native_dtype
from cupola.interface cimport Interface, interface_of
from cupola.layout cimport as_dtype, as_shape, bytes_of, f_strides
from cupola.memory cimport Memory, allocate_managed, allocate_pinned
from cupola.stream cimport Stream, as_stream

from cupola.exceptions import ArgumentTypeError, ArgumentValueError, UnknownNameError

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "empty_pinned",
    "full",
    "full_like",
    "managed",
    "ones",
    "ones_like",
    "to_device",
    "zeros",
    "zeros_like",
]


cdef tuple what_of(object shape, object dtype):
    """Shape and dtype, with subarray dtypes expanded as in NumPy."""
    axes, kind = as_shape(shape), as_dtype(dtype)
    if kind.subdtype is not None:
        axes, kind = axes + kind.shape, kind.base
    return axes, kind


cdef Array made(object shape, object dtype, object order, object device, object stream):
    cdef int index = device_index(device)
    cdef tuple axes
    cdef Array array
    axes, kind = what_of(shape, dtype)
    kind = native_dtype(kind)
    if order != "C" and order != "F":
        raise ArgumentValueError(f"an order is 'C' or 'F', got {order!r}")
    array = new_array(axes, kind, index, as_stream(stream, index))
    if order == "F" and len(axes) > 1:
        return lay(
            axes, f_strides(axes, array.itemsize), kind, array.memory, None, array.start, index)
    return array


def empty(shape, dtype=float, *, order="C", device=None, stream=None):
    """An array in a device's memory, with uninitialized elements.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : data-type
        Any NumPy dtype except objects; by default float64, as in NumPy. Elements have the machine's
        byte order, also where the dtype has the other one.
    order : {"C", "F"}
        The contiguous axis: the last one ("C") or the first ("F").
    device : Device or int, optional
        By default the current one.
    stream : Stream, optional
        The stream that uses it first; other streams must wait for it before they use the array. By
        default the current one.

    Returns
    -------
    Array

    Raises
    ------
    OutOfMemoryError
        Where the device does not have enough memory.
    """
    return made(shape, dtype, order, device, stream)


def zeros(shape, dtype=float, *, order="C", device=None, stream=None):
    """An array in a device's memory, filled with zero bytes; parameters as for `empty`.

    Returns
    -------
    Array
    """
    cdef Array array = made(shape, dtype, order, device, stream)
    array.view_as((array.nbytes,), None, 0, np.dtype(np.uint8)).fill(0, stream)
    return array


def ones(shape, dtype=float, *, order="C", device=None, stream=None):
    """An array in a device's memory, filled with ones; parameters as for `empty`.

    Returns
    -------
    Array
    """
    cdef Array array = made(shape, dtype, order, device, stream)
    array.fill(np.ones((), array.dtype), stream)
    return array


def full(shape, value, dtype=None, *, order="C", device=None, stream=None):
    """An array in a device's memory, filled with one value.

    Parameters
    ----------
    shape : int or sequence of int
    value : scalar
    dtype : data-type, optional
        By default the value's, as in NumPy.
    order, device, stream : optional
        As for `empty`.

    Returns
    -------
    Array
    """
    cdef Array array = made(
        shape, np.asarray(value).dtype if dtype is None else dtype, order, device, stream)
    array.fill(value, stream)
    return array


cdef Array make_like(
    object prototype, object dtype, object shape, object order, object device, object stream
):
    fortran = False
    if isinstance(prototype, Array):
        device = (<Array>prototype).device_index if device is None else device
        flags = prototype.flags
        fortran = flags.f_contiguous and not flags.c_contiguous
    elif isinstance(prototype, np.ndarray):
        fortran = prototype.flags.fnc
    elif not hasattr(prototype, "dtype") or not hasattr(prototype, "shape"):
        interface = interface_of(prototype)
        if interface is None:
            prototype = np.asarray(prototype)
        else:
            dtype = (<Interface>interface).dtype if dtype is None else dtype
            shape = (<Interface>interface).shape if shape is None else shape
    if order not in ("C", "F", "A", "K"):
        raise ArgumentValueError(f"an order is 'C', 'F', 'A' or 'K', got {order!r}")
    if order in ("A", "K"):
        order = "F" if fortran else "C"
    return made(
        prototype.shape if shape is None else shape,
        prototype.dtype if dtype is None else dtype, order, device, stream)


def empty_like(prototype, dtype=None, *, order="K", shape=None, device=None, stream=None):
    """An array in a device's memory, like `prototype`, with uninitialized elements.

    Parameters
    ----------
    prototype : Array, numpy.ndarray, or anything with ``shape`` and ``dtype``
    dtype : data-type, optional
        By default the prototype's.
    order : {"C", "F", "A", "K"}
        "A" and "K": Fortran order where the prototype has it, else C order.
    shape : int or sequence of int, optional
        By default the prototype's.
    device : Device or int, optional
        By default the prototype's, else the current one.
    stream : Stream, optional
        The stream that uses it first; by default the current one.

    Returns
    -------
    Array
    """
    return make_like(prototype, dtype, shape, order, device, stream)


def zeros_like(prototype, dtype=None, *, order="K", shape=None, device=None, stream=None):
    """An array like `prototype`, filled with zero bytes; parameters as for `empty_like`.

    Returns
    -------
    Array
    """
    cdef Array array = make_like(prototype, dtype, shape, order, device, stream)
    array.view_as((array.nbytes,), None, 0, np.dtype(np.uint8)).fill(0, stream)
    return array


def ones_like(prototype, dtype=None, *, order="K", shape=None, device=None, stream=None):
    """An array like `prototype`, filled with ones; parameters as for `empty_like`.

    Returns
    -------
    Array
    """
    cdef Array array = make_like(prototype, dtype, shape, order, device, stream)
    array.fill(np.ones((), array.dtype), stream)
    return array


def full_like(
    prototype, value, dtype=None, *, order="K", shape=None, device=None, stream=None
):
    """An array like `prototype`, filled with one value; parameters as for `empty_like`.

    Returns
    -------
    Array
    """
    cdef Array array = make_like(prototype, dtype, shape, order, device, stream)
    array.fill(value, stream)
    return array


def to_device(source, dtype=None, *, device=None, stream=None):
    """A copy in a device's memory.

    Parameters
    ----------
    source : array_like
        A buffer object (NumPy array, memoryview, ...), what ``numpy.asarray`` takes, or device
        memory (a `cupola.Array`, anything with ``__cuda_array_interface__`` or ``__dlpack__``).
    dtype : data-type, optional
        To convert to, on the host, before the copy.
    device : Device or int, optional
        By default the current one.
    stream : Stream, optional
        The stream of the copy; by default the current one. From page-locked memory, where a stream
        is given, the copy is asynchronous: keep `source` unchanged until it is done.

    Returns
    -------
    Array
        Of the same shape and dtype, in C order and the machine's byte order.

    Raises
    ------
    ArgumentTypeError
        Where the elements are Python objects. While the stream is being captured, also where a host
        array would have to be converted: each launch of the graph reads the array itself.
    """
    cdef int index = device_index(device)
    cdef Stream queue = as_stream(stream, index)
    cdef Array array, origin
    if isinstance(source, Array) or is_foreign(source):
        origin = asarray(source)
        kind = origin.dtype if dtype is None else np.dtype(dtype)
        if kind != origin.dtype and native_dtype(kind) != origin.dtype:
            raise ArgumentTypeError(
                f"the source is on a device, of {origin.dtype}, and to_device does not convert it "
                f"to {kind} there; use cupola.array(source, dtype)")
        array = new_array(origin.shape, origin.dtype, index, queue)
        copy_on_device(array, origin, queue)
        return array
    try:
        host = np.asarray(source, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"a {type(source).__name__} can't be made an array: {error}") from error
    as_dtype(host.dtype)
    host = native_array(host)
    require_source(source, host, queue)
    array = new_array(host.shape, host.dtype, index, queue)
    upload(array, host, queue, stream is not None)
    return array


def array(source, dtype=None, *, device=None, stream=None):
    """A copy in a device's memory, as by `to_device`; `dtype` also converts device memory.

    Parameters
    ----------
    source : array_like, or device memory as for `to_device`
    dtype : data-type, optional
        Host data is converted on the host, device memory on the device, as by `Array.astype`.
    device : Device or int, optional
        By default the current one.
    stream : Stream, optional
        The stream of the copy; by default the current one.

    Returns
    -------
    Array

    Raises
    ------
    ArgumentTypeError
        Where the elements would be Python objects, or device memory cannot be converted.
    """
    if isinstance(source, Array) or is_foreign(source):
        copied = to_device(source, device=device, stream=stream)
        if dtype is None:
            return copied
        with as_stream(stream, (<Array>copied).device_index):
            return copied.astype(dtype, copy=False)
    return to_device(source, dtype, device=device, stream=stream)


def arange(*limits, dtype=None, device=None, stream=None, **named):
    """``numpy.arange(*limits, dtype=dtype)`` in a device's memory.

    The host makes the numbers; a copy brings them to the device.

    Parameters
    ----------
    *limits : number
        Stop; or start and stop; or start, stop and step.
    dtype : data-type, optional
        By default what NumPy takes for the limits.
    device : Device or int, optional
        By default the current one.
    stream : Stream, optional
        The stream of the copy; by default the current one.
    **named : number
        The limits by NumPy's names: start, stop, step.

    Returns
    -------
    Array

    Raises
    ------
    ArgumentTypeError
        Where NumPy takes no such limits or dtype.
    """
    if unknown := named.keys() - {"start", "stop", "step"}:
        raise TypeError(f"arange() got an unexpected keyword argument {min(unknown)!r}")
    try:
        host = np.arange(*limits, dtype=dtype, **named)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"arange: {error}") from error
    return to_device(host, device=device, stream=stream)


def asarray(source, dtype=None):
    """An `Array` of device memory without a copy, or of host data with a copy to the device.

    Parameters
    ----------
    source : Array, device memory of another library, or array_like
        An object with ``__cuda_array_interface__`` or ``__dlpack__`` is kept alive by the array.
        If it names the stream that makes its data, this thread's current stream waits for it.
        Anything else is copied as by `to_device`.
    dtype : data-type, optional
        Device memory of another dtype is copied on the device, as by `Array.astype`.

    Returns
    -------
    Array
        With the same strides as device memory has, and read-only where the object is.

    Raises
    ------
    ArgumentTypeError
        Where the elements would be Python objects.
    """
    if isinstance(source, Array):
        (<Array>source).require_live()
        found = source
    elif is_foreign(source):
        found = foreign_array(source)
    else:
        return to_device(source, dtype)
    return found if dtype is None else found.astype(dtype, copy=False)


def strided_view(
    Array array not None, tuple shape not None, tuple strides not None, *, bint readonly=False
):
    """A view of an array's memory, from its first element, with other axes.

    Parameters
    ----------
    array : Array
    shape, strides : tuple of int
        The caller makes sure that all elements are elements of the array.
    readonly : bool
        Refuse to write to it.

    Returns
    -------
    Array
    """
    cdef Array view = array.view_as(shape, strides, 0)
    view.readonly = view.readonly or readonly
    return view


def take_array(host, device):
    """Make an array from its pickled contents.

    The process may have fewer devices than the one that pickled it: then on the current device.
    """
    try:
        device = device_index(device)
    except UnknownNameError:
        device = None
    return to_device(host, device=device)


def managed(shape, dtype=float, *, device=None):
    """An array in managed memory: `Array.host` is a NumPy array of the same elements.

    Wait for the queued work that uses it before the host reads or writes it. Until then, some
    devices do not let the host access it at all.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : data-type
        Any NumPy dtype except objects; by default float64. Elements have the machine's byte order,
        also where the dtype has the other one.
    device : Device or int, optional
        The device that uses it first; by default the current one.

    Returns
    -------
    Array
        Its elements are uninitialized. It is not from a pool: making and freeing it waits for the
        device.
    """
    cdef int index = device_index(device)
    cdef tuple axes
    cdef Memory memory
    axes, kind = what_of(shape, dtype)
    kind = native_dtype(kind)
    memory = allocate_managed(index, bytes_of(axes, kind.itemsize))
    return lay(axes, None, kind, memory, None, memory.address, index)


def empty_pinned(shape, dtype=float, *, device=None, write_combined=False):
    """A NumPy array in page-locked host memory, with uninitialized elements.

    Copies from and to it are faster, and run beside other work where a stream is given.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : data-type
        Any NumPy dtype except objects; by default float64. As in a device's memory, elements have
        the machine's byte order, also where the dtype has the other one.
    device : Device or int, optional
        The device whose driver context allocates it; all devices can use it.
    write_combined : bool
        For arrays that the host only writes, in order: faster to copy from, very slow to read.

    Returns
    -------
    numpy.ndarray
    """
    cdef tuple axes
    axes, kind = what_of(shape, dtype)
    kind = native_dtype(kind)
    cdef Py_ssize_t nbytes = bytes_of(axes, kind.itemsize)
    if nbytes == 0:
        return np.empty(axes, kind)
    return np.ndarray(
        axes, kind, buffer=allocate_pinned(device_index(device), nbytes, write_combined))


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
