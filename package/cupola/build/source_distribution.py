# package/cupola/build/source_distribution.py - kernel libraries in source distributions.
"""Source distributions: without the products of builds, with all files that builds read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from setuptools.command.egg_info import FileList
from setuptools.command.sdist import walk_revctrl

from .step import Step, read_by


def without_products(base: type[Any], kernels_command: str) -> type[Any]:
    """``sdist`` without the products that the command has put beside the sources."""

    class Sdist(base):  # type: ignore[misc]
        """``sdist`` without built kernels: they are built from the source distribution."""

        def make_distribution(self) -> None:
            command = self.get_finalized_command(kernels_command)
            made = set(command.beside_sources())
            files = self.filelist.files
            self.filelist.files = [file for file in files if command.root / file not in made]
            super().make_distribution()

    Sdist.__name__ = base.__name__
    return Sdist


def lacking(steps: Iterable[Step], root: Path, work: Path, shipped: Iterable[str]) -> list[str]:
    """The project's files that the compiler read but a source distribution lacks.

    A source distribution has the ``shipped`` files and those that MANIFEST.in or version control
    names. Files in the folder ``work`` are products.
    """
    read = set()
    for name in read_by(steps, root):
        path = Path(os.path.normpath(root / name))
        if path.is_relative_to(root) and not path.is_relative_to(root / work):
            read.add(path.relative_to(root).as_posix())
    found = read - set(shipped)
    return sorted(found - _named(root)) if found else []


def _named(root: Path) -> set[str]:
    """The files that a project names for its source distribution."""
    files = FileList()
    template = root / "MANIFEST.in"
    text = template.read_text() if template.is_file() else ""
    for line in text.replace("\\\n", " ").splitlines():
        words = line.partition("#")[0].strip()
        if words:
            files.process_template_line(words)
    return {Path(os.path.normpath(file)).as_posix() for file in [*files.files, *walk_revctrl()]}
