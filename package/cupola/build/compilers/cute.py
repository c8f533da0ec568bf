# package/cupola/build/compilers/cute.py - compiles functions of the CuTe DSL for a target.
"""Compilation of CUTLASS's CuTe DSL: ``@cute.jit`` functions to PTX. It needs no GPU.

A ``@cute.jit`` function runs on the host and launches a kernel. Its trace names the kernel, the
block, the shared memory, and the source of each argument of the kernel.
"""

from __future__ import annotations

import inspect
import re
import tempfile
from typing import Any, NamedTuple

from ...declare.element_types import C_TYPES, itemsize
from . import SourceError, assembler, descriptor, renamed

_OLDEST = 80  # compute capability
_TYPES = {name: C_TYPES[name][0] for name in C_TYPES}
_STREAM = "stream"
_TENSOR = re.compile(r"(\w+)\[([^\]]*)\](?::(\d+))?")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
# The types in a trace whose values only a launch knows: numbers, memory, and layouts with such
# lengths.
_AT_LAUNCH = re.compile(r"\?|tma|memref|!cute\.ptr|^(?:[fiu]|bf|tf|index)")
_LAUNCH = re.compile(r"cuda\.launch_ex @kernels::@([\w$]+)<[^>]*> \(([^)]*)\)[^:]*: (.*) ->")
_CONFIG = r"!llvm\.struct<\(array<3 x i32>, array<3 x i32>, i64, ptr, ptr, i32\)>"


def version() -> str:
    """The DSL's version."""
    import cutlass

    return str(cutlass.__version__)


def assemble(text: str, instances: list[dict[str, Any]], architecture: int) -> bytes:
    """Machine code by the toolkit's ptxas. The DSL's own ptxas makes an image for each kernel."""
    return assembler.assemble(text, _target(architecture).removeprefix("sm_"))


def compile_kernel(function: Any, instance: dict[str, Any], architecture: int) -> dict[str, Any]:
    """PTX of an instance, and its description."""
    if architecture < _OLDEST:
        raise SourceError(
            f"the CuTe DSL makes code for sm_{_OLDEST} and newer: write ptx = [{_OLDEST}], and "
            "leave older architectures out"
        )
    from cutlass import cute

    arguments, parameters = _arguments(function, instance)
    traces: list[str] = []
    with tempfile.TemporaryDirectory(prefix="cupola-cute-") as folder:
        try:
            made = cute.compile(
                function,
                *arguments,
                options=f"--gpu-arch {_target(architecture)} --keep-ptx --dump-dir {folder}",
                trace_finalize_hooks=lambda dsl, module, name: traces.append(str(module)),
            )
        except Exception as error:  # errors of the DSL are coloured texts of several lines
            raise SourceError(_COLOUR.sub("", str(error)).strip()) from error
        text, host = made.__ptx__, str(made.ir_module)
    (trace,) = traces
    name = _entry(text)
    launch = _launch(trace, name)
    given = _given(launch, trace, list(parameters))
    found = [parameter for one in given for parameter in parameters[one]]
    _require_sizes(text, name, found)
    return {
        "name": instance["name"],
        "ptx": renamed(text, name, instance["name"]),
        "parameters": found,
        "block": launch.block,
        "shared": _shared(host) if re.search(r"\.extern\s+\.shared\b", text) else 0,
    }


def _target(architecture: int) -> str:
    """The DSL's name of a device's target. From 9.0 on, the target has the suffix ``a``."""
    return f"sm_{architecture}{'a' if architecture >= 90 else ''}"


# -- the parameters of the function on the host -----------------------------------------------


def _arguments(
    function: Any, instance: dict[str, Any]
) -> tuple[list[Any], dict[str, list[dict[str, Any]]]]:
    """The arguments of a compilation, and for each parameter of the function the kernel's
    parameters.
    """
    if not hasattr(function, "__wrapped__") or getattr(function, "_decorator_kind", "") == "kernel":
        raise SourceError(
            "expected a function with @cute.jit, which launches a kernel, got "
            f"{type(function).__name__}"
        )
    signature, constants = instance["signature"], instance["constants"]
    names = list(inspect.signature(function).parameters)
    for key, table in (("signature", signature), ("constants", constants)):
        for name in table:
            if name not in names:
                raise SourceError(
                    f"{key} has {name!r}, and the function's parameters are {', '.join(names)}"
                )
    arguments, parameters = [], {}
    for name in names:
        if name in constants:
            arguments.append(constants[name])
            continue
        if name not in signature:
            raise SourceError(f"signature lacks {name!r}; a Constexpr is one of constants")
        argument, parameters[name] = _parameter(name, signature[name])
        arguments.append(argument)
    return arguments, parameters


