# tools/public_names.py - the table of cupola's public names, and the stub with them.
"""Writes the public names into package/cupola/__init__.py and __init__.pyi.

A name stands in ``__all__`` of the module that defines it. From these lists come the table of homes
of ``__init__.py``, by which a name is imported at its first use, and all of ``__init__.pyi``. With
``--check`` nothing is written: the exit status is 1 where a file differs from the lists.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "package" / "cupola"
# Modules whose names are not cupola's as well: users import the modules.
APART = {"array_api", "build", "cache", "coverage", "distributed", "exceptions", "fft"}
APART |= {"judging", "linalg", "mpi", "nccl", "paths", "pycuda", "random", "recording"}
TABLE = re.compile(r"(?<=^_HOMES = \{\n).*?(?=^\}$)", re.MULTILINE | re.DOTALL)


def listed(source: str, name: str) -> list[str]:
    """The strings of a list or tuple of a module of Python or Cython; none where it has no such."""
    found = re.search(rf"^{name} = (\[.*?\]|\(.*?\))$", source, re.MULTILINE | re.DOTALL)
    return list(ast.literal_eval(found[1])) if found else []


def sources(root: Path) -> Iterator[tuple[str, Path]]:
    """The names of modules below ``cupola``, and their files."""
    for path in sorted((root / "package" / "cupola").rglob("*.py")):
        parts = path.relative_to(root / "package" / "cupola").with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and parts[0] not in APART and parts[:2] != ("tools", "command"):
            yield ".".join(parts), path
    for path in sorted((root / "pyx" / "cupola").rglob("*.pyx")):
        parts = path.relative_to(root / "pyx" / "cupola").with_suffix("").parts
        yield ".".join(parts), path


def homes(root: Path = ROOT) -> dict[str, str]:
    """The module of each public name.

    Raises
    ------
    ValueError
        Where two modules list a name.
    """
    # Public in their own modules as well: the first under the name that NumPy has.
    found = {"get_include": "paths", "record": "recording", "judge": "judging"}
    for module, path in sources(root):
        for name in listed(path.read_text(), "__all__"):
            if name in found:
                raise ValueError(f"{name} is in __all__ of {found[name]} and of {module}")
            found[name] = module
    return dict(sorted(found.items()))


def table(found: dict[str, str]) -> str:
    return "".join(f'    "{name}": "{module}",\n' for name, module in found.items())


def stub(found: dict[str, str], start: str, exceptions: list[str]) -> str:
    """The text of ``__init__.pyi``."""
    several = dict.fromkeys(exceptions, "exceptions") | {"__version__": "version"} | found
    several["array"] = "creation"  # cupola.array is a module that can be called
    lines = ["# cupola/__init__.pyi - the public names; tools/public_names.py writes it."]
    lines += [
        f"from cupola import {name} as {name}"
        for name in listed(start, "_SUBMODULES")
        if name not in several
    ]
    for module, name in sorted((module, name) for name, module in several.items()):
        shadows = "  # noqa: A004" if hasattr(builtins, name) else ""
        lines.append(f"from cupola.{module} import {name} as {name}{shadows}")
    return "\n".join([*lines, "", "__all__: list[str]", ""])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and compare")
    check = parser.parse_args(arguments).check
    found, status = homes(), 0
    start = (PACKAGE / "__init__.py").read_text()
    exceptions = listed((PACKAGE / "exceptions.py").read_text(), "__all__")
    made = {
        "__init__.py": TABLE.sub(lambda _: table(found), start),
        "__init__.pyi": stub(found, start, exceptions),
    }
    for name, text in made.items():
        path = PACKAGE / name
        if path.read_text() == text:
            continue
        if check:
            print(f"{name}: its names are old; run make names", file=sys.stderr)
            status = 1
        else:
            path.write_text(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
