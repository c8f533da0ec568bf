# cupola/eager_call.pxd - calls of an operation whose arguments are like those of a call before.

from libc.stdint cimport int64_t, uint64_t

from cupola._dlpack cimport CupolaTensor
from cupola._operation cimport cupola_op_call, cupola_op_plan, cupola_op_scalar
from cupola.array_access cimport ArrayAccess
from cupola.handles cimport cupola_stream
from cupola.native_operation cimport MAX_TENSORS, NativeOperation
from cpython.object cimport PyObject

cdef enum:
    MAX_WORDS = 1024

# The arguments of one call; the caller keeps the objects alive.
cdef struct Arguments:
    PyObject* values[2 * MAX_TENSORS]  # values of inputs and scalars; NULL: not given
    CupolaTensor tensors[MAX_TENSORS]
    const void* given[MAX_TENSORS]
    cupola_op_scalar scalars[MAX_TENSORS]
    PyObject* access
    Py_ssize_t first  # the first input that is given
    int flags  # flags of the array access
    # The key of the plan: the access, then of each input its type, device, shape and strides,
    # then the integers among the scalars. The lengths of outputs follow.
    int64_t words[MAX_WORDS]
    Py_ssize_t used  # the number of words in use

# The checked results of a call before: the kernels are bound, and the inputs need no copies.
cdef class Plan:
    cdef bytes key  # Arguments.words of its inputs and integers
    cdef NativeOperation native
    cdef tuple outputs  # Allocations, as in the next member
    cdef tuple workspaces
    cdef cupola_op_plan* prepared  # made by the first call that used the plan; NULL before
    cdef bint tried  # to prepare it

cdef class EagerCall:
    cdef dict positions  # positions of the parameters, by name
    cdef dict plans  # plans by their keys
    cdef Plan last  # the plan of the last call
    cdef Py_ssize_t input_count, scalar_count, output_count
    cdef uint64_t align
    cdef bint autocast
    # None where an input or scalar has the name of this argument.
    cdef object out_name, stream_name, device_name
    cdef bint written[MAX_TENSORS]
    cdef char kinds[MAX_TENSORS]  # kinds of scalars: f for float, i for integer, b for bool
    cdef bint has_default[MAX_TENSORS]
    cdef cupola_op_scalar defaults[MAX_TENSORS]

    # The outputs of a call with vectorcall's arguments, or UNKNOWN.
    cdef object run(self, PyObject** arguments, Py_ssize_t count, PyObject* names)
    cdef bint place(
        self, PyObject** arguments, Py_ssize_t count, PyObject* names, Arguments* out,
        PyObject** into, PyObject** stream
    ) except -1
    cdef bint read(self, Arguments* a) except -1
    cdef bint read_tensor(
        self, Arguments* a, Py_ssize_t index, object value, int flags) except -1
    cdef bint read_scalar(self, Arguments* a, Py_ssize_t index) except -1
    cdef object launch(self, Arguments* a, Plan plan, PyObject* into, PyObject* stream)
    cdef int launch_checked(
        self, Plan plan, cupola_op_call* call, cupola_stream** used, int device) except -1

# The part of an operation that calls without Python use.
cdef class CallableOperation:
    cdef void* vectorcall
    cdef public EagerCall eager
