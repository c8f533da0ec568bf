# cupola/element.pxd - elements: their types, and how values become some; internal.

cdef struct Element:
    char kind  # NumPy's letter; 0: not known, anything goes; 'x': bytes, of any kind
    Py_ssize_t size

# What "float" or "const unsigned int" is.
cdef Element element_of(str type)

# A NumPy array of the dtype, or an error.
cdef object converted(object value, object dtype)
# The same, by NumPy's same_kind rule: no kind becomes a lesser one.
cdef object elements_of(object value, object dtype)

cdef inline bint element_fits(Element wanted, char kind, Py_ssize_t size) noexcept nogil:
    if wanted.kind == 0 or (wanted.kind == kind and wanted.size == size):
        return True
    return wanted.kind == c'x' and size == 1
