# cupola/eager_call.pyx - calls of an operation whose arguments are like those of a call before.
# cython: language_level=3, boundscheck=False, wraparound=False
"""The fast path of calls; `cupola.ops` makes its plans, and handles all other calls."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject, PyTypeObject, Py_TYPE
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memcmp, memset

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_WOULD_WAIT
from cupola._dlpack cimport CPU
from cupola._operation cimport (
    cupola_op, cupola_op_host_device, cupola_op_launch, cupola_op_plan_create,
    cupola_op_plan_launch, cupola_op_plan_release,
)
from cupola._send cimport (
    PyVectorcall_NARGS, begin_traced, call_generic, cupola_add_vectorcall, end_traced, tuple_items,
)
from cupola.abi cimport require
from cupola.array_access cimport GENERAL, MADE, WRITTEN, Allocation, ArrayAccess, access_of
from cupola.error cimport check
from cupola._free_threading cimport load, store
from cupola.stream cimport current_stream

cdef enum:
    MAX_PLANS = 256  # the most plans that an operation keeps

UNKNOWN = object()
cdef object _UNKNOWN = UNKNOWN


cdef class Plan:
    def __dealloc__(self):
        with nogil:  # this may release the last reference of a kernel's image
            cupola_op_plan_release(self.prepared)


cdef class EagerCall:
    """The calls of one operation.

    Parameters
    ----------
    inputs : tuple of (str, bool)
        Their names, and whether the kernel writes them.
    scalars : tuple of (str, str, number or None)
        Names, kinds and defaults.
    outputs : int
        How many there are.
    align : int
        A divisor of each tensor's address.
    autocast : bool
        Whether autocast changes the inputs.
    """

    def __init__(
        self, tuple inputs not None, tuple scalars not None, Py_ssize_t outputs, align, autocast
    ):
        cdef Py_ssize_t i
        if len(inputs) > MAX_TENSORS or len(scalars) > MAX_TENSORS:
            raise ValueError("an operation takes at most 64 tensors and 64 scalars")
        self.positions, self.plans = {}, {}
        self.input_count, self.scalar_count = len(inputs), len(scalars)
        self.output_count, self.align, self.autocast = outputs, align, autocast
        for i in range(self.input_count):
            name, self.written[i] = inputs[i]
            self.positions[name] = i
        for i in range(self.scalar_count):
            name, kind, default = scalars[i]
            self.positions[name] = self.input_count + i
            self.kinds[i] = ord(kind[0])
            self.has_default[i] = default is not None
            if default is not None and not set_scalar(self.kinds[i], default, &self.defaults[i]):
                self.has_default[i] = False
        # An input or a scalar may have one of these names.
        self.out_name = None if "out" in self.positions else "out"
        self.stream_name = None if "stream" in self.positions else "stream"
        self.device_name = None if "device" in self.positions else "device"

    def call(self, tuple args not None, dict kwargs not None):
        """Allocate the outputs, check and launch; the outputs.

        Returns `UNKNOWN`, and has done nothing, where no call before was like this one.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            Where an argument contradicts the declaration; nothing was launched.
        """
        cdef tuple names = tuple(kwargs)
        cdef tuple given = args + tuple(kwargs.values())
        return self.run(tuple_items(given), len(args), <PyObject*>names)

    cdef object run(self, PyObject** arguments, Py_ssize_t count, PyObject* names):
        cdef Arguments a
        cdef PyObject* into = NULL
        cdef PyObject* stream = NULL
        cdef Plan plan, _replaced = None
        cdef Py_ssize_t size
        with cython.critical_section(self):
            plan = self.last
        if not self.place(arguments, count, names, &a, &into, &stream) or not self.read(&a):
            return _UNKNOWN
        size = a.used * sizeof(int64_t)
        if (
            plan is None or PyBytes_GET_SIZE(plan.key) != size
            or memcmp(PyBytes_AS_STRING(plan.key), a.words, size)
        ):
            plan = <Plan>self.plans.get(PyBytes_FromStringAndSize(<char*>a.words, size))
            if plan is None:
                return _UNKNOWN
            with cython.critical_section(self):
                _replaced = self.last  # released behind the section
                self.last = plan
        return self.launch(&a, plan, into, stream)

    def remember(
        self, tuple args not None, NativeOperation native not None, tuple outputs not None,
        tuple workspaces not None
    ):
        """Note that a call with these arguments was right, and how it allocates.

        Parameters
        ----------
        args : tuple
            The inputs and scalars.
        native : NativeOperation
            With the kernel bound.
        outputs, workspaces : tuple of Allocation
        """
        cdef Arguments a
        cdef Plan plan
        cdef PyObject* unused = NULL
        if not self.place(tuple_items(args), len(args), NULL, &a, &unused, &unused):
            return
        if not self.read(&a):
            return
        plan = Plan.__new__(Plan)
        plan.key = PyBytes_FromStringAndSize(<char*>a.words, a.used * sizeof(int64_t))
        plan.native, plan.outputs, plan.workspaces = native, outputs, workspaces
        if len(self.plans) >= MAX_PLANS:
            self.plans.clear()
        self.plans[plan.key] = plan

    def __len__(self):
        """How many plans there are."""
        return len(self.plans)

    cdef bint place(
        self, PyObject** arguments, Py_ssize_t count, PyObject* names, Arguments* out,
        PyObject** into, PyObject** stream
    ) except -1:
        """Sort the arguments; False where the general call has to."""
        cdef Py_ssize_t i, k, most = self.input_count + self.scalar_count
        cdef PyObject* value
        cdef PyObject* position
        if count > most:
            return False
        for i in range(count):
            out.values[i] = arguments[i]
        for i in range(count, most):
            out.values[i] = NULL
        if names == NULL:
            return True
        for k in range(len(<tuple>names)):
            name = (<tuple>names)[k]
            value = arguments[count + k]
            if name is self.out_name:
                if <object>value is not None:
                    into[0] = value
                continue
            if name is self.stream_name:
                if <object>value is not None:
                    stream[0] = value
                continue
            position = PyDict_GetItem(self.positions, name)
            if position == NULL:
                if <object>value is None and name is self.device_name:
                    continue
                return False
            i = <object>position
            if i < count:
                return False
            out.values[i] = value
        return True

    cdef bint read(self, Arguments* a) except -1:
        """Describe the arguments; False where the general call has to."""
        cdef Py_ssize_t i
        cdef ArrayAccess access
        a.access = NULL
        a.used = 1
        for i in range(self.input_count):
            if a.values[i] == NULL or <object>a.values[i] is None:
                a.given[i] = NULL
                if a.used == MAX_WORDS:
                    return False
                a.words[a.used] = -1
                a.used += 1
                continue
            if a.access == NULL:
                access = access_of(<type>Py_TYPE(<object>a.values[i]))
                if access is None:
                    return False
                a.access = <PyObject*>access  # the access stays registered
                a.words[0] = <int64_t><uintptr_t>a.access
                a.first = i
                a.flags = access.begin(self.autocast)
                if a.flags == GENERAL:
                    return False
            if not self.read_tensor(
                a, i, <object>a.values[i], a.flags | (WRITTEN if self.written[i] else 0)
            ):
                return False
        if a.access == NULL:
            return False
        for i in range(self.scalar_count):
            if not self.read_scalar(a, i):
                return False
        return True

    cdef bint read_tensor(
        self, Arguments* a, Py_ssize_t index, object value, int flags
    ) except -1:
        cdef CupolaTensor* tensor = &a.tensors[index]
        cdef Py_ssize_t count
        cdef int host
        if index != a.first and Py_TYPE(value) != Py_TYPE(<object>a.values[a.first]):
            return False
        if a.used + 2 > MAX_WORDS:
            return False
        count = (<ArrayAccess>a.access).read(
            value, flags, tensor, &a.words[a.used + 2],
            MAX_WORDS - a.used - 2)
        if count == GENERAL:
            return False
        if (<uintptr_t>tensor.data + tensor.byte_offset) & (
            self.align - 1 | <uint64_t>(tensor.bits >> 3) - 1
        ):
            return False
        a.given[index] = tensor
        a.words[a.used] = (
            tensor.code | tensor.bits << 8 | tensor.ndim << 16
            | <int64_t>tensor.device_type << 32 | <int64_t>(tensor.strides != NULL) << 48)
        a.words[a.used + 1] = tensor.device_id
        if index == a.first and tensor.device_type == CPU:
            # A plan's kernels are bound for one device.
            check(cupola_op_host_device(&host))
            a.words[a.used + 1] = host
        a.used += 2 + count
        return True

    cdef bint read_scalar(self, Arguments* a, Py_ssize_t index) except -1:
        cdef PyObject* value = a.values[self.input_count + index]
        cdef cupola_op_scalar* out = &a.scalars[index]
        if value != NULL:
            if not set_scalar(self.kinds[index], <object>value, out):
                return False
        elif self.has_default[index]:
            out[0] = self.defaults[index]
        else:
            return False
        if out.is_real:
            return True
        if a.used == MAX_WORDS:
            return False
        a.words[a.used] = out.integer
        a.used += 1
        return True

    cdef object launch(self, Arguments* a, Plan plan, PyObject* into, PyObject* stream):
        cdef ArrayAccess access = <ArrayAccess>a.access
        cdef Py_ssize_t i, at = self.input_count
        cdef cupola_op_call call
        cdef cupola_stream* used = NULL
        cdef int device = a.tensors[a.first].device_id
        cdef cupola_op_plan* prepared
        cdef int status = CUPOLA_WOULD_WAIT
        cdef Allocation form
        cdef list made = None
        cdef tuple given = None
        memset(&call, 0, sizeof(call))
        if not access.set_stream(
            <object>stream if stream != NULL else None, &a.tensors[a.first], &call
        ):
            return _UNKNOWN
        if into != NULL:
            value = <object>into
            given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
            if len(given) != self.output_count:
                return _UNKNOWN
            for value in given:
                if not self.read_tensor(a, at, value, a.flags | WRITTEN):
                    return _UNKNOWN
                at += 1
        if given is None or plan.workspaces:
            made = []
            for form in plan.workspaces if given is not None else plan.outputs + plan.workspaces:
                value = access.allocate(
                    form, None if form.like < 0 else <object>a.values[form.like], device)
                made.append(value)  # keeps the array alive if the next call fails
                if not self.read_tensor(a, at, value, WRITTEN | MADE):
                    return _UNKNOWN
                at += 1
        call.size = sizeof(call)
        call.tensors, call.tensor_count = a.given, at
        call.scalars, call.scalar_count = a.scalars, self.scalar_count
        prepared = load(plan.prepared)
        if prepared != NULL:
            # `run` has compared the inputs and scalars with those of the plan.
            status = cupola_op_plan_launch(prepared, &call, self.input_count, &used)
        if status == CUPOLA_WOULD_WAIT:
            self.launch_checked(plan, &call, &used if access.notes_use else NULL, device)
        else:
            check(status)
        if access.notes_use:
            for i in range(self.input_count):
                if a.given[i] != NULL:
                    access.note_use(<object>a.values[i], used)
            for value in given or ():
                access.note_use(value, used)
            for value in made or ():
                access.note_use(value, used)
        if given is None:
            given = tuple(made[: self.output_count])
        return None if not given else given[0] if len(given) == 1 else given

    cdef int launch_checked(
        self, Plan plan, cupola_op_call* call, cupola_stream** used, int device
    ) except -1:
        """Launch with all checks, without the GIL; for the next calls, prepare the plan."""
        cdef cupola_op* native = plan.native.native
        cdef cupola_op_plan* prepared = NULL
        cdef bint first
        cdef int status
        if used != NULL and call.stream == NULL:
            # Valid while this stream is the current stream.
            call.stream = current_stream(device).native
        begin_traced()
        with nogil:  # the call may wait for the stream, or for the work of host tensors
            status = cupola_op_launch(native, call)
        end_traced()
        check(status)
        if used != NULL:
            used[0] = call.stream
        with cython.critical_section(plan):
            first, plan.tried = not plan.tried, True
        # Where it fails, the next call says what is wrong.
        if first and cupola_op_plan_create(native, call, &prepared) == 0:
            store(plan.prepared, prepared)
        return 0


cdef object call_operation(
    object self, PyObject** arguments, size_t nargsf, PyObject* names
):
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    cdef EagerCall eager = (<CallableOperation>self).eager
    if eager is not None:
        made = eager.run(arguments, count, names)
        if made is not _UNKNOWN:
            return made
    return call_generic(self, arguments, count, names, type(self).__call__)


cdef class CallableOperation:
    """The base of `cupola.ops.operation.Operation`, which has the general call as ``__call__``.

    Calls that `eager` can make go past that method.
    """

    def __cinit__(self):
        self.vectorcall = <void*>call_operation


def with_vectorcall(type kind not None):
    """Let calls of a class that inherits `CallableOperation` begin in compiled code.

    A decorator. It keeps ``__call__``, which makes the calls that `EagerCall` can't, and which
    PyTorch's compiler traces.
    """
    cdef CallableOperation one = CallableOperation.__new__(CallableOperation)
    if not issubclass(kind, CallableOperation):
        raise TypeError(f"{kind!r} does not inherit CallableOperation")
    cupola_add_vectorcall(
        <PyTypeObject*>kind, <char*>&one.vectorcall - <char*><PyObject*>one)
    return kind


cdef bint set_scalar(char kind, object value, cupola_op_scalar* out) except -1:
    """Convert a number of Python's own types; False for others, and for values out of range."""
    out.is_real = kind == c"f"
    if out.is_real:
        if type(value) is float or type(value) is int:
            out.real = value
            return True
        return False
    if type(value) is not (bool if kind == c"b" else int):
        return False
    try:
        out.integer = value
    except OverflowError:
        return False
    return True


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
