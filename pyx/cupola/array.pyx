# cupola/array.pyx - an array in a device's memory.
# cython: language_level=3
"""Arrays; called as ``cupola.array(source)``, the module makes one: see `cupola.creation.array`."""

cimport cython
from libc.stdint cimport uint64_t

import sys
from types import ModuleType

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_ADVISE_ACCESSED_BY, CUPOLA_ADVISE_PREFERRED_LOCATION,
    CUPOLA_ADVISE_READ_MOSTLY, CUPOLA_BUILD_ID, CUPOLA_CPU_DEVICE, cupola_address_device,
    cupola_driver_beside, cupola_memory_advise, cupola_memory_prefetch,
)
from cupola cimport array_data
from cupola.abi cimport require
from cupola.array_data cimport lay
from cupola.copy cimport (
    assign, check_out, check_shape, compact, copy_on_device, download_converted, fill,
    host_elements, upload,
)
from cupola.device cimport device_index, known_device
from cupola._free_threading cimport load, store
from cupola.element cimport elements_of, native_dtype, require_same_kind
from cupola.error cimport check
from cupola.interface cimport foreign_array, is_foreign
from cupola.layout cimport (
    as_dtype, as_int, as_shape, c_strides, indexed, is_f_contiguous, reshaped, resolved,
)
from cupola.memory cimport note_free
from cupola.stream cimport Stream, as_stream, current_stream, refuse_capture, require_contents
from cupola.tensor cimport capsule_of, device_type_of, prepare_for

from cupola.core import registry
from cupola.exceptions import ArgumentTypeError, ArgumentValueError, MissingFileError

__all__ = ["Array"]


