# cupola/command/new.py - python -m cupola new NAME.
"""A package with a kernel, ready to build."""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from pathlib import Path
from string import Template

from cupola.exceptions import ArgumentValueError

HELP = "start a package with kernels of its own"
EPILOG = """\
Writes a folder NAME with one .cu, one .pyx, pyproject.toml, tests and README. Then, in there:

  pip install '.[test]'
  python -m pytest"""

# What a package of that name would hide, or be hidden by.
TAKEN = {"cupola", "numpy", "cython", "setuptools", "wheel", "pip", "pytest", "conftest", "tests",
         "csrc"}  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    """Its name, and where."""
    parser.add_argument("name", metavar="NAME", help="of the package, as pip will know it")
    parser.add_argument(
        "--folder", type=Path, metavar="FOLDER", help="what to make (default: NAME, here)"
    )


def run(options: argparse.Namespace) -> None:
    """Write the files."""
    folder = options.folder or Path(options.name)
    for path in create(options.name, folder):
        print(path)
    print(f"\ncd {folder}\npip install '.[test]'\npython -m pytest")


def create(name: str, folder: Path) -> list[Path]:
    """Write a package.

    Parameters
    ----------
    name : str
        As pip will know it; the module has ``_`` for ``-`` and ``.``, in lower case.
    folder : Path
        Made here; it may be there already where it is empty.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    ArgumentValueError
        Where that can be no package's name, or the folder has something in it.
    """
    from cupola.command.template import FILES
    from cupola.version import __version__

    package = package_of(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArgumentValueError(
            f"{folder} is there already, and nothing is written over; remove it, or choose "
            "another with --folder"
        )
    series = ".".join(__version__.split(".")[:2])
    values = {"name": name, "package": package, "series": series}
    written = []
    for path, text in FILES.items():
        target = folder / Template(path).substitute(values)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(Template(text).substitute(values), encoding="utf-8")
        written.append(target)
    return written


def package_of(name: str) -> str:
    """The module's name: ``heat_tools`` of ``Heat-Tools``."""
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", name):
        raise ArgumentValueError(
            f"{name!r} can't be a package's name: letters, digits, and -, _ or . between them"
        )
    package = re.sub(r"[-_.]+", "_", name).lower()
    if not package.isidentifier() or keyword.iskeyword(package):
        raise ArgumentValueError(f"{name!r} can't be imported: {package} is no name in Python")
    if package in sys.stdlib_module_names or package in TAKEN:
        raise ArgumentValueError(
            f"{name!r}: there is a module {package} already, which one of that name would hide"
        )
    return package
