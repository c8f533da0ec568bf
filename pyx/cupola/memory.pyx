# cupola/memory.pyx - memory that is freed with its last reference.
# cython: language_level=3
"""Memory of arrays, and raw memory."""

cimport cython
from cpython.buffer cimport (
    PyBUF_ANY_CONTIGUOUS, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer,
)
from libc.stdint cimport uintptr_t

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_IPC_HANDLE_SIZE, CUPOLA_PINNED_WRITE_COMBINED,
    CUPOLA_REGISTER_READ_ONLY, cupola_address_device, cupola_address_exportable,
    cupola_callbacks_pending, cupola_captures, cupola_copy_between, cupola_copy_on_device,
    cupola_copy_to_device, cupola_copy_to_host, cupola_fill, cupola_memory_address,
    cupola_memory_allocate, cupola_memory_allocate_exportable, cupola_memory_allocate_managed,
    cupola_memory_allocate_pinned, cupola_memory_export, cupola_memory_import,
    cupola_memory_register, cupola_memory_release, cupola_memory_size, cupola_memory_use,
    cupola_stream_handle,
)
from cupola._attribute_docs cimport document_attributes
from cupola.abi cimport require
from cupola.device cimport device_index, device_text, is_same_driver
from cupola.error cimport check
from cupola._free_threading cimport FREE_THREADED, add, load, store
from cupola.layout cimport as_int
from cupola.stream cimport as_stream, captures, current_stream

from cupola.exceptions import ArgumentTypeError, ArgumentValueError, OutOfMemoryError

__all__ = ["Memory", "alloc", "register_host"]


cdef uint64_t host_address(object host) except? 0:
    return host.__array_interface__["data"][0]


cdef bint is_pinned(uint64_t address) except -1:
    cdef int device = -1
    check(cupola_address_device(address, &device))
    return device >= 0


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
    MAX_HELD_BYTES = 64 << 20  # the pool may have to reserve device memory for more bytes


cdef unsigned long long freed = 0


cdef void note_free() noexcept:
    add(freed, <unsigned long long>1)


# Called with device and bytes where an allocation failed; the allocation is then tried once more.
cdef list out_of_memory_handler = [None]  # the function, or None


def set_out_of_memory_handler(handler):
    """Set the function that frees memory where a device is full, for allocations of all threads.

    Parameters
    ----------
    handler : callable or None
        Called as ``handler(device_index, nbytes)`` where an allocation failed, before it is tried
        once more. It returns a text, which ends the error where that fails too. It must not wait
        for other threads that allocate.

    Returns
    -------
    callable or None
        The handler before.
    """
    if handler is not None and not callable(handler):
        raise ArgumentTypeError(f"a handler is a function or None, got {handler!r}")
    previous = out_of_memory_handler[0]
    out_of_memory_handler[0] = handler
    return previous


cdef Memory allocate(int device, size_t nbytes, Stream stream):
    handler = out_of_memory_handler[0]
    if handler is None:
        return allocate_once(device, nbytes, stream)
    try:
        return allocate_once(device, nbytes, stream)
    except OutOfMemoryError as error:
        advice = handler(device, nbytes)
        try:
            return allocate_once(device, nbytes, stream)
        except OutOfMemoryError as again:
            raise OutOfMemoryError(
                f"{again}; {advice}", again.code, again.name, again.log) from error


cdef Memory allocate_once(int device, size_t nbytes, Stream stream):
    cdef Memory memory
    cdef cupola_memory* native = NULL
    cdef int status
    # To release and take the GIL costs more than the pool does. So a small allocation keeps the
    # GIL, unless it may wait for a pending callback, which may need the GIL.
    # Without a GIL, another thread may add a callback meanwhile, and garbage collection stops the
    # threads that hold a thread state: the callback would wait for this thread.
    if not FREE_THREADED and nbytes <= MAX_HELD_BYTES and cupola_callbacks_pending() == 0:
        status = cupola_memory_allocate(device, nbytes, stream.native, &native)
    else:
        with nogil:
            status = cupola_memory_allocate(device, nbytes, stream.native, &native)
    check(status)
    memory = hold(native, device, stream)
    memory.quick = <uintptr_t>stream.get_handle() != PER_THREAD
    return memory


