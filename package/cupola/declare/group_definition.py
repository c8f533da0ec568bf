# cupola/declare/group_definition.py - groups of elements and totals, for reductions and scans.
"""Kernels over groups of elements; the standard library alone is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..exceptions import ArgumentTypeError, ArgumentValueError
from ..kernel_constants import MAKER_ALIGN
from .c_types import element_of, spelled
from .element_types import itemsize
from .kernel_definition import FLAT, Definition, code_of, marked, view
from .maker_parameters import Parameter

VALUE = "cupola_total cupola_value;\n"  # declares the total of a chunk in a kernel


@dataclass(frozen=True)
class GroupDefinition(Definition):
    """Accumulators, each with what makes, combines and starts it.

    Parameters
    ----------
    maps : tuple of str
        Expressions for the element `i` of a group.
    combines : tuple of str
        Expressions of two values `a` and `b`.
    neutrals : tuple of str
        Expressions that change no value that they are combined with.
    accumulators : tuple of str
        The types in C++.
    """

    maps: tuple[str, ...] = ()
    combines: tuple[str, ...] = ()
    neutrals: tuple[str, ...] = ()
    accumulators: tuple[str, ...] = ()

    @property
    def combining(self) -> str:
        """The name of `combines` in messages."""
        raise NotImplementedError

    @property
    def seen(self) -> tuple[Parameter, ...]:
        """The arrays of which the code sees one group."""
        raise NotImplementedError

    def total_bytes(self, types: Mapping[str, str]) -> int:
        """At least the size of all accumulators of one group."""
        sizes = []
        for one in self.accumulators:
            inner = one.removeprefix("cupola::Accumulator<").removesuffix(">")
            name = types.get(inner) or element_of(inner)
            size = self.structs[inner] if name is None else max(itemsize(name), 4)
            sizes.append(-(-size // MAKER_ALIGN) * MAKER_ALIGN)
        return sum(sizes)

    def common(self, types: Mapping[str, str]) -> str:
        """The type of the totals, and how two are combined."""
        kinds = "".join(f"using cupola_a{k} = {one};\n" for k, one in enumerate(self.accumulators))
        fields = " ".join(f"cupola_a{k} a{k};" for k in range(len(self.accumulators)))
        functions = "".join(
            f"__device__ inline cupola_a{k} cupola_combine{k}(cupola_a{k} a, cupola_a{k} b) {{\n"
            f"return {self._cast(k, self.combining, one)};\n}}\n"
            for k, one in enumerate(self.combines)
        )
        return (
            f"{kinds}struct cupola_total {{ {fields} {self.flag} }};\n"
            f"static_assert(sizeof(cupola_total) <= {self.total_bytes(types)} && "
            f'alignof(cupola_total) <= {MAKER_ALIGN}, "an accumulator is larger than its dtype");\n'
            f"{functions}struct cupola_combined {{\n"
            "__device__ cupola_total operator()(cupola_total cupola_x,\n"
            "cupola_total cupola_y) const {\n"
            f"return {{{self.combined}}};\n}}\n}};\n"
        )

    def _cast(self, k: int, key: str, expression: str) -> str:
        many = f" {k}" if len(self.accumulators) > 1 else ""
        code = marked(f"{self.name} {key}{many}", expression)
        return f"static_cast<cupola_a{k}>(\n{code})"

    def _values(self, key: str, expressions: Sequence[str]) -> str:
        return ", ".join(self._cast(k, key, one) for k, one in enumerate(expressions))

    @property
    def flag(self) -> str:
        """A further field of the totals."""
        return ""

    @property
    def combined(self) -> str:
        """The fields of the totals `cupola_x` and `cupola_y` together."""
        return ", ".join(
            f"cupola_combine{k}(cupola_x.a{k}, cupola_y.a{k})" for k in range(len(self.combines))
        )

    @property
    def loop(self) -> str:
        """The head of the loop over a thread's chunks."""
        return (
            "for (long long cupola_task = cupola_chunks.first_task();\n"
            "cupola_task < cupola_chunks.groups * cupola_chunks.chunks;\n"
            "cupola_task += cupola_chunks.step()) {\n"
            "const long long cupola_o = cupola_task / cupola_chunks.chunks;\n"
        )

    @property
    def head(self) -> str:
        """The parameters of all kernels, without the closing bracket."""
        return (
            f"({self.declared}, long long n, const __grid_constant__ cupola::Chunks cupola_chunks, "
            "cupola_total* cupola_partial"
        )

    @property
    def of_partial(self) -> str:
        """The declaration of the function from a chunk to its total."""
        return (
            "auto cupola_map = [&](long long i) {\n"
            "return cupola_partial[cupola_o * cupola_chunks.n + i];\n};\n"
        )

    @property
    def neutral(self) -> str:
        """The declaration of the neutral total."""
        return f"const cupola_total cupola_neutral{{{self._values('neutral', self.neutrals)}}};\n"

    @property
    def mapping(self) -> str:
        """The declaration of the function from an element to its total."""
        return (
            "auto cupola_map = [&](long long i) {\n"
            f"return cupola_total{{{self._values('map', self.maps)}}};\n}};\n"
        )

    @property
    def group(self) -> str:
        """The declaration of `o`, unless a parameter has that name."""
        taken = any(one.name == "o" for one in self.parameters)
        return "" if taken else "[[maybe_unused]] const long long o = cupola_o;\n"

    def layouts(self, form: str) -> str:
        """The kernel's parameters for strides."""
        kind = f", const __grid_constant__ cupola::Layout<{len(self.seen)}>"
        return "" if form == FLAT else f"{kind} cupola_kept{kind} cupola_inner"

    def views(self, form: str) -> str:
        """The arrays at the group `cupola_o`, in a block that the caller ends with two braces."""
        count = len(self.seen)
        lines = ["{\n"]
        for k, one in enumerate(self.seen):
            if form == FLAT:
                made = f"{one.name} + cupola_o * n"
            else:
                kind = f"{'const ' if one.const else ''}{one.type}"
                made = (
                    f"cupola::View<{kind}, {count}>(cupola::shifted({one.name}, "
                    f"cupola_kept.offset({k}, cupola_o)), cupola_inner, {k})"
                )
            lines.append(f"auto {view(k)} = {made};\n")
        lines.append(f"{{\n{self.group}")
        lines += [
            f"[[maybe_unused]] auto& {one.name} = {view(k)};\n" for k, one in enumerate(self.seen)
        ]
        return "".join(lines)


