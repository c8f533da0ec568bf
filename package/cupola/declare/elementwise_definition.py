# cupola/declare/elementwise_definition.py - the source of elementwise kernels.
"""Elementwise kernels; the standard library alone is imported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .kernel_definition import FLAT, Definition, code_of, statement, view
from .maker_parameters import read

RESERVED = ("i", "n")


@dataclass(frozen=True)
class ElementwiseDefinition(Definition):
    """A statement for each element.

    Parameters
    ----------
    body : str
        Statements for the element `i` of `n`.
    before, after : str
        Statements for each thread, before its first element and after its last.
    """

    body: str = ""
    before: str = ""
    after: str = ""

    @property
    def positional(self) -> bool:
        """Whether the code uses the index for anything except these elements of its arrays."""
        names = "|".join(one.name for one in self.arrays) or r"(?!)"
        rest = re.sub(rf"\b(?:{names})\s*\[\s*i\s*\]", "", self.body)
        return re.search(r"\bi\b", rest) is not None

    def code(self, form: str) -> str:
        """The kernel: a loop over the elements, with the steps of a grid."""
        views, layout, seek = "", "", ""
        count = len(self.arrays)
        if form != FLAT:
            layout = f", const __grid_constant__ cupola::Layout<{count}> cupola_layout"
            views = "".join(
                f"cupola::View<{'const ' if one.const else ''}{one.type}, {count}> "
                f"{view(index)}({one.name}, cupola_layout, {index});\n"
                for index, one in enumerate(self.arrays)
            )
            views += "{\n" + "".join(
                f"[[maybe_unused]] auto& {one.name} = {view(index)};\n"
                for index, one in enumerate(self.arrays)
            )
            seek = (
                f"long long cupola_offsets[{count or 1}];\n"
                "cupola_layout.offsets(i, cupola_offsets);\n"
            ) + "".join(
                f"{one.name}.seek(i, cupola_offsets[{index}]);\n"
                for index, one in enumerate(self.arrays)
            )
        end = "}\n" if form != FLAT else ""
        return (
            f"__global__ void {form}({self.declared}, long long n{layout}) {{\n{views}"
            f"{statement(f'{self.name} before', self.before)}"
            "for (long long cupola_i = cupola::first_index(); cupola_i < n; "
            "cupola_i += cupola::index_step()) {\n"
            f"[[maybe_unused]] const long long i = cupola_i;\n{seek}"
            f"{statement(self.name, self.body)}}}\n"
            f"{statement(f'{self.name} after', self.after)}{end}}}\n"
        )


def define(
    name: str, parameters: str, body: str, structs: Mapping[str, int], **more: Any
) -> ElementwiseDefinition:
    """The definition of an elementwise kernel.

    Raises
    ------
    ArgumentError
        Where a part of it is invalid.
    """
    for key in ("preamble", "before", "after"):
        code_of(name, key, more.get(key, ""))
    return ElementwiseDefinition(
        name,
        read(name, parameters, structs, RESERVED),
        structs=dict(structs),
        body=code_of(name, "body", body),
        **more,
    )
