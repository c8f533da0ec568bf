# cupola/array.pyx - an array in a device's memory, and the ways to make one.
# cython: language_level=3
"""Arrays."""

import math

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_address_device, cupola_copy_on_device,
    cupola_copy_to_device, cupola_copy_to_host, cupola_fill, cupola_stream_wait,
)
from cupola.abi cimport require
from cupola.device cimport device_index, known_device
from cupola.error cimport check
from cupola.event cimport Event
from cupola.interface cimport Interface, interface_of
from cupola.memory cimport allocate, allocate_pinned
from cupola.stream cimport as_stream, current_stream

from cupola.exceptions import ArgumentTypeError, ArgumentValueError

cdef object LARGEST = (1 << 63) - 1


cdef tuple as_shape(object shape):
    if hasattr(shape, "__index__"):
        shape = (shape,)
    try:
        axes = tuple([axis.__index__() for axis in shape])
    except (AttributeError, TypeError):
        raise ArgumentTypeError(
            f"a shape is an int or a sequence of ints, got {shape!r}") from None
    for axis in axes:
        if axis < 0:
            raise ArgumentValueError(f"a shape has no negative sizes, got {axes}")
    return axes


cdef object as_dtype(object dtype):
    try:
        dtype = np.dtype(dtype)
    except TypeError as error:
        raise ArgumentTypeError(f"not an element type: {dtype!r} ({error})") from None
    if dtype.hasobject:
        raise ArgumentTypeError(f"a device can't hold Python objects (dtype {dtype})")
    return dtype


cdef uint64_t host_address(object host) except? 0:
    return host.__array_interface__["data"][0]


cdef bint is_pinned(uint64_t address) except -1:
    cdef int device = -1
    check(cupola_address_device(address, &device))
    return device >= 0


cdef Array lay(
    tuple shape, object dtype, Memory memory, object owner, uint64_t start, int device
):
    """The array's description over memory that is there."""
    cdef Array array = Array.__new__(Array)
    size = math.prod(shape)
    if size * dtype.itemsize > LARGEST:
        raise ArgumentValueError(f"an array of shape {shape} and dtype {dtype} is too large")
    array.memory = memory
    array.owner = owner
    array.start = start
    array.shape = shape
    array.dtype = dtype
    array.size = size
    array.itemsize = dtype.itemsize
    array.nbytes = array.size * array.itemsize
    array.device_index = device
    array.kind = ord(dtype.kind)
    array.live = True
    return array


cdef Array new_array(tuple shape, object dtype, int device, Stream stream):
    cdef Array array = lay(shape, dtype, None, None, 0, device)
    array.memory = allocate(device, array.nbytes, stream)
    array.start = array.memory.address
    return array


