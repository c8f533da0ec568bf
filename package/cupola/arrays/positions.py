# cupola/arrays/positions.py - arrays of indices as the kernels take them, checked.
"""`Positions`: what arrays of indices select along some axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import require_device
from cupola.arrays.element_types import require_native
from cupola.arrays.index_faults import page_of, site_of
from cupola.arrays.launching import launch
from cupola.arrays.layouts import broadcast_to, overlap
from cupola.creation import empty, to_device
from cupola.exceptions import ArgumentValueError
from cupola.kernel_constants import INDEX_MODE

RAISE, WRAP, CLIP, CHECKED = (INDEX_MODE[name] for name in ("RAISE", "WRAP", "CLIP", "CHECKED"))
MODES = {"raise": RAISE, "wrap": WRAP, "clip": CLIP}
Indices = Any  # a numpy.ndarray or an Array, of integers
# The number of indices up to which the host checks whether some are equal.
MOST_SORTED = 1 << 16


class Positions:
    """Indices along one or more axes, which broadcast to one shape.

    Indices on the host are checked there, at once. Those on a device are checked by the kernel that
    reads them, or by `check`. A later wait raises the error.

    Parameters
    ----------
    title : str
        The function, for errors.
    arrays : sequence of numpy.ndarray or Array
        Integers, an array for each axis.
    axes, sizes : sequence of int
        The axes' numbers, for errors, and their lengths.
    mode : int
        WRAP and CLIP are for one axis.
    different : bool
        The caller knows that no position occurs twice.
    """

    def __init__(
        self, title: str, arrays: Sequence[Indices], axes: Sequence[int], sizes: Sequence[int],
        device: int, mode: int = RAISE, *, different: bool = False,
    ) -> None:  # fmt: skip
        self.title, self.axes, self.sizes = title, tuple(axes), tuple(sizes)
        self.device, self.mode, self.different = device, mode, different
        self.shape: tuple[int, ...] = np.broadcast_shapes(*[one.shape for one in arrays])
        self.size = math.prod(self.shape)
        self.checked = False
        if mode != RAISE and self.size and not math.prod(sizes):
            raise IndexError(f"{title}: the axis has no elements, and {self.size} are indexed")
        if mode == RAISE and self.size:
            for one, axis, size in zip(arrays, axes, sizes, strict=True):
                if isinstance(one, Array) and not size:
                    raise IndexError(
                        f"{title}: {one.size} indices are out of bounds for axis {axis} with size 0"
                    )
        self.on_host = all(isinstance(one, np.ndarray) for one in arrays)
        self.arrays = [
            self._host(one, axis, size) if isinstance(one, np.ndarray) else self._kept(one)
            for one, axis, size in zip(arrays, axes, sizes, strict=True)
        ]

    def _host(self, indices: np.ndarray[Any, Any], axis: int, size: int) -> np.ndarray[Any, Any]:
        """Indices from 0 to size - 1."""
        found = indices.astype(np.int64)
        if self.mode == WRAP:
            return np.asarray(found % size) if size else found
        if self.mode == CLIP:
            return np.asarray(found.clip(0, size - 1))
        wrong = (indices < -size) | (indices >= size)
        if wrong.any():
            self._refuse(int(indices[wrong].flat[0]), axis, size)
        return np.where(found < 0, found + size, found)

    def _kept(self, indices: Array) -> Array:
        require_device(self.title, "indices", indices, self.device)
        require_native(self.title, "indices", indices)
        if indices.dtype not in (np.int32, np.int64):
            indices = indices.astype(np.int64)
        return indices if indices.flags.c_contiguous else indices.copy()

    def _refuse(self, index: int, axis: int, size: int) -> None:
        raise IndexError(
            f"{self.title}: index {index} is out of bounds for axis {axis} with size {size}"
        )

    def _unchecked(self) -> list[tuple[Array, int, int]]:
        """Indices on a device that may be out of range, with their axis and its length."""
        if self.mode != RAISE or self.checked:
            return []
        each = zip(self.arrays, self.axes, self.sizes, strict=True)
        return [
            (one, axis, size) for one, axis, size in each if isinstance(one, Array) and one.size
        ]

    def check(self) -> None:
        """Queue a check of indices that no kernel of an access reads."""
        for indices, axis, size in self._unchecked():
            launch(
                "index", f"index_check_{suffix(indices)}", self.device, indices.size, indices,
                indices.size, size, page_of(self.device), site_of(self.title, axis),
            )  # fmt: skip
        self.checked = True

    def report(self, mode: int, number: int = 0) -> tuple[Array, int] | tuple[None, int]:
        """The page and the site for a kernel that reads an array of indices in a mode."""
        if mode != RAISE:
            return None, 0
        self.checked = True
        return page_of(self.device), site_of(self.title, self.axes[number])

    def repeated(self, count: int) -> Positions:
        """The same positions for each of several words, along one more axis. There is one array."""
        one = self.arrays[0]
        shape = (*self.shape, count)
        array: Any
        if isinstance(one, np.ndarray):
            array = np.broadcast_to(np.broadcast_to(one, self.shape)[..., None], shape)
        else:
            array = broadcast_to(broadcast_to(one, self.shape).reshape(*self.shape, 1), shape)
        return Positions(self.title, [array], self.axes, self.sizes, self.device, self.mode)

    def copy_if_overlapping(self, target: Array) -> None:
        """Copy indices in the memory of an array that will be written, as in ``x[x] = values``."""
        self.arrays = [
            one.copy() if isinstance(one, Array) and overlap(target, one) else one
            for one in self.arrays
        ]

    def single(self, steps: Sequence[int], width: int) -> tuple[Array, int, int]:
        """A contiguous array of positions, the step of a position in words, and the mode."""
        if len(self.arrays) == 1:
            step = steps[0] // width
            if isinstance(self.arrays[0], np.ndarray):
                return self._sent(self._spread(0)), step, CHECKED
            return self._spread(0), step, self.mode
        return self._combined([step // width for step in steps]), 1, CHECKED

    def places(self) -> Array:
        """The index of each position in the flattened array, in C order, as int64."""
        weights = [math.prod(self.sizes[axis + 1 :]) for axis in range(len(self.sizes))]
        return self._combined(weights, wide=True)

    def _combined(self, weights: Sequence[int], *, wide: bool = False) -> Array:
        if self.on_host:
            numbers = range(len(weights))
            return self._sent(sum(self._spread(k) * weights[k] for k in numbers), wide)
        offsets: Array = empty(self.size, np.int64, device=self.device)
        for k, weight in enumerate(weights):
            index = self._spread(k)
            index = self._sent(index) if isinstance(index, np.ndarray) else index
            launch(
                "index", f"index_offsets_{suffix(index)}", self.device, self.size, index, offsets,
                self.size, self.sizes[k], weight, int(k == 0), *self.report(RAISE, k),
            )  # fmt: skip
        return offsets

    def _spread(self, number: int) -> Any:
        """One array's indices, broadcast, along one axis."""
        one = self.arrays[number]
        if isinstance(one, np.ndarray):
            return np.broadcast_to(one, self.shape).reshape(-1)
        spread = one if one.shape == self.shape else broadcast_to(one, self.shape).copy()
        return spread.reshape(-1)

    def _sent(self, indices: Any, wide: bool = False) -> Array:
        fits = indices.size == 0 or -(1 << 31) <= indices.min() <= indices.max() < 1 << 31
        host = indices.astype(np.int32 if fits and not wide else np.int64)
        sent: Array = to_device(host, device=self.device)
        return sent

    def all_different(self) -> bool:
        """Whether no position occurs twice; False where the host does not know."""
        if self.different or self.size == 1:
            return True
        if not self.on_host or self.size > MOST_SORTED:
            return False
        stacked = [self._spread(k) for k in range(len(self.arrays))]
        flat = np.ravel_multi_index(stacked, self.sizes) if self.size else stacked[0]
        return bool(np.unique(flat).size == self.size)


def suffix(indices: Array) -> str:
    """The part of a kernel's name for a type of indices."""
    return "i32" if indices.itemsize == 4 else "i64"


def mode_of(title: str, mode: Any) -> int:
    """The number of a mode's name."""
    if mode not in MODES:
        raise ArgumentValueError(
            f"{title}: argument mode is 'raise', 'wrap' or 'clip', got {mode!r}"
        )
    return MODES[mode]
