# cupola/stream.pyx - a stream: a queue of work on a device, ours or somebody else's.
# cython: language_level=3
"""Streams."""

from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport uintptr_t

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_STREAM_NON_BLOCKING, cupola_callbacks_drop,
    cupola_callbacks_hold, cupola_capture_hold, cupola_captures, cupola_stream_call,
    cupola_stream_create, cupola_stream_current, cupola_stream_device, cupola_stream_handle,
    cupola_stream_peek, cupola_stream_pop, cupola_stream_priorities, cupola_stream_priority,
    cupola_stream_push, cupola_stream_query, cupola_stream_release, cupola_stream_synchronize,
    cupola_stream_wait, cupola_stream_wrap,
)
from cupola._callback cimport drop, hold_call, run_call
from cupola.abi cimport require
from cupola.device cimport device_index, known_device
from cupola.error cimport check
from cupola.event cimport Event

from cupola.deprecation import renamed
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
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
    MOST_DEVICES = 64

# The legacy default stream of each device, what is current nearly always: as the library knows it,
# and the object that stands for it.
cdef cupola_stream* KNOWN[MOST_DEVICES]
cdef PyObject* DEFAULTS[MOST_DEVICES]

for _device in range(MOST_DEVICES):
    KNOWN[_device] = NULL


cdef Stream current_stream(int device):
    cdef cupola_stream* native = NULL
    check(cupola_stream_peek(device, &native))
    if device < MOST_DEVICES and KNOWN[device] == native:
        return <Stream>DEFAULTS[device]
    return other_stream(device)


cdef Stream other_stream(int device):
    cdef cupola_stream* native = NULL
    cdef Stream stream
    check(cupola_stream_current(device, &native))
    stream = adopt(native)
    if (
        device < MOST_DEVICES and KNOWN[device] == NULL
        and <uintptr_t>cupola_stream_handle(native) <= 1
    ):
        Py_INCREF(stream)  # for good
        DEFAULTS[device] = <PyObject*>stream
        KNOWN[device] = native
    return stream


cdef Stream wrap_handle(void* handle, object owner, int device):
    cdef cupola_stream* native = NULL
    cdef int status
    if owner is None:
        check(cupola_stream_wrap(device, handle, NULL, NULL, &native))
    else:
        Py_INCREF(owner)
        status = cupola_stream_wrap(device, handle, <PyObject*>owner, drop, &native)
        if status != 0:
            Py_DECREF(owner)
            check(status)
    return adopt(native)


cdef Stream as_stream(object stream, int device):
    if stream is None:
        return current_stream(device)
    if isinstance(stream, Stream):
        if (<Stream>stream).native == NULL:
            raise ArgumentTypeError("this cupola.Stream was never initialised")
        if (<Stream>stream).device_index != device:
            raise ArgumentValueError(
                f"the stream is of device {(<Stream>stream).device_index}; what is to be queued on "
                f"it belongs to device {device}")
        return <Stream>stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is None:
        raise ArgumentTypeError(
            "a stream is a cupola.Stream or an object with __cuda_stream__, got "
            f"{type(stream).__name__}; for a CUstream handle use cupola.Stream.from_handle")
    answer = protocol() if callable(protocol) else protocol
    try:
        version, handle = answer
        if version != 0:
            raise ArgumentTypeError(
                f"{type(stream).__name__}.__cuda_stream__ has version {version}; cupola knows "
                "version 0")
        return wrap_handle(<void*><uintptr_t>handle, stream, device)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ArgumentTypeError):
            raise
        raise ArgumentTypeError(
            f"{type(stream).__name__}.__cuda_stream__ gives {answer!r}, not (0, handle)"
        ) from error


cdef bint captures(Stream stream, object needed) except -1:
    cdef int held = 0
    cdef int status
    if not cupola_captures():
        return False
    if needed is None:
        check(cupola_capture_hold(stream.native, NULL, NULL, &held))
        return held != 0
    Py_INCREF(needed)
    status = cupola_capture_hold(stream.native, <PyObject*>needed, drop, &held)
    if status != 0 or not held:
        Py_DECREF(needed)
    check(status)
    return held != 0