def results_of(title: str, listed: Sequence[Parameter]) -> list[Parameter]:
    """The parameters that are results.

    Raises
    ------
    ArgumentValueError
        Where no parameter is a result.
    """
    results = [one for one in listed if one.result]
    if not results:
        raise ArgumentValueError(f"{title}: no parameter is a result, as 'T* out' is")
    return results


def texts_of(title: str, key: str, value: Any) -> tuple[str, ...]:
    """The texts of code, which is given as one text or as several."""
    several = value if isinstance(value, (tuple, list)) else (value,)
    if not several:
        raise ArgumentValueError(f"{title}: {key} is empty")
    return tuple(code_of(title, key, one) for one in several)


def accumulators_of(
    title: str, given: Any, count: int, types: Sequence[str], known: Sequence[str]
) -> tuple[str, ...]:
    """The accumulators' types; by default those that fit the results' types.

    Raises
    ------
    ArgumentTypeError
        Where one is no element type, type variable or struct.
    """
    if given is None:
        if len(types) != count:
            raise ArgumentTypeError(
                f"{title}: there are {count} expressions to map and {len(types)} results: say "
                "the type of each with accumulator="
            )
        return tuple(f"cupola::Accumulator<{one}>" for one in types)
    listed = texts_of(title, "accumulator", given)
    if len(listed) != count:
        raise ArgumentTypeError(
            f"{title}: accumulator has {len(listed)} types, map has {count} expressions"
        )
    for one in listed:
        if element_of(one) is None and one not in known:
            raise ArgumentTypeError(
                f"{title}: accumulator {one!r} is no element type, no type variable and no struct "
                "of structs="
            )
    return tuple(f"cupola::Accumulator<{spelled(one)}>" for one in listed)
