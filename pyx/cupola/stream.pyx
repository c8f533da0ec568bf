# cupola/stream.pyx - streams: queues of work on a device.
# cython: language_level=3
"""Streams."""

cimport cython
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport uint64_t, uintptr_t

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_EVENT_NO_TIMING, CUPOLA_STREAM_NON_BLOCKING,
    cupola_callbacks_drop, cupola_callbacks_hold, cupola_capture_hold,
    cupola_capture_require_contents, cupola_captures,
    cupola_event_create, cupola_event_record, cupola_stream_call,
    cupola_stream_create, cupola_stream_current, cupola_stream_device, cupola_stream_handle,
    cupola_stream_peek, cupola_stream_pop, cupola_stream_priorities, cupola_stream_priority,
    cupola_stream_push, cupola_stream_query, cupola_stream_release, cupola_stream_synchronize,
    cupola_stream_wait, cupola_stream_wrap,
)
from cupola._attribute_docs cimport document_attributes
from cupola._callback cimport Held, drop, hold, hold_call, run_call
from cupola.abi cimport require
from cupola.device cimport device_index, device_text, known_device
from cupola.error cimport check
from cupola._free_threading cimport load, store
from cupola.handles cimport cupola_event
from cupola.native_event cimport NativeEvent

from cupola.core.registry import registered
from cupola.error import AFTER_WAIT
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["Stream"]
# The driver's handles of the default streams.
cdef enum Default:
    LEGACY = 1
    PER_THREAD = 2


cdef Stream adopt(cupola_stream* native):
    cdef Stream stream = Stream.__new__(Stream)
    stream.native = native
    stream.device_index = cupola_stream_device(native)
    return stream


cdef enum:
    MOST_DEVICES = 128  # devices of the driver, and of the CPU device beside it

# The legacy default stream of each device, which is usually the current one: the library's handle
# and the Python object.
cdef cupola_stream* KNOWN[MOST_DEVICES]
cdef PyObject* DEFAULTS[MOST_DEVICES]

for _device in range(MOST_DEVICES):
    KNOWN[_device] = NULL


cdef Stream current_stream(int device):
    cdef cupola_stream* native = NULL
    check(cupola_stream_peek(device, &native))
    if device < MOST_DEVICES and load(KNOWN[device]) == native:
        return <Stream>DEFAULTS[device]
    return other_stream(device)


cdef Stream other_stream(int device):
    cdef cupola_stream* native = NULL
    cdef Stream stream
    check(cupola_stream_current(device, &native))
    stream = adopt(native)
    if (
        device < MOST_DEVICES and load(KNOWN[device]) == NULL
        and <uintptr_t>cupola_stream_handle(native) <= 1
    ):
        with cython.critical_section(HANDLES):
            if KNOWN[device] == NULL:
                Py_INCREF(stream)  # never freed
                DEFAULTS[device] = <PyObject*>stream
                store(KNOWN[device], native)
    return stream


cdef Stream wrap_handle(void* handle, object owner, int device):
    cdef cupola_stream* native = NULL
    cdef OwnedStream stream
    cdef Held kept
    cdef int status
    if owner is None:
        check(cupola_stream_wrap(device, handle, NULL, NULL, &native))
        return adopt(native)
    kept = hold(None)
    status = cupola_stream_wrap(device, handle, <PyObject*>kept, drop, &native)
    if status != 0:
        Py_DECREF(kept)
        check(status)
    stream = OwnedStream.__new__(OwnedStream)
    stream.native = native
    stream.device_index = device
    stream.owner, stream.kept = owner, kept
    return stream


cdef Stream as_stream(object stream, int device):
    if stream is None:
        return current_stream(device)
    if isinstance(stream, Stream):
        if (<Stream>stream).native == NULL:
            raise ArgumentTypeError("this cupola.Stream was never initialized")
        if (<Stream>stream).device_index != device:
            raise ArgumentValueError(
                f"the stream is of {device_text((<Stream>stream).device_index)}; the work for "
                f"it is of {device_text(device)}")
        return <Stream>stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is None:
        answer = 0, library_handle(stream)
    else:
        answer = protocol() if callable(protocol) else protocol
    for name in ("device_index", "device_id"):  # PyTorch's name, CuPy's name
        stated = getattr(stream, name, None)
        # CuPy's default streams belong to no device: -1.
        if isinstance(stated, int) and stated >= 0 and stated != device:
            raise ArgumentValueError(
                f"the stream, a {type(stream).__name__}, is of {device_text(stated)}; the work for "
                f"it is of {device_text(device)}")
    try:
        version, handle = answer
        if version != 0:
            raise ArgumentTypeError(
                f"{type(stream).__name__}.__cuda_stream__ has version {version}; cupola supports "
                "version 0")
        return wrap_handle(<void*><uintptr_t>handle, stream, device)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ArgumentTypeError):
            raise
        raise ArgumentTypeError(
            f"{type(stream).__name__}.__cuda_stream__ gives {answer!r}, not (0, handle)"
        ) from error


