# cupola/declare/compiled.py - a declaration in the form that libcupola.so reads.
"""The compiled form of a declaration, which `csrc/include/cupola/operation.h` describes.

All names are resolved, and all expressions are in postfix order. The library validates the form
and parses no text. Only the standard library is imported: the build writes this form, too.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from .declaration_error import DeclarationError
from .element_types import ELEMENT_TYPES
from .expression import OPERATORS, Expression, parse
from .operation import Argument, Declaration, Tensor
from .record import Record
from .tensor_type import Length

VERSION = b"cupola operation 2\n"
ROLES = ("input", "output", "workspace")
KINDS = ("float", "int", "bool")
BATCHES = ("", "batch-first", "batch")
# How a symbol gets its value.
LENGTH, PACK, SCALAR, STRIDE, PRESENT, SIZEOF, BATCH, SIZE = range(8)
# The kinds of lengths, and of arguments.
BINDS, COMPUTED, BROADCAST = range(3)
TENSOR, NUMBER, VALUE, RECORD = range(4)
ONE = parse("1")


def compiled(
    declaration: Declaration, symbols: Mapping[tuple[str, ...], str] | None = None
) -> bytes:
    """The compiled form.

    Parameters
    ----------
    declaration : Declaration
    symbols : mapping, optional
        The kernels' names in the image, by the types of the type variables. By default the names
        of the declaration.
    """
    return _Writer(declaration).whole(symbols or declaration.kernels)


class _Writer:
    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self.symbols = {name: index for index, name in enumerate(declaration.symbols)}
        self.tensors = {one.name: index for index, one in enumerate(declaration.tensors)}
        self.scalars = {one.name: index for index, one in enumerate(declaration.scalars)}
        self.parts = [VERSION]

    def whole(self, kernels: Mapping[tuple[str, ...], str]) -> bytes:
        """The bytes."""
        declaration = self.declaration
        self._text(declaration.name)
        self._texts(declaration.variables)
        self._texts(declaration.symbols)
        self._number(len(declaration.tensors))
        for tensor in declaration.tensors:
            self._tensor(tensor)
        self._number(len(declaration.scalars))
        for scalar in declaration.scalars:
            self._number(KINDS.index(scalar.kind))
            self._text(scalar.name)
        for name in declaration.symbols:
            self._symbol(name)
        self._expressions(declaration.checks)
        self._number(len(kernels))
        for types, kernel in kernels.items():
            for element in types:
                self._number(*ELEMENT_TYPES[element])
            self._text(kernel)
        self._number(len(declaration.arguments))
        for argument in declaration.arguments:
            self._argument(argument)
        for key in ("grid", "block", "cluster"):
            axes = declaration.launch.get(key, ())
            self._expressions((*axes, *[ONE] * (3 - len(axes))) if axes else ())
        for key in ("shared", "cooperative", "dependent", "priority", "carveout"):
            self._expressions(declaration.launch.get(key, ()))
        self._number(declaration.align, BATCHES.index(declaration.vmap))
        return b"".join(self.parts)

    def _number(self, *values: int) -> None:
        self.parts.append(struct.pack(f"<{len(values)}q", *values))

    def _text(self, text: str) -> None:
        encoded = text.encode()
        self._number(len(encoded))
        self.parts.append(encoded)

    def _texts(self, texts: Sequence[str]) -> None:
        self._number(len(texts))
        for text in texts:
            self._text(text)

    def _expressions(self, expressions: Sequence[Expression]) -> None:
        self._number(len(expressions))
        for one in expressions:
            self._expression(one)

    def _expression(self, expression: Expression) -> None:
        self._text(expression.text)
        self._number(len(expression.steps))
        for step in expression.steps:
            if isinstance(step, tuple):
                self._number(2 + OPERATORS.index(step[0]))
            elif isinstance(step, str):
                self._number(1, self.symbols[step])
            else:
                self._number(0, step)

    def _element(self, name: str) -> None:
        """A type variable's index, or -1 and an element type."""
        if name in self.declaration.variables:
            self._number(self.declaration.variables.index(name))
        else:
            self._number(-1, *ELEMENT_TYPES[name])

    def _tensor(self, tensor: Tensor) -> None:
        self._number(ROLES.index(tensor.role))
        self._text(tensor.name)
        self._text(tensor.type.text + ("?" if tensor.type.optional else ""))
        self._number(tensor.type.optional, tensor.mutated, tensor.strided, bool(tensor.type.pack))
        self._element(tensor.type.element)
        self._number(len(tensor.lengths))
        for length, expression in zip(tensor.type.lengths, tensor.lengths, strict=True):
            self._length(tensor, length, expression)

    def _length(self, tensor: Tensor, length: Length, expression: Expression) -> None:
        if not length.name or tensor.role != "input":
            self._number(COMPUTED)
            self._expression(expression)
        else:
            self._number(BROADCAST if length.broadcast else BINDS, self.symbols[length.name])

    def _symbol(self, name: str) -> None:
        """How a symbol gets its value."""
        declaration = self.declaration
        function, bracket, inside = name.partition("(")
        given = [one.strip() for one in inside.removesuffix(")").split(",")]
        if name in declaration.sizes:
            self._number(SIZE)
            self._expression(declaration.sizes[name])
        elif name in self.scalars:
            self._number(SCALAR, self.scalars[name])
        elif not bracket:
            is_pack = any(one.type.pack == name for one in declaration.inputs)
            self._number(PACK if is_pack else LENGTH)
        elif function == "stride":
            self._number(STRIDE, self.tensors[given[0]], int(given[1]))
        elif function == "present":
            self._number(PRESENT, self.tensors[given[0]])
        elif function == "sizeof":
            self._number(SIZEOF)
            self._element(given[0])
        else:
            self._number(BATCH)

    def _argument(self, text: Argument) -> None:
        if isinstance(text, Record):
            self._record(text)
        elif isinstance(text, tuple):
            raise DeclarationError(
                "arguments", f"{list(text)}: a list is for the sizes of a launch, which kernels of "
                "Warp take: write one text for each argument"
            )  # fmt: skip
        elif text in self.tensors:
            self._number(TENSOR, self.tensors[text])
        elif text in self.scalars:
            self._number(NUMBER, self.scalars[text])
        else:
            self._number(VALUE)
            self._expression(self.declaration.values[text])

    def _record(self, record: Record) -> None:
        self._number(RECORD, record.size, len(record.fields))
        for field in record.fields:
            self._number(field.size, field.offset, self.tensors.get(field.text, -1))
            if field.text not in self.tensors:
                self._expression(self.declaration.values[field.text])
