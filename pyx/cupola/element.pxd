# cupola/element.pxd - element types, and conversion of values to elements; internal.

from libc.stdint cimport uint64_t

cdef struct Element:
    char kind  # NumPy's letter; 0: unknown, any kind fits; 'x': bytes of any kind
    Py_ssize_t size
    Py_ssize_t vector  # bytes of a vector of such numbers, as float4 is; 0: no vector
    uint64_t low_bits  # the bits that are 0 in an aligned address
    uint64_t further_bits  # of these, the bits that the type alone does not require to be 0

# The type of a C name such as "float" or "const unsigned int".
cdef Element element_of(str type)

# The name of a dtype that fits a parameter of a C type, for messages, such as 'float32' for float4.
# A dtype of the same kind as `dtype` is preferred. '' if no dtype is known.
cdef str wanted_text(const Element* element, const char* type, object dtype)

# The bits that are 0 in an address of aligned elements. A kernel's access to a number of n bytes
# faults unless n divides the address.
cdef uint64_t low_bits_of(object dtype)
# Whether all elements have the machine's byte order, also those of arrays in structs.
cpdef bint is_native(object dtype) except -1
# Whether a kernel can take elements at an address: aligned, and in the machine's byte order.
cdef bint is_direct(object dtype, uint64_t address, Py_ssize_t nbytes) except -1
# The reason why not, and the remedy, for messages.
cdef str indirect_text(object dtype, str copy)
# The dtype, or the array itself or a copy of it, in the machine's byte order.
cpdef object native_dtype(object dtype)
cdef object native_array(object host)

# Python source that makes the dtype, for messages: 'float32' or numpy.dtype([('x', '<f4')]).
cdef str dtype_source(object dtype)

# The value as a NumPy array of the dtype; raises where that fails.
cdef object converted(object value, object dtype)
# Converts by NumPy's same_kind rule: for example, no float becomes an integer.
cdef object elements_of(object value, object dtype)
# Raises where that rule does not convert the elements of one dtype to another.
cdef int require_same_kind(object source, object target) except -1

cdef inline bint element_fits(
    const Element* wanted, char kind, Py_ssize_t size, uint64_t address
) noexcept nogil:
    if wanted.kind == kind and wanted.size == size:
        return not address & wanted.further_bits  # the address was checked for this type
    if address & wanted.low_bits:
        return False
    if wanted.vector and size == wanted.vector:  # a struct; a pixel of four bytes as an integer
        if kind == c'V' or (wanted.kind == c'x' and kind in (c'u', c'i')):
            return True
    if wanted.vector and kind == c'c':  # two floats of the vector
        return wanted.kind == c'f' and size == 2 * wanted.size and wanted.vector % size == 0
    return wanted.kind == 0 or (wanted.kind == c'x' and size == 1)
