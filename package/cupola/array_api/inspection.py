# cupola/array_api/inspection.py - what this implementation of the standard can do.
"""``__array_namespace_info__``."""

from __future__ import annotations

from typing import Any

from cupola.array_api.data_types import COMPLEX, DTYPES, KINDS, REAL
from cupola.device import Device
from cupola.device import devices as all_devices
from cupola.exceptions import ArgumentValueError


class Information:
    """Capabilities, devices and data types."""

    def capabilities(self) -> dict[str, Any]:
        """Boolean masks and results whose shapes depend on data exist; axes are at most 64."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """The current device."""
        return Device()

    def devices(self) -> list[Device]:
        """All devices."""
        return list(all_devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The data types of new arrays by kind; the same on every device."""
        return {
            "real floating": REAL["float64"],
            "complex floating": COMPLEX["complex128"],
            "integral": DTYPES["int64"],
            "indexing": DTYPES["int64"],
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The data types by name: all of them, or only those of the given kinds."""
        if kind is None:
            return dict(DTYPES)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        found: dict[str, Any] = {}
        for one in kinds:
            if one not in KINDS:
                raise ArgumentValueError(f"dtypes: kind is one of {sorted(KINDS)}, got {one!r}")
            found |= KINDS[one]
        return found


def __array_namespace_info__() -> Information:  # noqa: N807 - the standard's name
    """Capabilities, devices and data types."""
    return Information()
