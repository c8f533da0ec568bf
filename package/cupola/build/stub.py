# package/cupola/build/stub.py - makes a kernel library's .pyi from its manifest.
"""Text of a ``.pyi`` file: each kernel an attribute, with its parameters' names and types.

In it a kernel is a function that a decorator turns into a ``Kernel`` of these parameters. So type
checkers check the arguments of ``library.kernel[grid, block](...)``, and editors show them.
"""

from __future__ import annotations

import re
from typing import Any

from ..declare.parameter_names import keyword_names, placeholder_name
from ..image import descriptor
from ..image.kernel_names import attributes, title

# Annotations of cupola.core.argument_types by a parameter's kind; unknown kinds are not checked.
_ANNOTATIONS = {"pointer": "Pointer", "integer": "Integer", "float": "Float", "struct": "Struct"}
_WIDTH = 100
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
