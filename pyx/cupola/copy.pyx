# cupola/copy.pyx - copies between arrays, and between arrays and the host.
# cython: language_level=3

from cpython.buffer cimport PyObject_CheckBuffer
from libc.stdint cimport int64_t, uint64_t

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_ON_DEVICE, CUPOLA_TO_DEVICE, CUPOLA_TO_HOST,
    cupola_copy_between, cupola_copy_strided, cupola_copy_to_device, cupola_copy_to_host,
    cupola_fill_strided, cupola_strided,
)
from cupola.abi cimport require
from cupola.array_data cimport ArrayData, lay, new_array
from cupola.device cimport is_same_driver
from cupola.element cimport dtype_source, elements_of, require_same_kind
from cupola.error cimport check
from cupola.layout cimport MAX_AXES, broadcast, extent, f_strides
from cupola.memory cimport host_address, is_pinned
from cupola.stream cimport Stream, captures, current_stream

from cupola.error import AFTER_WAIT
from cupola.exceptions import ArgumentTypeError, ArgumentValueError


cdef struct Axes:
    int count
    int64_t shape[MAX_AXES]
    int64_t first[MAX_AXES]
    int64_t second[MAX_AXES]


cdef int lay_out(Axes* axes, tuple shape, tuple first, tuple second) except -1:
    cdef Py_ssize_t axis
    axes.count = <int>len(shape)
    for axis in range(axes.count):
        axes.shape[axis] = shape[axis]
        axes.first[axis] = first[axis]
        axes.second[axis] = second[axis]
    return 0


cdef bint moved(
    uint64_t to, tuple to_strides, uint64_t source, tuple from_strides, tuple shape,
    Py_ssize_t itemsize, int direction, Stream queue
) except -1:
    """Queue the copy; False where the host memory must be made contiguous first."""
    cdef Axes axes
    cdef cupola_strided there, here
    cdef int done = 0
    lay_out(&axes, shape, to_strides, from_strides)
    there.address, there.strides = to, axes.first
    here.address, here.strides = source, axes.second
    with nogil:
        check(cupola_copy_strided(
            &there, &here, axes.shape, axes.count, itemsize, direction, queue.native, &done))
    return done


cdef bint overlap(ArrayData one, ArrayData other) except -1:
    low, high = extent(one.shape, one.get_strides(), one.itemsize)
    other_low, other_high = extent(other.shape, other.get_strides(), other.itemsize)
    return (
        one.start + low < other.start + other_high and other.start + other_low < one.start + high)


cdef ArrayData compact(ArrayData source, str order, Stream queue):
    cdef ArrayData copy = new_array(source.shape, source.dtype, source.device_index, queue)
    if order == "F" and len(source.shape) > 1:
        copy = lay(
            source.shape, f_strides(source.shape, source.itemsize), source.dtype, copy.memory,
            None, copy.start, copy.device_index)
    source.used_on(queue)  # first: one of several copies may fail
    moved(
        copy.start, copy.get_strides(), source.get_address(), source.get_strides(), source.shape,
        source.itemsize, CUPOLA_ON_DEVICE, queue)
    return copy


cdef ArrayData copied_to_device_of(Stream queue, ArrayData source):
    """A copy of another device's array, on the queue's device."""
    cdef ArrayData copy
    if not source.contiguous:
        if captures(queue, None):
            raise ArgumentValueError(
                "an array of another device that a graph copies from must be C-contiguous: the "
                f"stream is being captured, and the array has strides {source.get_strides()}; "
                "copy it on its own device first")
        source = compact(source, "C", current_stream(source.device_index))
    copy = new_array(source.shape, source.dtype, queue.device_index, queue)
    if is_same_driver(source.device_index, queue.device_index):
        source.used_on(queue)  # without a queue, the copy is complete when it returns
    with nogil:
        check(cupola_copy_between(
            copy.start, copy.device_index, source.start, source.device_index, source.nbytes,
            queue.native))
    return copy