cdef class Array:
    """An array in a device's memory, C-contiguous, of any NumPy dtype but objects.

    Made by `cupola.to_device`, `empty`, `zeros`, `empty_like` and `asarray`. Kernels take it
    where they want a pointer; so does every library that reads ``__cuda_array_interface__``.
    ``array[i]`` and ``array[i:j]`` are views along the first axis. Memory is released when the
    last view is gone, after the work that was queued with it.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    size : int
        Elements.
    itemsize, nbytes : int
        Bytes of an element, and of all.
    """

    def __init__(self):
        raise TypeError("arrays are made by cupola.empty, zeros, to_device or asarray")

    cdef int require_live(self) except -1:
        if self.shape is None:  # made by __new__ alone
            raise ArgumentTypeError("this cupola.Array was never initialised")
        if not self.live or (self.memory is not None and self.memory.native == NULL):
            raise ArgumentValueError(
                f"this cupola.Array of shape {self.shape} was freed: its memory is gone")
        return 0

    cdef uint64_t get_address(self) except? 0:
        self.require_live()
        return self.start

    cdef int used_on(self, Stream stream) except -1:
        if self.memory is not None and self.memory.stream.native != stream.native:
            self.memory.use(stream.native)
        return 0

    @property
    def address(self):
        """Where it lies in the device's memory, as an int; 0 where it has no elements."""
        return self.get_address()

    @property
    def ptr(self):
        """The same as `address`."""
        return self.get_address()

    @property
    def ndim(self):
        """How many axes it has."""
        return len(self.shape)

    @property
    def strides(self):
        """Bytes from one element to the next, along each axis."""
        steps = []
        step = self.itemsize
        for axis in reversed(self.shape):
            steps.append(step)
            step *= axis or 1  # as NumPy has it
        return tuple(reversed(steps))

    @property
    def device(self):
        """The device whose memory it lies in."""
        return known_device(self.device_index)

    def get(self, out=None, stream=None):
        """Copy to the host.

        Parameters
        ----------
        out : numpy.ndarray, optional
            Where to, of the same shape and dtype, C-contiguous.
        stream : Stream, optional
            What the copy is queued on; by default the current one.

        Returns
        -------
        numpy.ndarray
            `out`, or a new array. It is complete, unless `out` lies in page-locked memory
            (`cupola.pinned_empty`) and a stream was given: then it is once the stream is done,
            and must stay alive till then.

        Raises
        ------
        ArgumentError
            Where `out` does not fit, or the array was freed.
        """
        cdef uint64_t source = self.get_address()
        cdef Stream queue = as_stream(stream, self.device_index)
        if out is None:
            out = np.empty(self.shape, self.dtype)
        else:
            check_host(out, self, "out")
            if not out.flags.writeable:
                raise ArgumentValueError("out is read-only")
        cdef uint64_t target = host_address(out)
        cdef size_t nbytes = self.nbytes
        cdef bint wait = stream is None or not is_pinned(target)
        with nogil:
            check(cupola_copy_to_host(<void*>target, source, nbytes, queue.native))
            if wait:
                queue.wait_done()
        self.used_on(queue)
        return out

    def set(self, source, stream=None):
        """Copy new elements in.

        Parameters
        ----------
        source : array_like
            Of the same shape and dtype: on the host, or on the device (a `cupola.Array` or
            anything with ``__cuda_array_interface__``).
        stream : Stream, optional
            What the copy is queued on; by default the current one. From page-locked memory the
            copy runs by itself where a stream is given: keep `source` till it is done. Else
            `source` may change as soon as this returns.

        Raises
        ------
        ArgumentError
            Where `source` does not fit, or the array was freed.
        """
        cdef uint64_t target = self.get_address()
        cdef Stream queue = as_stream(stream, self.device_index)
        cdef Array other
        if self.readonly:
            raise ArgumentValueError("this array's memory is read-only")
        if isinstance(source, Array) or hasattr(source, "__cuda_array_interface__"):
            other = asarray(source)
            if other.shape != self.shape or other.dtype != self.dtype:
                raise ArgumentValueError(
                    f"source has shape {other.shape} and dtype {other.dtype}, the array "
                    f"{self.shape} and {self.dtype}")
            copy_on_device(self, other, source, queue)
            return
        if not isinstance(source, np.ndarray):
            try:
                source = np.asarray(source, dtype=self.dtype)
            except (TypeError, ValueError) as error:
                raise ArgumentTypeError(
                    f"a {type(source).__name__} can't be made an array of {self.dtype}: {error}"
                ) from error
        source = np.asarray(source, order="C")
        check_host(source, self, "source")
        upload(target, source, queue, stream is not None)
        self.used_on(queue)

    def free(self):
        """Release the memory now, after the work that was queued with it.

        Using the array, or a view of it, is an error from then on. Memory of another library is
        not released, only no longer held by this array.
        """
        self.live = False
        if self.memory is not None:
            self.memory.free()
        self.owner = None

    def reshape(self, *shape):
        """A view of the same elements in another shape; one size may be -1.

        Raises
        ------
        ArgumentValueError
            Where the number of elements differs.
        """
        wanted = shape[0] if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
        try:
            wanted = tuple([axis.__index__() for axis in wanted])
        except (AttributeError, TypeError):
            raise ArgumentTypeError(
                f"a shape is an int or a sequence of ints, got {wanted!r}") from None
        known = math.prod([axis for axis in wanted if axis != -1])
        if wanted.count(-1) == 1 and known and self.size % known == 0:
            wanted = tuple([self.size // known if axis == -1 else axis for axis in wanted])
        if -1 in wanted or min(wanted, default=0) < 0 or math.prod(wanted) != self.size:
            raise ArgumentValueError(
                f"an array of shape {self.shape} can't be reshaped to {wanted}")
        return self.part(wanted, 0)

    def part(self, tuple shape, Py_ssize_t offset):
        """A view of the shape, from an offset in bytes on."""
        cdef uint64_t start = self.get_address() + offset
        cdef Array view = lay(
            shape, self.dtype, self.memory, self.owner, start, self.device_index)
        view.readonly = self.readonly
        return view

    def __getitem__(self, key):
        self.require_live()
        if not self.shape:
            raise ArgumentTypeError("an array without axes can't be indexed")
        length = self.shape[0]
        row = self.nbytes // length if length else 0
        if isinstance(key, slice):
            start, stop, step = key.indices(length)
            if step != 1:
                raise ArgumentValueError("slices of device arrays have step 1: they are contiguous")
            stop = max(start, stop)
            return self.part((stop - start, *self.shape[1:]), start * row)
        if isinstance(key, bool) or not hasattr(key, "__index__"):
            raise ArgumentTypeError(
                "a cupola.Array is indexed along its first axis, by an int or a slice; for more "
                "copy it with get()")
        index = key.__index__()
        if not -length <= index < length:
            raise IndexError(f"index {index} is out of bounds for axis 0 with size {length}")
        return self.part(self.shape[1:], index % length * row)

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    @property
    def __cuda_array_interface__(self):
        """Version 3; whoever takes it waits for this thread's current stream."""
        self.require_live()
        cdef Stream stream = current_stream(self.device_index)
        interface = {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.get_address(), self.readonly),
            "strides": None,
            "version": 3,
            "stream": stream.handle or 1,
        }
        if self.dtype.names is not None:
            interface["descr"] = self.dtype.descr
        return interface

    def __reduce__(self):
        """By its elements: another process has a copy, on the device of the same number."""
        return take_array, (self.get(), self.device_index)

    __array_ufunc__ = None  # NumPy's operators leave it alone

    def __array__(self, dtype=None, copy=None):
        raise ArgumentTypeError(
            "a cupola.Array lies in a device's memory and is not copied silently: use get()")

    def __repr__(self):
        if not self.live or (self.memory is not None and self.memory.native == NULL):
            return f"<cupola.Array shape={self.shape} dtype={self.dtype}, freed>"
        return f"<cupola.Array shape={self.shape} dtype={self.dtype} on device {self.device_index}>"


cdef int check_host(object host, Array array, str name) except -1:
    """Whether a host array can be copied to or from the array as it is."""
    if not isinstance(host, np.ndarray):
        raise ArgumentTypeError(f"{name} must be a numpy.ndarray, got {type(host).__name__}")
    if host.shape != array.shape:
        raise ArgumentValueError(f"{name} has shape {host.shape}, the array {array.shape}")
    if host.dtype != array.dtype:
        raise ArgumentTypeError(f"{name} has dtype {host.dtype}, the array {array.dtype}")
    if not host.flags.c_contiguous:
        raise ArgumentValueError(f"{name} is not C-contiguous")
    return 0


cdef int upload(uint64_t target, object host, Stream queue, bint by_itself) except -1:
    """Copy a C-contiguous host array in; a pageable one has been read when this returns."""
    cdef uint64_t source = host_address(host)
    cdef size_t nbytes = host.nbytes
    cdef bint wait = not by_itself and is_pinned(source)
    with nogil:
        check(cupola_copy_to_device(target, <void*>source, nbytes, queue.native))
        if wait:
            queue.wait_done()
    return 0


cdef int copy_on_device(Array target, Array source, object given, Stream queue) except -1:
    cdef Interface interface
    if not isinstance(given, Array):
        interface = interface_of(given)
        interface.wait_for_data(target.device_index, queue.native)
    cdef uint64_t to = target.get_address(), origin = source.get_address()
    cdef Event event
    if source.device_index != target.device_index:  # there, nobody's stream is in order with it
        event = Event(timing=False, device=source.device_index)
        event.record_on(current_stream(source.device_index))
        check(cupola_stream_wait(queue.native, event.native))
    with nogil:
        check(cupola_copy_on_device(to, origin, target.nbytes, queue.native))
    target.used_on(queue)
    source.used_on(queue)
    return 0


def empty(shape, dtype=float, *, device=None, stream=None):
    """An array in a device's memory, its elements not set.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : data-type
        Any NumPy dtype but objects; by default float64, as in NumPy.
    device : Device or int, optional
        By default the current one.
    stream : Stream, optional
        The one that uses it first; others wait for that one before they use it. By default the
        current one.

    Returns
    -------
    Array

    Raises
    ------
    OutOfMemoryError
        Where the device has not enough memory.
    """
    cdef int index = device_index(device)
    return new_array(as_shape(shape), as_dtype(dtype), index, as_stream(stream, index))


def zeros(shape, dtype=float, *, device=None, stream=None):
    """An array in a device's memory, all zero bytes; parameters as for `empty`.

    Returns
    -------
    Array
    """
    cdef int index = device_index(device)
    cdef Stream queue = as_stream(stream, index)
    cdef Array array = new_array(as_shape(shape), as_dtype(dtype), index, queue)
    with nogil:
        check(cupola_fill(array.start, 0, 1, array.nbytes, queue.native))
    return array


def empty_like(prototype, dtype=None, *, shape=None, device=None, stream=None):
    """An array in a device's memory like another one, its elements not set.

    Parameters
    ----------
    prototype : Array, numpy.ndarray, or anything with ``shape`` and ``dtype``
    dtype : data-type, optional
        In place of the prototype's.
    shape : int or sequence of int, optional
        In place of the prototype's.
    device : Device or int, optional
        By default the prototype's, or else the current one.
    stream : Stream, optional
        The one that uses it first; by default the current one.

    Returns
    -------
    Array
    """
    if isinstance(prototype, Array) and device is None:
        device = (<Array>prototype).device_index
    elif not isinstance(prototype, Array) and not hasattr(prototype, "dtype"):
        interface = interface_of(prototype)
        if interface is None:
            prototype = np.asarray(prototype)
        elif dtype is None or shape is None:
            dtype = (<Interface>interface).dtype if dtype is None else dtype
            shape = (<Interface>interface).shape if shape is None else shape
    return empty(
        prototype.shape if shape is None else shape,
        prototype.dtype if dtype is None else dtype,
        device=device, stream=stream,
    )


def to_device(source, dtype=None, *, device=None, stream=None):
    """A copy in a device's memory.

    Parameters
    ----------
    source : array_like
        A buffer object (NumPy array, memoryview, ...), what ``numpy.asarray`` takes, or device
        memory (a `cupola.Array`, anything with ``__cuda_array_interface__``).
    dtype : data-type, optional
        To convert to, on the host, before the copy.
    device : Device or int, optional
        By default the current one.
    stream : Stream, optional
        What the copy is queued on; by default the current one. From page-locked memory the copy
        runs by itself where a stream is given: keep `source` till it is done.

    Returns
    -------
    Array
        Of the same shape and dtype, in the machine's byte order.

    Raises
    ------
    ArgumentTypeError
        Where the elements would be Python objects.
    """
    cdef int index = device_index(device)
    cdef Stream queue = as_stream(stream, index)
    cdef Array array, origin
    if isinstance(source, Array) or hasattr(source, "__cuda_array_interface__"):
        origin = asarray(source)
        if dtype is not None and np.dtype(dtype) != origin.dtype:
            raise ArgumentTypeError(
                f"the source lies on a device with dtype {origin.dtype}; it is not converted to "
                f"{np.dtype(dtype)} there")
        array = new_array(origin.shape, origin.dtype, index, queue)
        copy_on_device(array, origin, source, queue)
        return array
    try:
        host = np.asarray(source, dtype=dtype, order="C")
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"a {type(source).__name__} can't be made an array: {error}") from error
    as_dtype(host.dtype)
    if not host.dtype.isnative:
        host = host.astype(host.dtype.newbyteorder("="))
    array = new_array(host.shape, host.dtype, index, queue)
    upload(array.start, host, queue, stream is not None)
    return array


