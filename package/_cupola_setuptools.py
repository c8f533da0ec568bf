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
    if ours == {}:
        return
    from cupola.build import command, error, signature, tables

    if isinstance(ours, dict) and {"kernels", "makers"} & set(ours):
        _require(distribution, signature.REQUIREMENT)
    known = command.known(distribution)
    try:
        found = tables.libraries(ours, text.decode(), known)
    except error.BuildError as wrong:
        raise SystemExit(str(wrong)) from None
    known.clear()
    command.add(distribution, found)


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
    from cupola.build import command, error, kernels, signature

    _require(distribution, signature.REQUIREMENT)
    try:
        command.add(distribution, kernels.from_keyword(name, value))
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
