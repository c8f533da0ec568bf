# cupola/kernel.pyx - kernels: their parameters, attributes and launches.
# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Kernels."""

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_KNOWN_COMPILED, CUPOLA_KNOWN_DECLARED,
    CUPOLA_KNOWN_MANIFEST, CUPOLA_KNOWN_SIZES, cupola_argument_bytes,
    cupola_argument_float, cupola_argument_int, cupola_argument_pointer, cupola_argument_uint,
    cupola_attributes, cupola_dimensions, cupola_kernel_attribute, cupola_kernel_declare_text,
    cupola_kernel_demangled, cupola_kernel_device, cupola_kernel_handle, cupola_kernel_known,
    cupola_kernel_name, cupola_kernel_occupancy,
    cupola_kernel_parameter_bytes, cupola_kernel_release, cupola_kernel_suggest,
    cupola_kernel_title, cupola_launch, cupola_launch_check, text,
)
from cupola._attribute_docs cimport document_attributes
from cupola._send cimport (
    PyVectorcall_NARGS, Queue, close_queue, cupola_set_vectorcall, follow, hold_queue, open_queue,
    send, tuple_items,
)
from cupola.abi cimport require
from cupola._argument cimport AWAIT, EXPAND, TRANSFER, USE, Signature, signature_of
from cupola.device cimport device_text, known_device
from cupola._dimensions cimport (
    block_shape, read_attributes, read_dimensions, read_number, read_threads, require_unambiguous,
)
from cupola.error cimport check
from cupola._free_threading cimport load, store
from cupola._names cimport KeywordBinder, parameter_text, parameters_of
from cupola._recent_shape cimport recall, remember
from cupola._references cimport forget, keep, kept, made_elsewhere, share
from cupola.handles cimport cupola_stream
from cupola.stream cimport as_stream

from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.core.registry import registered

__all__ = ["Kernel"]

# CUfunction_attribute, as the driver's documentation numbers them.
cdef enum Attribute:
    MAX_THREADS_PER_BLOCK = 0
    SHARED_SIZE_BYTES = 1
    CONST_SIZE_BYTES = 2
    LOCAL_SIZE_BYTES = 3
    NUM_REGS = 4
    PTX_VERSION = 5
    BINARY_VERSION = 6
    MAX_DYNAMIC_SHARED_SIZE_BYTES = 8


cdef dict KNOWN_BY = {
    CUPOLA_KNOWN_SIZES: "image",
    CUPOLA_KNOWN_DECLARED: "declaration",
    CUPOLA_KNOWN_COMPILED: "compiler",
    CUPOLA_KNOWN_MANIFEST: "manifest",
}


cdef Kernel adopt(cupola_kernel* native, object image):
    cdef Kernel kernel = Kernel.__new__(Kernel)
    cdef Signature signature
    kernel.native = native
    kernel.image = image
    signature = signature_of(native)
    Py_INCREF(signature)
    kernel.packer = <PyObject*>signature
    kernel.name = text(cupola_kernel_name(native))
    kernel.title = text(cupola_kernel_title(native))
    told = None if image.manifest is None else image.manifest.get(kernel.name)
    if told is not None:
        signature.describe(kernel.title, told, image.manifest.fixed(kernel.name))
    kernel.device_index = cupola_kernel_device(native)
    kernel.demangled = text(cupola_kernel_demangled(native))
    share(<PyObject*>kernel)
    return kernel


cdef object shown_parameters(Kernel kernel):
    """The parameters as a launch sees them: one for each argument."""
    descriptors = signature_in(kernel).descriptors
    return kernel.params if descriptors is None else descriptors.shown(kernel.params)


cdef inline PyObject* packer_of(Kernel kernel) except NULL:
    """The kernel's signature without a reference: it lives as long as the kernel."""
    cdef PyObject* packer = NULL
    if kernel is not None:
        packer = load(kernel.packer)
    if packer == NULL:  # made by __new__ without __init__
        raise ArgumentTypeError("this kernel was never initialized")
    return packer


cdef Signature signature_in(Kernel kernel):
    return <Signature>packer_of(kernel)


cdef object packer_in(Kernel kernel):
    return <object>packer_of(kernel)


