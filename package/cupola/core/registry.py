# cupola/core/registry.py - objects of higher modules that lower modules use, by name.
"""Objects that a lower module uses of a higher module, which imports the lower module.

`cupola/__init__.py` fills the table. The higher module is imported at the first use.
"""

from __future__ import annotations

from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Any

# The module of each name, without "cupola.".
homes: dict[str, str] = {}
# Threads that first use different names import one after another.
_importing = RLock()
_found: dict[str, Any] = {}


def load(module: str, name: str = "") -> ModuleType:
    """Import a module of cupola, named without "cupola.", for a name of it.

    Raises
    ------
    MissingFileError
        Where the module belongs to a part of cupola that is not installed.
    """
    try:
        with _importing:
            return import_module(f"cupola.{module}")
    except ModuleNotFoundError as error:
        from cupola.core.parts import missing_part, part_of

        part = part_of(error.name)
        if part is None:
            raise
        raise missing_part(f"cupola.{name or module}", part) from None


def registered(name: str) -> Any:
    """The object that a higher module has under this name."""
    if name not in _found:
        _found[name] = getattr(load(homes[name], name), name)
    return _found[name]
