# cupola/distributed/__init__.py - cupola's arrays and kernels in Dask.
"""Device arrays as blocks of ``dask.array``, and workers with a device each.

Each process of Dask finds the serializers and sizes of device arrays by an entry point, whether it
imports this package or not.
"""

from __future__ import annotations

import importlib
import importlib.util

_HOMES = {
    "Block": "blocks",
    "DevicePlugin": "plugin",
    "DeviceSpillBuffer": "spilling",
    "LocalDeviceCluster": "workers",
    "map_blocks": "blocks",
    "Published": "published",
    "publish": "published",
}

__all__ = [*_HOMES]

for _package in ("dask", "distributed"):
    if importlib.util.find_spec(_package) is None:
        raise ImportError(
            f"cupola.distributed needs {_package}, which is not installed: "
            "pip install 'cupola[dask]'"
        )


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'cupola.distributed' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"cupola.distributed.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