cdef void let_go(cupola_memory* native, bint quick) noexcept:
    if not FREE_THREADED and quick and cupola_callbacks_pending() == 0:
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


# Without this, garbage collection could free the owner of registered memory first.
@cython.no_gc_clear
@cython.freelist(64)
cdef class Memory:
    """A piece of memory: of a device, page-locked on the host, or managed.

    `cupola.alloc` and arrays make device memory; ``address + offset`` is the address of a part.
    Copies are queued on a stream, in stream order. The host accesses page-locked and managed
    memory as a buffer. Memory is freed with its last reference, after the queued work that uses it.
    """

    def __cinit__(self):
        self.native = self.kept = NULL

    def __init__(self):
        raise TypeError("memory is made by cupola.alloc, empty, to_device or empty_pinned")

    def __dealloc__(self):
        # The library frees in stream order, so work may be in flight.
        if self.native != NULL:
            let_go(self.native, self.quick)
        if self.kept != NULL:
            with nogil:
                cupola_memory_release(self.kept)

    cdef int use(self, cupola_stream* stream) except -1:
        with cython.critical_section(self):  # another thread may free it
            if self.native != NULL:
                check(cupola_memory_use(self.native, stream))
                # To free such memory waits for all work of the device.
                self.quick = self.quick and <uintptr_t>cupola_stream_handle(stream) != PER_THREAD
        return 0

    cdef int free(self) except -1:
        cdef cupola_memory* native
        cdef object _owner = None
        with cython.critical_section(self):
            native = self.native
            if native == NULL:
                return 0
            store(self.native, <cupola_memory*>NULL)
            store(self.address, <uint64_t>0)
            note_free()
            if self.lent and self.owner is None:
                self.kept = native
                return 0
            _owner = self.owner  # released behind the memory
            self.owner = None
        let_go(native, self.quick)
        return 0

    def release(self):
        """Free it now, after the queued work that uses it. Later uses raise an error.

        Memory that is exported as a buffer stays until the buffer is released.
        """
        self.free()

    def copy_from(self, source, offset=0, nbytes=None, *, stream=None):
        """Copy bytes in.

        Parameters
        ----------
        source : buffer object, Memory or int
            Contiguous host bytes, other memory, or an address of device or page-locked memory.
            An address needs `nbytes`.
        offset : int
            The destination's offset in this memory, in bytes.
        nbytes : int, optional
            Bytes to copy; by default all of `source`.
        stream : Stream, optional
            The stream of the copy; by default the current one. From page-locked memory, where a
            stream is given, the copy is asynchronous.

        Raises
        ------
        ArgumentValueError
            Where the bytes exceed either memory.
        """
        cdef Stream queue = as_stream(stream, self.device_index)
        if isinstance(source, (Memory, int)):
            count = far_bytes(source, nbytes)
            copy_between_devices(
                self.part(offset, count), self, far_address(source), source, count, queue)
        else:
            self.copy_host(source, offset, nbytes, queue, stream is None, False)

    def copy_to(self, target, offset=0, nbytes=None, *, stream=None):
        """Copy bytes out.

        Parameters
        ----------
        target : writable buffer object, Memory or int
            Like the source of `copy_from`.
        offset : int
            The source's offset in this memory, in bytes.
        nbytes : int, optional
            Bytes to copy; by default the size of `target`.
        stream : Stream, optional
            The stream of the copy; by default the current one. A copy to the host is complete when
            this returns, unless `target` is page-locked and a stream was given.

        Raises
        ------
        ArgumentValueError
            Where the bytes exceed either memory.
        """
        cdef Stream queue = as_stream(stream, self.device_index)
        if isinstance(target, (Memory, int)):
            count = far_bytes(target, nbytes)
            copy_between_devices(
                far_address(target), target, self.part(offset, count), self, count, queue)
        else:
            self.copy_host(target, offset, nbytes, queue, stream is None, True)

    cdef int copy_host(
        self, object host, object offset, object nbytes, Stream queue, bint complete, bint out
    ) except -1:
        """Copy from or to a host buffer; `complete`: no stream was given, so wait where needed."""
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
            # The driver returns after it has read pageable memory.
            wait = complete or not pinned if out else complete and pinned
            if cupola_captures() and captures(queue, memoryview(host)):
                wait = False  # each launch of the graph copies
            self.used(queue)  # first: the wait may fail
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
        """Set bytes to a value from 0 to 255: all, or `nbytes` bytes at `offset`."""
        cdef Stream queue = as_stream(stream, self.device_index)
        value = as_int("value", value)
        if not 0 <= value <= 255:
            raise ArgumentValueError(f"the value must be 0 to 255, got {value}")
        size = max(self.nbytes - as_int("offset", offset), 0) if nbytes is None else nbytes
        cdef uint64_t to = self.part(offset, size)
        cdef size_t count = size
        cdef unsigned byte = value
        self.used(queue)
        with nogil:
            check(cupola_fill(to, byte, 1, count, queue.native))

    def part(self, offset, nbytes):
        """The address of `nbytes` bytes at `offset`; raises where they exceed this memory."""
        cdef uint64_t address = load(self.address)  # 0 only after `native` became NULL
        if load(self.native) == NULL:
            raise ArgumentValueError("this memory was freed")
        nbytes = bounded(nbytes, self.nbytes, "the memory")
        offset = as_int("offset", offset)
        if not 0 <= offset <= self.nbytes - nbytes:
            raise ArgumentValueError(
                f"{nbytes} bytes at offset {offset} exceed the memory's {self.nbytes} bytes")
        return address + offset

    cdef int used(self, Stream queue) except -1:
        if self.stream is not None and self.stream.native != queue.native:
            self.use(queue.native)
        return 0

    def ipc_handle(self):
        """A handle by which another process opens this memory: see `from_ipc_handle`.

        Keep the memory until that process has closed it.

        Raises
        ------
        ArgumentValueError
            Unless it was made by ``cupola.alloc(nbytes, exportable=True)``.
        DriverError
            Where the driver or the system does not support it.
        """
        cdef char handle[CUPOLA_IPC_HANDLE_SIZE]
        if load(self.native) == NULL:
            raise ArgumentValueError("this memory was freed")
        check(cupola_memory_export(self.native, handle))
        return handle[:CUPOLA_IPC_HANDLE_SIZE]

    @staticmethod
    def from_ipc_handle(handle, *, device=None):
        """Open another process's memory by its `ipc_handle`.

        Parameters
        ----------
        handle : bytes
        device : Device or int, optional
            The device of the memory; by default the current one.

        Returns
        -------
        Memory
            The memory stays open as long as this object.
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
        with cython.critical_section(self):
            if self.native == NULL:
                raise BufferError("this memory was freed")
            PyBuffer_FillInfo(
                view, self, <void*><uintptr_t>self.address, self.nbytes, self.write_protected,
                flags)
            self.lent = True

    def __repr__(self):
        kind = device_text(self.device_index)
        if load(self.native) == NULL:
            kind = "freed"
        elif self.pinned:
            kind = "page-locked"
        elif self.managed:
            kind = f"managed, {kind}"
        return f"<cupola.Memory {self.nbytes} bytes, {kind}>"


cdef size_t bounded(object nbytes, size_t most, str what) except? 0:
    nbytes = as_int("nbytes", nbytes)
    if not 0 <= nbytes <= most:
        raise ArgumentValueError(f"{nbytes} bytes of {what}, which has {most}")
    return nbytes


cdef object far_bytes(object other, object nbytes):
    if isinstance(other, Memory):
        return bounded(other.nbytes if nbytes is None else nbytes, other.nbytes, "the other memory")
    if nbytes is None:
        raise ArgumentTypeError("an address needs nbytes=, the number of bytes to copy")
    return as_int("nbytes", nbytes)


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
    cdef uint64_t address
    if isinstance(other, Memory):
        address = load((<Memory>other).address)  # 0 only after `native` became NULL
        if load((<Memory>other).native) == NULL:
            raise ArgumentValueError("the other memory was freed")
        return address
    if not 0 <= other < 1 << 64:
        raise ArgumentValueError(f"an address has 64 bits, got {other}")
    return other


cdef int copy_between_devices(
    uint64_t to, object target, uint64_t origin, object source, size_t nbytes, Stream queue
) except -1:
    """Queue a copy between two memories, and note its stream in both."""
    cdef int there = target.device_index if isinstance(target, Memory) else queue.device_index
    cdef int here = source.device_index if isinstance(source, Memory) else queue.device_index
    # A copy between drivers is done when it returns.
    if is_same_driver(there, here):
        if isinstance(target, Memory):
            (<Memory>target).used(queue)
        if isinstance(source, Memory):
            (<Memory>source).used(queue)
    cdef Memory aside
    if there == here and to != origin and to < origin + nbytes and origin < to + nbytes:
        # A driver's copy of overlapping bytes is undefined.
        aside = allocate(here, nbytes, queue)
        with nogil:
            check(cupola_copy_on_device(aside.address, origin, nbytes, queue.native))
        origin = aside.address
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
            f"a {type(value).__name__} has no {'writable, ' if writable else ''}contiguous "
            f"bytes: {error}") from None
    return 0


cdef object LARGEST = 1 << 63


def alloc(nbytes, *, device=None, stream=None, exportable=False):
    """Allocate device memory as raw bytes.

    Parameters
    ----------
    nbytes : int
        0 gives a null address.
    device : Device or int, optional
        By default the current one.
    stream : Stream, optional
        The stream that uses it first; other streams must wait for it before they use the memory. By
        default the current one.
    exportable : bool
        Whether other processes can open it: see `Memory.ipc_handle`. It is not from a pool, so
        allocating and freeing it is slow and waits for the device.

    Returns
    -------
    Memory

    Raises
    ------
    OutOfMemoryError
        Where the device does not have enough memory.
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


