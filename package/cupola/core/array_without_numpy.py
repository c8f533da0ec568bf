# cupola/core/array_without_numpy.py - the class of arrays in a cupola without the part arrays.
"""Refuses NumPy's operators and methods of arrays with an error that names the missing part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cupola.core.parts import missing_part

BINARY = {
    "add": "+",
    "and": "&",
    "floordiv": "//",
    "lshift": "<<",
    "matmul": "@",
    "mod": "%",
    "mul": "*",
    "or": "|",
    "pow": "**",
    "rshift": ">>",
    "sub": "-",
    "truediv": "/",
    "xor": "^",
}
COMPARISONS = {"eq": "==", "ge": ">=", "gt": ">", "le": "<=", "lt": "<", "ne": "!="}
UNARY = {"abs": "abs()", "invert": "~", "neg": "-", "pos": "+"}
CONVERSIONS = {name: f"{name}()" for name in ("bool", "complex", "float", "int")}
OPERATORS = {
    "__contains__": "in",
    **{
        f"__{name}__": symbol
        for table in (BINARY, COMPARISONS, UNARY, CONVERSIONS)
        for name, symbol in table.items()
    },
    **{f"__r{name}__": symbol for name, symbol in BINARY.items()},
}
ATTRIBUTES = frozenset(
    (
        *("all", "any", "argmax", "argmin", "argsort", "clip", "compress", "conj", "conjugate"),
        *("cumprod", "cumsum", "dot", "flatten", "imag", "mT", "max", "mean", "min", "nonzero"),
        *("prod", "put", "real", "repeat", "round", "searchsorted", "sort", "squeeze", "std"),
        *("sum", "swapaxes", "take", "to_device", "var"),
    )
)


def _refused(symbol: str) -> Callable[..., Any]:
    def method(self: Any, *others: Any) -> Any:
        raise missing_part(f"the operator {symbol} of arrays", "arrays")

    return method


def _refuse_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    raise missing_part(f"numpy.{ufunc.__name__} of arrays", "arrays")


def _refuse_attribute(self: Any, name: str) -> Any:
    if name in ATTRIBUTES:
        raise missing_part(f"cupola.Array.{name}", "arrays")
    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name)


def refusing(base: type) -> type:
    """Derive the class whose operators and methods of NumPy raise `MissingFileError`."""
    members = {
        "__slots__": (),
        "__module__": base.__module__,
        "__doc__": base.__doc__,
        # Cython modules that cimport the class read its C methods from the class itself.
        "__pyx_vtable__": vars(base)["__pyx_vtable__"],
        "__hash__": None,  # as in the class of the part
        "__array_ufunc__": _refuse_ufunc,
        "__getattr__": _refuse_attribute,
        **{name: _refused(symbol) for name, symbol in OPERATORS.items()},
    }
    return type(base.__name__, (base,), members)
