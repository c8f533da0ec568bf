# package/cupola/build/tables.py - the tables [tool.cupola] of a project's pyproject.toml.
"""Reads the tables of a project: kernels, host libraries, operations, families and makers in one
list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import families, kernels, makers, operations
from .error import BuildError
from .kernels import Kernels

TABLES = ("kernels", "libraries", "ops", "variants", "makers")


def read(path: Path) -> tuple[dict[str, Any], str]:
    """The values and the text of a pyproject.toml.

    Raises
    ------
    BuildError
        It can't be read, is no TOML, or has a value where a table is expected.
    """
    from _cupola_setuptools import read_toml

    try:
        content = path.read_bytes()
        values = read_toml(content)
    except OSError as error:
        raise BuildError(f"{path} can't be read: {error.strerror}") from None
    except ValueError as error:
        raise BuildError(f"{path} is not valid TOML: {error}") from None
    except RecursionError:
        raise BuildError(f"{path} is not valid TOML: its values are nested too deeply") from None
    for name in ("build-system", "project", "tool"):
        if not isinstance(values.get(name, {}), dict):
            raise BuildError(f"{path}: {name} = {values[name]!r}: expected a table [{name}]")
    return values, content.decode()


def libraries(ours: Any, text: str, given: Iterable[Kernels] = ()) -> list[Kernels]:
    """The libraries that the tables name.

    Parameters
    ----------
    ours : dict
        ``[tool.cupola]``.
    text : str
        Of pyproject.toml, for the lines in errors.
    given : iterable of Kernels
        Libraries that the project names elsewhere; operations can be of these, too.

    Raises
    ------
    BuildError
        A table is invalid.
    """
    if not isinstance(ours, Mapping):
        raise BuildError(f"tool.cupola = {ours!r}: write tables, as [[tool.cupola.{TABLES[0]}]]")
    for name in ours:
        if name not in TABLES:
            known = ", ".join(f"[[tool.cupola.{one}]]" for one in TABLES)
            raise BuildError(f"tool.cupola has an unknown key {name!r}: known are {known}")
    found = list(given)
    if "kernels" in ours:
        found += kernels.from_tables(ours["kernels"])
    if "libraries" in ours:
        found += kernels.from_tables(ours["libraries"], host=True)
    if families.TABLE in ours:
        found = families.from_tables(ours[families.TABLE], found, text)
    if "ops" in ours:  # after the families, which they can launch
        found = operations.from_tables(ours["ops"], found, text)
    if "makers" in ours:  # after the operations, which search the other kernel libraries
        found += makers.from_tables(ours["makers"], text)
    return found
