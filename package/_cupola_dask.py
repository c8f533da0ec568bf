# _cupola_dask.py - the entry point of dask.sizeof, which each process of Dask loads.
"""Registers device arrays with Dask. Nothing of cupola is imported before an array is met."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

_SERIALIZERS = "distributed.protocol.cuda"
_LOOKUPS = "dask.array.dispatch"


def register(sizeof: Any) -> None:
    """Register the size of arrays now, and the rest when its modules of Dask are imported."""
    sizeof.register_lazy("cupola", _register_sizeof)
    _after_import(_SERIALIZERS, _serializers_are_there)
    _after_import(_LOOKUPS, _lookups_are_there)


def _register_sizeof() -> None:
    from cupola.distributed import sizeof

    sizeof.register()


def _register_serializers() -> None:
    from cupola.distributed import serialization

    serialization.register()


def _register_lookups() -> None:
    from cupola.distributed import dask_array

    dask_array.register()


def _serializers_are_there(module: Any) -> None:
    from distributed.protocol.serialize import dask_deserialize, dask_serialize

    both = (module.cuda_serialize, module.cuda_deserialize)
    for dispatch in (*both, dask_serialize, dask_deserialize):
        dispatch.register_lazy("cupola", _register_serializers)


def _lookups_are_there(module: Any) -> None:
    for name in ("divide", "einsum", "empty", "nannumel", "numel", "percentile"):
        getattr(module, f"{name}_lookup").register_lazy("cupola", _register_lookups)
    module.to_numpy_dispatch.register_lazy("cupola", _register_lookups)


class _ActingLoader(importlib.abc.Loader):
    """Loads a module by its own loader, then calls a function with it."""

    def __init__(self, loader: Any, action: Callable[[Any], None]) -> None:
        self.loader, self.action = loader, action

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.action(module)


class _AfterImport(importlib.abc.MetaPathFinder):
    """Finds one module as the other finders do, and gives it an `_ActingLoader`."""

    def __init__(self, name: str, action: Callable[[Any], None]) -> None:
        self.name, self.action = name, action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _ActingLoader(spec.loader, self.action)
        return spec


def _after_import(name: str, action: Callable[[Any], None]) -> None:
    """Call a function with a module: now if it is imported, else right after its import."""
    module = sys.modules.get(name)
    if module is not None:
        action(module)
    else:
        sys.meta_path.insert(0, _AfterImport(name, action))