cdef int run(
    Kernel kernel, const cupola_dimensions* dimensions, const cupola_attributes* attributes,
    Stream stream, PyObject** arguments, Py_ssize_t count
) except -1:
    """Pack the arguments, launch, and do the pending actions."""
    cdef PyObject* signature = packer_of(kernel)
    cdef char usual[512]
    cdef char* buffer = usual
    cdef Queue queue
    cdef cupola_stream* used = NULL
    cdef list begun = None
    cdef int pending
    open_queue(&queue, stream, kernel.device_index)
    if (<Signature>signature).nbytes > sizeof(usual):
        buffer = <char*>malloc((<Signature>signature).nbytes)
        if buffer == NULL:
            raise MemoryError
    try:
        memset(buffer, 0, (<Signature>signature).nbytes)  # padding must not leak stack contents
        pending = (<Signature>signature).pack_array(arguments, count, buffer, &queue)
        if pending & (TRANSFER | AWAIT | EXPAND):
            if pending & EXPAND:
                values = (<Signature>signature).expanded(arguments)
                return run(
                    kernel, dimensions, attributes, stream, tuple_items(values), len(values))
            hold_queue(&queue)
            if pending & AWAIT:
                follow(queue.native, queue.awaited)
            if pending & TRANSFER:
                begun = (<Signature>signature).begin(arguments, buffer, queue.native)
        send(kernel.native, dimensions, attributes, buffer, 0, queue.native, &used)
        if pending & USE or (queue.owning_stream != used and queue.owning_stream != NULL):
            (<Signature>signature).use(arguments, used)
        if pending & TRANSFER:
            (<Signature>signature).end(begun, used)
    finally:
        close_queue(&queue)
        if buffer != usual:
            free(buffer)
    return 0


cdef object call_by_name(
    Configured configured, PyObject** arguments, Py_ssize_t count, PyObject* keywords
):
    cdef KeywordBinder names = signature_in(configured.kernel).names()
    cdef PyObject* usual[32]
    cdef PyObject** ordered = usual
    if names.total > 32:
        ordered = <PyObject**>malloc(names.total * sizeof(PyObject*))
        if ordered == NULL:
            raise MemoryError
    try:
        names.arrange(arguments, count, keywords, ordered)
        return call_configured(configured, ordered, names.total, NULL)
    finally:
        if ordered != usual:
            free(ordered)


cdef object call_configured(
    object self, PyObject** arguments, size_t nargsf, PyObject* names
):
    cdef PyObject* kernel = <PyObject*>(<Configured>self).kernel  # no reference: it holds both
    cdef PyObject* stream = <PyObject*>(<Configured>self).stream
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    if names != NULL and len(<tuple>names):
        return call_by_name(<Configured>self, arguments, count, names)
    if (<Configured>self).nothing:
        check_arguments(<Kernel>kernel, arguments, count, <Stream>stream)
    else:
        run(
            <Kernel>kernel, &(<Configured>self).dimensions, NULL, <Stream>stream, arguments, count)


@cython.final
@cython.freelist(8)
cdef class Configured:
    """A kernel with its grid and block: calling it launches. Made by ``kernel[grid, block]``."""

    cdef void* vectorcall
    cdef readonly Kernel kernel
    cdef readonly Stream stream
    cdef cupola_dimensions dimensions
    cdef bint nothing  # whether there are no elements: arguments are checked, nothing is launched

    def __cinit__(self):
        self.vectorcall = <void*>call_configured

    def __init__(self):
        raise TypeError("use kernel[grid, block]")

    def __dealloc__(self):
        forget(<PyObject*>self)

    @property
    def grid(self):
        """Blocks in x, y and z."""
        return tuple([self.dimensions.grid[i] for i in range(3)])

    @property
    def block(self):
        """Threads per block in x, y and z."""
        return tuple([self.dimensions.block[i] for i in range(3)])

    @property
    def shared(self):
        """Dynamic shared memory per block, in bytes."""
        return self.dimensions.shared

    def __call__(self, *arguments, **named):
        """Launch, with the kernel's arguments, by position or by name."""
        given = signature_in(self.kernel).names().arranged(arguments, named)
        call_configured(self, tuple_items(given), len(given), NULL)

    @property
    def __signature__(self):
        """The kernel's signature, for `inspect.signature`."""
        return self.kernel.__signature__

    def __repr__(self):
        signature_in(self.kernel)
        where = "" if self.stream is None else f", {self.stream!r}"
        return f"<{self.kernel.title}[{self.grid}, {self.block}{where}], shared={self.shared}>"


