# Made by cupola.build of csrc/kept.cu: the next build writes it anew.
"""Kernels, each loaded when it is first used: ``kernels.add[grid, block](...)``."""

from cupola.core.kernel_library import KernelLibrary as _KernelLibrary

_library = _KernelLibrary(
    __name__,
    {
        "add": "add",
        "line": "line",
        "scale_float_1": "_Z5scaleIfLi1EEvPT_PKS0_S0_i",
        "scale_float_2": "_Z5scaleIfLi2EEvPT_PKS0_S0_i",
    },
)
__getattr__ = _library.attribute
__dir__ = _library.attributes
load = _library.load