cdef class Stream:
    """A stream: what is queued on it runs in order; different streams run side by side.

    ``with stream:`` makes it the current stream of this thread: the one which everything uses
    that isn't told another. Outside of such a block that is the legacy default stream.

    Parameters
    ----------
    non_blocking : bool
        Whether it runs beside the legacy default stream rather than in turn with it.
    priority : int
        Smaller numbers go first; the range is the device's.
    device : Device or int, optional
        By default the current one.

    Notes
    -----
    A stream may be released while work is queued on it: the work is done all the same. Streams
    of other libraries that offer ``__cuda_stream__`` go wherever cupola takes a stream, and
    cupola's go there.
    """

    def __cinit__(self):
        self.native = NULL

    def __init__(self, *, bint non_blocking=False, priority=0, device=None):
        if isinstance(priority, bool) or not hasattr(priority, "__index__"):
            raise ArgumentTypeError(f"a stream's priority is an int, got {priority!r}")
        # The driver takes what is beyond its range for the nearest; so do we beyond C's.
        priority = max(-(1 << 31), min(priority.__index__(), (1 << 31) - 1))
        cdef int index = device_index(device), level = priority
        cdef unsigned flags = CUPOLA_STREAM_NON_BLOCKING if non_blocking else 0
        cdef cupola_stream* native = NULL
        if self.native != NULL:  # memory that was allocated on it goes by what it is
            raise TypeError("a Stream is initialised once")
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
        """A stream that somebody else made and destroys.

        Parameters
        ----------
        handle : int
            Its ``CUstream`` (or ``cudaStream_t``); 0 or 1 is the legacy default stream, 2 the
            default stream of each thread.
        owner : object, optional
            Kept alive as long as cupola needs the stream. Where there is none, the stream has to
            stay as long as memory that was used on it: that is given back in its order.
        device : Device or int, optional
            The one it belongs to; by default the current one.

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
        """The legacy default stream, which takes turns with every blocking stream.

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
        """The default stream which each thread has for itself; what it means depends on the
        thread that uses it.

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
            The least, which goes last, and the greatest, which is the smaller number.
        """
        cdef int least = 0, greatest = 0
        cdef int index = device_index(device)
        check(cupola_stream_priorities(index, &least, &greatest))
        return least, greatest

    @property
    def priority(self):
        """Its priority: smaller numbers go first."""
        cdef int priority = 0
        cdef unsigned flags = 0
        with nogil:
            check(cupola_stream_priority(self.native, &priority, &flags))
        return priority

    @property
    def non_blocking(self):
        """Whether it runs beside the legacy default stream rather than in turn with it."""
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
        """Wait until all that was queued is done.

        Raises
        ------
        DriverError
            Where something of it failed.
        """
        with nogil:
            self.wait_done()

    @property
    def done(self):
        """Whether all that was queued is done."""
        cdef int done
        with nogil:
            done = self.is_done()
        return done != 0

    def wait(self, what):
        """Let what is queued from now on wait, on the device, for other work.

        Parameters
        ----------
        what : Event, Stream, or an object with ``__cuda_stream__``
            An event, or a stream of which all that was queued so far is waited for.
        """
        cdef Event event
        if isinstance(what, Event):
            event = <Event>what
        else:
            other = as_stream(what, getattr(what, "device_index", self.device_index))
            event = Event(timing=False, device=(<Stream>other).device_index)
            event.record(other)
        with nogil:
            check(cupola_stream_wait(self.native, event.native))

    def record(self):
        """An event after all that was queued so far.

        Returns
        -------
        Event
        """
        event = Event(device=self.device_index)
        event.record(self)
        return event

    def capture(self, mode="thread_local"):
        """Make a graph of what is queued: ``with stream.capture() as graph:``.

        Inside the block the stream is the current one, and nothing runs: launches, copies and
        fills on it, and on streams that wait for it, become nodes. At the end of the block the
        graph is there. Memory that is allocated inside is there at once. An error in the block
        ends the capture, and so does what can't be captured, as waiting for the stream.

        Parameters
        ----------
        mode : str
            Who may do nothing meanwhile that might wait for the device: ``"thread_local"``: the
            thread that captures; ``"global"``: none; ``"relaxed"``: all may.

        Returns
        -------
        context manager
            Which gives the `Graph`.
        """
        from cupola.capture import Capture
        return Capture(self, mode)

    @property
    def capturing(self):
        """Whether cupola is making a graph of what is queued on it."""
        return captures(self, None)

    def launch_host_func(self, function, *args):
        """Queue a call of a Python function: in the order of the stream, on a driver's thread.

        What is queued later waits for it. The function must not use the device: no launch, no
        copy, no waiting for a stream. It and its arguments are held until it has run; where work
        before it fails it never runs, and where the interpreter exits before its turn neither.

        Parameters
        ----------
        function : callable
            What it returns is dropped; what it raises goes to `sys.unraisablehook`.
        *args
            Its arguments.

        Raises
        ------
        ArgumentTypeError
            Where it is not callable.
        """
        cdef void* data = hold_call(function, args)
        cdef int status
        # Before Python's lock is let go: no other thread may now wait in the driver with it.
        cupola_callbacks_hold()
        with nogil:
            status = cupola_stream_call(self.native, run_call, data, drop)
        cupola_callbacks_drop()
        if status != 0:
            try:
                check(status)
            finally:
                drop(data)

    def call(self, function, *args):
        """The old name of `launch_host_func`.

        .. deprecated:: 0.1
        """
        renamed("Stream.call", "launch_host_func")
        self.launch_host_func(function, *args)

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
        return f"<cupola.Stream {self.handle:#x} on device {self.device_index}>"


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
