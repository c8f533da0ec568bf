# cupola/_names.pxd - arguments that are given by name, put into their places; internal.

from cpython.object cimport PyObject

from cupola._abi cimport cupola_parameter
from cupola.handles cimport cupola_kernel

cdef class KeywordBinder:
    cdef str title
    cdef str listed  # the kernel's parameters, for messages
    cdef list names  # names of the parameters; None for a parameter without a known name
    cdef dict places
    cdef set several  # names that more than one of them has
    cdef Py_ssize_t total
    # From the last call: a repeated call passes the same object of names.
    cdef object recent
    cdef Py_ssize_t recent_count
    cdef Py_ssize_t* order  # the position of each parameter's argument

    # Puts a call's arguments, positional ones first, into the parameters' order.
    cdef int arrange(
        self, PyObject** arguments, Py_ssize_t count, PyObject* keywords, PyObject** ordered
    ) except -1
    cdef tuple arranged(self, tuple arguments, dict named)
    cdef list learn(self, Py_ssize_t count, tuple keywords)
    cdef Py_ssize_t place(self, str name) except -1
    cdef str nearest(self, str name)
    cdef str at(self, Py_ssize_t index)

# The parameters belong to the kernel, and are read once.
cdef KeywordBinder binder_of(
    cupola_kernel* native, const cupola_parameter* parameters, size_t count, object descriptors)
# "const float* x", as far as it is known.
cdef str parameter_text(const cupola_parameter* parameter)
# The `Parameter` of each; `told` has what a manifest tells of them, or is None.
cdef tuple parameters_of(const cupola_parameter* parameters, size_t count, object told)