def take_array(host, device):
    """An array as it comes out of a pickle."""
    return to_device(host, device=device)


def asarray(source):
    """Device memory of another library as an `Array`, without a copy.

    Parameters
    ----------
    source : Array, or an object with ``__cuda_array_interface__``
        Kept alive by the array. This thread's current stream waits for its data where the
        object says on which stream that is made.

    Returns
    -------
    Array

    Raises
    ------
    ArgumentTypeError
        Where it is no device memory.
    ArgumentValueError
        Where it is not contiguous.
    """
    if isinstance(source, Array):
        (<Array>source).require_live()
        return source
    cdef Interface interface = interface_of(source)
    if interface is None:
        raise ArgumentTypeError(
            f"a {type(source).__name__} is not in a device's memory; cupola.to_device copies it")
    if not interface.contiguous:
        raise ArgumentValueError("the array is not C-contiguous")
    cdef int device = device_index(None)
    if interface.address:
        check(cupola_address_device(interface.address, &device))
        if device < 0:
            raise ArgumentValueError(
                f"no driver knows the address {interface.address:#x} of this "
                f"{type(source).__name__}")
    interface.wait_for_data(device, current_stream(device).native)
    cdef Array array = lay(
        interface.shape, interface.dtype, None, source, interface.address, device)
    array.readonly = interface.readonly
    return array


def pinned_empty(shape, dtype=float, *, device=None):
    """A NumPy array in page-locked host memory, its elements not set.

    Copies from and to it are faster, and run beside other work where a stream is given.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : data-type
        Any NumPy dtype but objects; by default float64.
    device : Device or int, optional
        The device whose driver context allocates it; it can be used with every one.

    Returns
    -------
    numpy.ndarray
    """
    axes, dtype = as_shape(shape), as_dtype(dtype)
    nbytes = math.prod(axes) * dtype.itemsize
    if nbytes > LARGEST:
        raise ArgumentValueError(f"an array of shape {axes} and dtype {dtype} is too large")
    if nbytes == 0:
        return np.empty(axes, dtype)
    return np.ndarray(axes, dtype, buffer=allocate_pinned(device_index(device), nbytes))


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
