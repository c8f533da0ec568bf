# cupola/coverage/sources.py - which source files belong to a measurement of coverage.py.
"""Selects files by coverage.py's settings `source`, `source_pkgs`, `include` and `omit`."""

from __future__ import annotations

import os
import sysconfig
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coverage.files import relative_filename


class Selection:
    """The files that the settings of a measurement select.

    Without `source`, these are the files in the current folder that no installed package has. With
    it, they are those in its folders, and those beside a package that it names: in the folder that
    holds the package's folder.

    Parameters
    ----------
    config : coverage.types.TConfigurable
        The settings.
    """

    def __init__(self, config: Any) -> None:
        def words(option: str) -> list[str]:
            return list(config.get_option(option) or [])

        self._relative = bool(config.get_option("run:relative_files"))
        named = [*words("run:source"), *words("run:source_pkgs")]
        self._folders = [folder for name in named for folder in _folders(name)]
        self._patterns = words("run:include")
        self._omitted = words("run:omit")
        paths = sysconfig.get_paths()
        self._installed = [Path(paths[name]).resolve() for name in ("purelib", "platlib")]

    def includes(self, path: str) -> bool:
        """Whether coverage.py is to report on the file."""
        path = self._found(path)
        if not os.path.isfile(path) or self._matches(path, self._omitted):
            return False
        if self._patterns:
            return self._matches(path, self._patterns)
        place = Path(path).resolve()
        if self._folders:
            return any(place.is_relative_to(folder) for folder in self._folders)
        installed = any(place.is_relative_to(folder) for folder in self._installed)
        return place.is_relative_to(Path.cwd().resolve()) and not installed

    def name_of(self, path: str) -> str:
        """The name of the file in coverage.py's data."""
        path = os.path.realpath(self._found(path))
        return relative_filename(path) if self._relative else path

    def _found(self, path: str) -> str:
        """The file itself. Where its build's folder is gone: one of a folder of the project whose
        path ends alike, in the name of a folder and of the file at least.
        """
        if os.path.isfile(path):
            return path
        parts = Path(path).parts[1:]
        for base in (*self._folders, Path.cwd()):
            for first in range(len(parts) - 1):
                place = base.joinpath(*parts[first:])
                if place.is_file():
                    return str(place)
        return path

    @staticmethod
    def _matches(path: str, patterns: list[str]) -> bool:
        return any(
            fnmatch(path, pattern) or fnmatch(path, os.path.abspath(pattern))
            for pattern in patterns
        )


def _folders(name: str) -> list[Path]:
    if os.path.isdir(name):
        folder = Path(name).resolve()
        return [folder.parent if (folder / "__init__.py").is_file() else folder]
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return []
    if spec is None or not spec.submodule_search_locations:
        return []
    return [Path(folder).resolve().parent for folder in spec.submodule_search_locations]