cdef int check_arguments(
    Kernel kernel, PyObject** arguments, Py_ssize_t count, Stream stream
) except -1:
    cdef Signature signature = signature_in(kernel)
    cdef Queue queue
    cdef char* buffer = <char*>malloc(signature.nbytes + 1)
    if buffer == NULL:
        raise MemoryError
    open_queue(&queue, stream, kernel.device_index)
    try:
        if signature.pack_array(arguments, count, buffer, &queue) & EXPAND:
            values = signature.expanded(arguments)
            signature.pack_array(tuple_items(values), len(values), buffer, &queue)
    finally:
        close_queue(&queue)
        free(buffer)
    return 0


cdef Configured new_configured(Kernel kernel, const cupola_dimensions* dimensions):
    cdef Configured result
    cdef PyObject* before = kept()
    if before != NULL and <PyObject*>(<Configured>before).kernel == <PyObject*>kernel:
        result = <Configured>before
        result.stream, result.nothing = None, False
    else:
        result = Configured.__new__(Configured)
        result.kernel = kernel
        if made_elsewhere(<PyObject*>kernel):
            keep(<PyObject*>result)
    result.dimensions = dimensions[0]
    return result


cdef inline Stream stream_in(Kernel kernel, object stream):
    """The stream given in the brackets; None is the current stream."""
    if (
        type(stream) is Stream and (<Stream>stream).native != NULL
        and (<Stream>stream).device_index == kernel.device_index
    ):
        return <Stream>stream
    try:
        return None if stream is None else as_stream(stream, kernel.device_index)
    except ArgumentTypeError as error:
        if not isinstance(stream, int):
            raise
        raise ArgumentTypeError(  # in CUDA C++, <<<grid, block, shared>>>, bytes are third
            f"{error}; bytes of dynamic shared memory are the fourth value in the brackets, "
            f"kernel[grid, block, None, {stream}]") from None


cdef Configured configure(Kernel kernel, const cupola_dimensions* dimensions, object stream):
    check(cupola_launch_check(kernel.native, dimensions, NULL))
    cdef Configured result = new_configured(kernel, dimensions)
    result.stream = stream_in(kernel, stream)
    return result


cdef bint never_changes(object value):
    """Whether the value of grid or block is immutable, so that identity implies equality."""
    if type(value) is tuple:
        for axis in <tuple>value:
            if type(axis) is not int:
                return False
        return True
    return type(value) is int


def take_kernel(module, name):
    """Make a kernel from its pickled contents."""
    return module[name]


