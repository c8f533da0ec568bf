# cupola/launch.pyx - prepared launches: packed once, sent many times.
# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Prepared launches."""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_CARVEOUT, CUPOLA_COOPERATIVE, CUPOLA_DEPENDENT,
    CUPOLA_PRIORITY, cupola_attributes, cupola_dimensions,
    cupola_argument_bytes, cupola_argument_float, cupola_argument_int, cupola_argument_pointer,
    cupola_argument_uint, cupola_callbacks_pending, cupola_captures, cupola_kernel_device,
    cupola_launch_check, cupola_stream_peek,
)
from cupola._attribute_docs cimport document_attributes
from cupola._launch cimport cupola_launch_point, cupola_launch_pointed
from cupola._send cimport (
    PyVectorcall_NARGS, call_generic, cupola_set_vectorcall, send as send_packed, tuple_items,
)
from cupola.abi cimport require
from cupola._argument cimport TRANSFER, Signature, hold_captured
from cupola.array cimport Array
from cupola.array_data cimport is_freed
from cupola._dimensions cimport read_attributes, read_dimensions
from cupola.error cimport check
from cupola._free_threading cimport load
from cupola.handles cimport cupola_stream
from cupola.kernel cimport packer_in
from cupola.memory cimport Memory, freed
from cupola.stream cimport as_stream

from cupola.exceptions import ArgumentTypeError, ArgumentValueError, UnknownNameError

__all__ = ["PreparedLaunch"]


