# cupola/fft/cufft.py - cuFFT: its calls, and the plans that a device keeps.
"""cuFFT, found at the first transform."""

from __future__ import annotations

import functools
from collections import OrderedDict
from ctypes import POINTER, byref, c_int, c_longlong, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cupola.array import note_use
from cupola.creation import empty
from cupola.device import Device, is_cpu
from cupola.exceptions import ArgumentValueError, DriverError, Error
from cupola.stream import Stream
from cupola.toolkit import libraries
from cupola.toolkit.math_library import MathLibrary

if TYPE_CHECKING:
    from cupola.array import Array

FORWARD, INVERSE = -1, 1
MAX_PLANS = 32  # plans of a device at most
_LENGTHS = POINTER(c_longlong)
_DATA = [c_int, c_void_p, c_void_p]
_PROTOTYPES: dict[str, list[Any]] = {
    "cufftCreate": [POINTER(c_int)],
    "cufftDestroy": [c_int],
    "cufftSetAutoAllocation": [c_int, c_int],
    "cufftMakePlanMany64": [
        c_int, c_int, _LENGTHS, _LENGTHS, c_longlong, c_longlong, _LENGTHS, c_longlong, c_longlong,
        c_int, c_longlong, POINTER(c_size_t),
    ],
    "cufftSetWorkArea": [c_int, c_void_p],
    "cufftSetStream": [c_int, c_void_p],
    "cufftExecC2C": [*_DATA, c_int], "cufftExecZ2Z": [*_DATA, c_int],
    "cufftExecR2C": _DATA, "cufftExecD2Z": _DATA, "cufftExecC2R": _DATA, "cufftExecZ2D": _DATA,
}  # fmt: skip
# cufftType and the function, by the types of the operand and the result.
_KINDS = {
    ("F", "F"): (0x29, "cufftExecC2C"),
    ("f", "F"): (0x2A, "cufftExecR2C"),
    ("F", "f"): (0x2C, "cufftExecC2R"),
    ("D", "D"): (0x69, "cufftExecZ2Z"),
    ("d", "D"): (0x6A, "cufftExecD2Z"),
    ("D", "d"): (0x6C, "cufftExecZ2D"),
}


class Layout(NamedTuple):
    """Where the elements of a batch of transforms are; steps are in elements."""

    lengths: tuple[int, ...]  # of a transform's axes, in real elements where one side is real
    step: int  # between neighbours along the last axis
    input_distance: int  # between transforms
    output_distance: int
    batch: int


class Plan(NamedTuple):
    """A handle, and the bytes of its work area."""

    handle: int
    work: int


class Cufft(MathLibrary):
    """The loaded library.

    Parameters
    ----------
    found : libraries.Library
    """

    def __init__(self, found: libraries.Library) -> None:
        super().__init__(found, "cuFFT", _PROTOTYPES, "cuFFT 11")
        self._plans: dict[int, OrderedDict[tuple[int, Layout], Plan]] = {}

    def transform(self, source: Array, target: Array, layout: Layout, direction: int) -> None:
        """Queue transforms on the current stream.

        Parameters
        ----------
        source, target : Array
            Contiguous; a complex result of complex numbers may be in the memory of its source. From
            complex to real numbers, the source is overwritten.
        layout : Layout
        direction : int
            `FORWARD` or `INVERSE`; for real numbers it is that of their types.
        """
        device = target.device_index
        kind, name = _KINDS[source.dtype.char, target.dtype.char]
        more = (direction,) if source.dtype == target.dtype else ()
        for array in (source, target):
            note_use(array)
        with self.lock, Device(device):
            plan = self._plan(device, kind, layout)
            work = empty(max(plan.work, 1), np.uint8, device=device)
            self.call("cufftSetStream", plan.handle, Stream.current(device).handle)
            self.call("cufftSetWorkArea", plan.handle, work.ptr)
            self.call(name, plan.handle, source.ptr, target.ptr, *more)

    def plans(self, device: int) -> int:
        """How many plans a device has."""
        return len(self._plans.get(device, ()))

    def _plan(self, device: int, kind: int, layout: Layout) -> Plan:
        known = self._plans.setdefault(device, OrderedDict())
        key = kind, layout
        if key in known:
            known.move_to_end(key)
            return known[key]
        while len(known) >= MAX_PLANS:
            _, oldest = known.popitem(last=False)
            Device(device).synchronize()  # transforms that are queued use the plan's tables
            self.call("cufftDestroy", oldest.handle)
        made = known[key] = self._make(kind, layout)
        return made

    def _make(self, kind: int, layout: Layout) -> Plan:
        handle, work = c_int(), c_size_t()
        rank = len(layout.lengths)
        lengths = (c_longlong * rank)(*layout.lengths)
        # Lengths in memory other than those of the transform are needed for steps alone.
        embedded = lengths if layout.step != 1 else None
        self.call("cufftCreate", byref(handle))
        try:
            self.call("cufftSetAutoAllocation", handle.value, 0)
            self.call(
                "cufftMakePlanMany64", handle.value, rank, lengths,
                embedded, layout.step, layout.input_distance,
                embedded, layout.step, layout.output_distance, kind, layout.batch, byref(work),
            )  # fmt: skip
        except DriverError:
            self.call("cufftDestroy", handle.value)
            raise
        return Plan(handle.value, work.value)


def library(title: str, device: int) -> Cufft:
    """cuFFT for the current stream of a device.

    Raises
    ------
    MissingFileError
        Where it is not installed.
    Error
        On the CPU device.
    ArgumentValueError
        While the stream is being captured.
    """
    if is_cpu(device):
        raise Error(
            f"{title}: cuFFT computes transforms, on a GPU alone, and device {device} is the CPU "
            f"device: use NumPy on a copy of the array, numpy.{title}(x.get())"
        )
    found = _installed()
    if Stream.current(device).capturing:
        raise ArgumentValueError(
            f"{title}: the stream is being captured, and a graph could outlive the plan and the "
            "work area of cuFFT: call it outside of the capture"
        )
    return found


@functools.cache
def _installed() -> Cufft:
    return Cufft(libraries.load("cufft"))
