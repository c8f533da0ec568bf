# cupola/tools/command/shipped_tables.py - tables of measurements in a package's folder or wheel.
"""Finds tables that launches ignore, for `cupola verify`."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

from cupola.declare.table_fit import FOLDER, stale
from cupola.image.manifest import Manifest


def stale_tables(place: Path) -> list[str]:
    """A line for each table that was measured on other code than that of its package's families.

    Parameters
    ----------
    place : Path
        A folder, or a wheel. Other files have no tables.

    Raises
    ------
    ImageError
        A manifest is malformed.
    """
    files = _files(place)
    found: list[str] = []
    for name, content in files.items():
        if PurePosixPath(name).parent.name != FOLDER and b'"families"' in content:
            folder = PurePosixPath(name).parent / FOLDER
            tables = {
                one: text for one, text in files.items() if PurePosixPath(one).parent == folder
            }
            found += stale(Manifest(content, name).head, name, tables.items())
    return list(dict.fromkeys(found))


def _files(place: Path) -> dict[str, bytes]:
    """The manifests of fatbins, and the tables, by their names below the place."""
    if place.is_dir():
        paths = {one.relative_to(place).as_posix(): one for one in sorted(place.rglob("*.*"))}
        return {name: paths[name].read_bytes() for name in _wanted(paths) if paths[name].is_file()}
    if not zipfile.is_zipfile(place):
        return {}
    with zipfile.ZipFile(place) as archive:
        return {name: archive.read(name) for name in _wanted(dict.fromkeys(archive.namelist()))}


def _wanted(names: dict[str, object]) -> list[str]:
    """The JSON files beside fatbins of the same stem, and those in a folder of tables."""
    return [
        name
        for name in names
        if name.endswith(".json")
        and (f"{name[:-5]}.fatbin" in names or PurePosixPath(name).parent.name == FOLDER)
    ]
