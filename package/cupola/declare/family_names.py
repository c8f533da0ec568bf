# cupola/declare/family_names.py - compares the names in a family with its kernel's parameters.
"""Finds a misspelt size before the first call of a family."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from .declaration_error import DeclarationError
from .family import FamilyDeclaration

# The kinds of parameters in a manifest that a size of a call can't be read from.
_NO_NUMBERS = ("float", "pointer", "struct", "descriptor")
_NO_ARRAYS = ("float", "integer")


def check_names(declaration: FamilyDeclaration, parameters: Mapping[str, str]) -> None:
    """Refuse a name that is no size of the family and no parameter of its kernel.

    Parameters
    ----------
    declaration : FamilyDeclaration
    parameters : mapping of str to str
        The kind of each parameter, as a manifest has it; "" where it is not known.

    Raises
    ------
    DeclarationError
        It names the key of the table, the name in it, and the closest known name.
    """
    for key, symbol in _symbols(declaration):
        head, bracket, rest = symbol.partition("(")
        name = rest.rstrip(")").partition(",")[0] if bracket else head
        if name not in parameters:
            known = [*parameters]
            if not bracket and not key.startswith("types."):
                known = [*declaration.sizes, *parameters]
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            what = "parameter" if bracket or key.startswith("types.") else "size and no parameter"
            used = f"{symbol}: " if bracket else ""
            raise DeclarationError(key, f"{used}{name!r} is no {what} of the kernel: {hint}")
        kind = parameters[name]
        if key.startswith("types.") or bracket:
            if kind in _NO_ARRAYS:
                raise DeclarationError(
                    key, f"{symbol!r}: the parameter {name} of the kernel is of the kind {kind}: "
                    "expected an array"
                )  # fmt: skip
        elif kind in _NO_NUMBERS:
            raise DeclarationError(
                key, f"{symbol!r}: the parameter {name} of the kernel is of the kind {kind}: "
                f"expected an integer, or a length as in shape({name}, 0)"
            )  # fmt: skip


def _symbols(declaration: FamilyDeclaration) -> Iterator[tuple[str, str]]:
    """The names that have to be parameters, each with its key in the table."""
    own = {*declaration.sizes, *declaration.tunables}
    for argument in declaration.types:
        yield f"types.{argument}", argument
    used = [(f"sizes.{name}", one.symbols) for name, one in declaration.sizes.items()]
    used.append(("key", declaration.key))
    used += [("grid", one.symbols) for one in declaration.grid]
    used += [("block", one.symbols) for one in declaration.block]
    used.append(("shared", declaration.shared.symbols))
    for key, symbols in used:
        yield from ((key, symbol) for symbol in symbols if symbol not in own)
