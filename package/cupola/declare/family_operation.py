# cupola/declare/family_operation.py - declarations of an operation whose kernel is a family.
"""An operation over a family of variants: one declaration for each variant.

The family's expressions use its kernel's parameters. The operation gives an argument for each of
them, so the expressions become expressions of the operation's sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .declaration_error import DeclarationError
from .family import FamilyDeclaration, Variant
from .operation import Declaration, read
from .tensor_type import TensorType, TensorTypeError, parse

# The keys of an operation that its family determines.
DETERMINED = ("kernels", "grid", "block", "shared", "cluster")
_SIZE = "size_of_family_"  # and a number: the sizes that are the values of the family's symbols


@dataclass(frozen=True)
class FamilyOperation:
    """The declarations of an operation, one for each variant.

    Parameters
    ----------
    table : mapping
        Of the operation, without the keys in `DETERMINED`. Its key ``family`` is not read.
    family : FamilyDeclaration
    parameters : sequence of str
        The names of the parameters of the family's kernel, in their order.
    name : str
        Of the operation.
    """

    table: Mapping[str, Any]
    family: FamilyDeclaration
    parameters: Sequence[str]
    name: str

    def types(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        """The element types of the family by those of the operation's type variables.

        Raises
        ------
        DeclarationError
            The family has no kernel for a combination, or chooses by more than the variables.
        """
        tensors = self._tensor_types()
        variables = list(
            dict.fromkeys(
                one.variable
                for name, one in tensors.items()
                if name in self.table["inputs"] and one.variable and not one.optional
            )
        )
        chosen = {argument: self._tensor(argument, tensors) for argument in self.family.types}
        found: dict[tuple[str, ...], tuple[str, ...]] = {}
        for types in self.family.type_choices:
            known: dict[str, str] = {}
            fits = True
            for one, element in zip(chosen.values(), types, strict=True):
                want = known.setdefault(one.variable, element) if one.variable else one.element
                fits = fits and want == element
            if fits and all(variable in known for variable in variables):
                found[tuple(known[variable] for variable in variables)] = types
        if not found:
            raise DeclarationError(
                "inputs", f"the family {self.family.name} has no kernel for their element types; "
                f"its arguments with several types are {', '.join(self.family.types) or 'none'}"
            )  # fmt: skip
        return found

    def declaration(
        self,
        variant: Variant,
        symbols: Mapping[tuple[str, ...], str] | None = None,
        shared: int | None = None,
    ) -> Declaration:
        """The operation with the kernels and the launch of one variant. Its last sizes are the
        values of the family's symbols.

        Parameters
        ----------
        variant : tuple
            A value for each tunable.
        symbols : mapping, optional
            The kernels' names in the image, by the element types of the family. Other kernels have
            the names that the family's table gives them.
        shared : int, optional
            Bytes of shared memory, where the compiler of the variant's kernels fixes them.

        Raises
        ------
        DeclarationError
            The table is invalid, or does not fit the family.
        """
        _require_determined(self.table)
        family, texts = self.family, self._texts()
        chosen = {name: str(value) for name, value in family.values(variant).items()}
        whole = {**texts, **chosen}
        kernels = {
            ", ".join(types): (symbols or {}).get(own) or family.kernel_of(variant, own)
            for types, own in self.types().items()
        }
        values = {f"{_SIZE}{index}": texts[name] for index, name in enumerate(family.symbols)}
        declared = family.shared.substituted(whole)
        bytes_ = declared if shared is None else str(shared)
        if declared not in ("0", bytes_):
            raise DeclarationError(
                "family", f"the kernels of {family.name} were compiled for {bytes_} bytes of "
                f"shared memory, and its table has {declared}: leave shared out"
            )  # fmt: skip
        table = {
            **_own(self.table),
            "kernels": kernels,
            "grid": [one.substituted(whole) for one in family.grid],
            "block": [one.substituted(whole) for one in family.block],
            **({} if bytes_ == "0" else {"shared": bytes_}),
            "sizes": {**self.table.get("sizes", {}), **values},
        }
        return read(table, self.name)

    def given(self, sizes: Mapping[str, Any]) -> tuple[int, ...] | None:
        """The values of the family's symbols, from the sizes of a call. None where a framework
        traces one of them, so that it has no value yet.
        """
        found = [sizes.get(f"{_SIZE}{index}") for index in range(len(self.family.symbols))]
        values = [one for one in found if type(one) is int]
        return tuple(values) if len(values) == len(found) else None

    def _texts(self) -> dict[str, str]:
        """Expressions of the operation's sizes by the family's symbols and sizes."""
        arguments = list(self.table.get("arguments", ()))
        if len(arguments) != len(self.parameters):
            raise DeclarationError(
                "arguments", f"there are {len(arguments)}, and the kernel of the family "
                f"{self.family.name} takes {len(self.parameters)}: {', '.join(self.parameters)}"
            )  # fmt: skip
        tensors = self._tensor_types()
        found: dict[str, str] = {}
        for symbol in self.family.symbols:
            found[symbol] = self._text(symbol, tensors)
        for name, expression in self.family.sizes.items():
            if all(symbol in found for symbol in expression.symbols):
                found[name] = expression.substituted(found)
        return found

    def _text(self, symbol: str, tensors: Mapping[str, TensorType]) -> str:
        """A symbol of the family as an expression of the operation."""
        head, bracket, rest = symbol.partition("(")
        if not bracket:
            argument = self._argument(symbol)
            if not isinstance(argument, (str, int)) or argument in tensors:
                raise DeclarationError(
                    "arguments", f"the family {self.family.name} computes its launch from the "
                    f"parameter {symbol}: expected an integer there, got {argument!r}"
                )  # fmt: skip
            return f"({argument})"
        name, _, axis = rest.rstrip(")").partition(", ")
        type_ = self._tensor(name, tensors)
        if type_.pack or any(one.broadcast for one in type_.lengths):
            raise DeclarationError(
                "arguments", f"the family {self.family.name} needs the shape of {name}, and "
                f"{type_.text} leaves some of its lengths open: pass the lengths as arguments"
            )  # fmt: skip
        lengths = [f"({one.text})" for one in type_.lengths]
        if head == "size":
            return " * ".join(lengths) or "1"
        if int(axis) >= len(lengths):
            raise DeclarationError(
                "arguments", f"the family {self.family.name} needs axis {axis} of {name}, and "
                f"{type_.text} has {len(lengths)}"
            )  # fmt: skip
        return lengths[int(axis)]

    def _argument(self, parameter: str) -> Any:
        if parameter not in self.parameters:
            raise DeclarationError(
                "family", f"{self.family.name} uses {parameter}, which is no parameter of its "
                f"kernel; known are {', '.join(self.parameters)}"
            )  # fmt: skip
        return self.table["arguments"][list(self.parameters).index(parameter)]

    def _tensor(self, parameter: str, tensors: Mapping[str, TensorType]) -> TensorType:
        argument = self._argument(parameter)
        if not isinstance(argument, str) or argument not in tensors:
            raise DeclarationError(
                "arguments", f"the family {self.family.name} needs an array for the parameter "
                f"{parameter}, got {argument!r}"
            )  # fmt: skip
        return tensors[argument]

    def _tensor_types(self) -> dict[str, TensorType]:
        found = {}
        for key in ("inputs", "outputs", "workspace"):
            given = self.table.get(key, {})
            if not isinstance(given, Mapping):
                raise DeclarationError(key, f"expected tensors by name, got {given!r}")
            for name, text in given.items():
                try:
                    found[name] = parse(text)
                except (TensorTypeError, TypeError, AttributeError) as error:
                    raise DeclarationError(f"{key}.{name}", f"{text!r}: {error}") from None
        return found


def outline(table: Mapping[str, Any], name: str = "") -> Declaration:
    """The operation of a table with the key ``family``, before the family's kernel is known: its
    kernels and its launch are placeholders.

    Raises
    ------
    DeclarationError
        The table is invalid.
    """
    _require_determined(table)
    inputs = table.get("inputs")
    texts = inputs.values() if isinstance(inputs, Mapping) else ()
    found: dict[str, None] = {}
    for text in texts:
        try:
            type_ = parse(text)
        except (TensorTypeError, TypeError, AttributeError):
            continue  # `read` says what is wrong
        if type_.variable and not type_.optional:
            found.setdefault(type_.variable)
    types = ", ".join(["float32"] * len(found))
    launch = {"kernels": {types: "?"}, "grid": [1], "block": [1]}
    return read({**_own(table), **launch}, name)


def _own(table: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the operation itself."""
    return {key: value for key, value in table.items() if key != "family"}


def _require_determined(table: Mapping[str, Any]) -> None:
    for key in DETERMINED:
        if key in table:
            raise DeclarationError(key, "the family determines it: remove the key")
