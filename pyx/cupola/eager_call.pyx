# cupola/eager_call.pyx - calls of an operation whose arguments are like those of a call before.
# cython: language_level=3, boundscheck=False, wraparound=False
"""The fast path of calls; `cupola.ops` makes its plans, and handles all other calls."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_GetItem, PyDict_Next
from cpython.object cimport PyObject, Py_TYPE
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memset

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola._dlpack cimport CPU
from cupola._operation cimport cupola_op_call, cupola_op_host_device, cupola_op_launch
from cupola.abi cimport require
from cupola.array_access cimport GENERAL, MADE, WRITTEN, Allocation, ArrayAccess, access_of
from cupola.error cimport check

cdef enum:
    MAX_PLANS = 256  # of an operation

UNKNOWN = object()
cdef object _UNKNOWN = UNKNOWN


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

    def call(self, tuple args not None, dict kwargs not None):
        """Allocate the outputs, check and launch; the outputs.

        Returns `UNKNOWN`, and has done nothing, where no call before was like this one.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            Where an argument contradicts the declaration; nothing was launched.
        """
        cdef Arguments a
        cdef PyObject* into = NULL
        cdef PyObject* stream = NULL
        if not self.place(args, kwargs, &a, &into, &stream) or not self.read(&a):
            return _UNKNOWN
        key = PyBytes_FromStringAndSize(<char*>a.words, a.used * sizeof(int64_t))
        found = PyDict_GetItem(self.plans, key)
        if found == NULL:
            return _UNKNOWN
        return self.launch(
            &a, <Plan>found, <object>into if into != NULL else None,
            <object>stream if stream != NULL else None)

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
        if not self.place(args, {}, &a, &unused, &unused) or not self.read(&a):
            return
        plan = Plan.__new__(Plan)
        plan.native, plan.outputs, plan.workspaces = native, outputs, workspaces
        if len(self.plans) >= MAX_PLANS:
            self.plans.clear()
        self.plans[PyBytes_FromStringAndSize(<char*>a.words, a.used * sizeof(int64_t))] = plan

    def __len__(self):
        """How many plans there are."""
        return len(self.plans)

    cdef bint place(
        self, tuple args, dict kwargs, Arguments* out, PyObject** into, PyObject** stream
    ) except -1:
        """Sort the arguments; False where the general call has to."""
        cdef Py_ssize_t i, at = 0, count = len(args), most = self.input_count + self.scalar_count
        cdef PyObject* key = NULL
        cdef PyObject* value = NULL
        cdef PyObject* position
        if count > most:
            return False
        for i in range(count):
            out.values[i] = <PyObject*>args[i]
        for i in range(count, most):
            out.values[i] = NULL
        while PyDict_Next(kwargs, &at, &key, &value):
            position = PyDict_GetItem(self.positions, <object>key)
            if position != NULL:
                i = <object>position
                if i < count:
                    return False
                out.values[i] = value
            elif <object>value is None:
                if <str>(<object>key) not in ("out", "stream", "device"):
                    return False
            elif <str>(<object>key) == "out":
                into[0] = value
            elif <str>(<object>key) == "stream":
                stream[0] = value
            else:
                return False
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
                a.access = <PyObject*>access  # which stays registered
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
        if self.align > 1 and (<uintptr_t>tensor.data + tensor.byte_offset) % self.align:
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

    cdef object launch(self, Arguments* a, Plan plan, object into, object stream):
        cdef ArrayAccess access = <ArrayAccess>a.access
        cdef Py_ssize_t i, at = self.input_count
        cdef cupola_op_call call
        cdef int device = a.tensors[a.first].device_id
        cdef Allocation form
        cdef list made = []
        cdef tuple given = None
        memset(&call, 0, sizeof(call))
        stream = access.set_stream(stream, &a.tensors[a.first], &call)
        if stream is False:
            return _UNKNOWN
        if into is not None:
            given = tuple(into) if isinstance(into, (tuple, list)) else (into,)
            if len(given) != self.output_count:
                return _UNKNOWN
            for value in given:
                if not self.read_tensor(a, at, value, a.flags | WRITTEN):
                    return _UNKNOWN
                at += 1
        for form in plan.workspaces if given is not None else plan.outputs + plan.workspaces:
            value = access.allocate(
                form, None if form.like < 0 else <object>a.values[form.like], device)
            made.append(value)  # before an error could release it
            if not self.read_tensor(a, at, value, WRITTEN | MADE):
                return _UNKNOWN
            at += 1
        call.size = sizeof(call)
        call.tensors, call.tensor_count = a.given, at
        call.scalars, call.scalar_count = a.scalars, self.scalar_count
        with nogil:  # it may wait for the stream, or for the work of host tensors
            check(cupola_op_launch(plan.native.native, &call))
        if stream is not None:
            for i in range(self.input_count):
                if a.given[i] != NULL:
                    access.note_use(<object>a.values[i], stream)
            for value in given or ():
                access.note_use(value, stream)
            for value in made:
                access.note_use(value, stream)
        if given is None:
            given = tuple(made[: self.output_count])
        return None if not given else given[0] if len(given) == 1 else given


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