def _parameter(name: str, given: str) -> tuple[Any, list[dict[str, Any]]]:
    """The argument for a parameter of the function, and the kernel's parameters for it."""
    import cutlass
    from cutlass.cute.runtime import make_fake_stream

    const = given.startswith("const ")
    word = given.removeprefix("const ").strip()
    if word == _STREAM:
        return make_fake_stream(), []
    tensor = _TENSOR.fullmatch(word)
    element = tensor[1] if tensor else word
    if element not in _TYPES or (const and not tensor):
        raise SourceError(
            f"signature.{name} = {given!r}: expected a type as in 'int32', 'float32[:]', "
            f"'const float32[:, ::1]:16' or 'stream'; known are {', '.join(_TYPES)}"
        )
    kind = getattr(cutlass, {"bool": "Boolean", "bfloat16": "BFloat16"}.get(element) or
                   element.capitalize())  # fmt: skip
    if tensor is None:
        if element == "bool" or element.endswith("float16"):
            raise SourceError(f"signature.{name} = {given!r}: such a number is not supported")
        return kind(0), [{"name": name, "type": _TYPES[element], "pointer": False}]
    return _tensor(name, given, kind, tensor, const)


def _tensor(
    name: str, given: str, kind: Any, tensor: re.Match[str], const: bool
) -> tuple[Any, list[dict[str, Any]]]:
    """The same for a tensor: a struct of its address, and of its lengths and strides that are not
    constant.
    """
    from cutlass import cute
    from cutlass.cute.runtime import make_fake_tensor

    element, axes, hint = tensor.groups()
    words = [axis.strip() for axis in axes.split(",")]
    shape = [int(word) if word.isdecimal() else None for word in words]
    steps: list[int | None] = [None] * len(words)
    if words[-1] == "::1":
        steps[-1] = 1
    known = all(word == ":" or word.isdecimal() for word in words[:-1])
    if not known or not (words[-1] in (":", "::1") or words[-1].isdecimal()) or len(words) > 8:
        raise SourceError(
            f"signature.{name} = {given!r}: expected lengths as ':' or numbers, and '::1' for a "
            "last axis whose elements follow each other, as in 'float32[:, 64, ::1]'"
        )
    align = int(hint or itemsize(element))
    if align < itemsize(element) or align & (align - 1):
        raise SourceError(
            f"signature.{name} = {given!r}: the alignment must be a power of two, and at least "
            f"the {itemsize(element)} bytes of an element"
        )
    fake = make_fake_tensor(
        kind,
        tuple(cute.sym_int() if one is None else one for one in shape),
        tuple(cute.sym_int64() if one is None else one for one in steps),
        assumed_align=align,
    )
    values = [("data", 8, "<u8")]
    values += [(f"shape.{i}", 4, "<i4") for i, one in enumerate(shape) if one is None]
    values += [(f"step.{i}", 8, "<i8") for i, one in enumerate(steps) if one is None]
    offsets, size = [], 0
    for _, width, _ in values:
        offsets.append(-(-size // width) * width)
        size = offsets[-1] + width
    size = -(-size // 8) * 8
    return fake, [{
        "name": name,
        "type": "",
        "pointer": False,
        "struct": {
            "type": f"cute::Tensor<{element}>",
            "size": size,
            "dtype": {
                "names": [value.replace(".", "_") for value, _, _ in values],
                "formats": [letters for _, _, letters in values],
                "offsets": offsets,
                "itemsize": size,
            },
        },
        "descriptor": descriptor.array(
            name, element, shape,
            [(at, width, value) for at, (value, width, _) in zip(offsets, values, strict=True)],
            steps=steps, const=const, align=align if align > itemsize(element) else 1,
        ),
    }]  # fmt: skip


# -- the trace --------------------------------------------------------------------------------


class _Launch(NamedTuple):
    """The launch of the kernel, as the trace has it."""

    operands: list[str]  # "%arg0" is the first argument of the function on the host
    types: list[str]
    block: list[int]


def _entry(text: str) -> str:
    """The only kernel of a text."""
    found = re.findall(r"\.entry\s+([\w$]+)", text)
    if len(found) != 1:
        raise SourceError(
            f"the function launches {len(found)} kernels: an instance is a function that launches "
            "one"
        )
    return str(found[0])


def _launch(trace: str, name: str) -> _Launch:
    launches = [found for found in _LAUNCH.finditer(trace) if found[1] == name]
    kernel = re.search(rf"cuda\.kernel @{re.escape(name)}\((.*)$", trace, re.MULTILINE)
    if len(launches) != 1 or kernel is None:
        raise SourceError(
            f"its trace has {len(launches)} launches of {name}, expected one: this version of "
            "cupola does not know the traces of this version of the CuTe DSL"
        )
    facts = dict(re.findall(r"(\w+) = (array<i64: [\d, ]+>|true)", kernel[1]))
    block = re.findall(r"\d+", facts.get("exact_block_dim", "").removeprefix("array<i64"))
    cluster = facts.get("exact_cluster_dim", "array<i64: 1, 1, 1>").removeprefix("array<i64")
    if len(block) != 3:
        raise SourceError("the block of its launch is not constant: launch it with numbers")
    for value, expected, what in (
        ([int(one) for one in re.findall(r"\d+", cluster)], [1, 1, 1], "a cluster of blocks"),
        (facts.get("cooperative_launch"), None, "a cooperative launch"),
    ):
        if value != expected:
            raise SourceError(f"it needs {what}, which is not supported ({value})")
    operands, types = launches[0][2], launches[0][3]
    return _Launch(
        [one.strip() for one in operands.split(",") if one.strip()],
        _split(types.partition("(")[2].rpartition(")")[0]),
        [int(one) for one in block],
    )


def _split(types: str) -> list[str]:
    """The types of a list, whose commas may be inside of brackets and quotes."""
    found, depth, quoted, word = [], 0, False, ""
    for letter in types:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "<([{") - (letter in ">)]}")
        if letter == "," and not depth and not quoted:
            found.append(word.strip())
            word = ""
        else:
            word += letter
    return [*found, word.strip()] if word.strip() else found


def _given(launch: _Launch, trace: str, names: list[str]) -> list[str]:
    """The function's parameters that the kernel gets, in the order of the kernel's parameters.

    An argument whose type has its value, such as a constant layout, is no parameter of the kernel.
    """
    aliases = dict(re.findall(r"^(!\w+) = (.+)$", trace, re.MULTILINE))
    found = []
    for index, (operand, type_) in enumerate(zip(launch.operands, launch.types, strict=True)):
        place = re.fullmatch(r"%arg(\d+)", operand)
        if place and int(place[1]) < len(names):
            found.append(names[int(place[1])])
            continue
        whole = aliases.get(type_, type_)
        if _AT_LAUNCH.search(whole):
            what = "a TMA descriptor" if "tma" in whole else whole.removeprefix("!")
            raise SourceError(
                f"argument {index} of its kernel, {what}, is computed by the function on the host, "
                "which does not run at a launch: give the kernel the function's own parameters "
                "and constants, and compute the rest in the kernel"
            )
    return found


def _require_sizes(text: str, name: str, parameters: list[dict[str, Any]]) -> None:
    """Raise unless the parameters have the sizes that the PTX of the kernel declares."""
    found = re.search(rf"\.entry\s+{re.escape(name)}\s*\(([^)]*)\)", text)
    written = re.findall(r"\.param\b(.*)$", "" if found is None else found[1], re.MULTILINE)
    sizes = []
    for one in written:
        block, number = re.search(r"\[(\d+)\]", one), re.search(r"\.[a-z]+(\d+)", one)
        sizes.append(int(block[1]) if block else int(number[1]) // 8 if number else 0)
    widths = {"double": 8, "long long": 8, "unsigned long long": 8, "int": 4, "unsigned int": 4,
              "float": 4, "short": 2, "unsigned short": 2}  # fmt: skip
    expected = [
        one["struct"]["size"] if "struct" in one else widths.get(one["type"], 1)
        for one in parameters
    ]
    if sizes != expected:
        raise SourceError(
            f"its PTX has parameters of {sizes} bytes, expected {expected}: this version of cupola "
            "does not know how this version of the CuTe DSL passes tensors"
        )


def _shared(host: str) -> int:
    """The bytes of dynamic shared memory of the launch, from the compiled function on the host.

    The function fills CUDA's cudaLaunchConfig_t, whose third member has these bytes.
    """
    place = re.search(rf"(%\d+) = llvm\.getelementptr %\d+\[0, 2\] : .*{_CONFIG}", host)
    stored = place and re.search(rf"llvm\.store (%\d+), {place[1]} : i64", host)
    value = stored and re.search(rf"{stored[1]} = llvm\.mlir\.constant\((\d+) : i64\)", host)
    if not value:
        raise SourceError(
            "the shared memory of its launch is not constant: launch it with smem = a number"
        )
    return int(value[1])
