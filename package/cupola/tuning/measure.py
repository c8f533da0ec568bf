# cupola/tuning/measure.py - checks and times the variants of a family on one case.
"""The measurement of single variants, in the process that has the device's context."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from typing import Any, NamedTuple, Protocol

import numpy as np

from cupola.creation import empty, to_device
from cupola.declare.expression import ExpressionError
from cupola.declare.family import FamilyDeclaration, Value, Variant
from cupola.device import Device
from cupola.event import Event
from cupola.exceptions import (
    ArgumentError,
    ArgumentValueError,
    CompileError,
    DriverError,
    Error,
    ImageError,
    NotFoundError,
    OutOfMemoryError,
)
from cupola.kernel import Kernel
from cupola.launch import PreparedLaunch
from cupola.tuning.cases import Case
from cupola.tuning.comparison import difference
from cupola.tuning.family import Call, Family
from cupola.tuning.outcomes import Failure, Footprint
from cupola.tuning.sm_clock import sm_clock

_L2_ATTRIBUTE = 38  # CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
# CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: the context is not lost.
_REFUSED = (1, 701)
_LEAST_FLUSH = 8 << 20  # bytes
_HOT_SECONDS = 50e-6  # of launches in a row, beside which the gaps between launches are small
_MOST_HOT = 64
_RESOLUTION = 1e-9  # seconds: a time is above 0


class Clock(Protocol):
    """Times launches. A clock is sent to the measuring process: it can be pickled."""

    def seconds(
        self,
        variant: Mapping[str, Value],
        launch: Callable[[], object],
        restore: Callable[[], object],
    ) -> float:
        """Seconds of one launch.

        Parameters
        ----------
        variant : mapping
            The values of the tunables by name.
        launch, restore : callable
            They queue the launch, and copies that restore its arguments.
        """


class EventClock:
    """Times launches by events on the current stream.

    Parameters
    ----------
    flush : bool
        Whether a fill that is larger than the L2 cache precedes each launch. Otherwise a launch
        that is not timed precedes, and launches in a row are timed until their sum is long.
    """

    def __init__(self, flush: bool = True) -> None:
        self.flush = flush
        self._events: tuple[Event, Event] | None = None
        self._filler: Any = None
        self._last: dict[tuple[Value, ...], float] = {}

    def seconds(
        self,
        variant: Mapping[str, Value],
        launch: Callable[[], object],
        restore: Callable[[], object],
    ) -> float:
        """Seconds of one launch."""
        if self._events is None:
            self._events = Event(timing=True), Event(timing=True)
        start, end = self._events
        count = 1
        restore()
        if self.flush:
            self._fill()
        else:
            launch()
            last = self._last.get(tuple(variant.values()), _HOT_SECONDS)
            count = max(1, min(_MOST_HOT, math.ceil(_HOT_SECONDS / last)))
        start.record()
        for _ in range(count):
            launch()
        end.record()
        end.synchronize()
        taken = max(end.elapsed_since(start), _RESOLUTION) / count
        self._last[tuple(variant.values())] = taken
        return taken

    def _fill(self) -> None:
        if self._filler is None:
            bytes_ = 2 * Device().attribute(_L2_ATTRIBUTE)
            self._filler = empty(max(bytes_, _LEAST_FLUSH), np.uint8)
        self._filler.fill(1)


class Opened(NamedTuple):
    """The key of a case."""

    types: tuple[str, ...]
    key: tuple[int, ...]


class CaseRunner:
    """Runs the variants of a family on one case after the other.

    Parameters
    ----------
    family : Family
    device : int or "cpu"
    clock : Clock
    """

    def __init__(self, family: Family, device: Any, clock: Clock) -> None:
        self.family, self.clock = family, clock
        self.device = Device(device)
        self._case: Case | None = None
        self._call: Call | None = None
        self._kernels: dict[tuple[Variant, tuple[str, ...]], Kernel] = {}
        self._names: list[str] = []
        self._hosts: dict[int, Any] = {}
        self._pristine: dict[int, Any] = {}
        self._references: dict[int, Any] = {}

    @property
    def declaration(self) -> FamilyDeclaration:
        """The family's declaration."""
        return self.family.declaration

    def open(self, case: Case) -> Opened:
        """Copy a case to the device.

        Raises
        ------
        ArgumentError
            The arguments or the reference do not fit the kernel.
        """
        with self.device:
            call = self._copy(case.positional, case.named)
            try:
                key = self.declaration.key_of(call.given)
            except ExpressionError as error:
                raise ArgumentValueError(f"{self.family.name}: {case.title}: {error}") from None
            self._references = case.references(self._names, call.arguments)
        self._case = case
        return Opened(call.types, key)

    def results(self, arguments: Sequence[Any]) -> dict[str | int, Any] | Failure:
        """The arrays that the declared default may write, after a launch on these arguments."""
        with self.device:
            call = self._copy(arguments, {})
            try:
                self._prepared(self.declaration.default)()
                return {place: call.arguments[place].get() for place in self._pristine}
            except DriverError as error:
                return Failure("fault", _first_line(error))

    def _copy(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Call:
        """Copy arguments to the device, in place of those of the case before."""

        def there(value: Any) -> Any:
            return to_device(value) if isinstance(value, np.ndarray) else value

        self._case = self._call = None
        self._pristine.clear()
        self._references.clear()
        self._call = call = self.family.call(
            [there(value) for value in positional],
            {name: there(value) for name, value in named.items()},
        )
        parameters = self._kernel(self.declaration.default).params
        self._names = list(self.family.parameters)
        # Where a Python object fills several parameters, each array may be written.
        matches = len(parameters) == len(self._names)
        values = dict(zip(self._names, positional, strict=False)) | dict(named)
        self._hosts = {
            place: values[name]
            for place, name in enumerate(self._names)
            if isinstance(values[name], np.ndarray)
        }
        self._pristine = {
            place: call.arguments[place].copy()
            for place in self._hosts
            if not (matches and parameters[place].const)
        }
        return call

    def _fresh(self) -> None:
        assert self._call is not None
        for place, host in self._hosts.items():
            self._call.arguments[place].set(host)

    def _restore(self) -> None:
        assert self._call is not None
        for place, content in self._pristine.items():
            self._call.arguments[place].set(content)

    def compile(self, variants: Sequence[Variant]) -> list[Failure | Footprint]:
        """Compile or load variants, several at a time; the result has one item for each."""
        with ThreadPoolExecutor(min(len(variants), cpu_count() or 1)) as pool:
            return list(pool.map(self._compiled, variants))

    def _compiled(self, variant: Variant) -> Failure | Footprint:
        assert self._call is not None
        try:
            with self.device:
                kernel = self._kernel(variant)
                _, block, shared = self.family.dimensions(variant, self._call)
                threads = math.prod(block)
                return Footprint(kernel.registers, threads, kernel.shared_bytes + shared)
        except ExpressionError as error:
            return Failure("launch", str(error))
        except ImageError as error:  # also where a build has dropped the variant
            return Failure("launch", _first_line(error))
        except (CompileError, NotFoundError, DriverError) as error:
            return Failure("compile", _first_line(error))

    def check(self, variant: Variant) -> Failure | None:
        """Launch a variant once on fresh arguments, and compare with the reference."""
        assert self._case is not None and self._call is not None
        with self.device:
            try:
                self._fresh()
                self._prepared(variant)()
                self.device.synchronize()
                for place, expected in self._references.items():
                    found = difference(
                        self._names[place],
                        self._call.arguments[place].get(),
                        expected,
                        self._case.rtol,
                        self._case.atol,
                    )
                    if found is not None:
                        return Failure("wrong", str(found))
            except OutOfMemoryError:
                raise
            except DriverError as error:
                return Failure("launch" if error.code in _REFUSED else "fault", _first_line(error))
            except ArgumentError as error:
                return Failure("launch", _first_line(error))
        return None

    def sample(self, variant: Variant) -> float | Failure:
        """Seconds of one launch of a variant that `check` found right."""
        assert self._call is not None
        call = self._call
        with self.device:
            kernel = self.family.kernel(variant, call.types)
            grid, block, shared = self.family.dimensions(variant, call)
            prepared = kernel.prepare(grid, block, *call.arguments, shared=shared)
            try:
                return self.clock.seconds(self.declaration.values(variant), prepared, self._restore)
            except DriverError as error:
                return Failure("fault", _first_line(error))

    def _kernel(self, variant: Variant) -> Kernel:
        """A variant's kernel. Several threads compile different variants at once."""
        assert self._call is not None
        key = variant, self._call.types
        if key not in self._kernels:
            self._kernels[key] = self.family.source.kernel(
                self.declaration, *key, self.device.index
            )
        return self._kernels[key]

    def _prepared(self, variant: Variant) -> PreparedLaunch:
        assert self._call is not None
        grid, block, shared = self.family.dimensions(variant, self._call)
        return self._kernel(variant).prepare(grid, block, *self._call.arguments, shared=shared)

    def sm_clock(self) -> int | None:
        """The current clock of the multiprocessors, in MHz; None where it is not known."""
        return sm_clock(self.device)


def _first_line(error: Error) -> str:
    """The first line of an error's text that says something."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), repr(error))
