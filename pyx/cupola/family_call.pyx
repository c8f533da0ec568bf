# cupola/family_call.pyx - calls of a family: variant and launch, computed once for each key.
# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The calls of `cupola.Family`: sizes of arguments, the nearest measured row, cached launches."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_captures, cupola_stream_pop, cupola_stream_push,
)
from cupola._send cimport PyVectorcall_NARGS, cupola_add_vectorcall, tuple_items
from cupola.abi cimport require
from cupola.array_data cimport ArrayData
from cupola.device cimport device_index
from cupola.driver cimport CUstream, CUstreamCaptureStatus, cuStreamIsCapturing
from cupola.error cimport check
from cupola._free_threading cimport load, store
from cupola.interface cimport Interface, interface_of
from cupola.stream cimport Stream, as_stream, current_stream
from cupola.transfer cimport Transfer
from cupola.variant_choice cimport MOST_SIZES, Chooser, Entry

from cupola.declare.expression import ExpressionError
from cupola.exceptions import ArgumentError, ArgumentTypeError, ArgumentValueError

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1
    object PyObject_Vectorcall(object call, PyObject** arguments, size_t nargsf, PyObject* names)

cdef enum:
    MOST_ENTRIES = 4096  # launches that a family keeps
    RECENT = 256  # a power of two
    MOST_NAMED = 32  # arguments by name whose places are kept

# How a call gives a size.
cdef enum Kind:
    INTEGER, LENGTH, SIZE

cdef struct Reader:
    Kind kind
    Py_ssize_t position  # of the argument
    Py_ssize_t axis


