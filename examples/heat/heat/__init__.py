# heat/__init__.py - plates on which heat spreads, on a GPU and without one.
"""How heat spreads over a plate.

::

    import numpy as np, heat

    start = np.zeros((512, 512), np.float32)
    start[200:300, 200:300] = 100
    after = heat.spread(start, 1000)             # NumPy in, NumPy out

    plate = heat.Plate(start)                    # or device memory, which stays there
    plate.advance(1000)
    plate.mean(slice(200, 300), slice(200, 300))
    plate.temperatures.get()
"""

from __future__ import annotations

import numpy as np

import cupola
from heat import _steps, kernels

__all__ = ["Plate", "spread"]

REGION = np.dtype([(name, np.int32) for name in ("row", "column", "rows", "columns")])
_KINDS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
_THREADS = 256


class Plate:
    """A plate and its temperatures, in the memory of a device.

    Parameters
    ----------
    temperatures : (rows, columns) array of float32 or float64
        A NumPy array, or device memory of any library.
    rate : float
        Diffusivity times the step of time over the square of the points' distance; 0 to 0.25,
        beyond which the scheme is not stable.
    copy : bool
        Whether device memory is copied. Without a copy it becomes memory of the plate, which
        overwrites it, and it must be C-contiguous.

    All work is queued on the current stream of cupola; only `mean` waits for it.
    """

    def __init__(self, temperatures, rate: float = 0.2, *, copy: bool = True) -> None:
        if not 0 <= rate <= 0.25:
            raise ValueError(f"rate is 0 to 0.25, got {rate}")
        if hasattr(temperatures, "__cuda_array_interface__"):
            self._now = cupola.asarray(temperatures)
            if copy:
                self._now = self._now.copy()
            elif not self._now.flags.c_contiguous:
                raise ValueError("temperatures are not C-contiguous: pass copy=True")
        else:
            self._now = cupola.to_device(np.ascontiguousarray(temperatures))
        if len(self._now.shape) != 2 or self._now.dtype not in _KINDS:
            raise TypeError(
                f"temperatures are two-dimensional float32 or float64, got {self._now.dtype} of "
                f"shape {self._now.shape}"
            )
        self._spare = cupola.empty_like(self._now)
        self.rate = rate
        self.steps = 0

    @property
    def temperatures(self) -> cupola.Array:
        """The temperatures as they are now, (rows, columns), in the device's memory."""
        return self._now

    def advance(self, steps: int = 1000) -> None:
        """Let time pass; queues that many launches, without Python's lock."""
        if steps < 0:
            raise ValueError(f"steps is 0 or more, got {steps}: time does not run back")
        kernel = self._kernel("advance")
        if _steps.advance(kernel, self._now, self._spare, self.rate, steps) % 2:
            self._now, self._spare = self._spare, self._now
        self.steps += steps

    def mean(self, rows: slice = slice(None), columns: slice = slice(None)) -> float:
        """The mean temperature of a part of the plate."""
        region = np.zeros((), REGION)
        for axis, part, first in ((0, rows, "row"), (1, columns, "column")):
            start, stop, step = part.indices(self._now.shape[axis])
            if step != 1 or stop <= start:
                raise ValueError(f"a part of the plate is wanted, got {part}")
            region[first], region[f"{first}s"] = start, stop - start
        blocks = min(int(region["rows"]), 64)
        sums = cupola.empty(blocks, np.float64)
        self._kernel("measure")[blocks, _THREADS, None, 8 * _THREADS](
            sums, self._now, self._now.shape[1], region[()]
        )
        return float(sums.get().sum() / (int(region["rows"]) * int(region["columns"])))

    def _kernel(self, name: str) -> cupola.Kernel:
        """``kernels.advance_float`` and its like: the one for these temperatures."""
        return getattr(kernels, f"{name}_{_KINDS[self._now.dtype]}")


def spread(temperatures, steps: int, rate: float = 0.2):
    """Temperatures after so many steps: a NumPy array of one, else a device array."""
    plate = Plate(temperatures, rate)
    plate.advance(steps)
    if hasattr(temperatures, "__cuda_array_interface__"):
        return plate.temperatures
    return plate.temperatures.get()
