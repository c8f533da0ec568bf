# Made by cupola.build of [[tool.cupola.ops]]: the next build writes it anew.
"""Operations, for arrays of any library: ``ops.add(...)``."""

from cupola.ops.library import OperationLibrary as _OperationLibrary

_library = _OperationLibrary(
    __name__,
    "kept.kernels",
    (
        "add",
    ),
)
__getattr__ = _library.attribute
__dir__ = _library.attributes
