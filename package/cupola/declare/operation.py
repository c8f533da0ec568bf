# cupola/declare/operation.py - what an operation takes, computes and launches.
"""Declarations of operations, from the tables ``[[tool.cupola.ops]]``.

Only the standard library is imported: `cupola.build` reads declarations, too.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from . import record, tensor_type
from .declaration_error import DeclarationError
from .element_types import ELEMENT_TYPES
from .expression import NAME, Expression, ExpressionError, parse
from .record import Record
from .tensor_type import TensorType, TensorTypeError

# The keys of a table, with what each is.
KEYS = {
    "name": "a name in the package, as in 'heat.step'",
    "library": "the kernel library, as in 'heat.kernels'",
    "kernels": "kernels by element type, as in { float32 = 'advance_float' }",
    "family": "instead of kernels, grid, block and shared: a family, as in 'heat.advance'",
    "inputs": "tensors by name, as in { u = 'T[ny, nx]' }",
    "outputs": "tensors by name, as in { v = 'T[ny, nx]' }",
    "workspace": "tensors by name, as in { sums = 'float32[blocks]' }",
    "scalars": "types by name, as in { alpha = 'float' } or { eps = 'float = 1e-6' }",
    "sizes": "expressions by name, as in { blocks = 'ceildiv(n, 256)' }",
    "checks": "comparisons, as in ['n % 4 == 0']",
    "arguments": "what the kernel takes, in its order, as in ['u', 'v', 'ny', 'nx', 'alpha']",
    "grid": "one to three expressions, as in ['ceildiv(nx, 32)', 'ny']",
    "block": "one to three expressions, as in [32, 8]",
    "cluster": "one to three expressions",
    "shared": "an expression: bytes of dynamic shared memory",
    "cooperative": "true or false",
    "dependent": "true or false",
    "priority": "an expression",
    "carveout": "an expression, in percent",
    "mutates": "the inputs that the kernel writes, as in ['cache']",
    "strided": "the inputs whose strides the kernel takes, as in ['x']",
    "align": "bytes: a power of two that divides each tensor's address",
    "noncontiguous": "'copy' or 'refuse'",
    "backward": "the name of the operation that computes gradients",
    "vmap": "'batch-first', or 'batch' where the kernel takes batch()",
    "autocast": "the element type to which floating-point inputs are cast under autocast",
    "doc": "a text",
}
REQUIRED = ("kernels", "inputs", "arguments", "grid", "block")
# The most of each that an operation has, which libcupola.so checks again.
LIMITS = {
    "tensors": 64,
    "scalars": 64,
    "kernels": 256,
    "arguments": 128,
    "sizes": 256,  # with the scalars and the calls in expressions, such as stride(u, 0)
    "lengths": 32,  # axes of one tensor
}
_LAUNCH = ("shared", "priority", "carveout")
# The least and the most of each number of a launch on any device, and the most of the product.
_LAUNCH_LIMITS = {
    "grid": (0, (2**31 - 1, 65535, 65535), None),
    "block": (1, (1024, 1024, 64), 1024),
    "cluster": (1, (16, 16, 16), 16),
    "shared": (0, (232448,), None),
    "carveout": (-1, (100,), None),
}
_SCALARS = ("float", "int", "bool")
_CALL = re.compile(r"([a-z]+)\((.*)\)", re.DOTALL)


@dataclass(frozen=True)
class Tensor:
    """A declared input, output or workspace."""

    name: str
    role: str  # "input", "output", "workspace"
    type: TensorType
    mutated: bool = False
    strided: bool = False
    lengths: tuple[Expression, ...] = ()  # the values of the type's lengths

    @cached_property
    def written(self) -> bool:
        """Whether the kernel writes it."""
        return self.mutated or self.role != "input"

    @cached_property
    def title(self) -> str:
        """ "argument u" or "output v", for messages."""
        return f"{'argument' if self.role == 'input' else self.role} {self.name}"


@dataclass(frozen=True)
class Scalar:
    """A declared number."""

    name: str
    kind: str  # "float", "int", "bool"
    default: Any = None  # None: it has to be given

    @property
    def python_type(self) -> type:
        """The type of its values in Python."""
        return {"float": float, "int": int, "bool": bool}[self.kind]


# The name of a tensor or a scalar, an expression, the sizes of a launch, or a struct.
Argument = str | tuple[str, ...] | Record


@dataclass(frozen=True)
class Declaration:
    """A checked declaration; `read` makes it of a table."""

    name: str
    table: Mapping[str, Any]
    kernels: dict[tuple[str, ...], str]  # kernels by the types of the type variables
    variables: tuple[str, ...]
    tensors: tuple[Tensor, ...]  # inputs, outputs, workspaces
    scalars: tuple[Scalar, ...]
    sizes: dict[str, Expression]
    checks: tuple[Expression, ...]
    arguments: tuple[Argument, ...]
    values: dict[str, Expression]  # the arguments that are neither a tensor nor a scalar
    launch: dict[str, tuple[Expression, ...]] = field(default_factory=dict)
    align: int = 1
    copies: bool = True  # whether a non-contiguous input is copied
    backward: str = ""
    vmap: str = ""  # "", "batch-first", "batch"
    autocast: str = ""
    doc: str = ""

    @cached_property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that a caller gives."""
        return tuple(one for one in self.tensors if one.role == "input")

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors that a call returns."""
        return tuple(one for one in self.tensors if one.role == "output")

    @cached_property
    def workspaces(self) -> tuple[Tensor, ...]:
        """The tensors that a call needs and does not return."""
        return tuple(one for one in self.tensors if one.role == "workspace")

    @cached_property
    def scalars_of_shapes(self) -> frozenset[str]:
        """The scalars that lengths of tensors depend on."""
        lengths = [one for tensor in self.tensors for one in tensor.lengths]
        return self._scalars_in(symbol for one in lengths for symbol in one.symbols)

    @cached_property
    def scalars_of_checks(self) -> frozenset[str]:
        """The scalars that sizes and checks depend on."""
        expressions = (*self.sizes.values(), *self.checks)
        return self._scalars_in(symbol for one in expressions for symbol in one.symbols)

    @cached_property
    def calls_of_shapes(self) -> tuple[str, ...]:
        """The calls, such as ``stride(u, 0)``, that lengths, sizes and checks have."""
        lengths = [length for one in self.tensors for length in one.lengths]
        expressions = (*lengths, *self.sizes.values(), *self.checks)
        found = [symbol for one in expressions for symbol in one.symbols if "(" in symbol]
        return tuple(dict.fromkeys(found))

    def _scalars_in(self, symbols: Iterable[str]) -> frozenset[str]:
        """The scalars among symbols, and in the sizes that are among them."""
        found, rest = set(), list(symbols)
        while rest:
            symbol = rest.pop()
            if symbol in self.sizes and symbol not in found:
                rest += self.sizes[symbol].symbols
            found.add(symbol)
        return frozenset(one.name for one in self.scalars if one.name in found)

    def tensor(self, name: str) -> Tensor | None:
        """The tensor of a name."""
        return next((one for one in self.tensors if one.name == name), None)

    def element_of(self, tensor: Tensor, types: tuple[str, ...]) -> str:
        """A tensor's element type, for one kernel's types."""
        variable = tensor.type.variable
        return types[self.variables.index(variable)] if variable else tensor.type.element

    def batch_fits_pack(self, batched: Mapping[str, bool]) -> bool:
        """Whether a batch of the inputs named there can be one more of the leading axes."""
        return any(one.type.pack for one in self.inputs) and all(
            bool(one.type.pack) or not (one.written or batched.get(one.name, False))
            for one in (*self.inputs, *self.outputs)
        )

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The names and the calls, such as ``stride(u, 0)``, that have a value; sizes are last."""
        packs = [one.type.pack for one in self.inputs if one.type.pack]
        lengths = [length.name for one in self.inputs for length in one.type.lengths]
        scalars = [one.name for one in self.scalars if one.kind != "float"]
        expressions = (
            *(length for one in self.tensors for length in one.lengths),
            *self.sizes.values(),
            *self.checks,
            *self.values.values(),
            *(one for several in self.launch.values() for one in several),
        )
        calls = [name for one in expressions for name in one.symbols if "(" in name]
        found = dict.fromkeys(filter(None, (*packs, *lengths, *scalars, *calls)))
        return (*found, *self.sizes)


