# package/cupola/build/stub.py - makes a kernel library's .pyi from its manifest.
"""Text of a ``.pyi`` file: each kernel an attribute, with its parameters' names and types.

In it a kernel is a function that a decorator turns into a ``Kernel`` of these parameters. So type
checkers check the arguments of ``library.kernel[grid, block](...)``, and editors show them.
"""

from __future__ import annotations

import keyword
import re
from itertools import count
from typing import Any

from ..declare.parameter_names import keyword_names, placeholder_name
from ..image import descriptor

# Annotations of cupola.core.argument_types by a parameter's kind; unknown kinds are not checked.
_ANNOTATIONS = {"pointer": "Pointer", "integer": "Integer", "float": "Float", "struct": "Struct"}
_WIDTH = 100
# Attributes of a library beside its kernels.
RESERVED = {"load"}
_LOAD = """
def load(device: _Device | _SupportsIndex | None = None) -> _Module:
    \"""The image on a device, by default the current one; loaded there once.\"""
"""


def stub(manifest: dict[str, Any]) -> str:
    """The text of the ``.pyi`` file.

    Parameters
    ----------
    manifest : dict
        A manifest's JSON value (`cupola.build.manifest`).
    """
    kernels = {kernel["name"]: kernel for kernel in manifest["kernels"]}
    named = attributes(manifest)
    functions = [_function(name, kernels[symbol]) for name, symbol in sorted(named.items())]
    package = f" of {_line(manifest['package'])}" if manifest.get("package") else ""
    compiler = manifest.get("compiler") or f"CUDA {manifest['toolkit']}"
    head = [f'"""Kernels{package}, compiled by {_line(compiler)}.', ""]
    head += ["Made from the manifest; what is changed here is lost.", '"""', ""]
    return "\n".join([*head, *_imports("".join(functions)), *functions]) + "\n" + _LOAD


def _imports(text: str) -> list[str]:
    used = [word for word in sorted(_ANNOTATIONS.values()) if f"[_{word}, " in text]
    typing = [word for word in ("Annotated", "Any") if f": _{word}" in text]
    typing += ["ParamSpec", "SupportsIndex"]
    lines = ["from collections.abc import Callable as _Callable"]
    lines += [f"from typing import {word} as _{word}" for word in typing]
    lines.append("")
    lines += [f"from cupola.core.argument_types import {word} as _{word}" for word in used]
    lines.append("from cupola.device import Device as _Device")
    lines.append("from cupola.kernel import Kernel as _Kernel")
    lines.append("from cupola.module import Module as _Module")
    generic = "def _kernel(signature: _Callable[_P, None], /) -> _Kernel[_P]: ..."
    return [*lines, "", '_P = _ParamSpec("_P")', "", generic]


def attributes(manifest: dict[str, Any]) -> dict[str, str]:
    """The kernels' symbols by attribute of the library; each kernel has one.

    An attribute is the base name, if only one kernel has it. Template instances and equal names in
    different namespaces use the whole name, with ``_`` for each run of other characters:
    ``scale<float, 3>`` is ``scale_float_3``. Overloads, and kernels whose whole names are spelled
    alike, add the types of their parameters: ``over(float*)`` is ``over_float_ptr``. If that is not
    unique, a number follows. Python's keywords and ``load`` get a trailing ``_``. A name that
    starts with ``_`` gets ``kernel`` before it, since such attributes are the module's own.
    """
    waiting = {kernel["name"]: kernel["demangled"] for kernel in manifest["kernels"]}
    found: dict[str, str] = {}
    for spell in (_base, _whole, _with_parameters):
        alike: dict[str, list[str]] = {}
        for symbol, demangled in waiting.items():
            alike.setdefault(spell(demangled), []).append(symbol)
        for name, symbols in alike.items():
            if len(symbols) == 1 and name not in found:
                found[name] = symbols[0]
                del waiting[symbols[0]]
    for symbol in sorted(waiting):
        name = _with_parameters(waiting[symbol])
        number = next(n for n in count(1) if f"{name}_{n}" not in found)
        found[f"{name}_{number}"] = symbol
    return found


def named(manifest: dict[str, Any], name: str) -> dict[str, Any] | None:
    """The kernel that a declaration names: by its attribute, its symbol or its C++ name; None where
    there is none, or several.
    """
    by_symbol: dict[str, dict[str, Any]] = {one["name"]: one for one in manifest["kernels"]}
    found = [
        kernel
        for symbol, kernel in by_symbol.items()
        if name in (symbol, kernel["demangled"], title(kernel["demangled"]))
    ]
    attribute = by_symbol.get(attributes(manifest).get(name, ""))
    return attribute or (found[0] if len(found) == 1 else None)


