# cupola/_names.pyx - arguments that are given by name, put into their places.
# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False

cimport cython
from cpython.object cimport PyObject
from libc.stdlib cimport calloc, free

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_CONST, CUPOLA_FLOAT, CUPOLA_INTEGER,
    CUPOLA_POINTER, CUPOLA_STRUCT, cupola_kernel_title, text,
)
from cupola.abi cimport require

from cupola.exceptions import ArgumentTypeError

cdef extern from "Python.h":
    Py_ssize_t PyTuple_GET_SIZE(PyObject* items)
    PyObject* PyTuple_GET_ITEM(PyObject* items, Py_ssize_t index)

# Keywords that `Kernel.launch` and `prepare` use themselves.
cdef frozenset OWN = frozenset(
    ("grid", "block", "stream", "shared", "cluster", "cooperative",
     "programmatic_dependent_launch", "priority", "carveout"))


cdef str kind_text(const cupola_parameter* parameter):
    kinds = []
    if parameter.kind & CUPOLA_POINTER:
        kinds.append("pointer")
    if parameter.kind & CUPOLA_INTEGER:
        kinds.append("integer")
    if parameter.kind & CUPOLA_FLOAT:
        kinds.append("float")
    if parameter.kind & CUPOLA_STRUCT:
        kinds.append("struct")
    return " or ".join(kinds)


cdef str parameter_text(const cupola_parameter* parameter):
    kind, shown = kind_text(parameter), text(parameter.type)
    if shown and kind == "pointer":
        shown = f"{'const ' if parameter.kind & CUPOLA_CONST else ''}{shown}*"
    return f"{shown or kind} {text(parameter.name)}".rstrip()


cdef tuple parameters_of(const cupola_parameter* parameters, size_t count, object told):
    from cupola.core.result_types import Parameter
    from cupola.image.manifest import dtype_of_type
    cdef const cupola_parameter* one
    cdef size_t i
    found = []
    for i in range(count):
        one = &parameters[i]
        shown, dtype = text(one.type), None
        if told is not None:
            dtype = told[i].dtype
        if dtype is None:
            dtype = dtype_of_type(shown, one.size, one.kind & CUPOLA_POINTER)
        found.append(Parameter(
            text(one.name), kind_text(one), shown, one.offset, one.size, dtype,
            one.kind & CUPOLA_CONST != 0, told is not None and told[i].restrict))
    return tuple(found)


cdef KeywordBinder binder_of(
    cupola_kernel* native, const cupola_parameter* parameters, size_t count, object descriptors
):
    cdef KeywordBinder result = KeywordBinder.__new__(KeywordBinder)
    cdef size_t index
    result.order = <Py_ssize_t*>calloc(count + 1, sizeof(Py_ssize_t))
    if result.order == NULL:
        raise MemoryError
    result.title = text(cupola_kernel_title(native))
    if descriptors is None:
        given = [text(parameters[index].name) for index in range(count)]
    else:
        given = descriptors.names
    result.total = len(given)
    # Parameters of a pack share one name.
    result.several = {name for name in given if name and given.count(name) > 1}
    result.names = [name if name and name not in result.several else None for name in given]
    result.places = {name: i for i, name in enumerate(result.names) if name is not None}
    if descriptors is not None:
        result.listed = descriptors.listed()
        return result
    result.listed = ", ".join([parameter_text(&parameters[index]) for index in range(count)])
    return result


cdef inline bint same_objects(PyObject* one, PyObject* other) noexcept:
    """Names are usually identical text objects, even where each call makes a new tuple."""
    cdef Py_ssize_t index, length = PyTuple_GET_SIZE(one)
    if length != PyTuple_GET_SIZE(other):
        return False
    for index in range(length):
        if PyTuple_GET_ITEM(one, index) != PyTuple_GET_ITEM(other, index):
            return False
    return True


cdef class KeywordBinder:
    def __cinit__(self):
        self.order = NULL
        self.recent_count = -1

    def __dealloc__(self):
        free(self.order)

    cdef int arrange(
        self, PyObject** arguments, Py_ssize_t count, PyObject* keywords, PyObject** ordered
    ) except -1:
        cdef Py_ssize_t index
        cdef list places
        with cython.critical_section(self):
            if count == self.recent_count and (
                keywords == <PyObject*>self.recent
                or same_objects(keywords, <PyObject*>self.recent)
            ):
                for index in range(self.total):
                    ordered[index] = arguments[self.order[index]]
                return 0
        places = self.learn(count, <tuple>keywords)
        for index in range(self.total):
            ordered[index] = arguments[<Py_ssize_t>places[index]]
        return 0

    cdef tuple arranged(self, tuple arguments, dict named):
        if not named:
            return arguments
        given = arguments + tuple(named.values())
        return tuple([given[place] for place in self.learn(len(arguments), tuple(named))])

    cdef list learn(self, Py_ssize_t count, tuple keywords):
        cdef Py_ssize_t index, place
        cdef list places = list(range(count)) + [-1] * (self.total - count)
        if count > self.total:
            raise ArgumentTypeError(
                f"{self.title}: takes {self.total} arguments, got {count} by position and more by "
                f"name; it is {self.title}({self.listed})")
        for index, name in enumerate(keywords):
            place = self.place(name)
            if places[place] >= 0:
                raise ArgumentTypeError(
                    f"{self.title}: {self.at(place)} is given twice, by position and by name; it "
                    f"is {self.title}({self.listed})")
            places[place] = count + index
        missing = [index for index in range(self.total) if places[index] < 0]
        if missing:
            own = [name for name in [self.names[index] for index in missing] if name in OWN]
            hint = "" if not own else (
                f" (launch() and prepare() have a {own[0]}= of their own: there it is given by "
                "position)")
            raise ArgumentTypeError(
                f"{self.title}: missing {', '.join([self.at(index) for index in missing])}{hint}; "
                f"it is {self.title}({self.listed})")
        with cython.critical_section(self):  # nothing in it fails
            replaced = self.recent  # released behind the section
            for index in range(self.total):
                self.order[index] = places[index]
            self.recent, self.recent_count = keywords, count
        del replaced
        return places

    cdef Py_ssize_t place(self, str name) except -1:
        place = self.places.get(name)
        if place is not None:
            return place
        if not self.places and self.total:
            raise ArgumentTypeError(
                f"{self.title}: {name}=: the names of its parameters are not known, since the "
                "image has no manifest with them: pass arguments by position, or "
                "declare the parameters: kernel.declare('float a, const float* x')")
        raise ArgumentTypeError(
            f"{self.title}: has no parameter {name}{self.nearest(name)}; it is "
            f"{self.title}({self.listed})")

    cdef str nearest(self, str name):
        import difflib
        if name in self.several:
            return ", since several parameters share that name: pass them by position"
        close = difflib.get_close_matches(name, self.places, 1)
        return f", did you mean {close[0]}?" if close else ""

    cdef str at(self, Py_ssize_t index):
        name = self.names[index]
        return f"argument {index}" + (f" ({name})" if name is not None else "")


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