cdef class Array(ArrayData):
    """An array in a device's memory, of any NumPy dtype except objects.

    Made by `cupola.to_device`, `empty`, `zeros`, `full`, `asarray` and similar functions. Kernels
    accept it for a pointer parameter if it is C-contiguous. So does every library that reads
    ``__cuda_array_interface__`` or ``__dlpack__``.

    Indexing by ints, slices, ``...`` and None, `reshape`, `transpose` and `view` give views of
    the same memory, as in NumPy. The memory is freed when the last view is gone, after the queued
    work that uses it. `cupola.arrays` adds the operators and methods of NumPy.
    """

    cdef object items_at(self, object key):
        raise of_arrays("indexing by arrays")

    cdef int set_items_at(self, object key, object value) except -1:
        raise of_arrays("indexing by arrays")

    cdef ArrayData converted_to(self, object dtype, Stream stream):
        raise of_arrays(f"the conversion of {self.dtype} to {dtype} on a device")

    @staticmethod
    def from_address(
        pointer, shape, dtype=float, *, strides=None, owner=None, device=None, readonly=False
    ):
        """An array over existing memory.

        Parameters
        ----------
        pointer : int
            The first element's address in device, managed or page-locked memory.
        shape : int or sequence of int
        dtype : data-type
        strides : sequence of int, optional
            Bytes from one element to the next along each axis; by default those of C order.
        owner : object, optional
            Kept alive by the array. Without one, the caller keeps the memory.
        device : Device or int, optional
            The device that owns the memory; by default the driver's answer.
        readonly : bool
            Refuse to write to it.

        Returns
        -------
        Array

        Raises
        ------
        ArgumentValueError
            Where the driver does not know the address and no device was given.
        """
        cdef tuple axes = as_shape(shape), steps = None
        cdef int index = device_index(device)
        if isinstance(pointer, bool) or not hasattr(pointer, "__index__"):
            raise ArgumentTypeError(f"an address is an int, got {pointer!r}")
        if not 0 <= pointer.__index__() < 1 << 64:
            raise ArgumentValueError(f"an address has 64 bits, got {pointer}")
        cdef uint64_t address = pointer.__index__()
        kind = as_dtype(dtype)
        if strides is not None:
            try:
                steps = tuple([step.__index__() for step in strides])
            except (AttributeError, TypeError):
                raise ArgumentTypeError(
                    f"strides are a sequence of ints, got {strides!r}") from None
            if len(steps) != len(axes):
                raise ArgumentValueError(f"{len(steps)} strides for a shape of {len(axes)} axes")
        if device is None and address:
            check(cupola_address_device(address, &index))
            if index < 0:
                raise ArgumentValueError(
                    f"the driver does not know the address {address:#x}: pass device= to use it")
        cdef Array array = lay(axes, steps, kind, None, owner, address, index)
        if not address and array.nbytes:
            raise ArgumentValueError(f"{array.nbytes} bytes at the null address")
        array.readonly = readonly
        return array

    @property
    def address(self):
        """The first element's address in the device's memory, as an int; 0 for no elements."""
        return self.get_address()

    @property
    def ptr(self):
        """The same as `address`."""
        return self.get_address()

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    @property
    def strides(self):
        """Bytes from one element to the next along each axis, as a tuple of int."""
        self.require_live()
        return self.get_strides()

    @property
    def flags(self):
        """`Flags`, a named tuple: c_contiguous, f_contiguous, writeable."""
        from cupola.core.flags import Flags
        self.require_live()
        return Flags(
            self.contiguous, is_f_contiguous(self.shape, self.steps, self.itemsize),
            not self.readonly)

    @property
    def memory_nbytes(self):
        """Bytes of the memory that the array keeps alive. A view keeps its whole allocation alive.

        `nbytes` where other code owns the memory; 0 after `free`.
        """
        if not load(self.live):
            return 0
        return self.nbytes if self.memory is None else self.memory.nbytes

    @property
    def device(self):
        """The device that owns its memory, as a `Device`."""
        return known_device(self.device_index)

    def get(self, out=None, stream=None):
        """Copy to the host.

        Parameters
        ----------
        out : numpy.ndarray, optional
            The destination, of the same shape, with any strides. Elements are converted to its
            dtype by the rule ``same_kind``: to another byte order or precision.
        stream : Stream, optional
            The stream of the copy; by default the current one.

        Returns
        -------
        numpy.ndarray
            `out`, or a new array, in Fortran order where this one is. It is complete, with one
            exception. Where `out` is C-contiguous page-locked memory (`cupola.empty_pinned`) of the
            same dtype and a stream was given, it is complete when the stream is done; keep it alive
            until then.

        Notes
        -----
        While the stream is being captured, each launch of the graph writes the returned array. The
        graph keeps it alive. `out` must have the same dtype then.

        Raises
        ------
        ArgumentError
            Where `out` does not fit, or the array was freed.
        """
        self.require_live()
        cdef Stream queue = as_stream(stream, self.device_index)
        if out is None:
            fortran = not self.contiguous and is_f_contiguous(
                self.shape, self.steps, self.itemsize)
            out = np.empty(self.shape, self.dtype, "F" if fortran else "C")
        else:
            check_out(out, self)
        download_converted(self, out, queue, stream is not None)
        return out

    def set(self, source, stream=None):
        """Copy new elements in.

        Parameters
        ----------
        source : array_like
            Of the same shape: on the host, or on a device (a `cupola.Array`, anything with
            ``__cuda_array_interface__`` or ``__dlpack__``). Elements are converted by the rule
            ``same_kind``: from another byte order or precision, but no float to an integer. A
            capture converts no host arrays.
        stream : Stream, optional
            The stream of the copy; by default the current one. From page-locked memory, where a
            stream is given, the copy is asynchronous: keep `source` unchanged until it is done.
            Otherwise `source` may change as soon as this returns.

        Raises
        ------
        ArgumentError
            Where `source` does not fit, or the array was freed.
        """
        self.require_writable()
        cdef Stream queue = as_stream(stream, self.device_index)
        cdef Array other
        if isinstance(source, Array) or is_foreign(source):
            other = device_elements(source, self.dtype, queue)
            check_shape("source", other.shape, self)
            copy_on_device(self, other, queue)
            return
        elements = host_elements(source, self.dtype, queue)
        check_shape("source", elements.shape, self)
        upload(self, elements, queue, stream is not None)

    def fill(self, value, stream=None):
        """Give every element the same value.

        Parameters
        ----------
        value : scalar
            A value that NumPy's same_kind rule converts to the dtype: no float to an integer.
        stream : Stream, optional
            The stream of the fill; by default the current one.
        """
        self.require_writable()
        cdef Stream queue = as_stream(stream, self.device_index)
        element = elements_of(value, self.dtype)
        if element.ndim:
            raise ArgumentValueError(f"fill() takes one value, got shape {element.shape}")
        fill(self, element, queue)

    def copy(self, order="C", stream=None):
        """A copy in memory of its own.

        Parameters
        ----------
        order : {"C", "F", "A", "K"}
            The copy's memory order. "A" and "K": Fortran order where this array has it, else C.
        stream : Stream, optional
            The stream of the copy; by default the current one.

        Returns
        -------
        Array
        """
        self.require_live()
        fortran = is_fortran(self, order, "copy", ("C", "F", "A", "K"))
        return compact(self, "F" if fortran else "C", as_stream(stream, self.device_index))

    def free(self):
        """Free the memory now, after the queued work that uses it.

        Later uses of the array or a view of it raise an error. Memory of another library is not
        freed; the array only releases its reference.
        """
        store(self.live, <bint>False)
        note_free()
        if self.memory is not None:
            self.memory.free()
        with cython.critical_section(self):
            owner = self.owner  # released behind the section
            self.owner = None
        del owner

    def reshape(self, *shape, order="C"):
        """The same elements in another shape; one size may be -1.

        Parameters
        ----------
        *shape : int
            The sizes; or one sequence of these.
        order : {"C", "F", "A"}
            How the elements are counted in both shapes: the last or the first axis changes fastest.
            "A": "F" where this array is in Fortran order, else "C".

        Returns
        -------
        Array
            A view where the strides allow it, else a copy, queued on the current stream.

        Raises
        ------
        ArgumentValueError
            Where the number of elements differs.
        """
        self.require_live()
        cdef tuple wanted = resolved(self.shape, self.size, shape), strides = None
        if order != "C" and is_fortran(self, order, "reshape", ("C", "F", "A")):
            return self.transpose().reshape(wanted[::-1]).transpose()
        if self.contiguous:
            return self.view_as(wanted, None, 0)
        strides = reshaped(self.shape, self.get_strides(), wanted)
        if strides is not None:
            return self.view_as(wanted, strides, 0)
        return compact(self, "C", current_stream(self.device_index)).view_as(wanted, None, 0)

    def ravel(self, order="C"):
        """The elements along one axis: a view or a copy, as from `reshape`.

        Parameters
        ----------
        order : {"C", "F", "A", "K"}
            As for `reshape`. "K": in the order of the strides' sizes.
        """
        if order == "K":
            self.require_live()
            steps = self.get_strides()
            # A large stride means that the index along the axis changes slowly.
            axes = sorted(range(len(steps)), key=lambda axis: -abs(steps[axis]))
            return self.transpose(axes).reshape(-1)
        return self.reshape(-1, order=order)

    def transpose(self, *axes):
        """A view with its axes in another order, by default reversed.

        Parameters
        ----------
        *axes : int
            The axis of this array for each axis of the view; or one sequence of these.
        """
        self.require_live()
        cdef Py_ssize_t ndim = len(self.shape)
        if len(axes) == 1 and not hasattr(axes[0], "__index__"):
            try:
                axes = (None,) if axes[0] is None else tuple(axes[0])
            except TypeError:
                as_int("axes", axes[0])
        if not axes or axes == (None,):
            order = list(range(ndim - 1, -1, -1))
        else:
            order = [as_int("axes", axis) for axis in axes]
            if sorted([axis % ndim if -ndim <= axis < ndim else -1 for axis in order]) != list(
                range(ndim)
            ):
                raise ArgumentValueError(
                    f"the axes of an array of {ndim} axes can't be ordered as {axes}")
        strides = self.get_strides()
        return self.view_as(
            tuple([self.shape[axis] for axis in order]),
            tuple([strides[axis] for axis in order]), 0)

    @property
    def T(self):
        """A view with its axes reversed."""
        return self.transpose()

    def view(self, dtype):
        """The same bytes as elements of another dtype, which may have the other byte order.

        If the element size differs, the last axis changes its length and must be contiguous.

        Raises
        ------
        ArgumentValueError
            Where the bytes can't be divided into such elements.
        """
        self.require_live()
        kind = as_dtype(dtype)
        cdef Py_ssize_t size = kind.itemsize, last
        strides = self.get_strides()
        if size == self.itemsize:
            return self.view_as(self.shape, strides, 0, kind)
        if not self.shape or size == 0 or self.itemsize == 0:
            raise ArgumentValueError(
                f"an array of shape {self.shape} and {self.dtype} can't be viewed as {kind}")
        last = self.shape[len(self.shape) - 1]
        if (last != 1 and strides[-1] != self.itemsize) or last * self.itemsize % size:
            raise ArgumentValueError(
                f"the last axis, of {last} elements of {self.dtype} and a stride of "
                f"{strides[-1]} bytes, can't be viewed as {kind}")
        return self.view_as(
            (*self.shape[:-1], last * self.itemsize // size), (*strides[:-1], size), 0, kind)

    def __getitem__(self, key):
        cdef tuple where
        self.require_live()
        if isinstance(key, str):
            return self.field(key)
        where = indexed(self.shape, self.get_strides(), key)
        if where is None:
            return self.items_at(key)
        return self.view_as(where[0], where[1], where[2])

    def field(self, str name not None):
        """A view of one field of a structured dtype, the same as ``array[name]``."""
        self.require_live()
        if self.dtype.fields is None:
            raise ArgumentTypeError(f"elements of {self.dtype} have no fields, got {name!r}")
        if name not in self.dtype.fields:
            raise ArgumentValueError(f"{self.dtype} has no field {name!r}")
        kind, offset = self.dtype.fields[name][:2]
        return self.view_as(
            self.shape + kind.shape,
            self.get_strides() + c_strides(kind.shape, kind.base.itemsize), offset, kind.base)

    def __setitem__(self, key, value):
        cdef Array target, other
        cdef Stream queue = current_stream(self.device_index)
        cdef tuple where
        self.require_live()
        if isinstance(key, str):
            target = self.field(key)
        else:
            where = indexed(self.shape, self.get_strides(), key)
            if where is None:
                self.set_items_at(key, value)
                return
            target = self.view_as(where[0], where[1], where[2])
        target.require_writable()
        if isinstance(value, Array) or is_foreign(value):
            other = device_elements(value, target.dtype, queue)
            while len(other.shape) > len(target.shape) > 0 and other.shape[0] == 1:
                other = other[0]
            copy_on_device(target, other, queue)
            return
        elements = host_elements(value, target.dtype, queue)
        while elements.ndim > len(target.shape) > 0 and elements.shape[0] == 1:
            elements = elements[0]
        assign(target, value, elements, queue)

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self):
        # Without this method Python would iterate by indices, and find no elements in an array
        # without axes: numpy.zeros(x) would take it for an empty shape.
        if not self.shape:
            raise TypeError("iteration over an array without axes")
        return map(self.__getitem__, range(self.shape[0]))

    @property
    def host(self):
        """A NumPy array over the same elements, for managed memory.

        Wait for the queued work that uses them before you read or write them.

        Raises
        ------
        ArgumentTypeError
            Where the memory is device memory: use `get` to copy it.
        """
        self.require_live()
        if self.memory is None or not self.memory.managed:
            if self.nbytes == 0:
                return np.empty(self.shape, self.dtype)
            raise ArgumentTypeError(
                "the host can access only managed memory (cupola.managed); use get() to copy")
        return np.ndarray(
            self.shape, self.dtype, self.memory, self.start - self.memory.address,
            self.get_strides())

    def prefetch(self, device=None, stream=None):
        """Queue a move of managed memory to a device.

        Parameters
        ----------
        device : Device, int or "host", optional
            The destination; by default the device it was allocated with.
        stream : Stream, optional
            By default the current one.

        Raises
        ------
        DriverError
            Where the device does not support it (``CUDA_ERROR_NOT_SUPPORTED``).
        """
        cdef Stream queue = as_stream(stream, self.device_index)
        cdef int where = place_of(self, device)
        cdef size_t nbytes = self.nbytes
        with nogil:
            check(cupola_memory_prefetch(self.start, nbytes, where, queue.native))
        self.used_on(queue)

    def advise(self, str advice not None, device=None, give=True):
        """Tell the driver how managed memory will be used.

        Parameters
        ----------
        advice : {"read_mostly", "preferred_location", "accessed_by"}
            Copy to each device that reads; stay on the device; keep a mapping for the device.
        device : Device, int or "host", optional
            By default the device it was allocated with.
        give : bool
            False withdraws the advice.
        """
        if advice not in ADVICE:
            raise ArgumentValueError(f"advice is one of {sorted(ADVICE)}, got {advice!r}")
        check(cupola_memory_advise(
            self.start, self.nbytes, ADVICE[advice], give, place_of(self, device)))

    @property
    def __cuda_array_interface__(self):
        """The interface, version 3; consumers wait for this thread's current stream.

        The CPU device's arrays do not have it beside another driver, whose users would take the
        address for one of their own device. They have DLPack.
        """
        self.require_live()
        if self.device_index >= CUPOLA_CPU_DEVICE and cupola_driver_beside():
            raise AttributeError(
                "an array of the CPU device is in host memory: use DLPack, as numpy.from_dlpack "
                "does")
        cdef Stream stream = current_stream(self.device_index)
        require_contents(stream, self.start)
        interface = {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.get_address() if self.size else 0, self.readonly),
            "strides": None if self.contiguous else self.get_strides(),
            "version": 3,
            "stream": stream.handle or 1,
        }
        if self.dtype.names is not None:
            interface["descr"] = self.dtype.descr
        return interface

    def __reduce__(self):
        """Pickle the elements: another process gets a copy, on the device of the same number.

        Where it has no such device, the copy is on its current one.
        """
        host = read_now(self, "pickling an array")
        return registry.registered("take_array"), (host, self.device_index)

    def __dlpack_device__(self):
        """DLPack's device type and device number."""
        self.require_live()
        kind = device_type_of(self.start, self.device_index)
        return kind, 0 if kind == 1 else self.device_index

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule, from which another library makes an array.

        Parameters
        ----------
        stream : int, optional
            The consumer's stream, which will wait for this thread's current one. 1 or None: the
            legacy default stream; 2: the per-thread default stream; -1: no wait. On the CPU device
            memory is host memory, so there is no such stream, and this call waits.
        max_version : tuple of int, optional
            The newest version that the consumer supports. Read-only memory needs 1.0.
        dl_device : tuple of int, optional
            The device that the consumer requests; only the array's own is supported.
        copy : bool, optional
            True: a copy. False and None share the memory.

        Raises
        ------
        ExchangeError
            Also a BufferError. DLPack has no such dtype, the memory is read-only, or a stride is
            not a multiple of the element size.
        """
        cdef Array array = self
        self.require_live()
        kind, index = self.__dlpack_device__()
        if copy:
            array = compact(self, "C", current_stream(self.device_index))
        capsule = capsule_of(
            array, array.start if array.size else 0, array.shape, array.get_strides(),
            array.dtype, kind, index, array.readonly, bool(copy),
            max_version is not None and max_version[0] >= 1, dl_device)
        prepare_for(stream, array.start, kind, self.device_index)
        return capsule

    def astype(self, dtype, order="K", casting="unsafe", copy=True):
        """The elements in another dtype, converted on the current stream.

        Parameters
        ----------
        dtype : data-type
            Bool, an integer, float16 to float64, complex64 or complex128. The result has the
            machine's byte order, also where the dtype has the other one.
        order : {"K"}
            Keep the memory order of the axes.
        casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
            Which conversions are allowed, as in NumPy.
        copy : bool
            False: return this array itself where the dtype is unchanged.

        Returns
        -------
        Array

        Raises
        ------
        ArgumentTypeError
            For other dtypes, and where `casting` forbids it.

        Notes
        -----
        Conversions are NumPy's. The result for a float outside of an integer's range is
        unspecified, as in NumPy. Complex to real keeps the real part.
        """
        self.require_live()
        kind = as_dtype(dtype)
        if order != "K":
            raise ArgumentValueError(f"astype supports only order='K', got {order!r}")
        if not np.can_cast(self.dtype, kind, casting):
            raise ArgumentTypeError(
                f"elements of {self.dtype} can't be cast to {kind} by the rule {casting!r}")
        if kind == self.dtype or native_dtype(kind) == self.dtype:
            return self.copy("K") if copy else self
        return self.converted_to(native_dtype(kind), current_stream(self.device_index))

    def __array__(self, dtype=None, copy=None):
        raise ArgumentTypeError(
            "a cupola.Array is in device memory and is not copied implicitly: use get(), or "
            "CuPy or PyTorch through DLPack: cupy.from_dlpack(array)")

    def item(self):
        """The only element, as a Python number. Waits for it.

        Raises
        ------
        ArgumentValueError
            Where the array does not have exactly one element.
        """
        if self.size != 1:
            raise ArgumentValueError(f"item() needs an array of 1 element, got {self.size}")
        return read_now(self, "item()").item()

    def tolist(self):
        """The elements as Python numbers in nested lists. Waits for them."""
        return read_now(self, "tolist()").tolist()

    def __index__(self):
        if self.shape or self.dtype.kind not in "iu":
            raise TypeError(
                f"only an integer array without axes is an index; this is of shape {self.shape} "
                f"and {self.dtype}")
        return self.item()

    def __format__(self, specification):
        # Reductions return arrays without axes, where NumPy's return numbers.
        if specification and not self.shape:
            return format(self.item(), specification)
        return object.__format__(self, specification)

    def __repr__(self):
        from cupola.core.representation import summary
        return self.text(summary)

    def __str__(self):
        from cupola.core.representation import elements
        return self.text(elements)


# The class takes the deallocator of ArrayData, since only ArrayData has data. Cython's deallocator
# of each derived class would remove the object from the garbage collector and add it again.
cdef extern from *:
    """
    static inline void cupola_use_as_array(PyTypeObject* type, PyTypeObject* base) {
        type->tp_dealloc = base->tp_dealloc;
        type->tp_name = "cupola.array.Array";
    }
    """
    void cupola_use_as_array(type kind, type base)


def register(type kind not None):
    """Make a class, which derives from `Array`, the class of all arrays and this module's `Array`.

    `cupola.arrays` calls it at its import.
    """
    cupola_use_as_array(kind, ArrayData)
    array_data.ARRAY = kind
    globals()["Array"] = kind


cdef object of_arrays(str what):
    """The error for a use of an array that needs NumPy's interface, which is not installed."""
    from cupola.core.parts import missing_part
    return missing_part(what, "arrays")

