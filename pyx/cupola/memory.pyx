# cupola/memory.pyx - a piece of memory, released when nothing refers to it any more.
# cython: language_level=3
"""Memory: what arrays lie in, and raw pieces of it."""

cimport cython
from cpython.buffer cimport (
    PyBUF_ANY_CONTIGUOUS, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer,
)
from libc.stdint cimport uintptr_t

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_IPC_HANDLE_SIZE, CUPOLA_PINNED_WRITE_COMBINED,
    CUPOLA_REGISTER_READ_ONLY, cupola_callbacks_pending, cupola_captures, cupola_copy_between,
    cupola_copy_on_device, cupola_copy_to_device, cupola_copy_to_host, cupola_fill,
    cupola_memory_address, cupola_memory_allocate, cupola_memory_allocate_exportable,
    cupola_memory_allocate_managed, cupola_memory_allocate_pinned, cupola_memory_export,
    cupola_memory_import, cupola_memory_register, cupola_memory_release, cupola_memory_size,
    cupola_memory_use, cupola_stream_handle,
)
from cupola.abi cimport require
from cupola.array cimport is_pinned
from cupola.device cimport device_index
from cupola.error cimport check
from cupola.stream cimport as_stream, captures, current_stream

from cupola.exceptions import ArgumentTypeError, ArgumentValueError


cdef Memory hold(cupola_memory* native, int device, Stream stream):
    cdef Memory memory
    try:
        memory = Memory.__new__(Memory)
    except BaseException:
        cupola_memory_release(native)
        raise
    memory.native = native
    memory.stream = stream
    memory.address = cupola_memory_address(native)
    memory.nbytes = cupola_memory_size(native)
    memory.device_index = device
    return memory


cdef enum:
    MOST_AT_ONCE = 64 << 20  # bytes; the pool may have to take more from the device first


cdef unsigned long long freed = 0


cdef void note_free() noexcept:
    global freed
    freed += 1


cdef Memory allocate(int device, size_t nbytes, Stream stream):
    cdef Memory memory
    cdef cupola_memory* native = NULL
    cdef int status
    # To give Python's lock up and take it again costs more than the pool does. It is kept where
    # nothing is waited for that may want it.
    if nbytes <= MOST_AT_ONCE and cupola_callbacks_pending() == 0:
        status = cupola_memory_allocate(device, nbytes, stream.native, &native)
    else:
        with nogil:
            status = cupola_memory_allocate(device, nbytes, stream.native, &native)
    check(status)
    memory = hold(native, device, stream)
    memory.quick = <uintptr_t>stream.get_handle() != PER_THREAD
    return memory


cdef void let_go(cupola_memory* native, bint quick) noexcept:
    if quick and cupola_callbacks_pending() == 0:
        cupola_memory_release(native)
    else:
        with nogil:
            cupola_memory_release(native)


cdef Memory allocate_pinned(int device, size_t nbytes, bint write_combined):
    cdef Memory memory
    cdef cupola_memory* native = NULL
    cdef unsigned flags = CUPOLA_PINNED_WRITE_COMBINED if write_combined else 0
    with nogil:
        check(cupola_memory_allocate_pinned(device, nbytes, flags, &native))
    memory = hold(native, device, None)
    memory.pinned = True
    return memory


cdef Memory allocate_managed(int device, size_t nbytes):
    cdef Memory memory
    cdef cupola_memory* native = NULL
    with nogil:
        check(cupola_memory_allocate_managed(device, nbytes, &native))
    memory = hold(native, device, current_stream(device))
    memory.managed = True
    return memory


cdef Memory register_memory(
    int device, uint64_t address, size_t nbytes, object owner, bint read_only
):
    cdef Memory memory
    cdef cupola_memory* native = NULL
    cdef unsigned flags = CUPOLA_REGISTER_READ_ONLY if read_only else 0
    with nogil:
        check(cupola_memory_register(device, <void*><uintptr_t>address, nbytes, flags, &native))
    memory = hold(native, device, None)
    memory.owner = owner
    memory.pinned = True
    memory.write_protected = read_only
    return memory