cdef int copy_on_device(ArrayData target, ArrayData source, Stream queue) except -1:
    cdef tuple strides
    target.require_live()
    source.require_live()
    if target.size == 0:
        broadcast(source.shape, source.get_strides(), target.shape)
        return 0
    if source.device_index != target.device_index:
        source = copied_to_device_of(queue, source)
    elif overlap(target, source):
        if target.start == source.start and target.shape == source.shape and (
            target.get_strides() == source.get_strides()
        ):
            return 0
        source = compact(source, "C", queue)
    strides = broadcast(source.shape, source.get_strides(), target.shape)
    target.used_on(queue)
    source.used_on(queue)
    moved(
        target.start, target.get_strides(), source.start, strides, target.shape, target.itemsize,
        CUPOLA_ON_DEVICE, queue)
    return 0


cdef int upload(ArrayData target, object host, Stream queue, bint by_itself) except -1:
    cdef uint64_t to = target.get_address(), source
    cdef size_t nbytes
    cdef bint pinned, captured
    cdef ArrayData aside
    if target.size == 0:
        np.broadcast_to(host, target.shape)
        return 0
    source = host_address(host)
    pinned = is_pinned(source)
    captured = captures(queue, host)  # each launch of the graph reads the array
    if host.shape != target.shape:
        if captured and host.flags.c_contiguous:  # the device repeats the value: no copy here
            aside = new_array(host.shape, target.dtype, target.device_index, queue)
            upload(aside, host, queue, by_itself)
            return copy_on_device(target, aside, queue)
        host = np.broadcast_to(host, target.shape)
    target.used_on(queue)
    if target.contiguous and host.flags.c_contiguous:
        nbytes = target.nbytes
        with nogil:
            check(cupola_copy_to_device(to, <void*>source, nbytes, queue.native))
            if pinned and not by_itself and not captured:
                queue.wait_done()
        return 0
    if moved(
        to, target.get_strides(), source, host.strides, target.shape, target.itemsize,
        CUPOLA_TO_DEVICE, queue
    ):
        # Only linear copies guarantee when a pageable source was read.
        if not (pinned and by_itself) and not captured:
            with nogil:
                queue.wait_done()
        return 0
    if not host.flags.c_contiguous:
        if captured:
            raise ArgumentValueError(
                "a host array that a graph copies from must be C-contiguous, since each launch "
                f"reads it: the stream is being captured, and the array has shape {host.shape} and "
                f"strides {host.strides}; pass numpy.ascontiguousarray(array) for its values now")
        return upload(target, np.ascontiguousarray(host), queue, False)
    aside = new_array(target.shape, target.dtype, target.device_index, queue)
    upload(aside, host, queue, by_itself)
    return copy_on_device(target, aside, queue)


cdef int download(ArrayData source, object host, Stream queue, bint by_itself) except -1:
    cdef uint64_t origin = source.get_address(), to
    cdef size_t nbytes
    cdef bint wait, captured
    if source.size == 0:
        return 0
    to = host_address(host)
    captured = captures(queue, host)  # each launch of the graph writes the array
    wait = not (by_itself and is_pinned(to)) and not captured
    source.used_on(queue)
    if source.contiguous and host.flags.c_contiguous:
        nbytes = source.nbytes
        with nogil:
            check(cupola_copy_to_host(<void*>to, origin, nbytes, queue.native))
            if wait:
                queue.wait_done()
        if wait and AFTER_WAIT[0] is not None:
            AFTER_WAIT[0](source.device_index)
        return 0
    if moved(
        to, host.strides, origin, source.get_strides(), source.shape, source.itemsize,
        CUPOLA_TO_HOST, queue
    ):
        if wait:
            with nogil:
                queue.wait_done()
            if AFTER_WAIT[0] is not None:
                AFTER_WAIT[0](source.device_index)
        return 0
    if not source.contiguous:
        source = compact(source, "C", queue)
        if host.flags.c_contiguous:
            return download(source, host, queue, by_itself)
    # The host itself writes strided host memory.
    if captured:
        raise ArgumentValueError(
            "a host array that a graph copies to must be C-contiguous: the stream is being "
            "captured")
    aside = np.empty(source.shape, source.dtype)
    download(source, aside, queue, False)
    host[...] = aside
    return 0


