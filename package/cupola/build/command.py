# package/cupola/build/command.py - setuptools' command that builds a package's kernel libraries.
"""``build_kernels``, a part of setuptools' ``build``."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from setuptools import Command, Distribution

from ..image.processor_levels import LEVELS
from . import executor, families, host_library, library, source_distribution
from .error import BuildError
from .kernels import Kernels
from .project import Project
from .step import Step

NAME = "build_kernels"
# Files of a wheel have this time, in seconds since 1970, so that equal trees give equal wheels.
# Hatchling writes the same time: 2020-02-02.
EPOCH = "1580601600"


class BuildKernels(Command):
    """Compiles the project's kernels, into the build's folder or beside the sources."""

    description = "compile CUDA kernels with their manifests"
    user_options: ClassVar[list[tuple[str, str | None, str]]] = [
        ("build-lib=", "d", "folder for the products"),
        ("inplace", "i", "put the products into the packages' own folders"),
        ("dry-run", "n", "show the steps without running them"),
    ]
    boolean_options: ClassVar[list[str]] = ["inplace", "dry-run"]
    editable_mode = False

    def initialize_options(self) -> None:
        """Set the defaults; setuptools calls it first."""
        self.build_lib: Any = None
        self.build_base: Any = None
        self.inplace = False
        self.dry_run = False

    def finalize_options(self) -> None:
        """Complete the options; setuptools calls it before `run`."""
        self.set_undefined_options(
            "build", ("build_lib", "build_lib"), ("build_base", "build_base")
        )

    def run(self) -> None:
        """Make stale products and put them in place."""
        try:
            self._run()
        except BuildError as error:  # the compiler's message, without a traceback
            raise SystemExit(str(error)) from None

    @property
    def root(self) -> Path:
        """The project's folder."""
        return Path(self.distribution.src_root or os.curdir).absolute()

    @property
    def libraries(self) -> list[Kernels]:
        """The project's kernel libraries."""
        try:
            return [kernels.expand(self.root) for kernels in known(self.distribution)]
        except BuildError as error:
            raise SystemExit(str(error)) from None

    def _run(self) -> None:
        project = self._project()
        if project.for_others:
            os.environ.setdefault("SOURCE_DATE_EPOCH", EPOCH)  # bdist_wheel and compilers read it
        project.require_names()
        planned = [(kernels, self._steps(project, kernels)) for kernels in project.libraries]
        if self.dry_run or getattr(self.distribution, "dry_run", False):
            for one in executor.stale([one for _, of in planned for one in of], self.root):
                print(shlex.join(one.command) or f"{one.label} in {one.target.parent}")
            return
        inplace = self.inplace or self.editable_mode
        places = self._products(project)
        project.make(planned, ((made, source if inplace else out) for made, out, source in places))
        for kernels, of_one in planned:
            self._tell_lacking(kernels, of_one)

    def _project(self) -> Project:
        metadata = self.distribution.metadata
        return Project(
            self.root,
            self.libraries,
            self._base(),
            f"{metadata.get_name()} {metadata.get_version()}",
            for_others="bdist_wheel" in self.distribution.commands,
        )

    def _steps(self, project: Project, kernels: Kernels) -> list[Step]:
        folder = self._package_folder(kernels)
        if not folder.is_dir():
            raise kernels.wrong("library", kernels.library, f"there is no package {folder}")
        other = library.in_the_way(kernels, folder)
        if other is not None:
            text = f"{other} exists and was not made by cupola.build: move one of them"
            raise kernels.wrong("library", kernels.library, text)
        if kernels.library in self._extensions():
            text = "there is an extension module of that name"
            raise kernels.wrong("library", kernels.library, text)
        return project.steps(kernels)

    def _extensions(self) -> list[str]:
        """Full names of the project's extension modules."""
        package = self.distribution.ext_package
        named = (getattr(ext, "name", "") for ext in self.distribution.ext_modules or ())
        return [f"{package}.{name}" if package else name for name in named]

    def _tell_lacking(self, kernels: Kernels, steps: list[Step]) -> None:
        shipped = self.get_source_files()
        for path in source_distribution.lacking(steps, self.root, self._base(), shipped):
            print(
                f"warning: {kernels.library} includes {path}, which a source distribution lacks: "
                f"name its folder in include = [...], or the file in MANIFEST.in",
                flush=True,
            )

    def _base(self) -> Path:
        base = Path(self.build_base)
        return base.relative_to(self.root) if base.is_relative_to(self.root) else base

    def _package_folder(self, kernels: Kernels) -> Path:
        found = self.get_finalized_command("build_py").get_package_dir(kernels.package)
        return self.root / found

    def _products(self, project: Project) -> Iterator[tuple[Path, Path, Path]]:
        """(product, its place in a build, its place beside the sources)."""
        for kernels in project.libraries:
            built = Path(self.build_lib, *kernels.package.split("."))
            for made in project.products(kernels):
                yield made, built / made.name, self._package_folder(kernels) / made.name

    def host_libraries(self) -> Iterator[tuple[Kernels, Path]]:
        """The libraries of host launchers, and the folder in which a build makes each."""
        project = self._project()
        for kernels in project.libraries:
            if kernels.host:
                yield kernels, self.root / project.folder(kernels)

    def get_outputs(self) -> list[str]:
        """The installed files."""
        return [str(output) for _, output, _ in self._products(self._project())]

    def get_output_mapping(self) -> dict[str, str]:
        """For an editable build: each installed file and the file that replaces it."""
        if not (self.inplace or self.editable_mode):
            return {}
        return {str(out): str(source) for _, out, source in self._products(self._project())}

    def beside_sources(self) -> Iterator[Path]:
        """The products that builds have put into the packages' own folders."""
        every = self.libraries
        for kernels in every:
            folder = self._package_folder(kernels)
            if library.made_here(kernels, folder):
                yield from library.products(kernels, folder, LEVELS)
            yield from library.outdated(every, folder, ())

    def get_source_files(self) -> list[str]:
        """The files that a source distribution must contain."""
        found = []
        for kernels in self.libraries:
            found += [*kernels.sources, *kernels.headers(self.root)]
            found += ["pyproject.toml"] if kernels.makers else []
        for folder in {self._package_folder(one) for one in self.libraries if one.families}:
            found += [str(path.relative_to(self.root)) for path in families.tables_in(folder)]
        return list(dict.fromkeys(found))


