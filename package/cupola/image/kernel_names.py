# package/cupola/image/kernel_names.py - the names of kernels in Python, from a manifest.
"""Attributes of a kernel library by kernel, and kernels by the names that declarations give them.

cupola.build uses this module, also before cupola can be imported: it needs the standard library
alone.
"""

from __future__ import annotations

import keyword
import re
from itertools import count
from typing import Any

# Attributes of a library beside its kernels.
RESERVED = {"load"}


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