cdef dict ADVICE = {
    "read_mostly": CUPOLA_ADVISE_READ_MOSTLY,
    "preferred_location": CUPOLA_ADVISE_PREFERRED_LOCATION,
    "accessed_by": CUPOLA_ADVISE_ACCESSED_BY,
}


cdef bint is_fortran(Array array, object order, str function, tuple orders) except -1:
    """Whether an order means Fortran order for the array."""
    if order not in orders:
        raise ArgumentValueError(f"{function}: an order is one of {orders}, got {order!r}")
    if order in ("C", "F"):
        return order == "F"
    return not array.contiguous and is_f_contiguous(array.shape, array.steps, array.itemsize)


cdef int place_of(Array array, object device) except -2:
    """The device for a device= argument of a managed array; -1 is the host."""
    array.require_live()
    if array.memory is None or not array.memory.managed:
        raise ArgumentTypeError("this is not managed memory: make the array with cupola.managed")
    if device is None:
        return array.device_index
    if isinstance(device, str):
        if device != "host":
            raise ArgumentValueError(f"a device is an index, a Device or 'host', got {device!r}")
        return -1
    return device_index(device)


cdef Array device_elements(object value, object dtype, Stream queue):
    """An array of a device, with its elements converted to a dtype by work on the stream."""
    cdef Array array = value if isinstance(value, Array) else foreign_array(value)
    array.require_live()
    if array.dtype == dtype:
        return array
    require_same_kind(array.dtype, dtype)
    if array.device_index != queue.device_index:
        queue = current_stream(array.device_index)
    return <Array>array.converted_to(dtype, queue)


def read_now(Array array not None, str title not None):
    """A host copy that the host uses at once: in a capture an error, unlike `Array.get`.

    Parameters
    ----------
    array : Array
    title : str
        The call, for the error.
    """
    refuse_capture(current_stream(array.device_index), title)
    return array.get()


def note_use(Array array not None):
    """Tell an array's memory that work on the device's current stream uses it.

    For calls of other libraries: the memory is freed after that work.
    """
    array.used_on(current_stream(array.device_index))


class ArrayModule(ModuleType):
    """This module, which can be called: `cupola.array` is also the function of NumPy's name."""

    def __call__(self, source, dtype=None, *, device=None, stream=None):
        return registry.registered("array")(source, dtype, device=device, stream=stream)


sys.modules[__name__].__class__ = ArrayModule


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)

register(Array)
try:
    registry.load("arrays.numpy_array")  # which calls `register`
except MissingFileError:  # an installation without the part arrays
    from cupola.core.array_without_numpy import refusing
    register(refusing(Array))
