# cupola/families.py - the families of cupola's own kernels.
"""The variants of cupola's own kernels, which `cupola.convolve`, ``a @ b`` and others launch.

``python -m cupola tune cupola`` measures them, and ``cupola.families.NAME.explain(...)`` takes the
arguments of the kernel. Without the part ``arrays`` of cupola, those of arrays are missing.
"""

from __future__ import annotations

from typing import Any

from cupola.tuning.shipped import convolve_3, convolve_5, convolve_7, mandelbrot

__all__ = ["convolve_3", "convolve_5", "convolve_7", "mandelbrot"]


def _of_arrays() -> dict[str, Any]:
    from cupola.core.registry import load
    from cupola.exceptions import MissingFileError

    try:
        module = load("arrays.families")
    except MissingFileError:
        return {}
    return {name: getattr(module, name) for name in module.__all__}


def __getattr__(name: str) -> Any:
    found = {} if name.startswith("_") else _of_arrays()
    if name not in found:
        raise AttributeError(f"cupola.families has no family {name}: known are {__dir__()}")
    return found[name]


def __dir__() -> list[str]:
    return sorted({*__all__, *_of_arrays()})
