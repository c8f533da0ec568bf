# cupola/array_access.pxd - reads and makes arrays of one class, for calls of operations.

from libc.stdint cimport int64_t

from cupola._dlpack cimport CupolaExchange, CupolaTensor
from cupola._foreign cimport StreamFunction
from cupola._operation cimport cupola_op_call
from cupola.handles cimport cupola_stream

cdef enum Flags:
    WRITTEN = 1  # the kernel writes the array
    GRADIENTS = 2  # the library records what is computed
    MADE = 4  # the array was made by `allocate`

cdef enum:
    GENERAL = -1  # only the general call, in Python, can handle it

# Makes a new array: function(*args, **kwargs), or function(input `like`) where `like` is not
# negative.
cdef class Allocation:
    cdef object function
    cdef tuple args
    cdef dict kwargs
    cdef int like

cdef class ArrayAccess:
    # The flags for `read`, or GENERAL. `autocast`: whether the operation's declaration has it.
    cdef int begin(self, bint autocast) except -2
    # Describes an array. Its shape and its strides go to `lengths`, which has `room` values.
    # Returns how many there are, or GENERAL.
    cdef Py_ssize_t read(
        self, object value, int flags, CupolaTensor* out, int64_t* lengths, Py_ssize_t room
    ) except -2
    # Sets the stream of a call from the argument stream=, or leaves the current one; the arrays
    # are where `first` is. False where only the general call can handle the argument.
    cdef bint set_stream(
        self, object stream, const CupolaTensor* first, cupola_op_call* call) except -1
    cdef object allocate(self, Allocation form, object like, int device)
    # Notes that work on the stream uses an array; only for arrays of cupola's.
    cdef int note_use(self, object value, cupola_stream* stream) except -1
    cdef bint notes_use
    # The last dtype that was read, and its element type; a class has few.
    cdef object dtype
    cdef int code, bits
    cdef int set_type(self, object dtype, CupolaTensor* out) except -2

cdef class CupolaAccess(ArrayAccess):
    pass

cdef class CupyAccess(ArrayAccess):
    cdef StreamFunction current_stream
    cdef object current_device  # a function; None on a host with a single device

cdef class TorchAccess(ArrayAccess):
    cdef CupolaExchange* exchange
    cdef object records  # functions
    cdef tuple transforms
    cdef object casts

# The access for arrays of a class; None for a class without an access.
cdef ArrayAccess access_of(type kind)
