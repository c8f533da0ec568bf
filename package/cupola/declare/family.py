# cupola/declare/family.py - variants of a kernel, and the launch of each.
"""Declarations of families. `cupola.declare.family_table` reads them from tables.

A family is one kernel in several variants. A tunable is a number or a word that differs between
them. A size is an integer that a call gives: a kernel's integer argument, or the length of an
array.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .expression import Expression

MOST_VARIANTS = 4096
BRACES = re.compile(r"\{(\w*)\}")

Value = int | str
Variant = tuple[Value, ...]  # a value for each tunable, in the order of the table


@dataclass(frozen=True)
class Launch:
    """The launch of one variant."""

    grid: tuple[int, ...]  # blocks
    block: tuple[int, ...]  # threads
    shared: int  # bytes of dynamic shared memory


@dataclass(frozen=True)
class FamilyDeclaration:
    """A checked declaration; `cupola.declare.family_table.read` makes it of a table."""

    name: str
    table: Mapping[str, Any]
    library: str
    kernel: str
    tunables: Mapping[str, tuple[Value, ...]]
    default: Variant
    grid: tuple[Expression, ...]
    block: tuple[Expression, ...]
    shared: Expression
    source: str = ""
    macros: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    restrictions: tuple[Expression, ...] = ()
    types: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sizes: Mapping[str, Expression] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    cases: str = ""
    doc: str = ""

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """The variants that the restrictions allow, in the order of the values in the table."""
        return tuple(filter(self.allows, itertools.product(*self.tunables.values())))

    def allows(self, variant: Variant) -> bool:
        """Whether all restrictions hold for a variant."""
        values = self.values(variant)
        return all(one.evaluate(values) for one in self.restrictions)

    def values(self, variant: Variant) -> dict[str, Value]:
        """The value of each tunable by its name."""
        return dict(zip(self.tunables, variant, strict=True))

    def variant(self, values: Mapping[str, Value]) -> Variant:
        """The variant of values by name, which may be none of `variants`."""
        return tuple(values[name] for name in self.tunables)

    def text(self, variant: Variant) -> str:
        """A variant for people: ``TX=32 TY=8``."""
        return " ".join(f"{name}={value}" for name, value in self.values(variant).items())

    @property
    def is_template(self) -> bool:
        """Whether variants are instances of a C++ template."""
        return "<" in self.kernel

    @cached_property
    def compiled(self) -> tuple[str, ...]:
        """The tunables that need a compilation of their own for each value: macros, and those in
        options of the compiler.
        """
        used = {name for option in self.options for name in BRACES.findall(option)}
        return tuple(name for name in self.tunables if name in self.macros or name in used)

    @cached_property
    def type_choices(self) -> tuple[tuple[str, ...], ...]:
        """The element types of the arguments in `types`, all combinations; of none one, ``()``."""
        return tuple(itertools.product(*self.types.values()))

    def kernel_of(self, variant: Variant, types: tuple[str, ...] = ()) -> str:
        """The kernel's name: ``step<32, 8>``. ``types`` are element types, one for each argument
        in `types`.
        """
        words: dict[str, Value] = self.values(variant)
        for (argument, spelled), element in zip(self.types.items(), types, strict=True):
            words[argument] = spelled[element]
        return _filled(self.kernel, words)

    def library_of(self, variant: Variant) -> str:
        """The library that is declared to have a variant's kernel."""
        return _filled(self.library, self.values(variant))

    def macros_of(self, variant: Variant) -> dict[str, Value]:
        """The macros that a variant is compiled with."""
        values = self.values(variant)
        return {name: values[name] for name in self.macros}

    def options_of(self, variant: Variant) -> tuple[str, ...]:
        """The options that a variant is compiled with, besides macros."""
        return tuple(_filled(option, self.values(variant)) for option in self.options)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The sizes that a call gives, for the key and the launch: names of integer arguments, and
        calls such as ``shape(x, 0)`` and ``size(x)``.
        """
        wanted = [*self.key]
        for one in (*self.grid, *self.block, self.shared):
            wanted += one.symbols
        found: dict[str, None] = {}
        while wanted:
            symbol = wanted.pop(0)
            if symbol in self.sizes:
                wanted = [*self.sizes[symbol].symbols, *wanted]
            elif symbol not in self.tunables:
                found.setdefault(symbol)
        return tuple(found)

    def key_of(self, given: Mapping[str, int]) -> tuple[int, ...]:
        """The key of a call. ``given`` has the value of each of `symbols`.

        Raises
        ------
        ExpressionError
            A size can't be computed from the given values.
        """
        values = self._computed(given)
        return tuple(values[name] for name in self.key)

    def launch(self, variant: Variant, given: Mapping[str, int]) -> Launch:
        """The launch of a variant. ``given`` has the value of each of `symbols`.

        Raises
        ------
        ExpressionError
            An expression can't be computed from the given values.
        """
        values: dict[str, Any] = {**self._computed(given), **self.values(variant)}
        return Launch(
            tuple(one.evaluate(values) for one in self.grid),
            tuple(one.evaluate(values) for one in self.block),
            self.shared.evaluate(values),
        )

    def _computed(self, given: Mapping[str, int]) -> dict[str, int]:
        values = dict(given)
        for name, expression in self.sizes.items():  # each uses only those before it
            if all(symbol in values for symbol in expression.symbols):
                values[name] = expression.evaluate(values)
        return values


def _filled(text: str, words: Mapping[str, Value]) -> str:
    return BRACES.sub(lambda match: str(words[match[1]]), text)
