# setup.py - builds cupola: its libraries from csrc, its Cython modules from pyx.
"""cupola's build, by setuptools and cupola.build."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from setuptools import Command, Extension, setup
from setuptools.command.build_ext import build_ext as setuptools_build_ext
from setuptools.command.sdist import sdist as setuptools_sdist

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT / "package" / "cupola"
# Modules on the path of a launch. The others are compiled for size, which is a quarter less code;
# the instructions of their calls change by 4 % at most (benchmarks/instructions.py).
HOT_MODULES = {"launch", "kernel", "elementwise_call", "ufuncs", "graph_exec", "array_data"}
HOT_MODULES |= {"_argument", "_dimensions", "_foreign", "array_access", "eager_call"}
HOT_MODULES |= {"family_call", "variant_choice"}
OTHER_FLAGS = ("-Os",)
# Code that Cython would otherwise put into each module.
SHARED = "cupola._shared"


def load(name: str, path: Path, submodules: Path) -> ModuleType:
    """Import a file which is not on sys.path."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, path, submodule_search_locations=[str(submodules)]
        )
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def load_build() -> ModuleType:
    """Import cupola.build as _cupola.build: cupola cannot be imported before it is built."""
    if "_cupola" not in sys.modules:
        sys.modules["_cupola"] = ModuleType("_cupola")
        sys.modules["_cupola"].__path__ = [str(PACKAGE)]
    return importlib.import_module("_cupola.build")


# This file also runs to tell what the build requires, before any of that is installed: nothing
# here may look for a compiler.
build = load_build()
for module in (
    "ahead",
    "architectures",
    "declarations",
    "error",
    "executor",
    "image",
    "native",
    "older_drivers",
    "processors",
    "ptx",
    "step",
    "toolkit",
    "translator",
):
    importlib.import_module(f"_cupola.build.{module}")
recipe = load("_cupola_recipe", ROOT / "csrc" / "recipe.py", ROOT / "csrc")
VERSION = re.search(r'^__version__ = "(.+)"$', (PACKAGE / "version.py").read_text(), re.M)[1]


