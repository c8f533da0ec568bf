# cupola/families.py - the families of cupola's own kernels.
"""The variants of cupola's own kernels, which `cupola.convolve`, ``a @ b`` and others launch.

``python -m cupola tune cupola`` measures them, and ``cupola.families.NAME.explain(...)`` takes the
arguments of the kernel. Without the part ``arrays`` of cupola, those of arrays are missing.
"""

from __future__ import annotations

from typing import Any

from cupola.tuning.family import Family
from cupola.tuning.shipped import convolve_3 as convolve_3
from cupola.tuning.shipped import convolve_5 as convolve_5
from cupola.tuning.shipped import convolve_7 as convolve_7
from cupola.tuning.shipped import mandelbrot as mandelbrot


def _of(members: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in members.items() if isinstance(one, Family)}


def _of_arrays() -> dict[str, Any]:
    from cupola.core.registry import load
    from cupola.exceptions import MissingFileError

    try:
        return _of(vars(load("arrays.families")))
    except MissingFileError:
        return {}


def __getattr__(name: str) -> Any:
    found = {} if name.startswith("_") else _of_arrays()
    if name not in found:
        raise AttributeError(
            f"cupola.families has no family {name}: known are {', '.join(__dir__())}"
        )
    return found[name]


def __dir__() -> list[str]:
    return sorted({*_of(globals()), *_of_arrays()})