def read(table: Mapping[str, Any], name: str = "") -> Declaration:
    """Check a table and make a declaration of it.

    Parameters
    ----------
    table : mapping
        With the keys of ``[[tool.cupola.ops]]``.
    name : str, optional
        Instead of the table's key ``name``.

    Raises
    ------
    DeclarationError
    """
    return _Reader(table, name).read()


class _Reader:
    def __init__(self, table: Mapping[str, Any], name: str) -> None:
        self.table = table
        self.name = name or table.get("name", "")
        self.tensors: list[Tensor] = []
        self.variables: list[str] = []
        self.scalars: list[Scalar] = []
        self.bound: set[str] = set()  # sizes that an input which is always given binds
        self.named: dict[str, str] = {}  # each name, and the key that has it

    def read(self) -> Declaration:
        table = self.table
        for key in table:
            if key not in KEYS:
                near = difflib.get_close_matches(key, KEYS, 1)
                meant = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(KEYS)}"
                raise DeclarationError("", f"unknown key {key!r}: {meant}")
        if "family" in table:
            raise DeclarationError(
                "family", "a table in pyproject.toml has it; give cupola.op a family as its first "
                "argument"
            )  # fmt: skip
        for key in REQUIRED:
            if key not in table:
                raise DeclarationError("", f"lacks the key {key!r}: {KEYS[key]}")
        if not isinstance(self.name, str) or not self.name or any(c.isspace() for c in self.name):
            raise DeclarationError("name", f"expected {KEYS['name']}, got {self.name!r}")
        self._tensors()
        self._scalars()
        sizes = {}
        for name, text in self._table("sizes").items():
            self._new_name("sizes", name)
            sizes[name] = self._expression(f"sizes.{name}", text)
            self.bound.add(name)
        self._outputs()
        self._shapes()
        checks = tuple(self._expression("checks", one, check=True) for one in self._texts("checks"))
        launch = self._launch()
        arguments, values = self._arguments()
        made = Declaration(
            name=self.name,
            table=dict(table),
            kernels=self._kernels(),
            variables=tuple(self.variables),
            tensors=tuple(self.tensors),
            scalars=tuple(self.scalars),
            sizes=sizes,
            checks=checks,
            arguments=arguments,
            values=values,
            launch=launch,
            align=self._align(),
            copies=self._choice("noncontiguous", ("copy", "refuse"), "copy") == "copy",
            backward=self._text("backward"),
            vmap=self._choice("vmap", ("batch-first", "batch"), ""),
            autocast=self._choice("autocast", tuple(ELEMENT_TYPES), ""),
            doc=self._text("doc"),
        )
        self._check_limits(made)
        return made

    # -- values of keys ---------------------------------------------------------------------------

    def _wrong(self, key: str, value: object) -> DeclarationError:
        return DeclarationError(key, f"expected {KEYS[key.partition('.')[0]]}, got {value!r}")

    def _table(self, key: str) -> dict[str, Any]:
        value = self.table.get(key, {})
        if not isinstance(value, Mapping):
            raise self._wrong(key, value)
        return dict(value)

    def _texts(self, key: str) -> list[str]:
        value = self.table.get(key, [])
        if isinstance(value, str) or not isinstance(value, (list, tuple)):
            raise self._wrong(key, value)
        return [str(one) if type(one) is int else one for one in value]

    def _text(self, key: str) -> str:
        value = self.table.get(key, "")
        if not isinstance(value, str):
            raise self._wrong(key, value)
        return value

    def _choice(self, key: str, known: tuple[str, ...], otherwise: str) -> str:
        value = self.table.get(key, otherwise)
        if value != otherwise and value not in known:
            raise self._wrong(key, value)
        return str(value)

    def _align(self) -> int:
        value = self.table.get("align", 1)
        if type(value) is not int or not 1 <= value <= 4096 or value & (value - 1):
            raise DeclarationError("align", f"expected a power of two up to 4096, got {value!r}")
        return value

    def _check_limits(self, made: Declaration) -> None:
        counts = {
            "tensors": ("inputs", len(made.tensors)),
            "scalars": ("scalars", len(made.scalars)),
            "kernels": ("kernels", len(made.kernels)),
            "arguments": ("arguments", len(made.arguments)),
            "sizes": ("sizes", len(made.symbols)),
        }
        for what, (key, count) in counts.items():
            if count > LIMITS[what]:
                raise DeclarationError(
                    key, f"there are {count} {what}, expected at most {LIMITS[what]}"
                )
        for one in made.tensors:
            if len(one.lengths) > LIMITS["lengths"]:
                raise DeclarationError(
                    f"{_key(one)}.{one.name}",
                    f"it has {len(one.lengths)} lengths, expected at most {LIMITS['lengths']}",
                )

    def _new_name(self, key: str, name: str) -> None:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise DeclarationError(key, f"{name!r} is not a name")
        if name in self.named:
            raise DeclarationError(f"{key}.{name}", f"{self.named[name]} has this name already")
        self.named[name] = key

    # -- tensors and scalars ----------------------------------------------------------------------

    def _tensors(self) -> None:
        mutates, strided = self._texts("mutates"), self._texts("strided")
        for key, role in (("inputs", "input"), ("outputs", "output"), ("workspace", "workspace")):
            for name, text in self._table(key).items():
                self._new_name(key, name)
                if not isinstance(text, str):
                    raise self._wrong(f"{key}.{name}", text)
                try:
                    found = tensor_type.parse(text)
                except TensorTypeError as error:
                    raise DeclarationError(f"{key}.{name}", f"{text!r}: {error}") from None
                if found.optional and role != "input":
                    raise DeclarationError(f"{key}.{name}", "only an input can be optional")
                given = role == "input"
                self.tensors.append(
                    Tensor(name, role, found, given and name in mutates, given and name in strided)
                )
        inputs = [one for one in self.tensors if one.role == "input"]
        for key, names in (("mutates", mutates), ("strided", strided)):
            for name in names:
                if name not in [one.name for one in inputs]:
                    raise DeclarationError(key, f"there is no input {name!r}")
        if not any(not one.type.optional for one in inputs):
            raise DeclarationError("inputs", "expected an input that is always given")
        if not any(one.mutated or one.role == "output" for one in self.tensors):
            raise DeclarationError("outputs", "there is no output, and mutates names no input")
        for one in inputs:
            if one.type.variable and not one.type.optional:
                self.variables.append(one.type.variable)
        self.variables = list(dict.fromkeys(self.variables))
        for one in self.tensors:
            if one.type.variable and one.type.variable not in self.variables:
                raise DeclarationError(
                    f"{_key(one)}.{one.name}",
                    f"no input that is always given has the type variable {one.type.variable}",
                )

    def _scalars(self) -> None:
        for name, text in self._table("scalars").items():
            self._new_name("scalars", name)
            kind, equals, value = (part.strip() for part in str(text).partition("="))
            if not isinstance(text, str) or kind not in _SCALARS:
                raise self._wrong(f"scalars.{name}", text)
            default: Any = None
            if equals:
                try:
                    if kind == "bool":
                        default = {"true": True, "false": False}[value]
                    else:
                        default = float(value) if kind == "float" else int(value)
                    if not math.isfinite(default):
                        raise ValueError
                except (KeyError, ValueError):
                    raise DeclarationError(
                        f"scalars.{name}", f"the default {value!r} is not a {kind}"
                    ) from None
            self.scalars.append(Scalar(name, kind, default))

    # -- shapes -----------------------------------------------------------------------------------

    def _shapes(self) -> None:
        """Parse the lengths. A name in an input is a size that the input binds.

        A pack's name is the product of the leading lengths also there, so it binds nothing.
        """
        packs = {one.type.pack for one in self.tensors}
        for index, one in enumerate(self.tensors):
            where = f"{_key(one)}.{one.name}"
            named = tuple(
                replace(length, name="") if length.name in packs else length
                for length in one.type.lengths
            )
            lengths = tuple(
                parse(length.name)
                if length.name and one.role == "input"
                else self._expression(where, length.text)
                for length in named
            )
            self.tensors[index] = replace(
                one, type=replace(one.type, lengths=named), lengths=lengths
            )

    def _outputs(self) -> None:
        self._bind()
        packs = [one.type.pack for one in self.tensors if one.type.pack]
        for one in self.tensors:
            where = f"{_key(one)}.{one.name}"
            if one.type.pack not in ("", *packs[:1]):
                raise DeclarationError(where, f"an operation has one pack, which is *{packs[0]}")
            if one.type.pack and one.type.pack not in self.bound:
                raise DeclarationError(
                    where, f"no input that is always given binds *{one.type.pack}"
                )
            for length in one.type.lengths:
                if length.broadcast and one.role != "input":
                    raise DeclarationError(where, "only an input can be broadcast")
                if length.broadcast and length.name in packs:
                    raise DeclarationError(
                        where, f"broadcast takes the name of a size, and *{length.name} is a pack"
                    )

    def _bind(self) -> None:
        """Collect the sizes that inputs bind."""
        if self.bound:
            return
        inputs = [one for one in self.tensors if one.role == "input"]
        for one in inputs:
            if one.type.pack and self.named.setdefault(one.type.pack, "*") != "*":
                raise DeclarationError(
                    f"inputs.{one.name}", f"*{one.type.pack} is also the name of something else"
                )
        for one in inputs:
            names = [length.name for length in one.type.lengths if length.name]
            for name in names:
                if self.named.setdefault(name, "a size") not in ("a size", "*"):
                    raise DeclarationError(
                        f"inputs.{one.name}", f"{name!r} is also the name of one of the "
                        f"{self.named[name]}"
                    )  # fmt: skip
            if not one.type.optional:
                self.bound.update(name for name in names if self.named[name] != "*")
                self.bound.update(filter(None, [one.type.pack]))
        self.bound.update(one.name for one in self.scalars if one.kind != "float")

    def _find(self, name: str) -> str:
        """Why an expression can't have this name; "" where it can."""
        self._bind()
        if name in self.bound:
            return ""
        call = _CALL.fullmatch(name)
        if call:
            return self._find_call(name, call[1], call[2])
        if any(one.name == name for one in self.tensors):
            return f'"{name}" is a tensor, not a number'
        if any(one.name == name for one in self.scalars):
            return f'the scalar "{name}" is not an integer'
        if name in self.named:
            return f'the size "{name}" is bound by no input that is always given'
        near = difflib.get_close_matches(name, self.bound, 1)
        return f'unknown name "{name}"' + (f"; did you mean {near[0]}?" if near else "")

    def _find_call(self, whole: str, name: str, inside: str) -> str:
        given = [one.strip() for one in inside.split(",")] if inside.strip() else []
        tensor = next((one for one in self.tensors if given and one.name == given[0]), None)
        if name == "sizeof" and len(given) == 1:
            known = given[0] in self.variables or given[0] in ELEMENT_TYPES
            return "" if known else f'unknown element type "{given[0]}"'
        if name == "batch" and not given:
            if self.table.get("vmap") == "batch":
                return ""
            return "batch() needs vmap = 'batch'"
        if name in ("present", "stride") and given and tensor is None:
            return f'there is no tensor "{given[0]}"'
        if name == "present" and len(given) == 1:
            return ""
        if name == "stride" and len(given) == 2:
            assert tensor is not None
            axes = [str(axis) for axis in range(len(tensor.type.lengths))]
            if given[1] in axes[:10]:
                return ""
            return f"stride({given[0]}, axis) takes an axis of its shape, counted without the pack"
        return f"unknown function {whole}"

    def _expression(self, key: str, text: object, *, check: bool = False) -> Expression:
        if type(text) is int:
            text = str(text)
        if not isinstance(text, str):
            raise self._wrong(key, text)
        self._bind()
        try:
            if "\n" in text or "\r" in text:
                raise ExpressionError("it must be one line")
            return parse(text.strip(), self._find, check=check)
        except ExpressionError as error:
            raise DeclarationError(key, f"{text!r}: {error}") from None

    # -- kernels ----------------------------------------------------------------------------------

    def _launch(self) -> dict[str, tuple[Expression, ...]]:
        found = {}
        for key in ("grid", "block", "cluster"):
            texts = self._texts(key)
            if not texts and key == "cluster":
                continue
            if not 1 <= len(texts) <= 3:
                raise self._wrong(key, self.table.get(key))
            found[key] = tuple(self._expression(key, one) for one in texts)
        for key in _LAUNCH:
            if key in self.table:
                found[key] = (self._expression(key, self.table[key]),)
        for key, numbers in found.items():
            self._check_launch(key, numbers)
        for key in ("cooperative", "dependent"):
            value = self.table.get(key, False)
            if not isinstance(value, bool):
                raise self._wrong(key, value)
            if value:
                found[key] = (parse("1"),)
        return found

    def _check_launch(self, key: str, numbers: tuple[Expression, ...]) -> None:
        """Refuse numbers that no device can launch; only a call knows those with sizes."""
        least, most, together = _LAUNCH_LIMITS.get(key, (0, (), None))
        product = 1
        for place, one in enumerate(numbers):
            if one.symbols:
                continue
            try:
                value = one.evaluate({})
            except ExpressionError as error:
                raise DeclarationError(key, f"{one.text!r}: {error}") from None
            if most and not least <= value <= most[place]:
                axis = f" for {'xyz'[place]}" if len(most) > 1 else ""
                raise DeclarationError(
                    key, f"{value} is out of the range{axis}, {least} to {most[place]}"
                )
            product *= value
        if together is not None and product > together:
            unit = {"block": "threads", "cluster": "blocks"}[key]
            raise DeclarationError(
                key, f"{product} {unit} in all are too many: a {key} has at most {together}"
            )

    def _arguments(self) -> tuple[tuple[Argument, ...], dict[str, Expression]]:
        arguments = tuple(self._argument(one) for one in self._texts("arguments"))
        tensors = {one.name for one in self.tensors}
        known = tensors | {one.name for one in self.scalars}
        values, used = {}, set()
        for argument in arguments:
            for text in _texts_of(argument):
                used.add(text)
                if text not in (known if isinstance(argument, str) else tensors):
                    values[text] = self._expression("arguments", text)
        for one in self.tensors:
            if one.name not in used:
                raise DeclarationError(
                    "arguments", f"the kernel does not take {one.name}, one of the {_key(one)}"
                )
        return arguments, values

    def _argument(self, given: object) -> Argument:
        """A text, the sizes of a launch, or a struct."""
        if isinstance(given, str):
            return given.strip()
        if isinstance(given, (list, tuple)) and given:
            texts = [str(one) if type(one) is int else one for one in given]
            if all(isinstance(one, str) for one in texts):
                return tuple(one.strip() for one in texts)
        if isinstance(given, Mapping):
            try:
                return record.read(given)
            except (KeyError, TypeError, ValueError) as error:
                raise DeclarationError("arguments", f"the struct {given!r}: {error}") from None
        raise self._wrong("arguments", given)

    def _kernels(self) -> dict[tuple[str, ...], str]:
        given = self.table["kernels"]
        if isinstance(given, Mapping):
            found = {}
            for text, kernel in given.items():
                types = tuple(one.strip() for one in str(text).split(",")) if text else ()
                where = f"kernels.{text}"
                for one in types:
                    if one not in ELEMENT_TYPES:
                        raise DeclarationError(
                            where, f"unknown element type {one!r}; known are "
                            f"{', '.join(ELEMENT_TYPES)}"
                        )  # fmt: skip
                if len(types) != len(self.variables):
                    named = ", ".join(self.variables) or "none"
                    raise DeclarationError(
                        where, f"expected {len(self.variables)} element types, for the type "
                        f"variables of the inputs ({named})"
                    )  # fmt: skip
                if types in found:
                    raise DeclarationError(where, "there are two kernels for these types")
                found[types] = self._kernel(where, kernel)
            if not found:
                raise self._wrong("kernels", given)
            return found
        if self.variables:
            raise DeclarationError(
                "kernels", f"expected {KEYS['kernels']}, since the inputs have the type variable "
                f"{self.variables[0]}"
            )  # fmt: skip
        return {(): self._kernel("kernels", given)}

    def _kernel(self, key: str, name: object) -> str:
        if not isinstance(name, str) or not name:
            raise DeclarationError(key, f"expected a kernel's name, got {name!r}")
        return name


def _texts_of(argument: Argument) -> tuple[str, ...]:
    """The names and the expressions in an argument."""
    if isinstance(argument, Record):
        return tuple(one.text for one in argument.fields)
    return (argument,) if isinstance(argument, str) else argument


def _key(tensor: Tensor) -> str:
    return {"input": "inputs", "output": "outputs"}.get(tensor.role, tensor.role)