# The owner of registered memory outlives the registration, whatever the collector does.
@cython.no_gc_clear
@cython.freelist(64)
cdef class Memory:
    """A piece of memory: of a device, page-locked on the host, or managed.

    `cupola.alloc` makes one of a device, and so do arrays; ``address + offset`` is where a part
    of it lies. Copies are queued on a stream, in the order of what else is queued there. The
    host reaches page-locked and managed memory as a buffer. It is released when nothing refers
    to it any more, after the work that was queued with it.

    Attributes
    ----------
    address : int
        0 where it has no bytes, or was freed.
    nbytes : int
    device_index : int
    pinned, managed : bool
    """

    def __cinit__(self):
        self.native = self.kept = NULL

    def __init__(self):
        raise TypeError("memory is made by cupola.alloc, empty, to_device or empty_pinned")

    def __dealloc__(self):
        # The library frees in the order of the streams that used it, so work may be in flight.
        if self.native != NULL:
            let_go(self.native, self.quick)
        if self.kept != NULL:
            with nogil:
                cupola_memory_release(self.kept)

    cdef int use(self, cupola_stream* stream) except -1:
        if self.native != NULL:
            check(cupola_memory_use(self.native, stream))
            # Freeing it then waits for all of the device.
            self.quick = self.quick and <uintptr_t>cupola_stream_handle(stream) != PER_THREAD
        return 0

    cdef int free(self) except -1:
        cdef cupola_memory* native = self.native
        if native == NULL:
            return 0
        self.native = NULL
        self.address = 0
        note_free()
        if self.lent and self.owner is None:
            self.kept = native
            return 0
        let_go(native, self.quick)
        self.owner = None
        return 0

    def release(self):
        """Free it now, after the work that was queued with it; using it is an error then.

        What the host was lent as a buffer stays until that is gone.
        """
        self.free()

    def copy_from(self, source, offset=0, nbytes=None, *, stream=None):
        """Copy bytes in.

        Parameters
        ----------
        source : buffer object, Memory or int
            Contiguous bytes of the host, other memory from its begin on, or an address of this
            device's or page-locked memory, which wants `nbytes`.
        offset : int
            Where to, in bytes from the begin of this memory.
        nbytes : int, optional
            How many; by default all that `source` has.
        stream : Stream, optional
            What the copy is queued on; by default the current one. From page-locked memory the
            copy runs by itself where a stream is given.

        Raises
        ------
        ArgumentValueError
            Where the bytes are not in there, or there is no room for them.
        """
        cdef Stream queue = as_stream(stream, self.device_index)
        if isinstance(source, (Memory, int)):
            count = far_bytes(source, nbytes)
            across(self.part(offset, count), self, far_address(source), source, count, queue)
        else:
            self.copy_host(source, offset, nbytes, queue, stream is None, False)

    def copy_to(self, target, offset=0, nbytes=None, *, stream=None):
        """Copy bytes out.

        Parameters
        ----------
        target : writable buffer object, Memory or int
            As the source of `copy_from`.
        offset : int
            Where from, in bytes from the begin of this memory.
        nbytes : int, optional
            How many; by default all that `target` has room for.
        stream : Stream, optional
            What the copy is queued on; by default the current one. To the host it is complete
            when this returns, unless `target` is page-locked and a stream was given.

        Raises
        ------
        ArgumentValueError
            Where the bytes are not in there, or there is no room for them.
        """
        cdef Stream queue = as_stream(stream, self.device_index)
        if isinstance(target, (Memory, int)):
            count = far_bytes(target, nbytes)
            across(far_address(target), target, self.part(offset, count), self, count, queue)
        else:
            self.copy_host(target, offset, nbytes, queue, stream is None, True)

    cdef int copy_host(
        self, object host, object offset, object nbytes, Stream queue, bint complete, bint out
    ) except -1:
        """From or to a buffer of the host; `complete`: whether no stream was asked for."""
        cdef Py_buffer view
        cdef bint wait, pinned
        cdef uint64_t here
        cdef size_t length
        get_buffer(host, &view, out)
        try:
            length = bounded(
                view.len if nbytes is None else nbytes, view.len,
                "the target" if out else "the source")
            here = self.part(offset, length)
            pinned = is_pinned(<uintptr_t>view.buf)
            # From pageable memory the driver returns when it has been read.
            wait = complete or not pinned if out else complete and pinned
            if cupola_captures() and captures(queue, memoryview(host)):
                wait = False  # each launch of the graph copies
            self.used(queue)  # before: the wait may fail
            with nogil:
                if out:
                    check(cupola_copy_to_host(view.buf, here, length, queue.native))
                else:
                    check(cupola_copy_to_device(here, view.buf, length, queue.native))
                if wait:
                    queue.wait_done()
        finally:
            PyBuffer_Release(&view)
        return 0

    def fill(self, value=0, offset=0, nbytes=None, *, stream=None):
        """Set bytes to a value from 0 to 255: all, or `nbytes` from `offset` on."""
        cdef Stream queue = as_stream(stream, self.device_index)
        if not 0 <= value.__index__() <= 255:
            raise ArgumentValueError(f"a byte is 0 to 255, got {value}")
        size = max(self.nbytes - offset, 0) if nbytes is None else nbytes
        cdef uint64_t to = self.part(offset, size)
        cdef size_t count = size
        cdef unsigned byte = value
        self.used(queue)
        with nogil:
            check(cupola_fill(to, byte, 1, count, queue.native))

    def part(self, offset, nbytes):
        """The address of `nbytes` bytes from `offset` on, which have to be in here."""
        if self.native == NULL:
            raise ArgumentValueError("this memory was freed")
        bounded(nbytes, self.nbytes, "the memory")
        if not 0 <= offset.__index__() <= self.nbytes - nbytes:
            raise ArgumentValueError(
                f"{nbytes} bytes from {offset} on are not within {self.nbytes} bytes of memory")
        return self.address + offset

    cdef int used(self, Stream queue) except -1:
        if self.stream is not None and self.stream.native != queue.native:
            self.use(queue.native)
        return 0

    def ipc_handle(self):
        """Bytes with which another process opens the same memory: `from_ipc_handle`.

        Keep the memory until that process has closed it.

        Raises
        ------
        ArgumentValueError
            Unless it was made by ``cupola.alloc(nbytes, exportable=True)``.
        DriverError
            Where the driver, or the system, shares no memory.
        """
        cdef char handle[CUPOLA_IPC_HANDLE_SIZE]
        if self.native == NULL:
            raise ArgumentValueError("this memory was freed")
        check(cupola_memory_export(self.native, handle))
        return handle[:CUPOLA_IPC_HANDLE_SIZE]

    @staticmethod
    def from_ipc_handle(handle, *, device=None):
        """The memory of another process, by what its `ipc_handle` gave.

        Parameters
        ----------
        handle : bytes
        device : Device or int, optional
            Whose memory it is; by default the current one.

        Returns
        -------
        Memory
            It stays open as long as this lives.
        """
        cdef int index = device_index(device)
        cdef bytes data = bytes(handle)
        cdef cupola_memory* native = NULL
        if len(data) != CUPOLA_IPC_HANDLE_SIZE:
            raise ArgumentValueError(
                f"a handle has {CUPOLA_IPC_HANDLE_SIZE} bytes, got {len(data)}")
        cdef const char* begin = data
        with nogil:
            check(cupola_memory_import(index, begin, &native))
        return hold(native, index, current_stream(index))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.free()

    def __getbuffer__(self, Py_buffer* view, int flags):
        if not self.pinned and not self.managed:
            raise BufferError("the host cannot read a device's memory; copy it with copy_to()")
        if self.native == NULL:
            raise BufferError("this memory was freed")
        PyBuffer_FillInfo(
            view, self, <void*><uintptr_t>self.address, self.nbytes, self.write_protected, flags)
        self.lent = True

    def __repr__(self):
        kind = f"device {self.device_index}"
        if self.native == NULL:
            kind = "freed"
        elif self.pinned:
            kind = "page-locked"
        elif self.managed:
            kind = f"managed, {kind}"
        return f"<cupola.Memory {self.nbytes} bytes, {kind}>"


