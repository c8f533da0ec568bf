# cupola/tools/command/tune.py - python -m cupola tune PACKAGE.
"""Measures the variants of a package's families, and stores the best for each key."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupola import cache
from cupola.exceptions import ArgumentValueError, Error, MissingFileError, UnknownNameError
from cupola.tools.command.values import duration, word

if TYPE_CHECKING:
    from cupola.tuning.family import Family

HELP = "measure the variants of a package's kernels, and store the best"
EPILOG = """\
PACKAGE is the name of a package, or its folder. The families are those of its module families. The
function that yields the cases of a family is that of its declaration (cases = 'heat.cases:step'),
or --cases. The best variants go to the table of the device in the user's cache, which launches read
first; --output is the folder of another table, such as the package's own.

  cupola tune heat
  cupola tune heat --family step --device 0,1 --search greedy --budget 300
  cupola tune heat --output heat/tuning --picture step.svg"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the package, and how its variants are measured."""
    add = parser.add_argument
    add("package", type=word, metavar="PACKAGE",
        help="the package's name, as for import, or its folder")  # fmt: skip
    add("--family", type=word, metavar="NAME", help="only this family")
    add("--device", type=devices, default=None, metavar="DEVICES",
        help="a device's number, several as in 0,1, or cpu (default: the current one)")  # fmt: skip
    add("--cases", type=word, metavar="MODULE:FUNCTION",
        help="the function that yields cases, in place of the declaration's")  # fmt: skip
    add("--budget", type=duration, default=60.0, metavar="SECONDS",
        help="seconds for all families together (default: 60)")  # fmt: skip
    add("--search", choices=("all", "random", "greedy", "hill-climbing"), default="all",
        help="which variants are measured (default: all)")  # fmt: skip
    add("--hot", action="store_true", help="keep the L2 cache between the timed launches")
    add("--seed", type=int, default=0, metavar="N", help="of the random orders (default: 0)")
    add("--no-resume", action="store_true", help="measure again what an interrupted run measured")
    add("--timeout", type=duration, default=10.0, metavar="SECONDS",
        help="after which a launch counts as hanging (default: 10)")  # fmt: skip
    add("--output", type=Path, metavar="FOLDER",
        help="the folder of the table; by default that of the user, in the cache")  # fmt: skip
    add("--picture", type=Path, metavar="FILE.svg",
        help="draw a heat map over the first two tunables of a family")  # fmt: skip


def devices(text: str) -> list[Any]:
    """Numbers of devices with commas between, or ``cpu``."""
    words = text.split(",")
    if not all(one == "cpu" or (one.isascii() and one.isdigit()) for one in words):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number, several as in 0,1, or cpu")
    return [one if one == "cpu" else int(one) for one in words]


def run(options: argparse.Namespace) -> None:
    """Measure one family after the other; print a table of each."""
    from cupola.tuning.tune import tune

    chosen = families(options.package, options.family)
    if options.cases is not None and len(chosen) > 1:
        listed = ", ".join(family.name for family in chosen)
        raise ArgumentValueError(f"--cases is for one family: name one of {listed} by --family")
    if options.picture is not None and len(chosen) > 1:
        listed = ", ".join(family.name for family in chosen)
        raise ArgumentValueError(f"--picture is for one family: name one of {listed} by --family")
    measured = [(family, cases(family, options.cases)) for family in chosen]
    if options.output is not None:
        require_folder(options.output)
    end = time.monotonic() + options.budget
    lost: list[str] = []
    for place, (family, function) in enumerate(measured):
        left = max(end - time.monotonic(), 0.001) / (len(measured) - place)
        found = tune(
            family,
            function,
            device=options.device,
            budget=left,
            search=options.search,
            flush=not options.hot,
            seed=options.seed,
            resume=not options.no_resume,
            store=True if options.output is None else options.output,
            timeout=options.timeout,
        )
        print(found)
        if found.file is not None:
            print(f"stored in {found.file}")
        elif options.output is not None:
            lost.append(family.name)
        elif cache.folder() is None:
            print("not stored: the cache is disabled (CUPOLA_CACHE_DIR); name a folder by --output")
        if options.picture is not None:
            found.picture(options.picture)
            print(f"drawn in {options.picture}")
    if lost:
        raise Error(f"{options.output}: nothing was stored of {', '.join(lost)}")


def require_folder(path: Path) -> None:
    """Make the folder of a table; an error where it can't be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        why = "" if os.access(path, os.W_OK | os.X_OK) else "Permission denied"
    except OSError as error:
        why = error.strerror or str(error)
    if why:
        raise ArgumentValueError(f"--output {path}: expected a folder for the table: {why}")


def families(package: str, name: str | None) -> list[Family]:
    """The families of a package, or the one of a name."""
    from cupola.tuning.family import Family

    package = importable(package)
    module = imported(f"{package}.families")
    members = (getattr(module, each) for each in dir(module))
    found = [one for one in members if isinstance(one, Family)]
    if not found:
        raise ArgumentValueError(f"{package}.families has no family: expected a cupola.Family")
    if name is None:
        return found
    wanted = [one for one in found if name in (one.name, one.name.rpartition(".")[2])]
    if not wanted:
        listed = ", ".join(one.name for one in found)
        raise UnknownNameError(f"{package} has no family {name}: known are {listed}")
    return wanted


def importable(place: str) -> str:
    """The name of a package. The path of its folder is a place, too: the folder around the package
    is then searched first.
    """
    if all(part.isidentifier() for part in place.split(".")):
        return place
    folder = Path(place).absolute()
    if not (folder / "__init__.py").is_file():
        inside = sorted([*folder.glob("*/families.py"), *folder.glob("src/*/families.py")])
        near = f", such as {os.path.relpath(inside[0].parent)}" if inside else ""
        why = "has no __init__.py" if folder.is_dir() else "is no folder"
        raise MissingFileError(
            f"{place} {why}: expected the name of a package, such as heat, or its folder{near}"
        )
    names: list[str] = []
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    sys.path.insert(0, str(folder))
    name = ".".join(names)
    found = imported(name)
    where = list(found.__path__)
    if os.path.realpath(Path(place)) not in map(os.path.realpath, where):
        raise ArgumentValueError(
            f"{place}: the package {name} is imported from {', '.join(where)}; tune it by its name"
        )
    return name


def cases(family: Family, asked: str | None) -> Callable[[], Any]:
    """The function that yields a family's cases."""
    place = asked or family.declaration.cases
    if not place:
        raise ArgumentValueError(
            f"{family.name} has no cases: give the function that yields them by --cases "
            "MODULE:FUNCTION, or by the key cases of its table"
        )
    module, colon, name = place.partition(":")
    if not (colon and module and name.isidentifier()):
        raise ArgumentValueError(
            f"cases {place!r}: expected MODULE:FUNCTION, as in heat.cases:step"
        )
    found = getattr(imported(module), name, None)
    if not callable(found):
        raise UnknownNameError(f"{family.name}: {module} has no function {name} that yields cases")
    function: Callable[[], Any] = found
    return function


def imported(name: str) -> Any:
    """A module by its name; an error of cupola's where that module is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise MissingFileError(f"there is no module {name}: {error}") from None
