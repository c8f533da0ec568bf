# cupola/makers/repeated_call.py - the launches of calls with arguments of known types and layouts.
"""Calls like an earlier one, without its checks of shapes and types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cupola.array import Array
from cupola.creation import empty

if TYPE_CHECKING:
    from cupola.makers.work import Work

_ALIGN = 16  # bytes; no element has a larger alignment


def key_of(args: Sequence[Any], options: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The properties that decide a call's launches; None where it may have others."""
    if not all(one is None or type(one) in (int, bool) for one in options):
        return None
    parts: list[Any] = [options]
    for value in args:
        kind = type(value)
        if kind is Array:
            address = value.ptr % _ALIGN
            parts.append((value.dtype, value.shape, value.strides, value.device_index, address))
        elif kind is int:
            parts.append((kind, value.bit_length() > 63))  # such a number makes T a uint64
        elif kind in (bool, float, complex):
            parts.append(kind)
        else:
            return None
    return tuple(parts)


class RepeatedCall:
    """The launches of a call, with places for its arguments and its results.

    Parameters
    ----------
    work : Work
        Of a call whose kernels take the call's own arguments and results, and no other memory.
    positions : sequence of int
        The argument of each parameter; -1 for a result that the call allocated.
    results : sequence of int
        The parameters that are results.
    """

    def __init__(self, work: Work, positions: Sequence[int], results: Sequence[int]) -> None:
        self._positions, self._results = tuple(positions), tuple(results)
        # Keeps the launches without their arguments, so that the arguments are not kept alive.
        self._launches = [
            (one.kernel, one.grid, one.block, one.arguments[len(positions) :])
            for one in work.launches
        ]
        self._made = [
            (made.shape, made.dtype, "C" if made.flags.c_contiguous else "F", made.device_index)
            for made, place in zip(work.results, results, strict=True)
            if positions[place] < 0
        ]

    @property
    def loaded(self) -> bool:
        """Whether the kernels can still be launched."""
        return all(kernel.module.loaded for kernel, *_ in self._launches)

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        """Launch on the current stream; the results."""
        made = iter(
            [
                empty(shape, dtype, order=order, device=device)
                for shape, dtype, order, device in self._made
            ]
        )
        values = [args[place] if place >= 0 else next(made) for place in self._positions]
        for kernel, grid, block, rest in self._launches:
            kernel.launch(grid, block, *values, *rest)
        return [values[place] for place in self._results]


def repeated(
    work: Work, args: Sequence[Any], parameters: Sequence[str], results: Sequence[str]
) -> RepeatedCall | None:
    """The repetition of a call with these positional arguments.

    None where a kernel got a copy, a view or another type of an argument, or further memory.
    """
    inputs = [name for name in parameters if name not in results]
    order = parameters if len(args) > len(inputs) else inputs
    positions = [order.index(name) if name in order else -1 for name in parameters]
    if work.finish is not None:
        return None
    for launch in work.launches:
        for name, place, value in zip(parameters, positions, launch.arguments, strict=False):
            if value is not (args[place] if place >= 0 else work.values[name]):
                return None
        if any(isinstance(one, Array) for one in launch.arguments[len(parameters) :]):
            return None
    return RepeatedCall(work, positions, [parameters.index(name) for name in results])
