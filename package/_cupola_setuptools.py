# _cupola_setuptools.py - entry points that setuptools calls in every project, where cupola is
# installed.
"""Entry points of setuptools: kernels in pyproject.toml and in setup().

This is a separate module at the top level. setuptools also calls it for projects without kernels,
and for cupola itself before its libraries are built. So it imports cupola only where a project
names kernels.
"""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setuptools import Distribution

TABLES = ("kernels", "libraries", "ops", "makers")  # of [tool.cupola]


def finalize(distribution: Distribution) -> None:
    """``setuptools.finalize_distribution_options``: ``[[tool.cupola.kernels]]`` and the like."""
    path = os.path.join(distribution.src_root or os.curdir, "pyproject.toml")
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return
    if b"cupola" not in text:
        return
    try:
        tools = read_toml(text).get("tool")
    except ValueError:
        return  # setuptools itself tells what is wrong with it
    ours = tools.get("cupola", {}) if isinstance(tools, dict) else {}
    if not isinstance(ours, dict):
        raise SystemExit(f"tool.cupola = {ours!r}: write tables, as [[tool.cupola.{TABLES[0]}]]")
    for name in ours:
        if name not in TABLES:
            known = ", ".join(f"[[tool.cupola.{one}]]" for one in TABLES)
            raise SystemExit(f"tool.cupola has an unknown key {name!r}: known are {known}")
    if "kernels" in ours:
        _add(distribution, "from_tables", ours["kernels"])
    if "libraries" in ours:
        _add_libraries(distribution, ours["libraries"])
    if "ops" in ours:
        _add_operations(distribution, ours["ops"], text.decode())
    if "makers" in ours:  # after the operations, which search the other kernel libraries
        _add_makers(distribution, ours["makers"], text.decode())


def read_toml(text: bytes) -> dict[str, Any]:
    """The value of a TOML text.

    Raises
    ------
    ValueError
        Where it is no TOML, or no UTF-8.
    """
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10: setuptools brings its own reader
        from setuptools.compat.py310 import tomllib
    return tomllib.loads(text.decode())


def keyword(distribution: Distribution, name: str, value: Any) -> None:
    """``distutils.setup_keywords``: ``setup(cuda_kernels=[cupola.build.Kernels(...)])``."""
    _add(distribution, "from_keyword", name, value)


def _add(distribution: Distribution, reader: str, *given: Any) -> None:
    from cupola.build import command, error, kernels, signature

    _require(distribution, signature.REQUIREMENT)
    try:
        command.add(distribution, getattr(kernels, reader)(*given))
    except error.BuildError as wrong:
        raise SystemExit(str(wrong)) from None


def _add_libraries(distribution: Distribution, tables: Any) -> None:
    from cupola.build import command, error, kernels

    try:
        command.add(distribution, kernels.from_tables(tables, host=True))
    except error.BuildError as wrong:
        raise SystemExit(str(wrong)) from None


def _add_operations(distribution: Distribution, tables: Any, text: str) -> None:
    from cupola.build import command, error, operations

    libraries = command.known(distribution)
    try:
        libraries[:] = operations.from_tables(tables, libraries, text)
    except error.BuildError as wrong:
        raise SystemExit(str(wrong)) from None


def _add_makers(distribution: Distribution, tables: Any, text: str) -> None:
    from cupola.build import command, error, makers, signature

    _require(distribution, signature.REQUIREMENT)
    try:
        command.add(distribution, makers.from_tables(tables, text))
    except error.BuildError as wrong:
        raise SystemExit(str(wrong)) from None


def _require(distribution: Distribution, requirement: str) -> None:
    """Add a build requirement to ``setup_requires``, which setuptools reports to pip.

    pip needs it there because it isolates builds.
    """
    from setuptools import build_meta

    if isinstance(distribution, build_meta.Distribution) and not importlib.util.find_spec(
        "elftools"
    ):
        distribution.fetch_build_eggs([requirement])
