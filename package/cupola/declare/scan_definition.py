# cupola/declare/scan_definition.py - the source of scans.
"""Scans; the standard library alone is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..exceptions import ArgumentTypeError
from ..kernel_constants import MAKER_ALIGN
from .group_definition import VALUE, GroupDefinition, accumulators_of, results_of
from .kernel_definition import code_of, marked, statement
from .maker_parameters import Parameter, read, variables_of

RESERVED = ("a", "b", "i", "item", "n", "o", "prev")


@dataclass(frozen=True)
class ScanDefinition(GroupDefinition):
    """A scan: what stands before each element, combined, and with it.

    Parameters
    ----------
    segment : str
        An expression: whether the element `i` begins a segment; "" where all are one.
    output : str
        Statements for the element `i`, with `prev` and `item`.
    """

    segment: str = ""
    output: str = ""

    @property
    def combining(self) -> str:
        """The name of `combines` in messages."""
        return "scan"

    @property
    def seen(self) -> tuple[Parameter, ...]:
        """All arrays that are not raw."""
        return self.arrays

    @property
    def _flags(self) -> dict[str, tuple[str, str]]:
        """Further fields of the totals: of the neutral total, and of an element's."""
        flags = {}
        if self.segment:
            code = marked(f"{self.name} segment", self.segment)
            flags["cupola_start"] = "0", f"static_cast<bool>(\n{code})"
        if not self.neutrals:  # whether the total has an element
            flags["cupola_some"] = "0", "1"
        return flags

    @property
    def flag(self) -> str:
        """The declarations of the flags."""
        # Lanes exchange an int as one word. A bool with its padding would need more instructions.
        return " ".join(f"int {name};" for name in self._flags)

    def total_bytes(self, types: Mapping[str, str]) -> int:
        """At least the size of the total of a group."""
        return super().total_bytes(types) + (MAKER_ALIGN if self._flags else 0)

    @property
    def combined(self) -> str:
        """The fields of the totals `cupola_x` and `cupola_y` together."""
        value = super().combined
        if not self.neutrals:
            value = (
                f"!cupola_x.cupola_some ? cupola_y.a0 : !cupola_y.cupola_some ? cupola_x.a0 : "
                f"{value}"
            )
        if self.segment:
            value = f"cupola_y.cupola_start ? cupola_y.a0 : {value}"
        return ", ".join([value, *(f"cupola_x.{one} | cupola_y.{one}" for one in self._flags)])

    @property
    def neutral(self) -> str:
        """The declaration of the neutral total."""
        value = self._values("neutral", self.neutrals) or "cupola_a0()"
        fields = ", ".join([value, *(neutral for neutral, _ in self._flags.values())])
        return f"const cupola_total cupola_neutral{{{fields}}};\n"

    @property
    def mapping(self) -> str:
        """The declaration of the function from an element to its total."""
        fields = [self._values("map", self.maps), *(own for _, own in self._flags.values())]
        return (
            "auto cupola_map = [&](long long i) {\n"
            f"return cupola_total{{{', '.join(fields)}}};\n}};\n"
        )

    @property
    def _write(self) -> str:
        """The declaration of the function that runs `output` for an element."""
        before = "cupola_before.a0"
        if self.segment:
            before = f"cupola_value.cupola_start ? cupola_neutral.a0 : {before}"
        return (
            "auto cupola_write = [&](long long i, const cupola_total& cupola_before, "
            "const cupola_total& cupola_value) {\n"
            f"[[maybe_unused]] const cupola_a0 prev = {before};\n"
            "[[maybe_unused]] const cupola_a0 item = "
            "cupola_combined()(cupola_before, cupola_value).a0;\n"
            f"{statement(f'{self.name} output', self.output)}}};\n"
        )

    def code(self, form: str) -> str:
        """The kernels that write the results, the totals of chunks, and the offsets of chunks."""
        elements = (
            "(cupola_chunks.begin(cupola_task), cupola_chunks.end(cupola_task),\ncupola_chunks, "
        )
        call = (
            f"cupola::scan{elements}{{prefix}}, cupola_neutral, cupola_map, cupola_combined(),\n"
            "{write});\n"
        )
        offsets = (
            "[&](long long i, const cupola_total& cupola_before, const cupola_total&) {\n"
            "cupola_partial[cupola_o * cupola_chunks.n + i] = cupola_before;\n}"
        )
        prefix = "cupola_chunks.chunks > 1 ? cupola_partial[cupola_task] : cupola_neutral"
        head = f"{self.head}{self.layouts(form)}) {{\n{self.neutral}{self.loop}"
        views = f"{self.views(form)}{self.mapping}"
        write = call.format(prefix=prefix, write="cupola_write")
        totals = (
            f"cupola_value = cupola::scan_total{elements}cupola_neutral, cupola_map, "
            "cupola_combined());\n"
        )
        chunks = call.format(prefix="cupola_neutral", write=offsets)
        return (
            f"__global__ void {form}{head}{views}{self._write}{write}}}\n}}\n}}\n}}\n"
            f"__global__ void {form}_totals{head}{VALUE}{views}{totals}}}\n}}\n"
            "if (cupola_chunks.rank() == 0) cupola_partial[cupola_task] = cupola_value;\n}\n}\n"
            f"__global__ void {form}_chunks{self.head}) {{\n{self.neutral}{self.loop}"
            f"{self.of_partial}{chunks}}}\n}}\n"
        )


def define(
    name: str,
    parameters: str,
    map: Any,  # noqa: A002
    scan: Any,
    neutral: Any,
    structs: Mapping[str, int],
    *,
    exclusive: bool = False,
    segment: str | None = None,
    output: str | None = None,
    accumulator: str | None = None,
    preamble: str = "",
    contiguous: bool = False,
) -> ScanDefinition:
    """The definition of a scan.

    Raises
    ------
    ArgumentError
        Where a part of it is invalid.
    """
    listed = read(name, parameters, structs, RESERVED)
    results = results_of(name, listed)
    if output is None:
        if len(results) > 1:
            raise ArgumentTypeError(
                f"{name}: there are {len(results)} results: write output=, as in 'out[i] = item'"
            )
        output = f"{results[0].name}[i] = {'prev' if exclusive else 'item'}"
    elif exclusive:
        raise ArgumentTypeError(
            f"{name}: exclusive= is for scans without output=, which can use prev and item"
        )
    known = [*variables_of(listed), *structs]
    kinds = accumulators_of(name, accumulator, 1, [results[0].type], known)
    code = {"map": map, "scan": scan, "neutral": neutral}
    maps, combines, neutrals = (
        () if key == "neutral" and one is None else (code_of(name, key, one),)
        for key, one in code.items()
    )
    return ScanDefinition(
        name, listed, code_of(name, "preamble", preamble), dict(structs), contiguous,
        maps=maps, combines=combines, neutrals=neutrals, accumulators=kinds,
        segment=code_of(name, "segment", segment or ""), output=code_of(name, "output", output),
    )  # fmt: skip
