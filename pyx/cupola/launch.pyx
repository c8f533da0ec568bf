# cupola/launch.pyx - a launch that was packed once, to be sent many times.
# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Prepared launches."""

cimport cython
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_dimensions, cupola_launch, cupola_launch_check,
    cupola_stream_current, cupola_stream_release,
)
from cupola.abi cimport require
from cupola._argument cimport TRANSFER, Signature
from cupola.array cimport Array
from cupola._dimensions cimport read_dimensions
from cupola.error cimport check
from cupola.handles cimport cupola_stream
from cupola.memory cimport Memory
from cupola.stream cimport as_stream

from cupola.exceptions import ArgumentTypeError, ArgumentValueError


@cython.no_gc_clear
cdef class Launch:
    """A kernel with grid, block and packed arguments: ``launch()`` only sends it.

    ``launch[i] = value`` replaces an argument. Each call sends the arguments as they are at that
    moment. The arguments are kept alive as long as the launch, and until the last that was sent
    is done where they are cupola's. Made by `Kernel.prepare`.

    Memory of other libraries is waited for, on the stream that its interface names, when it is
    packed; not again by each call.

    Attributes
    ----------
    kernel : Kernel
    stream : Stream or None
        What it was prepared for; None is this thread's current stream when it is sent.
    """

    def __cinit__(self):
        self.buffer = NULL

    def __init__(self, Kernel kernel not None, grid, block, tuple args not None, *, stream=None,
                 shared=0):
        cdef Signature signature = <Signature>kernel.signature
        cdef cupola_dimensions dimensions
        if self.buffer != NULL:
            raise TypeError("a Launch is initialised once")
        read_dimensions(kernel.title, kernel.device_index, grid, block, shared, &dimensions)
        check(cupola_launch_check(kernel.native, &dimensions))
        memcpy(self.grid_size, dimensions.grid, sizeof(dimensions.grid))
        memcpy(self.block_size, dimensions.block, sizeof(dimensions.block))
        self.shared_size = dimensions.shared
        self.kernel = kernel
        self.stream = None if stream is None else as_stream(stream, kernel.device_index)
        self.buffer = <char*>calloc(signature.nbytes + 1, 1)
        if self.buffer == NULL:
            raise MemoryError
        left = signature.pack(
            args, self.buffer, as_stream(self.stream, kernel.device_index).native)
        if left & TRANSFER:
            refuse_transfer(kernel)
        self.held = list(args)
        self.note_arrays()

    def __dealloc__(self):
        free(self.buffer)

    def note_arrays(self):
        """Remember which of the arguments can be freed, or have to be told of a stream."""
        self.arrays = [value for value in self.held if isinstance(value, Array)]

    cdef int send(self, Stream stream) except -1:
        require_ready(self)
        cdef Signature signature = <Signature>self.kernel.signature
        cdef char usual[512]
        cdef char* snapshot = usual
        cdef cupola_dimensions dimensions
        cdef cupola_stream* native = NULL
        cdef int status
        if stream is None:
            stream = self.stream
        cdef Memory memory
        arrays = self.arrays
        for array in arrays:
            memory = (<Array>array).memory
            if not (<Array>array).live or (memory is not None and memory.native == NULL):
                raise ArgumentValueError(
                    f"{self.kernel.title}: an array of this launch was freed")
        memcpy(dimensions.grid, self.grid_size, sizeof(dimensions.grid))
        memcpy(dimensions.block, self.block_size, sizeof(dimensions.block))
        dimensions.shared = self.shared_size
        if signature.nbytes > sizeof(usual):
            snapshot = <char*>malloc(signature.nbytes)
            if snapshot == NULL:
                raise MemoryError
        try:
            if stream is None:
                check(cupola_stream_current(self.kernel.device_index, &native))
            else:
                native = stream.native
            # Once the GIL is given up, another thread may replace an argument.
            memcpy(snapshot, self.buffer, signature.nbytes)
            with nogil:
                status = cupola_launch(self.kernel.native, &dimensions, snapshot, native)
            check(status)
            for array in arrays:
                memory = (<Array>array).memory
                if memory is not None and memory.stream.native != native:
                    memory.use(native)
        finally:
            if stream is None:
                cupola_stream_release(native)
            if snapshot != usual:
                free(snapshot)
        return 0

    def __call__(self, *, stream=None):
        """Queue the launch.

        Parameters
        ----------
        stream : Stream or an object with ``__cuda_stream__``, optional
            In place of the one it was prepared for.
        """
        require_ready(self)
        self.send(None if stream is None else as_stream(stream, self.kernel.device_index))

    def __setitem__(self, index, value):
        require_ready(self)
        cdef Signature signature = <Signature>self.kernel.signature
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise ArgumentTypeError(
                f"{self.kernel.title}: an argument is replaced by its index, got {index!r}")
        cdef Py_ssize_t place = index.__index__()
        if place < 0:
            place += <Py_ssize_t>signature.count
        if not 0 <= place < <Py_ssize_t>signature.count:
            raise IndexError(
                f"{self.kernel.title} takes {signature.count} arguments, got [{index}]")
        # Packed aside first: what is refused leaves everything as it was.
        packed = bytearray(signature.nbytes + 1)
        cdef char* fresh = packed
        left = signature.put(
            fresh, place, value, as_stream(self.stream, self.kernel.device_index).native)
        if left & TRANSFER:
            refuse_transfer(self.kernel)
        memcpy(
            self.buffer + signature.parameters[place].offset,
            fresh + signature.parameters[place].offset, signature.parameters[place].size)
        self.held[place] = value
        self.note_arrays()

    def __reduce__(self):
        """By its kernel's image and its arguments; cupola's arrays by their elements."""
        require_ready(self)
        if self.stream is not None:
            raise ArgumentTypeError(
                f"{self.kernel.title}: a launch that was prepared for a stream can't be pickled, "
                "since the stream is this process's own")
        for parameter, value in zip(self.kernel.params, self.held, strict=True):
            if parameter.kind == "pointer" and hasattr(value, "__index__") and value != 0:
                raise ArgumentTypeError(
                    f"{self.kernel.title}: a launch with an address ({value!r}) can't be pickled, "
                    "since the address is this process's own; use a cupola.Array")
        return take_launch, (
            self.kernel, self.grid, self.block, tuple(self.held), self.shared_size)

    def __getitem__(self, index):
        return self.held[index]

    def __len__(self):
        return len(self.held)

    @property
    def grid(self):
        """Blocks in x, y and z."""
        return self.grid_size[0], self.grid_size[1], self.grid_size[2]

    @property
    def block(self):
        """Threads a block in x, y and z."""
        return self.block_size[0], self.block_size[1], self.block_size[2]

    @property
    def shared(self):
        """Bytes of dynamic shared memory a block."""
        return self.shared_size

    def __repr__(self):
        require_ready(self)
        return f"<cupola.Launch {self.kernel.title}[{self.grid}, {self.block}]>"


def take_launch(kernel, grid, block, arguments, shared):
    """A launch as it comes out of a pickle."""
    return Launch(kernel, grid, block, arguments, shared=shared)


cdef int require_ready(Launch launch) except -1:
    if launch.buffer == NULL:  # made by __new__ alone
        raise TypeError("this cupola.Launch was never initialised")
    return 0


cdef int refuse_transfer(Kernel kernel) except -1:
    raise ArgumentTypeError(
        f"{kernel.title}: cupola.In, Out and InOut copy around one call and can't be prepared; "
        "use cupola.to_device(array)")


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