# Older releases of these libraries have streams without __cuda_stream__.
cdef dict HANDLES = {
    "torch": "cuda_stream", "cupy": "ptr", "numba": "handle", "numba_cuda": "handle",
}


cdef object library_handle(object stream):
    """The CUstream of a stream of another library, by the library's own attribute."""
    for base in type(stream).__mro__:
        name = HANDLES.get(base.__module__.partition(".")[0])
        handle = None if name is None else getattr(stream, name, None)
        if handle is not None:
            # Numba has ctypes.c_void_p, whose value is None for the default stream.
            handle = getattr(handle, "value", handle)
            return 0 if handle is None else int(handle)
    raise ArgumentTypeError(
        "a stream is a cupola.Stream or an object with __cuda_stream__, got "
        f"{type(stream).__name__}; for a CUstream handle use cupola.Stream.from_handle")


def stream_of(stream, int device, str title=None):
    """The stream that a call got as its argument ``stream``.

    Parameters
    ----------
    stream : Stream, object with ``__cuda_stream__``, or None
        None is this thread's current stream of the device. Streams of PyTorch, CuPy and Numba are
        taken in releases without ``__cuda_stream__``, too.
    device : int
        The device of the work.
    title : str, optional
        The call, for errors.

    Raises
    ------
    ArgumentTypeError
        Where the object is no stream.
    ArgumentValueError
        Where the stream is of another device.
    """
    if title is None:
        return as_stream(stream, device)
    try:
        return as_stream(stream, device)
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise type(error)(f"{title}: argument stream: {error}") from error.__cause__


cdef bint captures(Stream stream, object needed) except -1:
    cdef int held = 0
    cdef int status
    if not cupola_captures():
        return False
    if needed is None:
        check(cupola_capture_hold(stream.native, NULL, NULL, &held))
        return held != 0
    kept = hold(needed)
    status = cupola_capture_hold(stream.native, <PyObject*>kept, drop, &held)
    if status != 0 or not held:
        Py_DECREF(kept)
    check(status)
    return held != 0


cdef int refuse_capture(
    Stream stream, str title, str remedy="let the graph copy them with array.get(out=host)"
) except -1:
    if cupola_captures() and captures(stream, None):
        raise ArgumentValueError(
            f"{title}: the stream is being captured: nothing runs before the graph is launched, so "
            f"the host can't use the elements here; {remedy}, or call this outside of the capture")
    return 0


cdef int require_contents(Stream stream, uint64_t address) except -1:
    if cupola_captures():
        check(cupola_capture_require_contents(stream.native, address))
    return 0


def refuse_captured(device, title, why):
    """Raise while cupola is capturing this thread's current stream of a device.

    Parameters
    ----------
    device : int or Device, optional
    title, why : str
        A function that waits for the device, and what to use instead in a capture.
    """
    if captures(current_stream(device_index(device)), None):
        raise ArgumentValueError(
            f"{title}: the stream is being captured, and this call waits for the device: {why}, or "
            "call it outside of the capture")


cdef NativeEvent event_after(Stream stream):
    """An event without timing, recorded after all work queued on the stream."""
    cdef NativeEvent event = NativeEvent.__new__(NativeEvent)
    cdef cupola_event* native = NULL
    with nogil:  # the stream may be full
        check(cupola_event_create(stream.device_index, CUPOLA_EVENT_NO_TIMING, &native))
        event.native = native
        check(cupola_event_record(native, stream.native))
    return event


