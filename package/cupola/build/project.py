# package/cupola/build/project.py - builds all kernel libraries of a project.
"""The kernel libraries of a project: their files, targets and folders.

Each build system uses this: setuptools by `cupola.build.command`, Hatchling by ``_cupola_hatch``,
CMake and Meson by ``python -m cupola build --into``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..declare.table_fit import stale
from . import (
    ahead,
    architectures,
    depfile,
    executor,
    families,
    library,
    processors,
    source_entries,
    tables,
    toolkit,
)
from .error import BuildError
from .kernels import Kernels
from .native import place
from .step import Step, read_by

WORK = Path("build")  # in the project's folder, for intermediate files


@dataclass(frozen=True)
class Project:
    """The kernel libraries of a project.

    Parameters
    ----------
    root : Path
        The project's folder.
    libraries : sequence of Kernels
        With patterns replaced by files.
    work : Path
        The folder of intermediate files, relative to `root` or absolute.
    title : str
        The distribution and its version, for manifests.
    for_others : bool
        Whether the products are for other machines: machine code for all targets by default.
    """

    root: Path
    libraries: Sequence[Kernels]
    work: Path = WORK
    title: str = ""
    for_others: bool = False

    def require_names(self) -> None:
        """Refuse two libraries of one name."""
        names = [kernels.library for kernels in self.libraries]
        for name in names:
            if names.count(name) > 1:
                raise BuildError(f"there are two kernel libraries {name!r}")

    def folder(self, kernels: Kernels) -> Path:
        """The folder in which a library is made, relative to the folder of the project."""
        return self.work / "kernels" / kernels.library

    def steps(self, kernels: Kernels) -> list[Step]:
        """The steps that make a library; prints its targets and the compiler."""
        compiler = toolkit.find()
        try:
            chosen = architectures.choose(
                compiler.architectures(),
                otherwise=self._otherwise(kernels),
                ptx=kernels.ptx,
                source_targets=kernels.source_targets,
                general=not source_entries.all_have_own(kernels),
            )
        except BuildError as error:
            raise BuildError(f"kernels {kernels.library}: {error}; by {compiler}") from None
        if not kernels.variants_alone:  # these are for the same targets as the declared library
            print(f"{kernels.library}: {chosen}, by {compiler}", flush=True)
            if chosen.note:
                print(chosen.note, flush=True)
        return library.steps(
            kernels,
            compiler,
            chosen,
            self.root,
            self.folder(kernels),
            package=self.title,
            levels=self._levels(kernels),
        )

    def products(self, kernels: Kernels) -> list[Path]:
        """The paths at which the build makes the files of a library that are installed."""
        return library.products(kernels, self.folder(kernels), self._levels(kernels))

    def make(
        self,
        planned: Iterable[tuple[Kernels, Sequence[Step]]],
        placed: Iterable[tuple[Path, Path]],
    ) -> None:
        """Run stale steps, put each product into its place, remove those that the tables no longer
        name, and print unusual names.

        Parameters
        ----------
        planned : iterable of (Kernels, sequence of Step)
        placed : iterable of (Path, Path)
            Each product, and the path to which it is copied.
        """
        planned, placed = list(planned), list(placed)
        with executor.locked(self.root / self.work / "kernels"):
            executor.run([one for _, steps in planned for one in steps], self.root)
            # Before new modules replace those that list what earlier builds made.
            outdated = library.outdated_beside(self.libraries, [target for _, target in placed])
            for made, target in placed:
                place(self.root / made, target)
            for path in outdated:
                path.unlink()
        for kernels, _ in planned:
            for line in library.notes(kernels, self.root, self.root / self.folder(kernels)):
                print(line, flush=True)
            for line in self._stale_tables(kernels):
                print(f"warning: {line}", flush=True)

    def _stale_tables(self, kernels: Kernels) -> list[str]:
        """Lines about tables of the package that were measured on other code."""
        if not kernels.families:
            return []
        # The package's folder in the source tree, with or without a folder around all packages.
        roots = [self.root, *(one for one in self.root.iterdir() if one.name != WORK.name)]
        parts = kernels.package.split(".")
        tables = {path for root in roots for path in families.tables_in(root.joinpath(*parts))}
        manifest = self.root / self.folder(kernels) / f"{kernels.name}.json"
        named = [(str(one.relative_to(self.root)), one.read_bytes()) for one in sorted(tables)]
        return stale(json.loads(manifest.read_text()), str(manifest), named)

    def _otherwise(self, kernels: Kernels) -> str:
        return kernels.architectures or ("all" if self.for_others else "native")

    def _levels(self, kernels: Kernels) -> tuple[str, ...]:
        """The levels of the host for which machine code for the CPU device is made."""
        if kernels.host or kernels.lto:
            return ()
        hosts = architectures.hosts(otherwise=self._otherwise(kernels))
        if not hosts or not ahead.possible(asked=hosts == architectures.CPU):
            return ()
        return processors.levels(hosts)


def of_folder(root: Path, *, work: Path = WORK, for_others: bool = True) -> Project:
    """The project of a pyproject.toml.

    Raises
    ------
    BuildError
        The folder has no pyproject.toml, or that file names no kernels.
    """
    path = root / "pyproject.toml"
    values, text = tables.read(path)
    found = tables.libraries(values.get("tool", {}).get("cupola", {}), text)
    if not found:
        raise BuildError(f"{root} names no kernels: add a table [[tool.cupola.kernels]] to {path}")
    about = values.get("project", {})
    title = f"{about.get('name', '')} {about.get('version', '')}".strip()
    return Project(root, [one.expand(root) for one in found], work, title, for_others)


@dataclass(frozen=True)
class Into:
    """The products of a project in a folder, from which another build system installs them.

    Parameters
    ----------
    project : Project
    folder : Path
        The files of the package ``a.b`` are in its folder ``a/b``.
    package : str
        If given, only the files of this package are made, in the folder itself.
    """

    project: Project
    folder: Path
    package: str = ""

    def chosen(self) -> list[Kernels]:
        """The libraries that this object makes."""
        found = [k for k in self.project.libraries if self.package in ("", k.package)]
        if not found:
            known = ", ".join(sorted({kernels.package for kernels in self.project.libraries}))
            raise BuildError(f"there are kernels of {known}, none of the package {self.package!r}")
        return found

    def placed(self) -> Iterator[tuple[Path, Path]]:
        """(product, its place)."""
        for kernels in self.chosen():
            inside = () if self.package else kernels.package.split(".")
            for made in self.project.products(kernels):
                yield made, self.folder.joinpath(*inside, made.name)

    def make(self, rule: Path | None = None) -> None:
        """Make the files. ``rule`` receives a rule for make or Ninja, which lists all files that
        were read.
        """
        self.project.require_names()
        planned = [(kernels, self.project.steps(kernels)) for kernels in self.chosen()]
        placed = list(self.placed())
        self.project.make(planned, placed)
        for _, target in placed:  # so that a build system finds them newer than their sources
            target.touch()
        if rule is not None:
            read = {str(self.project.root / "pyproject.toml")}
            for kernels, steps in planned:
                names = {*kernels.sources, *read_by(steps, self.project.root)}
                read |= {str(self.project.root / name) for name in names}
            made = self.project.root / self.project.work
            depfile.write_rule(
                rule,
                placed[0][1],
                sorted(name for name in read if not Path(name).is_relative_to(made)),
            )
