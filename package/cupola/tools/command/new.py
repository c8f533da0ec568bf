# cupola/tools/command/new.py - python -m cupola new NAME.
"""Writes a package with a kernel, ready to build."""

from __future__ import annotations

import argparse
import importlib.machinery
import keyword
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from string import Template

from cupola.exceptions import ArgumentValueError

HELP = "create a package with kernels"
EPILOG = """\
Write a folder NAME with a .cu, a .pyx, pyproject.toml, tests and a README; with --op instead of the
.pyx an operation for arrays of NumPy, CuPy, PyTorch and JAX. Then print the commands that build it
with this cupola, install it and run its tests."""

# Requirements of a build: for the Cython module of a package without --op, and for the manifest.
BUILD_REQUIREMENTS = ("setuptools>=77", "Cython>=3.1", "pyelftools>=0.31")

# Names that a new package must not have, because another package or folder already has them. They
# include Python's tests and the packages that pytest requires.
TAKEN = {"cupola", "numpy", "cython", "setuptools", "wheel", "pip", "pytest", "conftest", "tests",
         "csrc", "test", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments",
         "elftools"}  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the name and the folder."""
    parser.add_argument("name", metavar="NAME", help="the name of the package, as on PyPI")
    parser.add_argument(
        "--folder", type=Path, metavar="FOLDER", help="the folder to create (default: NAME)"
    )
    parser.add_argument(
        "--op", action="store_true", help="with an operation for arrays of every library"
    )


def run(options: argparse.Namespace) -> None:
    """Write the files."""
    folder = options.folder or Path(options.name)
    for path in create(options.name, folder, op=options.op):
        print(path)
    print("", *steps(folder), sep="\n")


def steps(folder: Path) -> list[str]:
    """The commands for a shell that build the package in a folder, install it and test it.

    They build without isolation: an isolated build would search an index for cupola, and not find
    the one of a checkout or of a wheel file. The Cython module then also fits this cupola.
    """
    from cupola.build import toolkit

    python = "python" if _leads_here("python") else shlex.quote(sys.executable)
    requirements = [*BUILD_REQUIREMENTS, *toolkit.requirements()]
    pip = f"{python} -m pip install"
    has_pip = importlib.machinery.PathFinder.find_spec(
        "pip"
    )  # past setuptools' finder, which warns
    return [
        f"cd {shlex.quote(str(folder))}",
        *([] if has_pip else [f"{python} -m ensurepip"]),
        f"{pip} {shlex.join(requirements)}",
        f"{pip} --no-build-isolation '.[test]'",
        f"{python} -m pytest",
    ]


def _leads_here(command: str) -> bool:
    """Whether a command of the shell is this Python, in this environment."""
    found = shutil.which(command)
    return found is not None and os.path.abspath(found) in (
        os.path.abspath(os.path.join(sys.prefix, "bin", command)),
        os.path.abspath(sys.executable),
    )


def create(name: str, folder: Path, *, op: bool = False) -> list[Path]:
    """Write a package.

    Parameters
    ----------
    name : str
        The name for pip; the module's name has ``_`` for ``-`` and ``.``, in lower case.
    folder : Path
        The folder to make; an empty folder may exist already.
    op : bool
        Whether the package has an operation instead of a Cython module.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    ArgumentValueError
        Where `name` is not valid for a package, or `folder` exists and is not an empty folder.
    """
    from cupola.tools.command import operation_template, template
    from cupola.version import __version__

    package = package_of(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArgumentValueError(
            f"{folder} exists already; remove it, or choose another folder with --folder"
        )
    series = ".".join(__version__.split(".")[:2])
    values = {
        "name": name,
        "package": package,
        "series": series,
        "requirements": shlex.join(BUILD_REQUIREMENTS),
    }
    written = []
    for path, text in (operation_template if op else template).FILES.items():
        target = folder / Template(path).substitute(values)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(Template(text).substitute(values), encoding="utf-8")
        written.append(target)
    return written


def package_of(name: str) -> str:
    """The module's name: ``heat_tools`` of ``Heat-Tools``."""
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", name):
        raise ArgumentValueError(
            f"{name!r} is no valid package name: use letters and digits, and -, _ or . between"
        )
    package = re.sub(r"[-_.]+", "_", name).lower()
    if not package.isidentifier() or keyword.iskeyword(package):
        raise ArgumentValueError(
            f"{name!r} cannot be imported: {package} is no valid Python name; choose another"
        )
    if package in sys.stdlib_module_names or package in TAKEN:
        raise ArgumentValueError(
            f"{name!r} would hide the existing module {package}; choose another name"
        )
    return package