@cython.no_gc_clear
cdef class Launch:
    """A kernel with grid, block and packed arguments: ``launch()`` only sends it.

    ``launch[i] = value`` and ``launch["name"] = value`` replace an argument. Each call sends the
    arguments as they are at that time. The launch keeps them alive; cupola's memory also stays
    until the last sent launch is done. Made by `Kernel.prepare`.

    The launch's stream waits for memory of other libraries only once, when it is packed.
    """

    def __cinit__(self):
        self.pointers = NULL
        self.buffer = NULL
        self.told = self.own = NULL
        self.vectorcall = <void*>call_launch

    def __init__(
        self, Kernel kernel not None, grid, block, tuple args not None, *, stream=None, shared=0,
        cluster=None, cooperative=False, programmatic_dependent_launch=False, priority=None,
        carveout=None
    ):
        cdef Signature signature = packer_in(kernel)
        cdef cupola_dimensions* dimensions = <cupola_dimensions*>self.dimensions
        cdef cupola_attributes* attributes
        if self.buffer != NULL:
            raise TypeError("a PreparedLaunch is initialized only once")
        read_dimensions(
            kernel.title, kernel.device_index, grid, block, shared, signature.fixed, dimensions)
        attributes = read_attributes(
            kernel.title, kernel.device_index, cluster, cooperative,
            bool(programmatic_dependent_launch), priority, carveout,
            <cupola_attributes*>self.attributes)
        self.attributed = attributes != NULL
        check(cupola_launch_check(kernel.native, dimensions, attributes))
        if signature.descriptors is not None and len(args) == signature.descriptors.count:
            args = signature.expanded(tuple_items(args))
        self.kernel = kernel
        self.stream = None if stream is None else as_stream(stream, kernel.device_index)
        cdef size_t pointers = signature.total + signature.total % 2  # aligns the buffer
        self.pointers = <void**>calloc(pointers * sizeof(void*) + signature.nbytes + 1, 1)
        if self.pointers == NULL:
            raise MemoryError
        self.buffer = <char*>(self.pointers + pointers)
        check(cupola_launch_point(kernel.native, self.buffer, self.pointers))
        pending = signature.pack(
            args, self.buffer, as_stream(self.stream, kernel.device_index).native)
        if pending & TRANSFER:
            refuse_transfer(kernel)
        self.native, self.nbytes = kernel.native, signature.nbytes
        if self.stream is not None:
            self.own = self.stream.native
        self.held = list(args)
        self.note_arrays()

    def __dealloc__(self):
        free(self.pointers)

    cdef int note_arrays(self) except -1:
        """Note the arguments that can be freed or have to be notified of a stream."""
        _replaced = self.arrays  # released last: its arrays may be
        self.arrays = [value for value in self.held if isinstance(value, (Array, Memory))]
        self.listed = len(self.arrays) > 0
        self.foreign = any([is_foreign(value) for value in self.held])
        self.told = NULL
        self.seen = load(freed) - 1
        return 0

    cdef int look(self) except -1:
        """Check that all arrays are live: memory was freed since the last check."""
        cdef unsigned long long now = load(freed)
        for array in self.arrays:
            if not is_live(array):
                raise ArgumentValueError(
                    f"{self.kernel.title}: memory of this launch was freed")
        self.seen = now
        return 0

    cdef int send(self, Stream stream) except -1:
        require_ready(self)
        cdef cupola_attributes* attributes = NULL
        cdef list arrays
        cdef cupola_stream* native = NULL
        with cython.critical_section(self):
            arrays = self.arrays
            if stream is None:
                stream = self.stream
            if stream is not None:
                native = stream.native
            if self.seen != load(freed):
                self.look()
            if self.attributed:
                attributes = <cupola_attributes*>self.attributes
            send_packed(
                self.native, <cupola_dimensions*>self.dimensions, attributes, self.buffer,
                self.nbytes, native, &native)
            if self.foreign and cupola_captures():
                hold_captured(tuple(self.held), native)
            # A notified array keeps the stream alive, so its address can't be reused.
            if native != self.told or arrays is not self.arrays:
                notify(arrays, native)
                if arrays is self.arrays:
                    self.told = native
        return 0

    cdef int set_int(self, size_t index, int64_t value) except -1 nogil:
        require_packed(self)
        self.replaced = True
        return check(cupola_argument_int(self.native, self.buffer, index, value))

    cdef int set_uint(self, size_t index, uint64_t value) except -1 nogil:
        require_packed(self)
        self.replaced = True
        return check(cupola_argument_uint(self.native, self.buffer, index, value))

    cdef int set_float(self, size_t index, double value) except -1 nogil:
        require_packed(self)
        self.replaced = True
        return check(cupola_argument_float(self.native, self.buffer, index, value))

    cdef int set_pointer(self, size_t index, uint64_t address) except -1 nogil:
        require_packed(self)
        self.replaced = True
        return check(cupola_argument_pointer(self.native, self.buffer, index, address))

    cdef int set_bytes(self, size_t index, const void* data, size_t size) except -1 nogil:
        require_packed(self)
        self.replaced = True
        return check(cupola_argument_bytes(self.native, self.buffer, index, data, size))

    cdef int queue(self, Stream stream) except -1 nogil:
        cdef cupola_attributes* attributes = NULL
        cdef cupola_stream* native
        require_packed(self)
        native = self.own if stream is None else stream.native
        if self.listed and native == NULL:
            check(cupola_stream_peek(cupola_kernel_device(self.native), &native))
        if (
            self.listed and (native != self.told or self.seen != load(freed))
            or self.foreign and cupola_captures()
            or cupola_callbacks_pending()  # the caller may hold the GIL that they need
        ):
            with gil:
                return self.send(stream)
        if self.attributed:
            attributes = <cupola_attributes*>self.attributes
        return check(cupola_launch_pointed(
            self.native, <cupola_dimensions*>self.dimensions, attributes, self.pointers, native))

    def __call__(self, *, stream=None):
        """Queue the launch.

        Parameters
        ----------
        stream : Stream or an object with ``__cuda_stream__``, optional
            Replaces the stream it was prepared for.
        """
        require_ready(self)
        self.send(None if stream is None else as_stream(stream, self.kernel.device_index))

    def __setitem__(self, index, value):
        require_ready(self)
        cdef Signature signature = packer_in(self.kernel)
        if isinstance(index, str):
            index = place_of(self, index)
            if signature.descriptors is not None:
                index = signature.descriptors.places[index]
                if signature.descriptors.fills_several(index):
                    replace_several(self, signature, index, value)
                    return
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise ArgumentTypeError(
                f"{self.kernel.title}: an argument is replaced by its index or name, got "
                f"{index!r}")
        cdef Py_ssize_t place = index.__index__()
        if place < 0:
            place += <Py_ssize_t>signature.count
        if not 0 <= place < <Py_ssize_t>signature.count:
            raise IndexError(
                f"{self.kernel.title} takes {signature.count} arguments, got [{index}]")
        # Pack into a copy first: a refused value changes nothing.
        packed = bytearray(signature.nbytes + 1)
        cdef char* fresh = packed
        pending = signature.put(
            fresh, place, value, as_stream(self.stream, self.kernel.device_index).native)
        if pending & TRANSFER:
            refuse_transfer(self.kernel)
        with cython.critical_section(self):
            replaced = self.held[place], self.arrays  # released behind the section
            memcpy(
                self.buffer + signature.parameters[place].offset,
                fresh + signature.parameters[place].offset, signature.parameters[place].size)
            self.held[place] = value
            self.note_arrays()
        del replaced

    def __reduce__(self):
        """Pickle the kernel's image and the arguments; arrays by their elements."""
        require_held(self)
        if self.stream is not None:
            raise ArgumentTypeError(
                f"{self.kernel.title}: a launch that was prepared for a stream can't be pickled, "
                "since a stream is valid only in its own process")
        for parameter, value in zip(self.kernel.params, self.held, strict=True):
            if parameter.kind == "pointer" and is_address(value) and value != 0:
                raise ArgumentTypeError(
                    f"{self.kernel.title}: a launch with an address ({value!r}) can't be pickled, "
                    "since an address is valid only in its own process; use a cupola.Array")
        return take_launch, (
            self.kernel, self.grid, self.block, tuple(self.held), self.shared,
            attributes_of(self))

    def __getitem__(self, index):
        require_held(self)
        if isinstance(index, str):
            index = place_of(self, index)
        return self.held[index]

    def __len__(self):
        return len(self.held)

    @property
    def grid(self):
        """Blocks in x, y and z."""
        return tuple([(<cupola_dimensions*>self.dimensions).grid[i] for i in range(3)])

    @property
    def block(self):
        """Threads a block in x, y and z."""
        return tuple([(<cupola_dimensions*>self.dimensions).block[i] for i in range(3)])

    @property
    def shared(self):
        """Bytes of dynamic shared memory a block."""
        return (<cupola_dimensions*>self.dimensions).shared

    def __repr__(self):
        require_ready(self)
        return f"<cupola.PreparedLaunch {self.kernel.title}[{self.grid}, {self.block}]>"


