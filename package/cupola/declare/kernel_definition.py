# cupola/declare/kernel_definition.py - definitions of kernels, and the source around their code.
"""Definitions of made kernels; the standard library alone is imported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..exceptions import ArgumentTypeError, ArgumentValueError
from .c_types import CXX, INCLUDES, identifier
from .maker_parameters import Parameter, variables_of

HEADER = Path(__file__).parents[1] / "include" / "cupola" / "makers.cuh"
# The forms of a kernel, which are its names: pointers, or views with strides.
FLAT, STRIDED = "cupola_flat", "cupola_strided"
GENERATED = '#line 1 "cupola/makers.cuh"'  # stands before code that the caller did not write
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b.*$", re.MULTILINE)


@dataclass(frozen=True)
class Definition:
    """The parts that all makers have; a class of each kind adds its expressions.

    Parameters
    ----------
    name : str
    parameters : tuple of Parameter
    preamble : str
        Code before the kernel: includes, functions, structs.
    structs : mapping of str to int
        Sizes in bytes of the structs that the preamble defines.
    contiguous : bool
        Whether the code needs pointers, so that there is no strided form.
    """

    name: str
    parameters: tuple[Parameter, ...]
    preamble: str = ""
    structs: Mapping[str, int] = field(default_factory=dict)
    contiguous: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The type variables."""
        return variables_of(self.parameters)

    @property
    def arrays(self) -> tuple[Parameter, ...]:
        """The arrays that are indexed by the elements."""
        return tuple(one for one in self.parameters if one.array and not one.raw)

    @property
    def results(self) -> tuple[Parameter, ...]:
        """The arrays that a call allocates where they are not given."""
        return tuple(one for one in self.parameters if one.result)

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of the kernels."""
        return (FLAT,) if self.contiguous else (FLAT, STRIDED)

    @property
    def declared(self) -> str:
        """The parameters as the kernels declare them."""
        return ", ".join(
            f"{'const ' if one.array and one.const else ''}{one.type}{'*' if one.array else ''} "
            f"{one.name}"
            for one in self.parameters
        )

    def namespace(self, types: Mapping[str, str]) -> str:
        """The namespace of the kernels for these types."""
        words = [identifier(self.name), *(types[one] for one in self.variables), "kernel"]
        return "_".join(words)

    def common(self, types: Mapping[str, str]) -> str:
        """Declarations that the kernels of all forms use."""
        return ""

    def code(self, form: str) -> str:
        """The kernels in one form."""
        raise NotImplementedError

    def text(self, types: Mapping[str, str], forms: Iterable[str]) -> str:
        """The kernels for these types, in a namespace of their own."""
        aliases = "".join(f"using {one} = {CXX[types[one]]};\n" for one in self.variables)
        sizes = "".join(
            f'static_assert(sizeof({name}) == {size}, "{name} has another size than its dtype");\n'
            for name, size in self.structs.items()
        )
        preamble = _INCLUDE.sub("", self.preamble)
        return (
            f"namespace {self.namespace(types)} {{\n{aliases}"
            f"{marked(f'{self.name} preamble', preamble)}"
            f"{sizes}{self.common(types)}{''.join(map(self.code, forms))}}}\n"
        )

    def elements(self, types: Mapping[str, str]) -> set[str]:
        """The element types that the code names."""
        return {*types.values(), *(one.element for one in self.parameters)} - {""}


def source(parts: Iterable[tuple[Definition, Mapping[str, str]]], forms: Iterable[str] = ()) -> str:
    """The source of several definitions, each with the types of its variables.

    Parameters
    ----------
    parts : iterable of (Definition, types)
    forms : iterable of str
        By default those of each definition.
    """
    given, wanted = list(parts), tuple(forms)
    elements = set().union(*(one.elements(types) for one, types in given))
    includes = dict.fromkeys(
        line.strip() for one, _ in given for line in _INCLUDE.findall(one.preamble)
    )
    return "".join(
        [
            *(INCLUDES[one] for one in sorted(elements & INCLUDES.keys())),
            *(f"{line}\n" for line in includes),
            HEADER.read_text().replace("#pragma once", ""),
            *(one.text(types, wanted or one.forms) for one, types in given),
        ]
    )


def view(index: int) -> str:
    """The name of the view of an array in the generated code, which has no caller's name in it."""
    return f"cupola_view{index}"


def marked(title: str, code: str) -> str:
    """Code whose lines have the numbers that the caller sees."""
    quoted = title.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line 1 "{quoted}"\n{code}\n{GENERATED}\n'


def statement(title: str, code: str) -> str:
    """Statements of which the last one may lack its semicolon."""
    last = code.rstrip().rpartition("\n")[2]
    apart = "\n" if "//" in last or last.lstrip().startswith("#") else ""
    return marked(title, f"{code.rstrip()}{apart};") if last else ""


def code_of(title: str, key: str, value: object) -> str:
    """A piece of C++ code that a caller gave."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{title}: {key} is C++ code as a text, got {type(value).__name__}")
    if "\0" in value:
        raise ArgumentValueError(f"{title}: {key} contains a NUL character")
    return value
