# cupola/tools/command/packages.py - finds installed packages without importing them.
"""Packages that commands take by name."""

from __future__ import annotations

from importlib.util import find_spec


def folders_of(name: str) -> list[str]:
    """The folders of an installed package; empty if there is none. Only packages around it are
    imported.
    """
    try:
        found = find_spec(name)
    except (ImportError, ValueError):
        return []
    return list(found.submodule_search_locations or ()) if found else []
