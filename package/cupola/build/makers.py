# package/cupola/build/makers.py - a package's makers: their kernels' source, and their module.
"""Tables ``[[tool.cupola.makers]]``: a kernel library of each package, of generated source."""

from __future__ import annotations

import pprint
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..declare.kernel_definition import GENERATED, Definition, source
from ..declare.maker_table import MakerTable, TableError, read
from .kernels import Kernels
from .table_lines import tables_with_lines, wrong

MODULE = "makers"  # of the package
# A line directive before the text of a key: its maker, and the key, which is left out for "body".
_CALLERS = re.compile(r'#line 1 "(\w+)(?: (\w+).*)?"')
_CLASSES = {"elementwise": "Elementwise", "reduction": "Reduction", "scan": "Scan"}


@dataclass(frozen=True)
class DeclaredMaker:
    """A table, as it was read and as it was written."""

    table: MakerTable
    written: Mapping[str, Any]
    lines: Mapping[str, int]  # the lines in pyproject.toml, by key

    @property
    def definition(self) -> Definition:
        """The definition of its kernels."""
        return self.table.definition


def from_tables(tables: Any, text: str = "") -> list[Kernels]:
    """The kernel libraries, one for each package.

    Parameters
    ----------
    tables : list of dict
        ``[[tool.cupola.makers]]``.
    text : str
        Of pyproject.toml, for the lines in errors.

    Raises
    ------
    BuildError
        Where a table is invalid; it names the table, the key and the line.
    """
    by_package: dict[str, list[DeclaredMaker]] = {}
    for table, place in tables_with_lines(tables, MODULE, text):
        name = str(table.get("name", ""))
        try:
            one = read(table)
        except TableError as error:
            raise wrong(MODULE, name, place, error.key, str(error)) from None
        listed = by_package.setdefault(name.rpartition(".")[0], [])
        if any(each.table.name == name for each in listed):
            raise wrong(MODULE, name, place, "name", "there are two tables of this name")
        listed.append(DeclaredMaker(one, table, place))
    return [
        Kernels(library=f"{package}.{MODULE}", sources=(), makers=tuple(listed))
        for package, listed in by_package.items()
    ]


def source_text(kernels: Kernels, path: Path) -> str:
    """The CUDA source of a library's kernels, with the lines of pyproject.toml for errors.

    Parameters
    ----------
    path : Path
        The file that it becomes. Each line directive names a file that is there, since nvcc reports
        these as what it read.
    """
    text = source((one.definition, types) for one in kernels.makers for types in one.table.types)
    lines = {one.definition.name: one.lines for one in kernels.makers}
    found = text.splitlines()
    for index, line in enumerate(found):
        caller = _CALLERS.fullmatch(line)
        if line == GENERATED:
            found[index] = f'#line {index + 2} "{path.as_posix()}"'
        elif caller:
            number = lines[caller[1]].get(caller[2] or "body", 1)
            found[index] = f'#line {number} "pyproject.toml"'
    return "\n".join(found) + "\n"


_MODULE = '''\
{mark}[[tool.cupola.makers]]: the next build writes it anew.
"""Functions of arrays, compiled when the package was built: ``makers.{example}(...)``."""

from cupola.makers.library import MakerLibrary as _MakerLibrary

_library = _MakerLibrary(
    __name__,
    {tables},
)
__getattr__ = _library.attribute
__dir__ = _library.attributes
load = _library.load
'''


def module_text(kernels: Kernels, mark: str) -> str:
    """The text of the package's module ``makers``."""
    tables = {one.definition.name: dict(one.written) for one in kernels.makers}
    text = pprint.pformat(tables, width=90, sort_dicts=True).replace("\n", "\n    ")
    return _MODULE.format(mark=mark, example=min(tables, key=len), tables=text)


def stub_text(kernels: Kernels) -> str:
    """The text of the module's ``.pyi``."""
    kinds = sorted({one.table.kind for one in kernels.makers})
    imports = "".join(
        f"from cupola.makers.{kind}_maker import {_CLASSES[kind]} as _{_CLASSES[kind]}\n"
        for kind in kinds
    )
    names = sorted((one.definition.name, _CLASSES[one.table.kind]) for one in kernels.makers)
    functions = "".join(f"{name}: _{kind}\n" for name, kind in names)
    return (
        "from typing import Any as _Any\n\n"
        f"{imports}from cupola.module import Module as _Module\n\n"
        f"{functions}\ndef load(device: _Any = None) -> _Module: ...\n"
    )
