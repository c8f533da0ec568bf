# cupola/coverage/sources.py - which source files belong to a measurement of coverage.py.
"""Selects files by coverage.py's settings `source`, `source_pkgs`, `include` and `omit`."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coverage.files import relative_filename


class Selection:
    """The files that the settings of a measurement select.

    Without `source`, these are the files in the current folder that no installed package has. With
    it, they are those in its folders, and those of a package that it names. These are the files in
    the folder that holds the package's folder. Files of the current folder count as well, if it has
    a `pyproject.toml` or `setup.py`, and the package is in it or installed. Kernels often lie in
    `csrc/` beside `src/package/`.

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
        self.named = named
        self._folders = [folder for name in named for folder in _folders(name)]
        self._patterns = words("run:include")
        self._omitted = words("run:omit")
        paths = sysconfig.get_paths()
        self._installed = [Path(paths[name]).resolve() for name in ("purelib", "platlib")]
        self._project = self._project_of(named)

    def includes(self, path: str) -> bool:
        """Whether coverage.py is to report on the file."""
        path = self._source_file(path)
        if not os.path.isfile(path) or self.omits(path):
            return False
        if self._patterns:
            return self._matches(path, self._patterns)
        place = Path(path).resolve()
        if any(place.is_relative_to(folder) for folder in self._folders):
            return True
        if self._folders and not self._project:
            return False
        own = place.is_relative_to(Path.cwd().resolve())
        return own and not self._is_installed(place)

    def omits(self, path: str) -> bool:
        """Whether the setting `omit` leaves the file out."""
        return self._matches(self._source_file(path), self._omitted)

    def _is_installed(self, place: Path) -> bool:
        return any(place.is_relative_to(folder) for folder in self._installed)

    def _project_of(self, named: Iterable[str]) -> bool:
        """Whether the current folder is the project of a package in `source`."""
        here = Path.cwd().resolve()
        if not any((here / name).is_file() for name in ("pyproject.toml", "setup.py")):
            return False
        packages = [folder for name in named for folder in _package_folders(name)]
        return any(folder.is_relative_to(here) or self._is_installed(folder) for folder in packages)

    def name_of(self, path: str) -> str:
        """The name of the file in coverage.py's data."""
        path = os.path.realpath(self._source_file(path))
        return relative_filename(path) if self._relative else path

    def _source_file(self, path: str) -> str:
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
    return [folder.parent for folder in _package_folders(name)]


def _package_folders(name: str) -> list[Path]:
    """The folders of a package, by its name or by its folder's."""
    if os.path.isdir(name):
        folder = Path(name).resolve()
        return [folder] if (folder / "__init__.py").is_file() else []
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return []
    if spec is None or not spec.submodule_search_locations:
        return []
    return [Path(folder).resolve() for folder in spec.submodule_search_locations]