cdef class CallableFamily:
    """The base of `cupola.Family`, whose calls begin in compiled code.

    The class that inherits it has ``_bound``, ``_chooser``, ``_kernel`` and ``_tuned``.
    """

    cdef void* vectorcall
    cdef bint bound  # whether `bind` has set the fields below
    cdef tuple parameters  # names
    cdef dict positions
    cdef tuple recent_names  # of a call, with the number of its arguments by position
    cdef Py_ssize_t recent_count
    cdef Py_ssize_t places[MOST_NAMED]  # the parameter of each of these names; -1: the stream
    cdef Reader readers[MOST_SIZES]
    cdef Py_ssize_t typed[MOST_SIZES]  # positions of the arguments in the declaration's `types`
    cdef Py_ssize_t sizes, types
    cdef dict choosers
    cdef dict entries
    cdef list recent  # entries by a hash of their keys

    def __cinit__(self):
        self.vectorcall = <void*>call_family
        self.clear()

    cdef int clear(self) except -1:
        choosers, entries, recent = {}, {}, [None] * RECENT
        with cython.critical_section(self):
            _replaced = self.choosers, self.entries, self.recent  # released behind the section
            self.choosers, self.entries, self.recent = choosers, entries, recent
        return 0

    def reload(self):
        """Read the tables of measurements again, at the next call."""
        self.clear()

    def _kept(self):
        """The number of keys whose launches are kept."""
        with cython.critical_section(self):
            entries = self.entries
        return len(entries)

    cdef int bind(self) except -1:
        cdef Py_ssize_t i, position, axis
        parameters, sizes, typed = self._bound()
        with cython.critical_section(self):
            if self.bound:  # another thread was first
                return 0
            self.sizes, self.types = len(sizes), len(typed)
            for i, (kind, position, axis) in enumerate(sizes):
                self.readers[i].kind = kind
                self.readers[i].position, self.readers[i].axis = position, axis
            for i, position in enumerate(typed):
                self.typed[i] = position
            self.positions = {name: i for i, name in enumerate(parameters) if name}
            self.parameters = parameters
            store(self.bound, <bint>True)
        return 0

    cdef object run(self, PyObject** arguments, Py_ssize_t count, PyObject* names):
        cdef PyObject* usual[32]
        cdef PyObject** ordered = usual
        cdef PyObject* stream = NULL
        if not load(self.bound):
            self.bind()
        if (names == NULL or not len(<tuple>names)) and count == len(self.parameters):
            return self.send(arguments, NULL)
        if len(self.parameters) > 32:
            ordered = <PyObject**>malloc(len(self.parameters) * sizeof(PyObject*))
            if ordered == NULL:
                raise MemoryError
        try:
            self.arrange(arguments, count, names, ordered, &stream)
            return self.send(ordered, stream)
        finally:
            if ordered != usual:
                free(ordered)

    cdef int arrange(
        self, PyObject** arguments, Py_ssize_t count, PyObject* names, PyObject** ordered,
        PyObject** stream
    ) except -1:
        """Put the arguments into the order of the parameters."""
        cdef Py_ssize_t i, k, place, named = 0 if names == NULL else len(<tuple>names)
        cdef Py_ssize_t given = count, total = len(self.parameters)
        cdef Py_ssize_t places[MOST_NAMED]
        cdef PyObject* position
        if named:
            with cython.critical_section(self):
                if names == <PyObject*>self.recent_names and count == self.recent_count:
                    for i in range(count):
                        ordered[i] = arguments[i]
                    for k in range(named):
                        if self.places[k] < 0:
                            stream[0] = arguments[count + k]
                        else:
                            ordered[self.places[k]] = arguments[count + k]
                    return 0
        if count > total:
            self.refuse(count, names)
        for i in range(total):
            ordered[i] = arguments[i] if i < count else NULL
        for k in range(named):
            name = (<tuple>names)[k]
            place = -1
            if name == "stream":
                stream[0] = arguments[count + k]
            else:
                position = PyDict_GetItem(self.positions, name)
                if position == NULL or ordered[<Py_ssize_t><object>position] != NULL:
                    self.refuse(count, names)
                place = <Py_ssize_t><object>position
                ordered[place] = arguments[count + k]
                given += 1
            if k < MOST_NAMED:
                places[k] = place
        if given != total:
            self.refuse(count, names)
        if 0 < named <= MOST_NAMED:
            with cython.critical_section(self):
                _replaced = self.recent_names  # released behind the section
                memcpy(self.places, places, named * sizeof(Py_ssize_t))
                self.recent_names, self.recent_count = <tuple>names, count
        return 0

    cdef int refuse(self, Py_ssize_t count, PyObject* names) except -1:
        given = [] if names == NULL else [name for name in <tuple>names if name != "stream"]
        listed = ", ".join([name or f"argument {i}" for i, name in enumerate(self.parameters)])
        raise ArgumentTypeError(
            f"{self.name} takes {len(self.parameters)} arguments ({listed}), got {count} by "
            f"position and {', '.join(given) or 'none'} by name")

    cdef object send(self, PyObject** arguments, PyObject* given_stream):
        cdef int64_t words[MOST_SIZES + 1]
        cdef Stream stream = None
        cdef Entry entry
        if given_stream != NULL and <object>given_stream is not None:
            if isinstance(<object>given_stream, Stream):
                words[0] = (<Stream>given_stream).device_index
            else:
                words[0] = device_index(None)
            stream = as_stream(<object>given_stream, <int>words[0])
        else:
            words[0] = device_index(None)
        self.read(arguments, words)
        entry = self.find(words)
        if entry is None or (entry.provisional and not cupola_captures()):
            entry = self.choose(words, arguments, stream)
        try:
            return launch(entry.configured, arguments, len(self.parameters), stream)
        except Exception:
            # The entry's image was unloaded: nothing was launched.
            if entry.configured.kernel.module.loaded:
                raise
        self.reload()
        entry = self.choose(words, arguments, stream)
        return launch(entry.configured, arguments, len(self.parameters), stream)

    cdef int read(self, PyObject** arguments, int64_t* words) except -1:
        """The device, which the caller has set, each size, and the address of each type."""
        cdef Py_ssize_t i
        cdef Reader* reader
        cdef tuple shape
        for i in range(self.sizes):
            reader = &self.readers[i]
            if reader.kind == INTEGER:
                words[1 + i] = self.integer(reader, <object>arguments[reader.position])
                continue
            value = <object>arguments[reader.position]
            if isinstance(value, ArrayData) and (<ArrayData>value).shape is not None:
                shape = (<ArrayData>value).shape
            else:
                shape = self.shape_of(reader, value)
            if reader.kind == LENGTH:
                if reader.axis >= len(shape):
                    raise ArgumentTypeError(
                        f"{self.argument(reader)}: expected at least {reader.axis + 1} axes, got "
                        f"{len(shape)}")
                words[1 + i] = shape[reader.axis]
            else:
                words[1 + i] = product(shape)
        for i in range(self.types):
            found = type_of(<object>arguments[self.typed[i]])
            words[1 + self.sizes + i] = <int64_t><uintptr_t><PyObject*>found
        return 0

    cdef int64_t integer(self, Reader* reader, object value) except? -1:
        cdef int overflow = 0
        cdef long long number
        if type(value) is not int:
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise ArgumentTypeError(
                    f"{self.argument(reader)}: expected an int, which the launch is computed "
                    f"from, got {type(value).__name__}")
            try:
                value = value.__index__()
            except TypeError:
                raise ArgumentTypeError(
                    f"{self.argument(reader)}: expected an int, which the launch is computed "
                    f"from, got an object of {type(value).__name__} that is no int") from None
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow:
            raise ArgumentValueError(
                f"{self.argument(reader)}: expected an int of 64 bits, which the launch is "
                "computed from, got a larger one")
        return number

    cdef tuple shape_of(self, Reader* reader, object value):
        cdef Interface interface
        if isinstance(value, Transfer):
            return (<Transfer>value).array.shape
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple):
            return shape if type(shape) is tuple else tuple(shape)
        interface = interface_of(value)
        if interface is None:
            raise ArgumentTypeError(
                f"{self.argument(reader)}: expected an array, whose shape the launch is computed "
                f"from, got {type(value).__name__}")
        return interface.shape

    cdef str argument(self, Reader* reader):
        name = self.parameters[reader.position]
        return f"{self.name}: argument {name or reader.position}"

    cdef Entry find(self, const int64_t* words):
        cdef Py_ssize_t size = (1 + self.sizes + self.types) * sizeof(int64_t)
        cdef Py_ssize_t place = place_of(words, 1 + self.sizes + self.types)
        cdef Entry entry, _replaced
        with cython.critical_section(self):
            entry = _replaced = <Entry>self.recent[place]
            if entry is not None and not memcmp(PyBytes_AS_STRING(entry.key), words, size):
                return entry
            entry = <Entry>self.entries.get(PyBytes_FromStringAndSize(<char*>words, size))
            if entry is not None:
                self.recent[place] = entry
        return entry  # a replaced one is released behind the section

    cdef Entry choose(self, const int64_t* words, PyObject** arguments, Stream stream):
        """Choose a variant, and keep its launch."""
        cdef Py_ssize_t count = 1 + self.sizes + self.types
        cdef Chooser chooser = self.chooser(words, arguments)
        cdef Entry entry = self.choice(chooser, words)
        if chooser.tunes and entry.far:
            if captured(stream, chooser.device):
                entry.provisional = True
            elif self._tuned(
                tuple([<object>arguments[i] for i in range(len(self.parameters))]), stream
            ):
                if cupola_captures():  # one that began meanwhile keeps its choices
                    entry.provisional = True
                else:
                    self.reload()
                    entry = self.choice(self.chooser(words, arguments), words)
        entry.key = PyBytes_FromStringAndSize(<char*>words, count * sizeof(int64_t))
        entry.held = self.types_of(arguments)
        with cython.critical_section(self):
            replaced = self.entries, self.recent[place_of(words, count)]
            if len(self.entries) >= MOST_ENTRIES:
                self.entries = {}
            self.entries[entry.key] = entry
            self.recent[place_of(words, count)] = entry
        del replaced  # behind the section: other threads may have the last references
        return entry

    cdef Entry choice(self, Chooser chooser, const int64_t* words):
        try:
            return chooser.choose(self, words + 1)
        except ExpressionError as error:
            raise ArgumentError(f"{self.name}: {error}") from None

    cdef tuple types_of(self, PyObject** arguments):
        return tuple([type_of(<object>arguments[self.typed[i]]) for i in range(self.types)])

    cdef Chooser chooser(self, const int64_t* words, PyObject** arguments):
        cdef Chooser found
        cdef tuple types
        cdef object key = words[0]
        if self.types:
            key = (words[0], self.types_of(arguments))
        with cython.critical_section(self):
            found = <Chooser>self.choosers.get(key)
        if found is not None:
            return found
        types = self.type_names(() if not self.types else key[1])
        made = self._chooser(words[0], types)
        with cython.critical_section(self):
            self.choosers[key] = made
        return made

    cdef tuple type_names(self, tuple types):
        found = []
        for known, dtype in zip(self.declaration.types.items(), types):
            argument, elements = known
            name = dtype.__name__ if isinstance(dtype, type) else str(dtype).rpartition(".")[2]
            if name not in elements:
                raise ArgumentTypeError(
                    f"{self.name}: argument {argument}: there are kernels for "
                    f"{', '.join(elements)}, got {name}")
            found.append(name)
        return tuple(found)

    def _run(self, tuple args not None, dict named not None):
        """A call, for ``__call__``."""
        cdef tuple names = tuple(named)
        cdef tuple given = args + tuple(named.values())
        return self.run(tuple_items(given), len(args), <PyObject*>names)

    def _read(self, args, named):
        """The arguments in the order of the parameters, the symbols' values, element types."""
        cdef tuple names = tuple(named or ())
        cdef tuple given = tuple(args) + tuple((named or {}).values())
        cdef PyObject* stream = NULL
        cdef PyObject** ordered
        cdef int64_t words[MOST_SIZES + 1]
        if not load(self.bound):
            self.bind()
        ordered = <PyObject**>malloc((len(self.parameters) + 1) * sizeof(PyObject*))
        if ordered == NULL:
            raise MemoryError
        try:
            self.arrange(
                tuple_items(given), len(given) - len(names), <PyObject*>names, ordered, &stream)
            words[0] = 0
            self.read(ordered, words)
            return (
                tuple([<object>ordered[i] for i in range(len(self.parameters))]),
                tuple([words[1 + i] for i in range(self.sizes)]),
                self.type_names(self.types_of(ordered)))
        finally:
            free(ordered)


