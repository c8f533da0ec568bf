# package/cupola/build/compilers/triton.py - compiles functions of Triton for a target.
"""Triton's ahead-of-time compilation: ``@triton.jit`` functions to PTX. It needs no GPU."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

from ..instances import COMPILERS
from . import SourceError, parameter_count, renamed

# Types of Triton's signatures, by their names in C; 8-bit floats are known by their bits.
_TYPES = {
    "i1": "bool", "i8": "signed char", "i16": "short", "i32": "int", "i64": "long long",
    "u1": "bool", "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned int",
    "u64": "unsigned long long",
    "fp16": "half", "bf16": "bfloat16", "fp32": "float", "fp64": "double",
    **dict.fromkeys(("fp8e4nv", "fp8e4b8", "fp8e4b15", "fp8e5", "fp8e5b16"), "unsigned char"),
}  # fmt: skip
_HIDDEN = ("global_scratch", "profile_scratch")
_ALIGNED = 16  # bytes, the only hint of Triton that a launch can check


def version() -> str:
    """Triton's version."""
    import triton

    return str(triton.__version__)


def compile_kernel(function: Any, instance: dict[str, Any], architecture: int) -> dict[str, Any]:
    """PTX of an instance, and its description."""
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # several texts are joined
    with tempfile.TemporaryDirectory(prefix="cupola-triton-") as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        return _compiled(_jit_function(function), instance, architecture)


def assemble(text: str, instances: list[dict[str, Any]], architecture: int) -> bytes:
    """Machine code, by the ptxas and the options of Triton's own compilation."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend

    backend = make_backend(GPUTarget("cuda", architecture, 32))
    parsed = [backend.parse_options(_options(instance)) for instance in instances]
    if len({one.enable_fp_fusion for one in parsed}) > 1:
        raise SourceError(
            "error: the instances of a library have one enable_fp_fusion, which ptxas applies to "
            "all of them: put the others in a library of their own"
        )
    code: bytes = backend.make_cubin(text, {}, parsed[0], architecture)
    return code


def _options(instance: dict[str, Any]) -> dict[str, Any]:
    return {key: instance[key] for key in COMPILERS["triton"] if key in instance}


def _jit_function(function: Any) -> Any:
    """The JITFunction below decorators that choose constants at run time, as autotune does."""
    from triton.runtime.jit import JITFunction

    found = function
    while not isinstance(found, JITFunction) and hasattr(found, "fn"):
        found = found.fn
    if not isinstance(found, JITFunction):
        raise SourceError(f"expected a function with @triton.jit, got {type(function).__name__}")
    return found


def _compiled(function: Any, instance: dict[str, Any], architecture: int) -> dict[str, Any]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types, constants = _arguments(function, instance)
    aligned = {
        (index,): [["tt.divisibility", _ALIGNED]]
        for index, name in enumerate(function.arg_names)
        if types.get(name, "").endswith(f":{_ALIGNED}")
    }
    plain = {name: type_.partition(":")[0] for name, type_ in types.items()}
    signature = {name: plain.get(name, "constexpr") for name in function.arg_names}
    source = ASTSource(fn=function, signature=signature, constexprs=constants, attrs=aligned)
    made = triton.compile(
        source, target=GPUTarget("cuda", architecture, 32), options=_options(instance)
    )
    _require_launchable(made.metadata)
    text = made.asm["ptx"]
    entry = made.metadata.name
    given = [name for name in function.arg_names if name in types]
    hidden = parameter_count(text, entry) - len(given)
    if not 0 <= hidden <= len(_HIDDEN):
        raise SourceError(
            f"its PTX has {len(given) + hidden} parameters for a signature of {len(given)}: this "
            "version of cupola does not know the parameters that this version of Triton adds"
        )
    block = re.search(r"^\.reqntid\s+([\d, ]+)$", text, re.MULTILINE)
    if block is None:
        raise SourceError("its PTX has no .reqntid")
    sizes = [int(axis) for axis in block[1].split(",")]
    return {
        "name": instance["name"],
        "ptx": renamed(text, entry, instance["name"]),
        "block": [*sizes, *[1] * (3 - len(sizes))],
        "shared": made.metadata.shared,
        "parameters": [
            *(_parameter(name, types[name]) for name in given),
            *({"name": name, "type": "", "pointer": True, "hidden": True}
              for name in _HIDDEN[:hidden]),
        ],
    }  # fmt: skip


def _arguments(function: Any, instance: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """The types of the parameters and the values of the constants, by name."""
    types, constants = dict(instance["signature"]), dict(instance["constants"])
    names = function.arg_names
    for key, given in (("signature", types), ("constants", constants)):
        for name in given:
            if name not in names:
                raise SourceError(
                    f"{key} has {name!r}, and the function's parameters are {', '.join(names)}"
                )
    for parameter in function.params:
        name = parameter.name
        if name in types and (name in constants or parameter.is_constexpr):
            raise SourceError(f"signature has {name!r}, which is a constant: write it in constants")
        if name not in types and name not in constants:
            if not parameter.has_default:
                key = "constants" if parameter.is_constexpr else "signature"
                raise SourceError(f"{key} lacks {name!r}")
            constants[name] = parameter.default
    for name, type_ in types.items():
        _check_type(name, type_)
    return types, constants


def _check_type(name: str, given: str) -> None:
    base, colon, hint = given.partition(":")
    element = base.removeprefix("*").removeprefix("k") if base.startswith("*") else base
    if element not in _TYPES:
        raise SourceError(
            f"signature.{name} = {given!r}: expected a type of Triton, as in 'i32', 'fp32', "
            f"'*fp32', or '*kfp32' for a pointer to const; known are {', '.join(_TYPES)}"
        )
    if colon and (hint != str(_ALIGNED) or not base.startswith("*")):
        raise SourceError(
            f"signature.{name} = {given!r}: a launch checks the alignment of pointers alone, as in "
            "'*fp32:16'; make a number that the code relies on a constant"
        )


def _parameter(name: str, given: str) -> dict[str, Any]:
    base, _, hint = given.partition(":")
    pointer = base.startswith("*")
    const = base.startswith("*k")
    element = base[2:] if const else base.removeprefix("*")
    found = {"name": name, "type": _TYPES[element], "pointer": pointer, "const": const}
    return {**found, "align": int(hint)} if hint else found


def _require_launchable(metadata: Any) -> None:
    """Refuse what a launch with a grid alone cannot give to the kernel."""
    for name, expected, what in (
        ("global_scratch_size", 0, "scratch memory, as tensor descriptors made in a kernel do"),
        ("profile_scratch_size", 0, "memory for a profile"),
        ("num_ctas", 1, "a cluster of blocks"),
        ("launch_cooperative_grid", False, "a cooperative launch"),
        ("launch_pdl", False, "a programmatic dependent launch"),
    ):
        value = getattr(metadata, name, expected)
        if value not in (expected, None):
            raise SourceError(f"it needs {what} ({name} = {value}), which is not supported")