cdef size_t bounded(object nbytes, size_t most, str what) except? 0:
    if not 0 <= nbytes.__index__() <= most:
        raise ArgumentValueError(f"{nbytes} bytes of {what}, which has {most}")
    return nbytes


cdef object far_bytes(object other, object nbytes):
    if isinstance(other, Memory):
        return bounded(other.nbytes if nbytes is None else nbytes, other.nbytes, "the other memory")
    if nbytes is None:
        raise ArgumentTypeError("for an address nbytes= has to say how many bytes lie there")
    return nbytes


cdef int copy_to_device(
    uint64_t to, const void* host, size_t nbytes, Stream stream
) except -1 nogil:
    return check(cupola_copy_to_device(to, host, nbytes, stream.native))


cdef int copy_to_host(void* host, uint64_t source, size_t nbytes, Stream stream) except -1 nogil:
    return check(cupola_copy_to_host(host, source, nbytes, stream.native))


cdef int copy_on_device(
    uint64_t to, uint64_t source, size_t nbytes, Stream stream
) except -1 nogil:
    return check(cupola_copy_on_device(to, source, nbytes, stream.native))


cdef int fill_values(
    uint64_t to, uint32_t value, int width, size_t count, Stream stream
) except -1 nogil:
    return check(cupola_fill(to, value, width, count, stream.native))


