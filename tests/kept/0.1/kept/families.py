# Made by cupola.build of [[tool.cupola.variants]]: the next build writes it anew.
"""Families of variants, of which a call launches the best one: ``families.scale(...)``."""

from cupola.ops.lazy_module import LazyModule as _LazyModule
from cupola.tuning.family import from_library as _from_library

_library = _LazyModule(
    __name__,
    (
        "scale",
    ),
    "families",
    lambda name: _from_library("kept.kernels", name),
)
__getattr__ = _library.attribute
__dir__ = _library.attributes