cdef inline object launch(object configured, PyObject** arguments, Py_ssize_t count, Stream stream):
    if stream is None:
        return PyObject_Vectorcall(configured, arguments, count, NULL)
    check(cupola_stream_push(stream.native))
    try:
        return PyObject_Vectorcall(configured, arguments, count, NULL)
    finally:
        check(cupola_stream_pop(stream.native))


cdef inline Py_ssize_t place_of(const int64_t* words, Py_ssize_t count) noexcept:
    cdef uint64_t mixed = 0
    cdef Py_ssize_t i
    for i in range(count):
        mixed = (mixed ^ <uint64_t>words[i]) * <uint64_t>0x9E3779B97F4A7C15
        mixed ^= mixed >> 32
    return <Py_ssize_t>(mixed & (RECENT - 1))


cdef int64_t product(tuple shape) except? -1:
    cdef int64_t total = 1
    for length in shape:
        total *= <int64_t>length
    return total


cdef object type_of(object value):
    """The dtype of an array or a NumPy scalar, or the class of another number."""
    cdef Interface interface
    if isinstance(value, ArrayData):
        return (<ArrayData>value).dtype
    if isinstance(value, Transfer):
        return (<Transfer>value).array.dtype
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return dtype
    interface = interface_of(value)
    return type(value) if interface is None else interface.dtype


cdef bint captured(Stream stream, int device) except -1:
    """Whether cupola captures any stream, or other code the one of the launch."""
    cdef CUstreamCaptureStatus status = <CUstreamCaptureStatus>0
    if cupola_captures():
        return True
    if stream is None:
        stream = current_stream(device)
    return (
        cuStreamIsCapturing(<CUstream>stream.get_handle(), &status) != 0 or <int>status != 0)


cdef object call_family(object self, PyObject** arguments, size_t nargsf, PyObject* names):
    return (<CallableFamily>self).run(arguments, PyVectorcall_NARGS(nargsf), names)


def with_vectorcall(type kind not None):
    """Let calls of a class that inherits `CallableFamily` begin in compiled code.

    A decorator. The class keeps its ``__call__``, which must do the same.
    """
    cdef CallableFamily one = CallableFamily.__new__(CallableFamily)
    cupola_add_vectorcall(
        <PyTypeObject*>kind, <char*>&one.vectorcall - <char*><PyObject*>one)
    return kind


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
