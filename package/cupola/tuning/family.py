# cupola/tuning/family.py - a kernel in several variants, of which a launch takes one.
"""`Family`, which `cupola.family` and a package's module ``families`` make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cupola.declare.expression import ExpressionError
from cupola.declare.family import FamilyDeclaration, Variant
from cupola.exceptions import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    import os

    from cupola.device import Device
    from cupola.kernel import Kernel
    from cupola.stream import Stream


class KernelSource(Protocol):
    """Where the kernels of a family come from; it can be pickled."""

    def kernel(
        self, declaration: FamilyDeclaration, variant: Variant, types: tuple[str, ...], index: int
    ) -> Kernel:
        """The kernel of a variant for the device of an index."""


class CompiledSource(NamedTuple):
    """CUDA sources, compiled at run time by `cupola.compile`."""

    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    options: tuple[str, ...] = ()
    include: tuple[str | os.PathLike[str], ...] = ()
    headers: Mapping[str, str] | None = None

    def kernel(
        self, declaration: FamilyDeclaration, variant: Variant, types: tuple[str, ...], index: int
    ) -> Kernel:
        """Compile the variant alone, and load it. The disk cache keeps the image."""
        from cupola.compiler import compile as compile_source

        name = declaration.kernel_of(variant, types)
        macros = declaration.macros_of(variant)
        module = compile_source(
            self.source,
            options=[
                *self.options,
                *(f"-D{macro}={value}" for macro, value in macros.items()),
                *declaration.options_of(variant),
            ],
            include=self.include,
            headers=self.headers,
            name_expressions=[name] if declaration.is_template else [],
            device=index,
        )
        return module[name]


class Call(NamedTuple):
    """The arguments of one call of a family."""

    arguments: tuple[Any, ...]  # in the order of the kernel's parameters
    given: dict[str, int]  # the value of each of the declaration's symbols
    types: tuple[str, ...]  # element types of the arguments in `types`


class Family:
    """A kernel in several variants: a call launches the one that suits its sizes and device.

    Parameters
    ----------
    declaration : FamilyDeclaration
        The tunables, the launch and the key.
    source : KernelSource
        Where the kernels come from.
    """

    def __init__(self, declaration: FamilyDeclaration, source: KernelSource) -> None:
        self.declaration = declaration
        self.source = source
        self._kernels: dict[tuple[Variant, tuple[str, ...], int], Kernel] = {}

    @property
    def name(self) -> str:
        """The name in messages and tables: that of the declaration, or of the kernel."""
        return self.declaration.name or self.declaration.kernel.partition("<")[0]

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants that the restrictions allow."""
        return self.declaration.variants

    def kernel(
        self,
        variant: Variant,
        types: tuple[str, ...] = (),
        device: Device | int | None = None,
    ) -> Kernel:
        """The kernel of a variant on a device, compiled or loaded at its first use.

        Parameters
        ----------
        variant : tuple
            A value for each tunable.
        types : tuple of str
            The element types of the arguments in the declaration's `types`.
        device : Device or int, optional
            By default the current one.
        """
        from cupola.device import Device

        key = variant, types, Device(device).index
        found = self._kernels.get(key)
        if found is None or not found.module.loaded:
            found = self._kernels[key] = self.source.kernel(self.declaration, *key)
        return found

    def call(self, arguments: Sequence[Any], named: Mapping[str, Any] | None = None) -> Call:
        """The sizes and types of a call, by the names of the kernel's parameters.

        Raises
        ------
        ArgumentTypeError
            An argument is missing, or its length or its value is not known.
        """
        declaration = self.declaration
        first = declaration.type_choices[0]
        names = [one.name for one in self.kernel(declaration.default, first).params]
        values = dict(zip(names, arguments, strict=False))
        values.update(named or {})
        if len(arguments) > len(names) or set(values) != set(names):
            listed = ", ".join(names)
            raise ArgumentTypeError(
                f"{self.name} takes {len(names)} arguments ({listed}), got {len(arguments)} by "
                f"position and {', '.join(named or {}) or 'none'} by name"
            )
        given = {symbol: self._size(symbol, values) for symbol in declaration.symbols}
        types = tuple(self._type(argument, values[argument]) for argument in declaration.types)
        return Call(tuple(values[name] for name in names), given, types)

    def _size(self, symbol: str, values: Mapping[str, Any]) -> int:
        head, bracket, rest = symbol.partition("(")
        if not bracket:
            if symbol not in values:
                raise ArgumentTypeError(
                    f"{self.name}: the declaration uses {symbol}, which is no parameter of its "
                    f"kernel; known are {', '.join(values)}"
                )
            value = values[symbol]
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise ArgumentTypeError(
                    f"{self.name}: argument {symbol}: expected an int, which the launch is "
                    f"computed from, got {type(value).__name__}"
                )
            return int(value.__index__())
        name, _, axis = rest.rstrip(")").partition(", ")
        shape = getattr(values.get(name), "shape", None)
        if shape is None:
            raise ArgumentTypeError(
                f"{self.name}: argument {name}: expected an array, whose shape the launch is "
                f"computed from, got {type(values.get(name)).__name__}"
            )
        if head == "size":
            count = 1
            for length in shape:
                count *= int(length)
            return count
        if int(axis) >= len(shape):
            raise ArgumentTypeError(
                f"{self.name}: argument {name}: expected at least {int(axis) + 1} axes, got "
                f"{len(shape)}"
            )
        return int(shape[int(axis)])

    def _type(self, argument: str, value: Any) -> str:
        known = self.declaration.types[argument]
        found = str(getattr(value, "dtype", type(value).__name__)).rpartition(".")[2]
        if found not in known:
            raise ArgumentTypeError(
                f"{self.name}: argument {argument}: there are kernels for {', '.join(known)}, got "
                f"{found}"
            )
        return found

    def launch(self, variant: Variant, call: Call, stream: Stream | None = None) -> None:
        """Queue one variant.

        Parameters
        ----------
        variant : tuple
            A value for each tunable.
        call : Call
            As `call` returns it.
        stream : Stream, optional
            By default this thread's current one.

        Raises
        ------
        ArgumentError
            Sizes or arguments do not fit the kernel.
        """
        try:
            grid, block, shared = self.dimensions(variant, call)
        except ExpressionError as error:
            raise ArgumentError(f"{self.name}: {error}") from None
        kernel = self.kernel(variant, call.types)
        kernel[grid, block, stream, shared](*call.arguments)

    def dimensions(self, variant: Variant, call: Call) -> tuple[Any, Any, int]:
        """Grid, block and bytes of dynamic shared memory of a launch."""
        found = self.declaration.launch(variant, call.given)
        return found.grid, found.block, found.shared