cdef object call_launch(object self, PyObject** arguments, size_t nargsf, PyObject* names):
    cdef Launch launch = <Launch>self
    if PyVectorcall_NARGS(nargsf) or names != NULL:
        return call_generic(launch, arguments, PyVectorcall_NARGS(nargsf), names, Launch.__call__)
    launch.send(None)


cdef int replace_several(
    Launch launch, Signature signature, size_t first, object value
) except -1:
    """Set all parameters of the launch that one argument fills."""
    values = signature.descriptors.filled(first, signature.device_array(first, value))
    for place, one in enumerate(values, first):
        launch[place] = one
    return 0


cdef Py_ssize_t place_of(Launch launch, str name) except -1:
    try:
        return (<Signature>packer_in(launch.kernel)).names().place(name)
    except ArgumentTypeError as error:
        raise UnknownNameError(str(error)) from None


cdef bint is_address(object value) except -1:
    """Whether a pointer argument is a number. Arrays may have ``__index__``, too."""
    return hasattr(value, "__index__") and not (
        hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__"))


cdef bint is_foreign(object value) except -1:
    if isinstance(value, Array):
        return (<Array>value).memory is None
    return not isinstance(value, (int, float, complex, bytes, np.generic)) and value is not None


cdef Memory memory_of(object argument):
    return <Memory>argument if type(argument) is Memory else (<Array>argument).memory


cdef bint is_live(object argument) except -1:
    if type(argument) is Memory:
        return load((<Memory>argument).native) != NULL
    return not is_freed(<Array>argument)


cdef int notify(list arrays, cupola_stream* stream) except -1:
    """Notify memory of other streams that this stream uses it."""
    cdef Memory memory
    for array in arrays:
        memory = memory_of(array)
        if memory is None or memory.stream is None:
            continue
        if memory.stream.native != stream:
            memory.use(stream)
    return 0


cdef dict attributes_of(Launch launch):
    """The keywords that a launch was prepared with, except stream and shared."""
    cdef cupola_attributes* attributes = <cupola_attributes*>launch.attributes
    found = {}
    if launch.attributed:
        if attributes.cluster[0]:
            found["cluster"] = tuple([attributes.cluster[i] for i in range(3)])
        if attributes.flags & CUPOLA_COOPERATIVE:
            found["cooperative"] = True
        if attributes.flags & CUPOLA_DEPENDENT:
            found["programmatic_dependent_launch"] = True
        if attributes.flags & CUPOLA_PRIORITY:
            found["priority"] = attributes.priority
        if attributes.flags & CUPOLA_CARVEOUT:
            found["carveout"] = attributes.carveout
    return found


def take_launch(kernel, grid, block, arguments, shared, attributes):
    """Make a launch from its pickled contents."""
    return Launch(kernel, grid, block, arguments, shared=shared, **attributes)


cdef int require_ready(Launch launch) except -1:
    if launch.buffer == NULL:  # made by __new__ without __init__
        raise TypeError("this cupola.PreparedLaunch was never initialized")
    return 0


cdef inline int require_packed(Launch launch) except -1 nogil:
    if launch.buffer == NULL:
        with gil:
            require_ready(launch)
    return 0


cdef int require_held(Launch launch) except -1:
    require_ready(launch)
    if launch.replaced:
        raise ArgumentTypeError(
            f"{launch.kernel.title}: compiled code replaced arguments of this launch by "
            "bytes: their Python values are lost, so they can't be shown or pickled")
    return 0


cdef int refuse_transfer(Kernel kernel) except -1:
    raise ArgumentTypeError(
        f"{kernel.title}: cupola.In, Out and InOut copy around one call and can't be prepared; "
        "use cupola.to_device(array)")


# Set the type's name in Python. The C name stays, as compiled modules cimport it.
cdef extern from *:
    """
    static inline void cupola_set_type_name(PyTypeObject* type, const char* name) {
        type->tp_name = name;
        PyType_Modified(type);
    }
    """
    void cupola_set_type_name(type kind, const char* name)

cupola_set_type_name(Launch, "cupola.launch.PreparedLaunch")
PreparedLaunch = Launch


cdef int set_vectorcall() except -1:
    cdef Launch one = Launch.__new__(Launch)
    cupola_set_vectorcall(Launch, <char*>&one.vectorcall - <char*><PyObject*>one)
    return 0


set_vectorcall()
document_attributes(PreparedLaunch, {
    "kernel": "The `Kernel`.",
    "stream":
        "The `Stream` it was prepared for; None is this thread's current stream at each call.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
