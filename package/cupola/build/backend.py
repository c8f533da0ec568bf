# package/cupola/build/backend.py - the PEP 517 backend: setuptools', plus nvcc if it is missing.
"""setuptools' backend, which requires NVIDIA's compiler wheels only where they are needed.

A package that ships kernels names it in its pyproject.toml::

    [build-system]
    requires = ["setuptools", "cupola"]
    build-backend = "cupola.build.backend"

cupola itself is built by this very file, before cupola can be imported.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403 - the unchanged hooks


def _toolkit() -> ModuleType:
    if __package__:
        from . import toolkit

        return toolkit
    if "_cupola" not in sys.modules:  # cupola's folder, without its __init__.py
        package = ModuleType("_cupola")
        package.__path__ = [str(Path(__file__).resolve().parent.parent)]
        sys.modules["_cupola"] = package
    return importlib.import_module("_cupola.build.toolkit")


def _requirements() -> list[str]:
    """nvcc, and for cupola's own build pip, by which it downloads zstd's sources."""
    return [*([] if __package__ else ["pip"]), *_toolkit().requirements()]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """setuptools' own, and nvcc."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *_requirements()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """setuptools' own, and nvcc."""
    return [
        *build_meta.get_requires_for_build_editable(config_settings),
        *_requirements(),
    ]


if __name__ == "__main__":  # prints the requirements for builds without isolation
    print("\n".join(_toolkit().requirements()))
