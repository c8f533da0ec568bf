# cupola/element.pxd - element types as C names them, against NumPy's; internal.

cdef struct Element:
    char kind  # NumPy's letter; 0: not known, anything goes; 'x': bytes, of any kind
    Py_ssize_t size

# What "float" or "const unsigned int" is.
cdef Element element_of(str type)

cdef inline bint element_fits(Element wanted, char kind, Py_ssize_t size) noexcept nogil:
    if wanted.kind == 0 or (wanted.kind == kind and wanted.size == size):
        return True
    return wanted.kind == c'x' and size == 1
