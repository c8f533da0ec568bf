# cupola/compiler/parameter_types.py - finds the parameter types of extern "C" kernels with NVRTC.
"""The types of kernels' parameters, from the compiler.

A kernel's C++ name has the types of its parameters, but an ``extern "C"`` kernel has no such name.
So the front end compiles the source once more, with a function template added. The template is
instantiated for the type of a pointer to the kernel, and the instance's name contains that type.
"""

from __future__ import annotations

import dataclasses
import re

from cupola.compiler.request import WITH_FILES, KernelTypes, Request, Source
from cupola.compiler.source_names import Declaration, declarations, parameter_names
from cupola.exceptions import CompileError
from cupola.image.reader import read_kernels
from cupola.toolkit.program import Compiler

_TEMPLATE = "cupola_signature"
_ADDED = f"""
#line 1 "{_TEMPLATE}"
template <class cupola_type> __global__ void {_TEMPLATE}() {{}}
"""
_SYNTAX_ONLY = "-fdevice-syntax-only"
_MOST_ALONE = 16  # separate compilations, if one kernel's name is invalid
_PART = re.compile(r"L?(\d+)")


def kernel_types(request: Request, compiler: Compiler, source: Source, ptx: str) -> KernelTypes:
    """The types and parameter names of a source's kernels."""
    counts = {one.name: len(one.parameters or ()) for one in read_kernels(ptx.encode())}
    base = {name: _base_name(name) for name in counts}
    found = declarations(source.text, set(base.values()))
    plain = [name for name in counts if not name.startswith("_Z")]
    spelled = {name: _expression(name, found.get(name, [])) for name in plain}
    mangled = _mangled(request, compiler, source, spelled)
    types = {}
    for name, count in counts.items():
        names = parameter_names(found.get(base[name], []), count)
        if name in mangled or any(names):
            types[name] = mangled.get(name, ""), names
    return types


def _base_name(name: str) -> str:
    """A kernel's name without namespaces, template arguments and parameters."""
    if not name.startswith("_Z"):
        return name
    at, last = 3 if name.startswith("_ZN") else 2, ""
    while part := _PART.match(name, at):
        at = part.end() + int(part[1])
        last = name[part.end() : at]
    return last


def _expression(name: str, found: list[Declaration]) -> str:
    """The name expression for a kernel."""
    where = next((one.namespace for one in found if one.namespace), "")
    return f"{_TEMPLATE}<decltype(&{where}::{name})>"


def _mangled(
    request: Request, compiler: Compiler, source: Source, spelled: dict[str, str]
) -> dict[str, str]:
    """The mangled names of the template's instances, for the kernels that compile."""
    if not spelled:
        return {}
    longer = dataclasses.replace(source, text=source.text + _ADDED)
    words = [word for word in request.words if not WITH_FILES.fullmatch(word)]

    def ask(names: list[str]) -> dict[str, str]:
        asked = [spelled[name] for name in names]
        try:
            made = request.compile(compiler, longer, [*words, _SYNTAX_ONLY], asked)
        except CompileError as error:
            if "unrecognized option" not in error.log:  # older compilers report this
                raise
            made = request.compile(compiler, longer, words, asked)
        return {name: made.names[spelled[name]] for name in names}

    try:
        return ask(list(spelled))
    except CompileError:  # the added code or one of the names does not compile
        answers: dict[str, str] = {}
    for name in list(spelled)[:_MOST_ALONE] if len(spelled) > 1 else []:
        try:
            answers |= ask([name])
        except CompileError:
            continue
    return answers