@cython.no_gc_clear
cdef class Kernel:
    """A kernel of a loaded image: ``kernel[grid, block](*args)`` launches it.

    ``grid`` (blocks) and ``block`` (threads) are ints, or tuples of one to three ints.
    ``kernel[grid, block, stream]`` names a stream, and ``kernel[grid, block, stream, shared]`` also
    the bytes of dynamic shared memory. A stream of None is the current stream of this thread. A
    launch returns as soon as it is queued, unless an argument is `Out` or `InOut`.

    A kernel of a compiler that fixes its block, such as Triton, takes a grid alone:
    ``kernel[grid]``, where a grid of several axes is written ``kernel[(gx, gy),]``. With a stream
    it is ``kernel[grid, None, stream]``.

    Accepted arguments:

    - for a number: int, float, bool, complex, NumPy and ctypes scalars. Ints must fit the
      parameter's range, floats are rounded to its width, and no float becomes an integer;
    - for a pointer: a `cupola.Array` or `Memory`, anything with
      ``__cuda_array_interface__`` or DLPack, `cupola.In`, `Out` or `InOut` around a host array,
      None (null), or an address as an int. Elements are aligned, and in the machine's byte order;
    - for a struct: a structured NumPy scalar (of the dtype in `params`, where known), a ctypes
      structure, or bytes, each of exactly the parameter's size. Where a manifest has the fields,
      also a mapping or a tuple of them;
    - for an array of a kernel in Python, which becomes a struct or several parameters: a
      `cupola.Array`, or anything with ``__cuda_array_interface__`` or DLPack in device memory. Its
      element type, its axes and the strides that the code relies on are checked.

    Where a manifest, the compiler or `declare` provides the parameters' names, arguments may be
    given by name: ``kernel[grid, block](2.0, x, out=out, n=n)``. The checks depend on the known
    types: see `signature`.
    """

    def __init__(self):
        raise TypeError("kernels are found in a module: module[name]")

    def __cinit__(self):
        self.native = NULL
        self.packer = NULL
        self.suggested = 0

    def __dealloc__(self):
        cupola_kernel_release(self.native)
        Py_XDECREF(self.packer)
        Py_XDECREF(self.recent.grid)
        Py_XDECREF(self.recent.block)

    cdef void* get_handle(self) noexcept nogil:
        return cupola_kernel_handle(self.native)

    cdef size_t buffer_bytes(self) noexcept nogil:
        return cupola_kernel_parameter_bytes(self.native)

    cdef int put_int(self, void* buffer, size_t index, int64_t value) except -1 nogil:
        return check(cupola_argument_int(self.native, buffer, index, value))

    cdef int put_uint(self, void* buffer, size_t index, uint64_t value) except -1 nogil:
        return check(cupola_argument_uint(self.native, buffer, index, value))

    cdef int put_float(self, void* buffer, size_t index, double value) except -1 nogil:
        return check(cupola_argument_float(self.native, buffer, index, value))

    cdef int put_pointer(self, void* buffer, size_t index, uint64_t address) except -1 nogil:
        return check(cupola_argument_pointer(self.native, buffer, index, address))

    cdef int put_bytes(
        self, void* buffer, size_t index, const void* data, size_t size
    ) except -1 nogil:
        return check(cupola_argument_bytes(self.native, buffer, index, data, size))

    cdef int launch_packed(
        self, const unsigned* grid, const unsigned* block, const void* buffer, Stream stream,
        unsigned shared
    ) except -1 nogil:
        cdef cupola_dimensions dimensions
        cdef cupola_stream* native = NULL
        if stream is not None:
            native = stream.native
        memcpy(dimensions.grid, grid, sizeof(dimensions.grid))
        memcpy(dimensions.block, block, sizeof(dimensions.block))
        dimensions.shared = shared
        return check(cupola_launch(self.native, &dimensions, NULL, buffer, native))

    def __getitem__(self, key):
        cdef cupola_dimensions dimensions
        cdef Configured result
        cdef Py_ssize_t length = len(<tuple>key) if type(key) is tuple else 0
        cdef object fixed = (<Signature>packer_of(self)).fixed
        if fixed is not None and (type(key) is not tuple or length == 1):
            grid, block, length = (<tuple>key)[0] if length else key, fixed, 2
        elif length < 2 or length > 4:
            raise ArgumentTypeError(
                f"{self.title}: use {self.title}[grid, block], [grid, block, stream] or "
                f"[grid, block, stream, shared], got [{key!r}]")
        else:
            grid, block = (<tuple>key)[0], (<tuple>key)[1]
            if fixed is not None:
                require_unambiguous(self.title, fixed, <tuple>key)
        if length < 4 and recall(&self.recent, grid, block, <unsigned*>&dimensions):
            result = new_configured(self, &dimensions)
            if length == 3:
                result.stream = stream_in(self, (<tuple>key)[2])
            return result
        shared = (<tuple>key)[3] if length == 4 else None
        read_dimensions(self.title, self.device_index, grid, block, shared, fixed, &dimensions)
        result = configure(self, &dimensions, (<tuple>key)[2] if length > 2 else None)
        if length < 4 and never_changes(grid) and (never_changes(block) or block is fixed):
            remember(self, &self.recent, grid, block, <unsigned*>&dimensions)
        return result

    def launch(
        self, grid, block, *args, stream=None, shared=0, cluster=None, cooperative=False,
        programmatic_dependent_launch=False, priority=None, carveout=None, **named
    ):
        """Queue the kernel.

        Parameters
        ----------
        grid, block : int or tuple of int
            Blocks, and threads per block. A block of None is the one that the kernel was compiled
            for, where its compiler fixes it.
        *args, **named
            The kernel's arguments; see the class. A parameter with the name of a keyword below must
            be given by position.
        stream : Stream or an object with ``__cuda_stream__``, optional
            By default this thread's current one.
        shared : int
            Dynamic shared memory per block, in bytes. More than 48 KB is enabled automatically
            where the device supports it.
        cluster : int or tuple of int, optional
            Blocks of a thread-block cluster, which must divide the grid (compute capability 9.0 and
            newer).
        cooperative : bool
            All blocks are resident at the same time and can wait for each other
            (``cooperative_groups::grid_group::sync``). The grid can have at most `occupancy` times
            the device's multiprocessors.
        programmatic_dependent_launch : bool
            The kernel may start before the one in front of it on the stream is done, and waits
            in its own code (``cudaGridDependencySynchronize``; compute capability 9.0 and newer).
        priority : int, optional
            Replaces the stream's priority; a smaller number is a higher priority.
        carveout : int, optional
            A hint: the percentage of a multiprocessor's L1 memory to use as shared memory.

        Raises
        ------
        ArgumentError
            Where arguments, grid, block or shared memory do not fit the kernel and device.
        DriverError
            Where the driver refuses the launch. A fault of the kernel itself is raised later, by a
            call that waits for it.
        """
        cdef cupola_dimensions dimensions
        cdef cupola_attributes room
        if named:
            args = signature_in(self).names().arranged(args, named)
        read_dimensions(
            self.title, self.device_index, grid, block, shared, signature_in(self).fixed,
            &dimensions)
        attributes = read_attributes(
            self.title, self.device_index, cluster, cooperative,
            bool(programmatic_dependent_launch), priority, carveout, &room)
        check(cupola_launch_check(self.native, &dimensions, attributes))
        run(
            self, &dimensions, attributes,
            None if stream is None else as_stream(stream, self.device_index),
            tuple_items(args), len(args))

    def forall(self, n, stream=None, shared=0):
        """Configure the kernel for `n` elements: blocks of best occupancy, and enough of them.

        Parameters
        ----------
        n : int or tuple of int
            The minimum number of threads. A tuple has those in x, y and z, in the order of a grid:
            the kernel must return where ``threadIdx + blockIdx * blockDim`` is beyond one of them.
            With a 0 the call checks its arguments and does nothing.
        stream : Stream, optional
            By default this thread's current one.
        shared : int
            Dynamic shared memory per block, in bytes.

        Returns
        -------
        Configured
            Call it with the kernel's arguments.
        """
        cdef cupola_dimensions dimensions
        cdef Configured result
        fixed = signature_in(self).fixed
        if fixed is not None:
            raise ArgumentTypeError(
                f"{self.title}: forall chooses a block, and the kernel was compiled for a block of "
                f"{fixed.block}: name the grid, {self.title}[grid](...)")
        if isinstance(n, (tuple, list)):
            sizes = [read_threads(self.title, one, n) for one in n]
            if not 1 <= len(sizes) <= 3:
                raise ArgumentValueError(
                    f"{self.title}: forall takes 1, 2 or 3 numbers of threads, got {n!r}")
            block = block_shape(sizes, self.max_potential_block_size(shared))
            grid = tuple([max(1, -(-size // edge)) for size, edge in zip(sizes, block)])
            nothing = 0 in sizes
        else:
            size = read_threads(self.title, n, n)
            block = self.max_potential_block_size(shared)
            grid, nothing = max(1, -(-size // block)), size == 0
        read_dimensions(self.title, self.device_index, grid, block, shared, None, &dimensions)
        result = configure(self, &dimensions, stream)
        result.nothing = nothing
        return result

    def max_potential_block_size(self, shared=0):
        """A block size, in threads, of highest occupancy.

        Parameters
        ----------
        shared : int
            Dynamic shared memory per block, in bytes.

        Returns
        -------
        int
        """
        cdef int block = 0, grid = 0
        cdef uint32_t amount = read_number(
            self.title, self.device_index, "shared memory", shared)
        if amount == 0 and load(self.suggested) != 0:
            return load(self.suggested)
        check(cupola_kernel_suggest(self.native, amount, &block, &grid))
        if amount == 0:
            store(self.suggested, block)
        return block

    def prepare(
        self, grid, block, *args, stream=None, shared=0, cluster=None, cooperative=False,
        programmatic_dependent_launch=False, priority=None, carveout=None, **named
    ):
        """Check and pack a launch once, to send it many times.

        Parameters
        ----------
        grid, block, *args, stream, shared, cluster, cooperative, programmatic_dependent_launch, \
        priority, carveout, **named
            As for `launch`; but `In`, `Out` and `InOut` copy around one call, and are refused.

        Returns
        -------
        PreparedLaunch
        """
        args = signature_in(self).names().arranged(args, named)
        return registered("PreparedLaunch")(
            self, grid, block, args, stream=stream, shared=shared, cluster=cluster,
            cooperative=cooperative,
            programmatic_dependent_launch=bool(programmatic_dependent_launch),
            priority=priority, carveout=carveout)

    def __call__(self, *args, **named):
        """Raises an error: a launch needs a grid and a block."""
        signature_in(self)
        raise ArgumentTypeError(
            f"{self.title} is launched with a grid and a block: {self.title}[grid, block](...), or "
            f"{self.title}.forall(n)(...)")

    @classmethod
    def __class_getitem__(cls, parameters):
        """For annotations, as in a library's stub."""
        from types import GenericAlias
        return GenericAlias(cls, parameters)

    def declare(self, str parameters not None):
        """Declare the parameters, where neither a manifest nor the compiler provides them.

        ::

            kernel = cupola.load("axpy.cubin")["axpy"]
            kernel.declare("float a, const float* x, float* y, size_t n")

        Later launches check arguments against these types and accept them by name.

        Parameters
        ----------
        parameters : str
            A C parameter list. Types are C's numbers, those of ``<stdint.h>``, CUDA's vectors,
            ``half``, ``nv_bfloat16``, and pointers to them; ``void*`` for elements of any type.
            Write your own types as ``struct Pair p`` or ``enum Mode m``; the image has their sizes.

        Returns
        -------
        Kernel
            This one.

        Raises
        ------
        ArgumentValueError
            Where the text can't be parsed, or number, sizes, offsets or kinds differ from the
            image. The kernel is then unchanged.
        """
        cdef Signature before = signature_in(self), after
        if "\0" in parameters:
            raise ArgumentValueError(f"{self.title}: the declaration contains a NUL character")
        encoded = parameters.encode(errors="replace")
        check(cupola_kernel_declare_text(self.native, encoded))
        after = signature_of(self.native)
        after.layouts, after.fixed = before.layouts, before.fixed
        after.descriptors = before.descriptors
        Py_INCREF(after)
        with cython.critical_section(self):
            after.before = <Signature>self.packer
            Py_DECREF(after.before)  # the kernel's reference; `after` has a reference of its own
            store(self.packer, <PyObject*>after)
            _replaced = self.parameters  # released behind the section
            self.parameters = None
        self.image.declared[self.name] = parameters
        return self

    @property
    def signature(self):
        """The known parameters, and their source.

        Returns
        -------
        KernelSignature
            A named tuple: `kernel`, `parameters`, `known_by`.
        """
        from cupola.core.result_types import KernelSignature
        signature_in(self)
        return KernelSignature(self.title, self.params, KNOWN_BY[cupola_kernel_known(self.native)])

    @property
    def __signature__(self):
        """The parameters, for `inspect.signature`."""
        from cupola.core.signatures import signature
        return signature(shown_parameters(self))

    @property
    def __doc__(self):
        """The parameters and their source, for `help`."""
        from cupola.core.signatures import about
        return about(self.title, shown_parameters(self), signature_in(self).fixed)

    @property
    def module(self):
        """The module it was found in.

        Returns
        -------
        Module
        """
        return self.image.module()

    def __reduce__(self):
        return take_kernel, (self.module, self.name)

    @property
    def handle(self):
        """The driver's handle, a ``CUfunction``, as an int."""
        return <size_t>self.get_handle()

    @property
    def params(self):
        """The known parameters.

        Returns
        -------
        tuple of Parameter
            Named tuples: `name`, `kind`, `type`, `offset` and `size` (bytes), `dtype` (for a
            struct, the dtype of a structured scalar), `const` and `restrict`.
        """
        cdef Signature signature = signature_in(self)
        with cython.critical_section(self):
            found = self.parameters
        if found is None:
            told = (self.image.manifest or {}).get(self.name)
            found = parameters_of(signature.parameters, signature.count, told)
            with cython.critical_section(self):
                if self.packer == <PyObject*>signature and self.parameters is None:
                    self.parameters = found
        return found

    def attribute(self, int number):
        """A ``CUfunction_attribute`` by its number in the driver's documentation."""
        cdef int value = 0
        check(cupola_kernel_attribute(self.native, number, &value))
        return value

    @property
    def attributes(self):
        """The driver's attributes of the kernel.

        Returns
        -------
        KernelAttributes
            A named tuple.
        """
        from cupola.core.result_types import KernelAttributes
        return KernelAttributes(
            max_threads=self.attribute(MAX_THREADS_PER_BLOCK),
            registers=self.attribute(NUM_REGS),
            shared_bytes=self.attribute(SHARED_SIZE_BYTES),
            max_shared_bytes=self.attribute(MAX_DYNAMIC_SHARED_SIZE_BYTES),
            local_bytes=self.attribute(LOCAL_SIZE_BYTES),
            const_bytes=self.attribute(CONST_SIZE_BYTES),
            ptx_version=self.attribute(PTX_VERSION),
            binary_version=self.attribute(BINARY_VERSION))

    @property
    def registers(self):
        """Registers per thread."""
        return self.attribute(NUM_REGS)

    @property
    def shared_bytes(self):
        """Static shared memory per block, in bytes."""
        return self.attribute(SHARED_SIZE_BYTES)

    @property
    def local_bytes(self):
        """Local memory per thread, in bytes."""
        return self.attribute(LOCAL_SIZE_BYTES)

    @property
    def max_threads(self):
        """The maximum number of threads of a block of this kernel."""
        return self.attribute(MAX_THREADS_PER_BLOCK)

    def occupancy(self, block, shared=0):
        """The number of blocks that fit on one multiprocessor at the same time.

        Parameters
        ----------
        block : int
            Threads per block.
        shared : int
            Dynamic shared memory per block, in bytes.
        """
        cdef int blocks = 0
        cdef uint32_t threads = read_number(self.title, self.device_index, "block", block)
        cdef uint32_t amount = read_number(
            self.title, self.device_index, "shared memory", shared)
        if not 1 <= threads <= self.max_threads:
            raise ArgumentValueError(
                f"{self.title}: block must be 1 to {self.max_threads} threads, got {threads}")
        check(cupola_kernel_occupancy(self.native, threads, amount, &blocks))
        return blocks

    @property
    def device(self):
        """The device it is loaded on."""
        return known_device(self.device_index)

    def __repr__(self):
        cdef Signature signature = signature_in(self)
        cdef size_t i
        listed = [parameter_text(&signature.parameters[i]) for i in range(signature.count)]
        return (
            f"<cupola.Kernel {self.title}({', '.join(listed)}) on "
            f"{device_text(self.device_index)}>")


cdef int set_vectorcall() except -1:
    cdef Configured one = Configured.__new__(Configured)
    cupola_set_vectorcall(Configured, <char*>&one.vectorcall - <char*><PyObject*>one)
    return 0


set_vectorcall()
document_attributes(Kernel, {
    "name": "The name in the image, as in ``\"_Z4axpyIfEvPT_\"``.",
    "demangled": "The C++ name with its parameters, as in ``\"void axpy<float>(float*)\"``.",
    "title": "The C++ name without parameters, as in ``\"axpy<float>\"``.",
    "device_index": "The index of the device that has the image, an int.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
