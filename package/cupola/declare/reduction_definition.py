# cupola/declare/reduction_definition.py - the source of reductions.
"""Reductions; the standard library alone is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..exceptions import ArgumentTypeError, ArgumentValueError
from .group_definition import VALUE, GroupDefinition, accumulators_of, results_of, texts_of
from .kernel_definition import code_of, marked
from .maker_parameters import Parameter, read, variables_of

RESERVED = ("a", "b", "i", "n", "o", *(f"a{k}" for k in range(10)))


@dataclass(frozen=True)
class ReductionDefinition(GroupDefinition):
    """Reductions of the same elements.

    Parameters
    ----------
    posts : tuple of str
        An expression for each result.
    """

    posts: tuple[str, ...] = ()

    @property
    def combining(self) -> str:
        """The name of `combines` in messages."""
        return "reduce"

    @property
    def seen(self) -> tuple[Parameter, ...]:
        """The inputs that are not raw."""
        return tuple(one for one in self.arrays if one.const)

    @property
    def _store(self) -> str:
        """The results of the group `cupola_o` from `cupola_value`."""
        lines = [self.group]
        lines += [
            f"[[maybe_unused]] const cupola_a{k} a{k} = cupola_value.a{k};\n"
            for k in range(len(self.maps))
        ]
        for k, (one, post) in enumerate(zip(self.results, self.posts, strict=True)):
            own = f"a{k}" if len(self.maps) == len(self.posts) else "a0"
            many = f" {k}" if len(self.posts) > 1 else ""
            code = marked(f"{self.name} post{many}", post)
            lines.append(
                f"{{\n[[maybe_unused]] const auto& a = {own};\n"
                f"{one.name}[cupola_o] = static_cast<{one.type}>(\n{code});\n}}\n"
            )
        return "".join(lines)

    def code(self, form: str) -> str:
        """The kernel of the elements, and the one that combines several chunks of a group."""
        reduce = (
            "cupola_value = cupola::reduce(cupola_chunks.begin(cupola_task), "
            "cupola_chunks.end(cupola_task),\n"
            "cupola_chunks, cupola_neutral, cupola_map, cupola_combined());\n"
        )
        return (
            f"__global__ void {form}{self.head}{self.layouts(form)}) {{\n"
            f"{self.neutral}{self.loop}{VALUE}"
            f"{self.views(form)}{self.mapping}{reduce}}}\n}}\n"
            "if (cupola_chunks.rank() != 0) continue;\n"
            "if (cupola_chunks.chunks > 1) {\n"
            "cupola_partial[cupola_task] = cupola_value;\ncontinue;\n}\n"
            f"{self._store}}}\n}}\n"
            f"__global__ void {form}_chunks{self.head}) {{\n"
            f"{self.neutral}{self.loop}{VALUE}{self.of_partial}{reduce}"
            f"if (cupola_chunks.rank() != 0) continue;\n{self._store}}}\n}}\n"
        )


def define(
    name: str,
    parameters: str,
    map: Any,  # noqa: A002
    reduce: Any,
    neutral: Any,
    structs: Mapping[str, int],
    *,
    post: Any = None,
    accumulator: Any = None,
    preamble: str = "",
    contiguous: bool = False,
) -> ReductionDefinition:
    """The definition of a reduction.

    Raises
    ------
    ArgumentError
        Where a part of it is invalid.
    """
    listed = read(name, parameters, structs, RESERVED)
    maps, combines, neutrals = (
        texts_of(name, key, value)
        for key, value in (("map", map), ("reduce", reduce), ("neutral", neutral))
    )
    if not len(maps) == len(combines) == len(neutrals) <= 10:
        raise ArgumentValueError(
            f"{name}: map has {len(maps)} expressions, reduce {len(combines)}, neutral "
            f"{len(neutrals)}: expected the same number, at most 10"
        )
    results = results_of(name, listed)
    posts = ("a",) * len(results) if post is None else texts_of(name, "post", post)
    if len(posts) != len(results) or (post is None and len(maps) != len(results)):
        raise ArgumentTypeError(
            f"{name}: there are {len(results)} results, "
            + (
                f"{len(maps)} expressions to map: write post="
                if post is None
                else f"{len(posts)} of post"
            )
        )
    known = [*variables_of(listed), *structs]
    kinds = accumulators_of(name, accumulator, len(maps), [one.type for one in results], known)
    return ReductionDefinition(
        name, listed, code_of(name, "preamble", preamble), dict(structs), contiguous,
        maps=maps, combines=combines, neutrals=neutrals, accumulators=kinds, posts=posts,
    )  # fmt: skip