class BuildExt(setuptools_build_ext):
    """First the libraries, then the modules, which are linked to one of them."""

    def run(self) -> None:
        os.chdir(ROOT)
        try:
            self._build()
        except build.error.BuildError as error:
            raise SystemExit(f"cupola: {error}") from None
        if self.inplace:
            for output, source in self._mapping():
                build.native.place(output, source)

    def _steps(self, translator: object) -> list[object]:
        work = recipe.Recipe(build, ROOT, VERSION)
        toolkit = build.toolkit.find()
        chosen = build.architectures.choose(toolkit.architectures(), ptx=(build.architectures.PTX,))
        print(f"{toolkit}\nkernels for {chosen}", flush=True)
        if chosen.note:
            print(chosen.note, flush=True)
        steps = work.steps(toolkit, chosen)
        apart = recipe.Recipe(build, ROOT, VERSION, apart=True)
        recipe.packing.write_compile_commands(apart.steps(toolkit, chosen), ROOT)
        steps += work.declaration_steps()
        for ext in self.extensions:
            steps += self._module(work, ext, translator)
        return steps

    def _build(self) -> None:
        work = recipe.Recipe(build, ROOT, VERSION)
        with build.executor.locked(ROOT / recipe.BUILD):
            with build.translator.Translator(ROOT) as translator:
                build.executor.run(self._steps(translator), ROOT)
            for name, path in work.products().items():
                build.native.place(ROOT / path, self._output("lib", name))
            for source in work.headers():
                self._place(source, "include/cupola", "csrc/include/cupola")
            for name in work.declarations():
                self._place(recipe.DECLARATIONS / name, "", str(recipe.DECLARATIONS))
            build.native.place(ROOT / recipe.CONSTANTS, self._output(recipe.CONSTANTS.name))
            for ext in self.extensions:
                made = self._made(work, ext)
                build.native.place(ROOT / made, Path(self.build_lib) / self._filename(ext))

    def _module(self, work: recipe.Recipe, ext: Extension, translator: object) -> Iterator[object]:
        """Cython, compiler, linker."""
        import Cython

        made = self._made(work, ext)
        generated = recipe.BUILD / "cython" / f"{ext.name}.cpp"
        options = ["-3", "--cplus", "-X", "freethreading_compatible=True"]
        options += ["--module-name", ext.name]
        # Cython's own declarations: its version is in the key, its folder changes.
        ignored = (Path(os.path.realpath(Cython.__file__)).parent,)
        needed = []
        if ext.name == SHARED:
            yield translator.step(None, generated, options)
        else:
            # ext.sources is not used: without Cython, setuptools renames its .pyx files.
            source = Path("pyx", *ext.name.split(".")).with_suffix(".pyx")
            # Written by the build and included by a module.
            names = ("declarations.h", "driver.pxi", "element_types.pxi")
            written = [recipe.WRITTEN / name for name in names]
            needed += [path for path in written if build.native.uses(ROOT / source, path.name)]
            options += ["--shared", SHARED, "-Ipyx", f"-I{recipe.WRITTEN}"]
            yield translator.step(source, generated, options, inputs=needed, ignored=ignored)
        include = [f"-isystem{sysconfig.get_path('include')}", "-Icsrc/include"]
        include.append(f"-I{recipe.WRITTEN}")
        library = work.products()["libcupola.so"]
        # The id is given to every module; that its change makes them all again is its purpose.
        # Calls into libcupola.so go through one table, not through a second one of jumps.
        effort = () if ext.name.rpartition(".")[2] in HOT_MODULES else OTHER_FLAGS
        # Cython needs no newer C++, and the <cmath> of C++17 takes a tenth of a second more.
        flags = [*recipe.RELEASE, *effort, "-std=c++14", "-fno-plt", "-fwrapv"]
        flags += ["-Wno-unused-function", *include]
        flags.append(build.native.define("CUPOLA_BUILD_ID", work.build_id()))
        compiler = work.compiler
        folders = "../" * (ext.name.count(".") - 1)  # from the module's folder to the package's
        yield compiler.object(generated, made.with_suffix(".o"), flags, inputs=needed)
        yield compiler.shared_library(
            made,
            [made.with_suffix(".o")],
            flags=[str(library), f"-Wl,-rpath,$ORIGIN/{folders}lib"],
            inputs=[library],
            complete=False,
        )

    def _filename(self, ext: Extension) -> str:
        return self.get_ext_filename(self.get_ext_fullname(ext.name))

    def _made(self, work: recipe.Recipe, ext: Extension) -> Path:
        return recipe.BUILD / "python" / work.compiler.folder / self._filename(ext)

    def _output(self, *parts: str) -> Path:
        return Path(self.build_lib, "cupola", *parts)

    def _place(self, source: Path, target: str, base: str) -> None:
        build.native.place(ROOT / source, self._output(target, str(source.relative_to(base))))

    def _mapping(self) -> Iterator[tuple[Path, Path]]:
        """(what is installed, its copy in the source folder where that is in use)."""
        work = recipe.Recipe(build, ROOT, VERSION)
        places = [f"lib/{name}" for name in work.products()]
        headers = [path.relative_to("csrc/include/cupola") for path in work.headers()]
        places += [f"include/cupola/{path}" for path in headers]
        places += [str(name) for name in work.declarations()]
        places.append(recipe.CONSTANTS.name)
        for place in places:
            yield self._output(place), PACKAGE / place
        for ext in self.extensions:
            name = self._filename(ext)
            yield Path(self.build_lib, name), ROOT / "package" / name

    def get_outputs(self) -> list[str]:
        return [str(output) for output, _ in self._mapping()]

    def get_output_mapping(self) -> dict[str, str]:
        if not self.inplace:
            return {}
        return {str(output): str(source) for output, source in self._mapping()}

    def get_source_files(self) -> list[str]:
        return [source for ext in self.extensions for source in ext.sources]


class CompileCommands(Command):
    """Writes build/compile_commands.json, for clang-tidy and editors, and builds nothing."""

    description = "write build/compile_commands.json"
    user_options = []  # noqa: RUF012 - the form that setuptools wants

    def initialize_options(self) -> None: ...

    def finalize_options(self) -> None: ...

    def run(self) -> None:
        os.chdir(ROOT)
        try:
            self.get_finalized_command("build_ext")._steps(build.translator.Translator(ROOT))
        except build.error.BuildError as error:
            raise SystemExit(f"cupola: {error}") from None


class Sdist(setuptools_sdist):
    """A source distribution with zstd's sources, so that an installation of it downloads none."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        try:
            archive = recipe.codec.archive(build, ROOT)
        except build.error.BuildError as error:
            raise SystemExit(f"cupola: {error}") from None
        shutil.copy(archive, Path(base_dir, "csrc", archive.name))


def modules() -> list[Extension]:
    """One extension a .pyx file, and what they share."""
    sources = [path.relative_to(ROOT) for path in sorted((ROOT / "pyx").rglob("*.pyx"))]
    return [
        Extension(SHARED, [], language="c++"),
        *(
            Extension(".".join(path.with_suffix("").parts[1:]), [str(path)], language="c++")
            for path in sources
        ),
    ]


if __name__ == "__main__":
    setup(
        ext_modules=modules(),
        cmdclass={
            "build_ext": BuildExt,
            "compile_commands": CompileCommands,
            "sdist": Sdist,
        },
    )
