# cupola/ops/sizes.py - the sizes of one call, from the shapes of its inputs.
"""Sizes by name, and the shapes that follow from them.

Lengths may be numbers, or the symbols of a framework that traces.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from cupola.declare.element_types import itemsize
from cupola.declare.expression import Expression, ExpressionError
from cupola.declare.operation import Declaration, Tensor
from cupola.exceptions import ArgumentValueError


class Sizes:
    """The sizes that inputs bind.

    Parameters
    ----------
    declaration : Declaration
    shapes : mapping of str to sequence
        The shape of each input that is given.
    scalars : mapping of str to number
        The integers among them are sizes. Those that a framework traces may be missing; what
        depends on them is checked at the launch.
    types : tuple of str
        The element types of the type variables.
    strides : mapping of str to sequence, optional
        In elements, of the inputs that are not in C order.
    batch : int
        The value of ``batch()``.

    Raises
    ------
    ArgumentValueError
        Where an input has a wrong number of axes, lengths contradict each other, or a check of the
        declaration does not hold.
    """

    def __init__(
        self,
        declaration: Declaration,
        shapes: Mapping[str, Sequence[Any]],
        scalars: Mapping[str, Any],
        types: tuple[str, ...],
        strides: Mapping[str, Sequence[Any]] | None = None,
        batch: Any = 1,
    ) -> None:
        self.declaration, self.shapes = declaration, shapes
        self.pack: tuple[Any, ...] = ()
        self.binder: dict[str, str] = {}
        self.values: dict[str, Any] = {"batch()": batch}
        self.later = any(
            one.kind != "float" and one.name not in scalars for one in declaration.scalars
        )
        for one in declaration.inputs:
            if one.name in shapes:
                self._bind(one, shapes[one.name])
        for one in declaration.inputs:
            if one.name in shapes:
                self._bind_broadcast(one, shapes[one.name])
        for scalar in declaration.scalars:
            if scalar.kind != "float" and scalar.name in scalars:
                self.values[scalar.name] = scalars[scalar.name]
        self._derive(types, strides or {})
        for name, expression in declaration.sizes.items():
            if self._is_known(expression):
                self.values[name] = self._value(expression, name)
        self._check()

    def _is_known(self, expression: Any) -> bool:
        """Whether no scalar that it needs is a framework's array, whose value the call has."""
        return not self.later or not any(name not in self.values for name in expression.symbols)

    def _fail(self, tensor: Tensor, text: str) -> ArgumentValueError:
        return ArgumentValueError(f"{self.declaration.name}: {tensor.title}: {text}")

    def _bind(self, tensor: Tensor, shape: Sequence[Any]) -> None:
        lengths = tensor.type.lengths
        before = len(shape) - len(lengths)
        if before < 0 or (before and not tensor.type.pack):
            more = " or more" if tensor.type.pack else ""
            axes = "axis" if len(lengths) == 1 else "axes"
            raise self._fail(
                tensor, f"expected {tensor.type.text}, which has {len(lengths)}{more} {axes}, got "
                f"shape {tuple(shape)}"
            )  # fmt: skip
        if tensor.type.pack and tensor.type.pack not in self.values:
            self.pack = tuple(shape[:before])
            self.values[tensor.type.pack] = math.prod(self.pack)
            self.binder[tensor.type.pack] = tensor.name
        for length, have in zip(lengths, shape[before:], strict=True):
            if length.name and not length.broadcast and length.name not in self.values:
                self.values[length.name] = have
                self.binder[length.name] = tensor.name

    def _bind_broadcast(self, tensor: Tensor, shape: Sequence[Any]) -> None:
        lengths = tensor.type.lengths
        for length, have in zip(lengths, shape[len(shape) - len(lengths) :], strict=True):
            if not length.broadcast:
                continue
            binder = self.binder.get(length.name)
            plain = binder is not None and any(
                one.name == length.name and not one.broadcast
                for one in self.declaration.tensor(binder).type.lengths  # type: ignore[union-attr]
            )
            if not plain and (binder is None or self.values[length.name] == 1):
                self.values[length.name] = have
                self.binder[length.name] = tensor.name

    def _derive(self, types: tuple[str, ...], strides: Mapping[str, Sequence[Any]]) -> None:
        declaration = self.declaration
        for variable, name in zip(declaration.variables, types, strict=True):
            self.values[f"sizeof({variable})"] = itemsize(name)
        for symbol in declaration.calls_of_shapes:
            name, _, inside = symbol.partition("(")
            given = [one.strip() for one in inside.removesuffix(")").split(",")]
            if symbol in self.values:
                continue
            if name == "sizeof":
                self.values[symbol] = itemsize(given[0])
            elif name == "present":
                self.values[symbol] = int(given[0] in self.shapes)
            elif name == "stride":
                self.values[symbol] = self._stride(given[0], int(given[1]), strides)

    def _stride(self, name: str, axis: int, strides: Mapping[str, Sequence[Any]]) -> Any:
        shape = self.shapes.get(name)
        tensor = self.declaration.tensor(name)
        if shape is None or tensor is None:
            return 0
        at = len(shape) - len(tensor.type.lengths) + axis
        if shape[at] == 1:
            return 0
        return strides[name][at] if name in strides else math.prod(shape[at + 1 :])

    def _value(self, expression: Any, what: str) -> Any:
        try:
            return expression.evaluate(self.values)
        except ExpressionError as error:
            raise ArgumentValueError(
                f"{self.declaration.name}: {what} {expression.text} can't be computed from these "
                f"arguments: {error}"
            ) from None

    def shape(self, tensor: Tensor) -> tuple[Any, ...]:
        """The shape of an output or a workspace."""
        lengths = tuple(self._length(tensor, one) for one in tensor.lengths)
        return (*self.pack, *lengths) if tensor.type.pack else lengths

    def _length(self, tensor: Tensor, length: Expression) -> Any:
        value = self._value(length, tensor.name)
        if type(value) is int and value < 0:
            raise self._fail(tensor, f"its length {length.text} is {value}")
        return value

    def _check(self) -> None:
        for tensor in self.declaration.inputs:
            if tensor.name in self.shapes:
                self._check_shape(tensor, self.shapes[tensor.name])
        for check in self.declaration.checks:
            if self._is_known(check) and not self._value(check, "check"):
                left, right = check.sides(self.values)
                raise ArgumentValueError(
                    f"{self.declaration.name}: expected {check.text}, got {left} and {right}"
                )

    def _check_shape(self, tensor: Tensor, shape: Sequence[Any]) -> None:
        lengths = tensor.type.lengths
        before = len(shape) - len(lengths)
        said = f"expected {tensor.type.text}, got shape {tuple(shape)}: "
        if tensor.type.pack and tuple(shape[:before]) != self.pack:
            raise self._fail(
                tensor, f"{said}its leading lengths must be {self.pack}, by argument "
                f"{self.binder[tensor.type.pack]}"
            )  # fmt: skip
        for at, (length, have) in enumerate(zip(lengths, shape[before:], strict=True)):
            axis, want = before + at, self._length(tensor, tensor.lengths[at])
            if have == want or (length.broadcast and have == 1):
                continue
            by = self.binder.get(length.name)
            raise self._fail(
                tensor, f"{said}length {have} of axis {axis}, but {length.name or length.text} is "
                f"{want}{f', by argument {by}' if by else ''}"
            )  # fmt: skip