def uncommon(manifest: dict[str, Any]) -> dict[str, str]:
    """The C++ names by attribute, of the kernels that neither their base name nor their whole name
    leads to.
    """
    names = {kernel["name"]: kernel["demangled"] for kernel in manifest["kernels"]}
    return {
        attribute: names[symbol]
        for attribute, symbol in sorted(attributes(manifest).items())
        if attribute not in (_base(names[symbol]), _whole(names[symbol]))
    }


def title(demangled: str) -> str:
    """A C++ name without its parameters and without the return type of templates."""
    depth, end = 0, len(demangled)
    for i, letter in enumerate(demangled):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and not depth and not demangled.startswith("(anonymous", i):
            end = i
            break
    return demangled[:end].removeprefix("void ")


def _base(demangled: str) -> str:
    return _python(title(demangled).partition("<")[0].rpartition("::")[2])


def _whole(demangled: str) -> str:
    return _joined(title(demangled).replace("*", " ptr "))


def _with_parameters(demangled: str) -> str:
    text = demangled.removeprefix("void ")
    for sign, word in (("*", " ptr "), ("&", " ref "), ("-", " minus ")):
        text = text.replace(sign, word)
    return _joined(text)


def _joined(text: str) -> str:
    text = text.replace("(anonymous namespace)::", "")
    return _python(re.sub(r"\W+", "_", text).rstrip("_"))


def _python(name: str) -> str:
    name = name if re.match(r"[^\W\d_]", name) else f"kernel_{name.lstrip('_')}"
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED else name


def given_parameters(kernel: dict[str, Any]) -> list[dict[str, Any]]:
    """The parameters that a caller gives: without those that a compiler added."""
    return [one for one in kernel["parameters"] if not one.get("hidden")]


def arguments(kernel: dict[str, Any]) -> list[dict[str, Any]]:
    """The arguments of a launch, as parameters; one can fill several of the kernel's."""
    found, end = [], 0
    for place, one in enumerate(given_parameters(kernel)):
        if place < end:
            continue
        told = one.get("descriptor")
        end = place + (1 if told is None else told["parameters"])
        if told is None:
            found.append(one)
            continue
        several = kernel["parameters"][place:end]
        found.append(
            {
                "name": told["name"],
                "kind": "descriptor",
                "type": descriptor.read(told, told["name"]).text,
                "size": sum(each["size"] for each in several),
            }
        )
    return found


def spelled(parameter: dict[str, Any]) -> str:
    """A parameter's C++ type, as far as it is known."""
    return parameter["type"] or f"{parameter['size']} bytes"


def _function(attribute: str, kernel: dict[str, Any]) -> str:
    parameters = arguments(kernel)
    given = [one["name"] or "" for one in parameters]
    names = keyword_names(given)
    # In Python, a positional-only parameter can't follow a named one.
    positional = max((i for i, name in enumerate(names) if name is None), default=-1)
    listed = []
    for i, (name, one) in enumerate(zip(names, parameters, strict=True)):
        listed.append(f"{name or placeholder_name(i, given)}: {_annotation(one)}")
        listed += ["/"] if i == positional else []
    line = f"def {attribute}({', '.join(listed)}) -> None:"
    if len(line) > _WIDTH:
        line = f"def {attribute}(\n    " + ",\n    ".join(listed) + ",\n) -> None:"
    return f'\n@_kernel\n{line}\n    """{_about(kernel)}\n    """'


def _annotation(parameter: dict[str, Any]) -> str:
    word = _ANNOTATIONS.get(parameter["kind"])
    text = _line(spelled(parameter)).replace('"', "'")
    return "_Any" if word is None else f'_Annotated[_{word}, "{text}"]'


def _about(kernel: dict[str, Any]) -> str:
    parameters = arguments(kernel)
    given = [f"{spelled(one)} {one['name'] or ''}".strip() for one in parameters]
    lines = [_line(f"{title(kernel['demangled'])}({', '.join(given)})"), ""]
    for i, one in enumerate(parameters):
        name = one["name"] or f"argument {i}"
        lines.append(_line(f"{name} : {spelled(one)}, {one['size']} bytes"))
        for field in one.get("fields", []):
            times = f"[{field['count']}]" if field["count"] != 1 else ""
            name = field["name"] or "(base)"
            lines.append("    " + _line(f"{name} : {spelled(field)}{times} at {field['offset']}"))
    for architecture, used in kernel.get("resources", {}).items():
        told = (f"{number} {what}" for what, number in used.items() if number)
        lines.append(_line(f"{architecture} : {', '.join(told)}"))
    return "\n    ".join(lines).replace("    \n", "\n")


def _line(text: str) -> str:
    """The text on one line, made valid for a docstring."""
    return re.sub(r"\s+", " ", text).replace("\\", "/").replace('"""', "'''")
