# cupola/element.pxd - element types, and conversion of values to elements; internal.

cdef struct Element:
    char kind  # NumPy's letter; 0: unknown, any kind fits; 'x': bytes of any kind
    Py_ssize_t size

# The type of a C name such as "float" or "const unsigned int".
cdef Element element_of(str type)

# The value as a NumPy array of the dtype; raises where that fails.
cdef object converted(object value, object dtype)
# The same, by NumPy's same_kind rule: for example, no float becomes an integer.
cdef object elements_of(object value, object dtype)

cdef inline bint element_fits(Element wanted, char kind, Py_ssize_t size) noexcept nogil:
    if wanted.kind == 0 or (wanted.kind == kind and wanted.size == size):
        return True
    return wanted.kind == c'x' and size == 1
