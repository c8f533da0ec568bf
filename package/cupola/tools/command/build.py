# cupola/tools/command/build.py - python -m cupola build.
"""Compiles the kernels of a project into its source tree."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from pathlib import Path

from cupola.build import tables
from cupola.build.error import BuildError
from cupola.exceptions import ArgumentValueError, LibraryError, MissingFileError

HELP = "compile the kernels of a project into its source tree"
EPILOG = """\
The project's pyproject.toml or setup.py names the kernels. Kernels that did not change are not
compiled again. With a setup.py, this is the same as `python setup.py build_kernels --inplace`.
Build systems other than setuptools call it with --into, for the tables of pyproject.toml."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the folder and --dry-run."""
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=Path(),
        help="the project's folder (default: this one)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the steps without running them"
    )
    others = parser.add_argument_group("for other build systems")
    others.add_argument("--into", type=Path, help="put the packages' files into this folder")
    others.add_argument(
        "--package", default="", help="the files of this package alone, in the folder itself"
    )
    others.add_argument("--work", type=Path, help="folder for intermediate files")
    others.add_argument("--depfile", type=Path, help="write a rule with all files that were read")
    others.add_argument(
        "--native", action="store_true", help="by default for this machine alone, not for a wheel"
    )
    others.add_argument(
        "--list", action="store_true", help="print the names of the files and make nothing"
    )


def run(options: argparse.Namespace) -> None:
    """Run setuptools' command in that folder, or build into another one."""
    folder = options.folder.absolute()
    if options.into is not None:
        _build_into(folder, options)
        return
    for name in ("package", "work", "depfile", "native", "list"):
        if getattr(options, name):
            raise ArgumentValueError(f"--{name} is for --into FOLDER, which is not given")
    if not any((folder / name).is_file() for name in ("pyproject.toml", "setup.py")):
        raise MissingFileError(f"there is no pyproject.toml and no setup.py in {folder}")
    if (folder / "pyproject.toml").is_file():
        tables.read(folder / "pyproject.toml")  # setuptools ends in a traceback
    try:
        import setuptools
        from setuptools.errors import BaseError
    except ImportError:
        raise LibraryError("builds need setuptools: pip install 'setuptools>=77'") from None
    sys.argv = ["setup.py", "--quiet", "build_kernels", "--inplace"]
    if options.dry_run:
        sys.argv.append("--dry-run")
    os.chdir(folder)
    sys.path.insert(0, str(folder))  # as Python does for a script that it runs
    try:
        if (folder / "setup.py").is_file():
            runpy.run_path("setup.py", run_name="__main__")
        else:
            setuptools.setup()
    except SystemExit as error:
        if "invalid command 'build_kernels'" not in str(error):
            raise
        raise BuildError(
            f"{folder} names no kernels: add a table [[tool.cupola.kernels]] to its pyproject.toml"
        ) from None
    except (ValueError, ImportError, BaseError) as error:  # errors of setuptools about the project
        if (folder / "setup.py").is_file():
            raise  # with the lines of setup.py
        raise BuildError(f"{folder / 'pyproject.toml'}: {error}") from None


def _build_into(folder: Path, options: argparse.Namespace) -> None:
    from cupola.build import project

    if options.dry_run:
        raise ArgumentValueError("--dry-run is for builds in the source tree, without --into")
    work = project.WORK if options.work is None else options.work.absolute()
    found = project.of_folder(folder, work=work, for_others=not options.native)
    into = project.Into(found, options.into, options.package)
    if options.list:
        for _, target in into.placed():
            print(target.relative_to(options.into).as_posix())
    else:
        into.make(options.depfile)
