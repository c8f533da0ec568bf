# package/cupola/build/compilers/numba.py - compiles functions of Numba for a target.
"""Numba's ahead-of-time compilation: functions of Python to PTX, by numba-cuda. It needs no GPU."""

from __future__ import annotations

from typing import Any

from ...declare.element_types import C_TYPES
from ...image.reader import read_kernels
from ..instances import COMPILERS
from . import SourceError, assembler, descriptor, parameter_count, renamed

# Types of Numba's signatures, by their names in C.
_INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
_TYPES = {
    "boolean": "bool",
    **{name: C_TYPES[name][0] for name in (*_INTEGERS, "float32", "float64")},
}


def version() -> str:
    """The version of numba-cuda."""
    import numba_cuda

    return str(numba_cuda.__version__)


def assemble(text: str, instances: list[dict[str, Any]], architecture: int) -> bytes:
    """Machine code, by the toolkit's ptxas: numba-cuda itself links with a library of CUDA."""
    return assembler.assemble(text, architecture)


def compile_kernel(function: Any, instance: dict[str, Any], architecture: int) -> dict[str, Any]:
    """PTX of an instance, and its description."""
    from numba import cuda, types

    if instance["constants"]:
        raise SourceError("constants are those of the module: Numba has no others")
    python = getattr(function, "py_func", function)
    if not hasattr(python, "__code__"):
        raise SourceError(f"expected a function of Python, got {type(function).__name__}")
    names = python.__code__.co_varnames[: python.__code__.co_argcount]
    if set(names) != set(instance["signature"]):
        raise SourceError(
            f"signature has {', '.join(instance['signature'])}, and the function's parameters are "
            f"{', '.join(names)}"
        )
    given = [_type(name, instance["signature"][name]) for name in names]
    options = {key: instance[key] for key in COMPILERS["numba"] if key in instance}
    text, _ = cuda.compile(
        python,
        types.void(*(numba_type for numba_type, _ in given)),
        device=False,
        abi="numba",
        cc=divmod(architecture, 10),
        output="ptx",
        **options,
    )
    text = text.decode() if isinstance(text, bytes) else text
    kernels = read_kernels(text.encode())
    if not kernels:
        raise SourceError("its PTX has no kernel")
    entry = kernels[0].name
    parameters = [one for _, several in given for one in several]
    if parameter_count(text, entry) != len(parameters):
        raise SourceError(
            f"its PTX has {parameter_count(text, entry)} parameters, expected "
            f"{len(parameters)}: this version of cupola does not know how this version of Numba "
            "passes arrays"
        )
    return {
        "name": instance["name"],
        "ptx": renamed(text, entry, instance["name"]),
        "parameters": parameters,
    }


def _type(name: str, given: str) -> tuple[Any, list[dict[str, Any]]]:
    """A parameter's type in Numba, and the kernel's parameters that it becomes."""
    from numba import types

    const = given.startswith("const ")
    word = given.removeprefix("const ").strip()
    element = word.removesuffix("*").partition("[")[0].strip()
    if element not in _TYPES:
        raise SourceError(
            f"signature.{name} = {given!r}: expected a type of Numba, as in 'int32', 'float32*', "
            f"'const float32*' or 'float32[:, ::1]'; known are {', '.join(_TYPES)}"
        )
    kind, c_type = getattr(types, element), _TYPES[element]
    pointer = {"name": name, "type": c_type, "pointer": True, "const": const}
    if word == f"{element}*":
        return types.CPointer(kind), [pointer]
    if word == element and not const:
        return kind, [{"name": name, "type": c_type, "pointer": False}]
    shapes = {
        f"{element}[{', '.join([*[':'] * (n - 1), last])}]": (n, layout)
        for n in range(1, 4)
        for last, layout in ((":", "A"), ("::1", "C"))
    }
    if word not in shapes:
        raise SourceError(f"signature.{name} = {given!r}: expected one of {', '.join(shapes)}")
    ndim, layout = shapes[word]
    before = [f"{name}_meminfo", f"{name}_parent", f"{name}_nitems", f"{name}_itemsize"]
    after = [f"{name}_{what}_{axis}" for what in ("shape", "stride") for axis in range(ndim)]
    number = {"type": "long long", "pointer": False}
    parameters = [
        *({**number, "name": one} for one in before),
        pointer,
        *({**number, "name": one} for one in after),
    ]
    values = ["", "", "size", "itemsize", "data"]
    values += [f"{what}.{axis}" for what in ("shape", "stride") for axis in range(ndim)]
    parameters[0] |= {
        "descriptor": descriptor.array(
            name, element, [None] * ndim,
            [(8 * place, 8, value) for place, value in enumerate(values) if value],
            contiguous=layout == "C", parameters=len(parameters), const=const,
        ),
    }  # fmt: skip
    return types.Array(kind, ndim, layout), parameters
