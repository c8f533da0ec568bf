# cupola/tuning/family.py - a kernel in several variants, of which a launch takes one.
"""`Family`, which `cupola.family` and a package's module ``families`` make."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from cupola.declare.expression import ExpressionError
from cupola.declare.family import FamilyDeclaration, Value, Variant
from cupola.declare.tuning_table import FamilyRows, Row
from cupola.exceptions import ArgumentError, ArgumentTypeError, ArgumentValueError, ImageError
from cupola.family_call import CallableFamily, with_vectorcall
from cupola.tuning import candidates
from cupola.tuning import mode as modes
from cupola.tuning.first_use import FirstUse
from cupola.tuning.launch_steps import launch_steps
from cupola.tuning.sources import CompiledSource as CompiledSource
from cupola.tuning.sources import KernelSource, PackageSource, library_of

__all__ = ["Family"]

if TYPE_CHECKING:
    from cupola.device import Device
    from cupola.kernel import Kernel
    from cupola.stream import Stream
    from cupola.tuning.explanation import Explanation
    from cupola.variant_choice import Chooser, LaunchSteps

_NEIGHBOURS = 5  # of an explanation


class Call(NamedTuple):
    """The arguments of one call of a family."""

    arguments: tuple[Any, ...]  # in the order of the kernel's parameters
    given: dict[str, int]  # the value of each of the declaration's symbols
    types: tuple[str, ...]  # element types of the arguments in `types`


@with_vectorcall
class Family(CallableFamily):
    """A kernel in several variants: a call launches the one that suits its sizes and device.

    `cupola.family` makes it, and the module ``families`` of a package that ships variants::

        step(u, out, rows, columns)
        step.explain(u, out, rows, columns)    # which variant, and why

    Grid, block and shared memory are computed from the arguments, which are those of the kernel. A
    call returns as soon as the launch is queued, as for a kernel. The choice and the launch for a
    device, element types and sizes are kept, so that a repeated call costs little more than a
    launch.

    The variant is that of the nearest measured row: first of the tables of a device of this name,
    then of the same compute capability. Of a table's rows with other element types none counts.
    Distances are Euclidean, in ``log2(1 + size)`` of the key's sizes. Without a row it is the
    declared default. A variant that the device can't launch is never chosen. ``CUPOLA_TUNE``
    changes this; see the reference of environment variables. It is read at the first call with
    given types on a device, and after `reload`.

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
        self._choosers: dict[tuple[int, tuple[str, ...]], Chooser] = {}
        self._candidates: dict[tuple[int, tuple[str, ...]], candidates.Candidates] = {}
        self._loading = threading.RLock()
        self._first_use = FirstUse()
        # The launches of callers that choose once for each key; `reload` drops them.
        self.launches: dict[tuple[int, ...], Any] = {}

    @property
    def name(self) -> str:
        """The name in messages and tables: that of the declaration, or of the kernel."""
        return self.declaration.name or self.declaration.kernel.partition("<")[0]

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants that the restrictions allow, each a value for each tunable."""
        return self.declaration.variants

    @cached_property
    def digest(self) -> str:
        """Identifies the code of the kernels: a table with another digest is ignored."""
        return self.source.digest(self.declaration)

    def __call__(self, *args: Any, stream: Any = None, **named: Any) -> None:
        """Launch the variant that suits the arguments.

        Parameters
        ----------
        *args, **named
            The kernel's arguments, as for `Kernel`. A parameter called ``stream`` must be given by
            position.
        stream : Stream or an object with ``__cuda_stream__``, optional
            By default this thread's current one. The launch is on the stream's device.

        Raises
        ------
        ArgumentTypeError
            An argument is missing, or its length or its value is not known.
        ArgumentError
            Sizes or arguments do not fit the kernel.
        """
        self._run(args, named if stream is None else {**named, "stream": stream})

    def choose(self, *args: Any, stream: Any = None, **named: Any) -> dict[str, Value]:
        """The variant that a call takes, by the names of the tunables. Nothing is measured.

        Parameters
        ----------
        *args, stream, **named
            As for a call.
        """
        call = self.call(args, named)
        entry = self._chosen(tuple(call.given.values()), call.types, _index(stream))
        return self.declaration.values(self.variants[entry.variant])

    def explain(self, *args: Any, stream: Any = None, **named: Any) -> Explanation:
        """The variant that a call takes, and why. Nothing is measured.

        Parameters
        ----------
        *args, stream, **named
            As for a call.

        Returns
        -------
        Explanation
            ``print(family.explain(...))`` shows the device, the key, the variant, the table that
            has it, the nearest rows with their times, and what was ignored.
        """
        from cupola.device import Device
        from cupola.tuning.explanation import Explanation, Neighbour

        call, index = self.call(args, named), _index(stream)
        entry = self._chosen(tuple(call.given.values()), call.types, index)
        declaration, found = self.declaration, self._candidates[index, call.types]
        key = declaration.key_of(call.given)
        distances = self._choosers[index, call.types].distances(key)
        near = [
            Neighbour(
                distance,
                dict(zip(declaration.key, one.key, strict=True)),
                declaration.values(one.variant),
                one.row.seconds,
                one.row.default_seconds,
                one.path,
                one.device,
            )
            for distance, one in zip(distances, found.rows, strict=True)
        ]
        refused = [
            f"{declaration.text(self.variants[variant])}: {error}"
            for variant, error in entry.refused.items()
        ]
        refused += [
            f"{declaration.text(variant)}: {reason}"
            for variant, reason in self._dropped(index, call.types).items()
            if variant in {declaration.default, *(one.variant for one in found.rows)}
        ]
        return Explanation(
            family=self.name,
            device=Device(index).name,
            types=call.types,
            key=dict(zip(declaration.key, key, strict=True)),
            variant=declaration.values(self.variants[entry.variant]),
            default=declaration.values(declaration.default),
            row=None if entry.row < 0 else near[entry.row],
            neighbours=tuple(sorted(near, key=lambda one: one.distance)[:_NEIGHBOURS]),
            ignored=(*found.ignored, *refused),
        )

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

        return self._kernel(variant, types, Device(device).index)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the kernel's parameters, in their order."""
        return self._bound()[0]

    def variant_for(self, sizes: tuple[int, ...], types: tuple[str, ...], index: int) -> Variant:
        """The variant for the values of the declaration's symbols. Nothing is measured.

        Parameters
        ----------
        sizes : tuple of int
            The value of each of the declaration's `symbols`.
        types : tuple of str
            The element types of the arguments in the declaration's `types`.
        index : int
            Of the device.
        """
        return self.variants[self._chosen(sizes, types, index).variant]

    def call(self, arguments: Sequence[Any], named: Mapping[str, Any] | None = None) -> Call:
        """The sizes and types of a call, by the names of the kernel's parameters.

        Raises
        ------
        ArgumentTypeError
            An argument is missing, or its length or its value is not known.
        """
        ordered, sizes, types = self._read(arguments, named)
        return Call(ordered, dict(zip(self.declaration.symbols, sizes, strict=True)), types)

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

    def reload(self) -> None:
        """Read the tables and ``CUPOLA_TUNE`` again, at the next call."""
        self._choosers, self._candidates, self.launches = {}, {}, {}
        super().reload()

    def rows(self, rows: Iterable[tuple[Any, ...]]) -> FamilyRows:
        """Measured rows, of the fields of `Row`, beside the digest of this family's code."""
        declaration = self.declaration
        return FamilyRows(
            self.name,
            self.digest,
            tuple(declaration.tunables),
            declaration.key,
            tuple(Row(*row) for row in rows),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Family, (self.declaration, self.source)

    def __repr__(self) -> str:
        count = len(self.variants)
        return f"<cupola.Family {self.name}: {count} variant{'s' if count != 1 else ''}>"

    def _kernel(self, variant: Variant, types: tuple[str, ...], index: int) -> Kernel:
        key = variant, types, index
        found = self._kernels.get(key)
        if found is None or not found.module.loaded:
            with self._loading:
                found = self._kernels.get(key)
                if found is None or not found.module.loaded:
                    found = self.source.kernel(self.declaration, *key)
                    self._kernels[key] = found
        return found

    @cached_property
    def _steps(self) -> LaunchSteps:
        try:
            return launch_steps(self.declaration)
        except ArgumentValueError as error:
            raise ArgumentValueError(f"{self.name}: {error}") from None

    def _chosen(self, sizes: tuple[int, ...], types: tuple[str, ...], index: int) -> Any:
        chooser = self._chooser(index, types)
        try:
            return chooser.choose_for(self, sizes)
        except ExpressionError as error:
            raise ArgumentError(f"{self.name}: {error}") from None

    def _chooser(self, index: int, types: tuple[str, ...]) -> Chooser:
        """The choice among rows of tables, for a device and element types."""
        from cupola.variant_choice import Chooser

        found = self._choosers.get((index, types))
        if found is not None:
            return found
        rows = candidates.find(self, index, types)
        places = {variant: at for at, variant in enumerate(self.variants)}
        made = Chooser(
            self._steps,
            index,
            types,
            [(one.level, one.key, places[one.variant]) for one in rows.rows],
            places[self.declaration.default],
            [places[variant] for variant in self._dropped(index, types)],
            modes.mode() in (modes.FIRST_USE, modes.ASK),
        )
        self._candidates[index, types] = rows
        self._choosers[index, types] = made
        return made

    def _dropped(self, index: int, types: tuple[str, ...]) -> dict[Variant, str]:
        """The variants that the build lacks for a device, and why."""
        from cupola.device import Device, is_cpu

        # The CPU device runs the PTX of an image, and machine code alone is dropped for a target.
        if is_cpu(index):
            return {}
        major, minor = Device(index).compute_capability
        return self.source.dropped(10 * major + minor, types)

    def _bound(self) -> tuple[tuple[str, ...], list[tuple[int, int, int]], list[int]]:
        """The parameters' names, how each size is read, and the positions of typed arguments."""
        declaration = self.declaration
        names = self.source.parameters(declaration)
        if names is None:
            kernel = self.kernel(declaration.default, declaration.type_choices[0])
            names = tuple(one.name for one in kernel.params)
            shown = tuple(kernel.__signature__.parameters)
            if len(shown) != len(names):
                names = shown  # a Python object fills several parameters
        self._steps  # noqa: B018 - refuses too many sizes
        sizes = [self._reader(symbol, names) for symbol in declaration.symbols]
        return names, sizes, [self._position(one, one, names) for one in declaration.types]

    def _reader(self, symbol: str, names: tuple[str, ...]) -> tuple[int, int, int]:
        head, _, rest = symbol.partition("(")
        name, _, axis = rest.rstrip(")").partition(", ")
        if not rest:
            return 0, self._position(symbol, head, names), 0
        return 1 if head == "shape" else 2, self._position(symbol, name, names), int(axis or 0)

    def _position(self, symbol: str, name: str, names: tuple[str, ...]) -> int:
        if name not in names:
            known = ", ".join(filter(None, names)) or "none: the image has no manifest with names"
            raise ArgumentTypeError(
                f"{self.name}: the declaration uses {symbol}, which is no parameter of its "
                f"kernel; known are {known}"
            )
        return names.index(name)

    def _tuned(self, arguments: tuple[Any, ...], stream: Stream | None) -> bool:
        """Measure a key at its first use, if the user allows it; whether it was measured."""
        return self._first_use.measure(self, self.call(arguments), stream, _index(stream))


def _index(stream: Any) -> int:
    """The device of a call's stream."""
    from cupola.device import Device
    from cupola.stream import Stream

    return stream.device_index if isinstance(stream, Stream) else Device().index


def from_library(library: str, name: str) -> Family:
    """A family that the build of a package has compiled.

    Parameters
    ----------
    library : str
        The library whose manifest has it, such as ``"heat.kernels"``.
    name : str
        Its name in the package, such as ``"step"``.

    Raises
    ------
    ImageError
        The manifest has no such family, or is malformed.
    """
    from cupola.declare.stored_family import families_of

    manifest = library_of(library).manifest()
    stored = {} if manifest is None else families_of(manifest.head, manifest.place)
    if name not in stored:
        raise ImageError(
            f"the manifest of {library} has no family {name}: it is of another build than the "
            "package"
        )
    return Family(stored[name].declaration, PackageSource(library, stored[name]))