def is_exportable(uint64_t address):
    """Whether other processes can open the device memory at an address: see `Memory.ipc_handle`.

    True for memory of ``cupola.alloc(nbytes, exportable=True)`` and of ``cudaMalloc``, False for
    memory of a pool.
    """
    cdef int exportable = 0
    with nogil:
        check(cupola_address_exportable(address, &exportable))
    return exportable != 0


def register_host(array, *, device=None):
    """Page-lock an existing host array, so that copies from and to it are fast.

    ::

        with cupola.register_host(array):
            ...

    Parameters
    ----------
    array : buffer object
        Contiguous. A read-only array is registered as read-only where the device supports it. The
        registration keeps the array alive.
    device : Device or int, optional
        The device whose driver context registers it; it can be used with every one.

    Returns
    -------
    Memory
        The array's bytes. They are page-locked until the last reference, `release`, or the end of a
        ``with`` block. These wait for the device.

    Raises
    ------
    DriverError
        Where a part of it is registered already, or the system can't lock so much memory.
    """
    cdef int index = device_index(device)
    cdef Py_buffer view
    get_buffer(array, &view, False)
    try:
        return register_memory(
            index, <uintptr_t>view.buf, view.len, array, view.readonly)
    finally:
        PyBuffer_Release(&view)


document_attributes(Memory, {
    "address":
        "The address of the first byte; 0 where there are 0 bytes, or the memory was freed.",
    "nbytes": "The number of bytes.",
    "device_index": "The index of the device, an int.",
    "pinned": "Whether it is page-locked host memory.",
    "managed": "Whether it is managed memory.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
