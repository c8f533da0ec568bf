# cupola/command/build.py - python -m cupola build.
"""The kernels of a project, compiled beside its sources."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from pathlib import Path

from cupola.build.error import BuildError
from cupola.exceptions import LibraryError, MissingFileError

HELP = "compile a project's kernels beside its sources"
EPILOG = """\
For a project whose pyproject.toml (or setup.py) names kernels; what did not change is not compiled
again. The same as `python setup.py build_kernels --inplace`, where there is a setup.py."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where, and whether at all."""
    parser.add_argument(
        "folder", type=Path, nargs="?", default=Path(), help="the project's (default: this one)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be done")


def run(options: argparse.Namespace) -> None:
    """Run setuptools' command in that folder."""
    folder = options.folder.absolute()
    if not any((folder / name).is_file() for name in ("pyproject.toml", "setup.py")):
        raise MissingFileError(f"there is no pyproject.toml and no setup.py in {folder}")
    try:
        import setuptools
    except ImportError:
        raise LibraryError("builds need setuptools: pip install 'setuptools>=77'") from None
    sys.argv = ["setup.py", "--quiet", "build_kernels", "--inplace"]
    if options.dry_run:
        sys.argv.append("--dry-run")
    os.chdir(folder)
    sys.path.insert(0, str(folder))  # as where Python runs it
    try:
        if (folder / "setup.py").is_file():
            runpy.run_path("setup.py", run_name="__main__")
        else:
            setuptools.setup()
    except SystemExit as error:
        if "invalid command 'build_kernels'" not in str(error):
            raise
        raise BuildError(
            f"{folder} names no kernels: a table [[tool.cupola.kernels]] in its pyproject.toml does"
        ) from None
