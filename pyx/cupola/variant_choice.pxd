# cupola/variant_choice.pxd - the variant of a key: the nearest measured row that can be launched.

from libc.stdint cimport int64_t

cdef enum:
    MOST_SIZES = 64  # sizes and types of a call
    MOST_KEY = 8  # sizes of a key

# The key and the launches of a family, in postfix order.
cdef class LaunchSteps:
    cdef object declaration
    cdef tuple variants
    cdef int64_t* code
    cdef int64_t* values
    cdef Py_ssize_t symbols, sizes, tunables, width, grid_axes, block_axes
    cdef Py_ssize_t key[MOST_KEY]

    # Computes the sizes. Returns the steps of the launch.
    cdef const int64_t* compute(self, const int64_t* given, int64_t* slots) except NULL
    # Grid, block and bytes of shared memory of a variant.
    cdef tuple dimensions(
        self, const int64_t* code, int64_t* slots, int variant, const int64_t* given)
    cdef bint has_zero(self, const int64_t* slots) noexcept
    cdef dict named(self, const int64_t* given)

# The launch for one key.
cdef class Entry:
    cdef bytes key  # the words of CallableFamily.read
    cdef object configured  # the kernel with its grid and block
    cdef tuple held  # objects whose addresses are in the key
    cdef readonly int variant
    cdef readonly int row  # of the chooser's rows; -1: the declared default
    cdef readonly bint far  # a size differs from the row's by more than a factor of 2
    cdef bint provisional  # chosen in a capture, where nothing is measured
    cdef readonly dict refused  # by variant: why it can't be launched

# The choice on one device, for arguments of given types.
cdef class Chooser:
    cdef LaunchSteps steps
    cdef readonly int device
    cdef readonly tuple types
    cdef readonly bint tunes
    cdef list kernels
    cdef int default
    cdef set dropped
    cdef Py_ssize_t count
    cdef double* sizes  # log2(1 + size) for each row and each size of the key
    cdef int* levels
    cdef int* variants

    # `given` has the value of each of the declaration's symbols.
    cdef Entry choose(self, object family, const int64_t* given)
    cdef Py_ssize_t nearest(self, const double* wanted, const char* refused) noexcept
    cdef double distance(self, Py_ssize_t row, const double* wanted) noexcept
    cdef bint is_far(self, Py_ssize_t row, const double* wanted) noexcept
    cdef bint configure(
        self, object family, Entry entry, const int64_t* code, int64_t* slots, int variant,
        const int64_t* given) except -1