cdef class Stream:
    """A stream: its work runs in order; different streams run concurrently.

    ``with stream:`` makes it the current stream of this thread, which functions use by default.
    Outside of such a block the current stream is the legacy default stream.

    Parameters
    ----------
    non_blocking : bool
        Whether it runs concurrently with the legacy default stream, without mutual waits.
    priority : int
        A smaller number is a higher priority; see `priorities` for the range.
    device : Device or int, optional
        By default the current one.

    Notes
    -----
    A stream may be released while work is queued on it: the work still runs. cupola accepts streams
    of other libraries that offer ``__cuda_stream__``, and its own streams offer it too.
    """

    def __cinit__(self):
        self.native = NULL

    def __init__(self, *, bint non_blocking=False, priority=0, device=None):
        if isinstance(priority, bool) or not hasattr(priority, "__index__"):
            raise ArgumentTypeError(f"a stream's priority is an int, got {priority!r}")
        # The driver clamps to its own range; here the value is clamped to C's.
        priority = max(-(1 << 31), min(priority.__index__(), (1 << 31) - 1))
        cdef int index = device_index(device), level = priority
        cdef unsigned flags = CUPOLA_STREAM_NON_BLOCKING if non_blocking else 0
        cdef cupola_stream* native = NULL
        if self.native != NULL:  # memory allocated on it depends on the native stream
            raise TypeError("a Stream is initialized only once")
        with nogil:
            check(cupola_stream_create(index, flags, level, &native))
        self.native = native
        self.device_index = index

    def __dealloc__(self):
        with nogil:
            cupola_stream_release(self.native)

    @staticmethod
    def current(device=None):
        """The current stream of this thread.

        Parameters
        ----------
        device : Device or int, optional
            By default the current one.

        Returns
        -------
        Stream
        """
        return current_stream(device_index(device))

    @staticmethod
    def from_handle(handle, *, owner=None, device=None):
        """Wrap a stream that other code creates and destroys.

        Parameters
        ----------
        handle : int
            Its ``CUstream`` (or ``cudaStream_t``); 0 or 1 is the legacy default stream, 2 the
            default stream of each thread.
        owner : object, optional
            Kept alive as long as cupola needs the stream. Without an owner, destroy the stream only
            after the memory that was used on it is freed: cupola frees it in stream order.
        device : Device or int, optional
            The device it belongs to; by default the current one.

        Returns
        -------
        Stream
        """
        if isinstance(handle, bool) or not isinstance(handle, int) or not 0 <= handle < 1 << 64:
            raise ArgumentTypeError(f"a stream's handle is an int, 0 to 2**64 - 1, got {handle!r}")
        return wrap_handle(<void*><uintptr_t>handle, owner, device_index(device))

    cdef void* get_handle(self) noexcept nogil:
        return cupola_stream_handle(self.native)

    cdef int wait_done(self) except -1 nogil:
        return check(cupola_stream_synchronize(self.native))

    cdef int is_done(self) except -1 nogil:
        cdef int done = 0
        check(cupola_stream_query(self.native, &done))
        return done != 0

    @staticmethod
    def legacy(device=None):
        """The legacy default stream, which blocking streams wait for, and which waits for them.

        Parameters
        ----------
        device : Device or int, optional
            By default the current one.

        Returns
        -------
        Stream
        """
        return wrap_handle(<void*><uintptr_t>LEGACY, None, device_index(device))

    @staticmethod
    def per_thread(device=None):
        """The per-thread default stream; it means the stream of the thread that uses it.

        Parameters
        ----------
        device : Device or int, optional
            By default the current one.

        Returns
        -------
        Stream
        """
        return wrap_handle(<void*><uintptr_t>PER_THREAD, None, device_index(device))

    @staticmethod
    def priorities(device=None):
        """The range of the device's priorities.

        Parameters
        ----------
        device : Device or int, optional
            By default the current one.

        Returns
        -------
        tuple of int
            The lowest and the highest priority; the highest is the smaller number.
        """
        cdef int least = 0, greatest = 0
        cdef int index = device_index(device)
        check(cupola_stream_priorities(index, &least, &greatest))
        return least, greatest

    @property
    def priority(self):
        """Its priority; a smaller number is a higher priority."""
        cdef int priority = 0
        cdef unsigned flags = 0
        with nogil:
            check(cupola_stream_priority(self.native, &priority, &flags))
        return priority

    @property
    def non_blocking(self):
        """Whether it runs concurrently with the legacy default stream, without mutual waits."""
        cdef int priority = 0
        cdef unsigned flags = 0
        with nogil:
            check(cupola_stream_priority(self.native, &priority, &flags))
        return flags & CUPOLA_STREAM_NON_BLOCKING != 0

    @property
    def handle(self):
        """The driver's handle, a ``CUstream``, as an int."""
        return <uintptr_t>self.get_handle()

    @property
    def device(self):
        """The device it belongs to."""
        return known_device(self.device_index)

    def __cuda_stream__(self):
        """The stream protocol of CUDA's Python libraries: (0, handle)."""
        return 0, self.handle

    def synchronize(self):
        """Wait until all queued work is done.

        Raises
        ------
        DriverError
            Where queued work failed.
        IndexError
            Where work of the device found an index out of range; see `take`.
        """
        with nogil:
            self.wait_done()
        if AFTER_WAIT[0] is not None:
            AFTER_WAIT[0](self.device_index)

    @property
    def done(self):
        """Whether all queued work is done."""
        cdef int done
        with nogil:
            done = self.is_done()
        return done != 0

    def wait(self, what):
        """Make later work wait for other work, on the device.

        Parameters
        ----------
        what : Event, Stream, or an object with ``__cuda_stream__``
            Later work waits for the event, or for all work queued on the stream so far.

        Notes
        -----
        Between the CPU device and a GPU, whose drivers differ, this call itself waits. In a capture
        it raises ArgumentValueError: a graph has nodes of one driver.
        """
        cdef NativeEvent event
        if isinstance(what, NativeEvent):
            event = <NativeEvent>what
        else:
            event = event_after(
                as_stream(what, getattr(what, "device_index", self.device_index)))
        with nogil:
            check(cupola_stream_wait(self.native, event.native))

    def record(self):
        """Record a new event after all work queued so far.

        Returns
        -------
        Event
        """
        event = registered("Event")(device=self.device_index)
        event.record(self)
        return event

    def capture(self, mode="thread_local"):
        """Capture queued work as a graph: ``with stream.capture() as graph:``.

        Inside the block the stream is the current one, and no work runs: launches, copies and fills
        on it, and on streams that wait for it, become nodes. The graph is complete at the end of
        the block. Memory allocated inside is usable immediately. An error in the block ends the
        capture. A call that waits for the device, or whose result the host needs at once, is
        refused, and the capture goes on.

        Parameters
        ----------
        mode : str
            The threads that must not make calls that may wait for the device during the capture.
            ``"thread_local"``: the capturing thread; ``"global"``: all threads; ``"relaxed"``:
            none.

        Returns
        -------
        context manager
            Its value is the `Graph`.
        """
        return registered("Capture")(self, mode)

    @property
    def capturing(self):
        """Whether cupola is capturing the stream."""
        return captures(self, None)

    def launch_host_func(self, function, *args):
        """Queue a call of a Python function, in stream order, on a thread of the driver.

        Later work waits for it. The function must not use the device: no launch, no copy, no wait
        for a stream. It and its arguments are kept alive until it has run. It never runs where
        earlier work fails, or where Python exits first.

        Parameters
        ----------
        function : callable
            Its result is ignored; its exceptions go to `sys.unraisablehook`.
        *args
            Its arguments.

        Raises
        ------
        ArgumentTypeError
            Where it is not callable.
        """
        call = hold_call(function, args)
        cdef void* data = <PyObject*>call
        cdef int status
        # Counted before the GIL is released: from now on, no other thread may wait in the driver
        # while it holds the GIL.
        cupola_callbacks_hold()
        with nogil:
            status = cupola_stream_call(self.native, run_call, data, drop)
        cupola_callbacks_drop()
        if status != 0:
            try:
                check(status)
            finally:
                drop(data)

    def __enter__(self):
        check(cupola_stream_push(self.native))
        return self

    def __exit__(self, *exception):
        check(cupola_stream_pop(self.native))

    def __eq__(self, other):
        if not isinstance(other, Stream):
            return NotImplemented
        return (
            self.get_handle() == (<Stream>other).get_handle()
            and self.device_index == (<Stream>other).device_index)

    def __hash__(self):
        return hash((self.device_index, self.handle))

    def __repr__(self):
        return f"<cupola.Stream {self.handle:#x} on {device_text(self.device_index)}>"


# The stream of the library may outlive this object, and needs the owner until its end. Until then
# this object has the owner, where the garbage collector sees it: a cycle with the owner is
# collected. Without no_gc_clear the collector could take the owner away before __dealloc__ passes
# it on.
@cython.final
@cython.no_gc_clear
cdef class OwnedStream(Stream):
    """A stream of other code, and the object that it needs."""

    cdef object owner
    cdef Held kept  # empty; the library releases it with its stream

    def __dealloc__(self):
        if self.kept is not None:
            self.kept.what = self.owner


def hold_in_capture(Stream stream not None, what not None):
    """Keep an object alive as long as the graph that a stream's capture makes.

    For calls of other libraries, whose handles the graph uses at each launch.

    Returns
    -------
    bool
        Whether the stream is being captured; else nothing is held.
    """
    return captures(stream, what)


document_attributes(Stream, {
    "device_index": "The index of the device, an int.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
