# cupola/image/installed.py - finds the folders of installed packages, without importing them.
"""The folders of an installed package, by its name."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def folders_of(name: str) -> list[str]:
    """The folders of an installed package; empty if there is none. Nothing of it is imported."""
    first, *rest = name.split(".")
    try:
        found = find_spec(first)
    except (ImportError, ValueError):
        return []
    places = list(found.submodule_search_locations or ()) if found else []
    folders = [str(Path(place).joinpath(*rest)) for place in places]
    return folders if not rest else [one for one in folders if Path(one).is_dir()]