cdef int check_shape(str name, tuple shape, ArrayData array) except -1:
    if shape != array.shape:
        raise ArgumentValueError(f"{name} has shape {shape}, the array {array.shape}")
    return 0


cdef object host_elements(object value, object dtype, Stream queue):
    """Host values as elements of a dtype, which work on the stream copies from."""
    elements = elements_of(value, dtype)
    require_source(value, elements, queue)
    return elements


cdef bint has_memory(object value) except -1:
    """Whether a host value can change later: not a number, and not a list, which is read once."""
    if isinstance(value, (np.generic, bytes)):
        return False
    return (
        isinstance(value, np.ndarray) or PyObject_CheckBuffer(value)
        or hasattr(value, "__array_interface__") or hasattr(value, "__array_struct__")
        or hasattr(value, "__array__"))


cdef int require_source(object value, object host, Stream queue, str name="array") except -1:
    if value is host or not captures(queue, None) or not host.size or not has_memory(value):
        return 0
    given = np.asarray(value)
    if np.may_share_memory(given, host):
        return 0
    remedy = f"numpy.array({name}, {dtype_source(host.dtype)}, order='C')"
    if given.dtype == host.dtype and given.flags.c_contiguous:
        raise ArgumentTypeError(
            f"a graph copies from memory that stays: {name} makes a new NumPy array at each call, "
            f"and the stream is being captured; pass {remedy} for its values now")
    raise ArgumentTypeError(
        f"a graph does not convert host arrays that it copies from: {name} is of {given.dtype} "
        f"with strides {given.strides}, each launch reads {host.dtype} in C order, and the stream "
        f"is being captured; pass {remedy} for its values now")


cdef int assign(ArrayData target, object value, object elements, Stream queue) except -1:
    broadcast(elements.shape, elements.strides, target.shape)  # or an error
    if elements.ndim or has_memory(value) and captures(queue, None):
        return upload(target, elements, queue, False)
    return fill(target, elements, queue)


cdef int check_out(object out, ArrayData array) except -1:
    """Check that the array can be copied to a host array."""
    if not isinstance(out, np.ndarray):
        raise ArgumentTypeError(f"out must be a numpy.ndarray, got {type(out).__name__}")
    check_shape("out", out.shape, array)
    require_same_kind(array.dtype, out.dtype)
    if not out.flags.writeable:
        raise ArgumentValueError("out is read-only")
    return 0


cdef int download_converted(
    ArrayData source, object out, Stream queue, bint by_itself
) except -1:
    if out.dtype == source.dtype:
        return download(source, out, queue, by_itself)
    if captures(queue, None):
        raise ArgumentTypeError(
            f"a graph does not convert elements that it copies to host arrays: out is of "
            f"{out.dtype}, the array of {source.dtype}, and the stream is being captured; pass an "
            f"array of {source.dtype}")
    aside = np.empty(source.shape, source.dtype)
    download(source, aside, queue, False)
    np.copyto(out, aside, casting="same_kind")
    return 0


cdef int fill(ArrayData target, object element, Stream queue) except -1:
    cdef Axes axes
    cdef cupola_strided there
    cdef uint64_t value = host_address(element)
    cdef tuple strides
    target.require_live()
    if target.nbytes == 0:
        return 0
    strides = target.get_strides()
    lay_out(&axes, target.shape, strides, strides)
    there.address, there.strides = target.start, axes.first
    cdef size_t itemsize = target.itemsize
    target.used_on(queue)
    with nogil:
        check(cupola_fill_strided(
            &there, axes.shape, axes.count, <void*>value, itemsize, queue.native))
    return 0


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