cdef uint64_t far_address(object other) except? 0:
    if isinstance(other, Memory):
        if (<Memory>other).native == NULL:
            raise ArgumentValueError("the other memory was freed")
        return (<Memory>other).address
    return other


cdef int across(
    uint64_t to, object target, uint64_t origin, object source, size_t nbytes, Stream queue
) except -1:
    """Queue a copy between two pieces of memory, and say so to both."""
    cdef int there = target.device_index if isinstance(target, Memory) else queue.device_index
    cdef int here = source.device_index if isinstance(source, Memory) else queue.device_index
    if isinstance(target, Memory):
        (<Memory>target).used(queue)
    if isinstance(source, Memory):
        (<Memory>source).used(queue)
    with nogil:
        if there == here:
            check(cupola_copy_on_device(to, origin, nbytes, queue.native))
        else:
            check(cupola_copy_between(to, there, origin, here, nbytes, queue.native))
    return 0


cdef int get_buffer(object value, Py_buffer* view, bint writable) except -1:
    try:
        PyObject_GetBuffer(
            value, view, PyBUF_ANY_CONTIGUOUS | (PyBUF_WRITABLE if writable else 0))
    except (BufferError, TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"a {type(value).__name__} shows no {'writable, ' if writable else ''}contiguous "
            f"bytes: {error}") from None
    return 0


cdef object LARGEST = 1 << 63


def alloc(nbytes, *, device=None, stream=None, exportable=False):
    """Memory of a device, as raw bytes.

    Parameters
    ----------
    nbytes : int
        How many; none give a null address.
    device : Device or int, optional
        By default the current one.
    stream : Stream, optional
        The one that uses it first; others wait for that one before they use it. By default the
        current one.
    exportable : bool
        For other processes, too: see `Memory.ipc_handle`. It comes from no pool, so making and
        freeing it takes long and waits for the device.

    Returns
    -------
    Memory

    Raises
    ------
    OutOfMemoryError
        Where the device has not enough memory.
    """
    cdef int index = device_index(device)
    cdef cupola_memory* native = NULL
    cdef size_t size
    if type(nbytes) is not int:
        if isinstance(nbytes, bool) or not hasattr(nbytes, "__index__"):
            raise ArgumentTypeError(f"a number of bytes is an int, got {nbytes!r}")
        nbytes = nbytes.__index__()
    if not 0 <= nbytes < LARGEST:
        raise ArgumentValueError(f"{nbytes} bytes can't be allocated")
    size = nbytes
    if not exportable:
        return allocate(index, size, as_stream(stream, index))
    with nogil:
        check(cupola_memory_allocate_exportable(index, size, &native))
    return hold(native, index, as_stream(stream, index))


def register_host(array, *, device=None):
    """Page-lock a host array where it lies, so that copies from and to it are fast.

    ::

        with cupola.register_host(array):
            ...

    Parameters
    ----------
    array : buffer object
        Contiguous; read-only ones are registered as such where the device can. Kept alive as
        long as the registration.
    device : Device or int, optional
        The device whose driver context registers it; it can be used with every one.

    Returns
    -------
    Memory
        The array's bytes. They are page-locked as long as this lives, or until `release` or the
        end of a ``with`` block, which wait for the device.

    Raises
    ------
    DriverError
        Where a part of it is registered already, or the system refuses to lock so much.
    """
    cdef int index = device_index(device)
    cdef Py_buffer view
    get_buffer(array, &view, False)
    try:
        return register_memory(
            index, <uintptr_t>view.buf, view.len, array, view.readonly)
    finally:
        PyBuffer_Release(&view)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