def known(distribution: Distribution) -> list[Kernels]:
    """The kernel libraries that were added to a project."""
    return vars(distribution).setdefault("_cupola_kernels", [])


def add(distribution: Distribution, given: Iterable[Kernels]) -> None:
    """Add kernel libraries to a project's build."""
    known(distribution).extend(given)
    if any(kernels.host for kernels in known(distribution)):
        distribution.has_ext_modules = lambda: True  # the wheel is a platform's
    if NAME in distribution.cmdclass:
        return
    distribution.cmdclass[NAME] = BuildKernels
    for name, wrap in (
        ("build", _with_kernels),
        ("build_ext", _in_place),
        ("build_py", _with_tuning),
        ("install_lib", _installed),
        ("sdist", partial(source_distribution.without_products, kernels_command=NAME)),
    ):
        distribution.cmdclass[name] = wrap(distribution.get_command_class(name))


def _with_kernels(base: type[Any]) -> type[Any]:
    # A separate list: the class's is shared by all projects of this process.
    parts = list(base.sub_commands)
    # Before build_ext: an extension may contain an image.
    at = next((i for i, (name, _) in enumerate(parts) if name == "build_ext"), len(parts))
    parts.insert(at, (NAME, lambda build: bool(known(build.distribution))))

    class Build(base):  # type: ignore[misc]
        """``build``, with kernels."""

        sub_commands = parts

    Build.__name__ = base.__name__
    return Build


def _with_tuning(base: type[Any]) -> type[Any]:
    class BuildPy(base):  # type: ignore[misc]
        """``build_py`` that installs the tables of tuned families as data of their package."""

        def find_data_files(self, package: str, src_dir: str) -> list[str]:
            found = [*super().find_data_files(package, src_dir), *self._tables(package, src_dir)]
            return list(dict.fromkeys(found))

        def _filter_build_files(self, files: Iterable[str], egg_info: Any) -> Iterator[str]:
            # setuptools warns of files in folders that could be packages, as tuning is.
            packages = self.packages or ()
            own = {
                file for one in packages for file in self._tables(one, self.get_package_dir(one))
            }
            for file in super()._filter_build_files(files, egg_info):
                if os.path.normpath(file) not in own:
                    yield file

        def _tables(self, package: str, folder: str) -> list[str]:
            """The tables of a package with families."""
            if not any(one.families and one.package == package for one in known(self.distribution)):
                return []
            return [str(path) for path in families.tables_in(Path(folder))]

    BuildPy.__name__ = base.__name__
    return BuildPy


def _in_place(base: type[Any]) -> type[Any]:
    class BuildExt(base):  # type: ignore[misc]
        """``build_ext --inplace``, which is not part of ``build``, with kernels; host libraries
        that extension modules name are found.
        """

        def run(self) -> None:
            command = self.distribution.get_command_obj(NAME)
            command.inplace = command.inplace or self.inplace
            made = self.get_finalized_command(NAME).host_libraries()
            linked = host_library.link_extensions(self.extensions or (), made)
            if self.inplace or linked:
                self.run_command(NAME)
            if "bdist_wheel" in self.distribution.commands:
                for extension in self.extensions or ():
                    extension.extra_compile_args = [*extension.extra_compile_args, *_maps()]
            super().run()

    BuildExt.__name__ = base.__name__
    return BuildExt


def _maps() -> list[str]:
    """Options that keep two folders, which can be temporary, out of debug information: the folder
    of the project, and the folder of the packages of an isolated build.
    """
    packages = Path(__file__).resolve().parents[2]
    folders = {os.getcwd(): ".", str(packages): "site-packages"}
    return [f"-ffile-prefix-map={folder}={name}" for folder, name in folders.items()]


def _installed(base: type[Any]) -> type[Any]:
    class InstallLib(base):  # type: ignore[misc]
        """setuptools before 80 does not make an egg from the output of ``build``."""

        def build(self) -> None:
            super().build()
            if not self.skip_build:
                self.run_command(NAME)

        def get_outputs(self) -> list[str]:
            made = self.get_finalized_command(NAME)
            folder = Path(made.build_lib)
            inside = [Path(path).relative_to(folder) for path in made.get_outputs()]
            return [*super().get_outputs(), *(str(Path(self.install_dir, p)) for p in inside)]

    InstallLib.__name__ = base.__name__
    return InstallLib
