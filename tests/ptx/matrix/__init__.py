"""The instructions on matrices: every form, the kernel that runs one, and inputs for it.

A fragment is an array of words [register, lane]; what its elements mean stands in matrix_model.py.
"""

from .form import (
    BITS,
    DENSE,
    FLOATS,
    KINDS,
    SMALL,
    SPARSE,
    Form,
    header,
    kernel,
    selections,
)
from .group import GROUP, GROUP_SPARSE, Group, group_kernel
from .values import STYLES, fragment, inputs, metadata, output, packed, words
from .whole import WHOLE, Whole, matrix_words, numbered, whole_kernel

__all__ = [
    "BITS",
    "FLOATS",
    "DENSE",
    "KINDS",
    "SMALL",
    "SPARSE",
    "Form",
    "header",
    "kernel",
    "selections",
    "STYLES",
    "fragment",
    "inputs",
    "metadata",
    "output",
    "packed",
    "words",
    "WHOLE",
    "Whole",
    "matrix_words",
    "numbered",
    "whole_kernel",
    "GROUP",
    "GROUP_SPARSE",
    "Group",
    "group_kernel",
]
