# cupola/_attribute_docs.pxd - docstrings for attributes that a class declares with `readonly`.
"""Cython gives ``cdef readonly`` attributes no docstring, and Python cannot set one afterwards."""

from cpython.ref cimport Py_INCREF


cdef extern from "Python.h":
    ctypedef struct PyGetSetDef:
        const char* doc
    ctypedef struct PyGetSetDescrObject:
        PyGetSetDef* d_getset


cdef inline int document_attributes(type owner, dict texts) except -1:
    """Set the docstrings of a class's own attributes; `texts` has them by name."""
    cdef bytes encoded
    for name, text in texts.items():
        encoded = text.encode()
        # The class keeps a bare pointer, so these bytes are never freed.
        Py_INCREF(encoded)
        (<PyGetSetDescrObject*>owner.__dict__[name]).d_getset.doc = encoded
    return 0
