# package/cupola/build/backend.py - the PEP 517 backend: setuptools', plus nvcc if it is missing.
"""setuptools' backend, which requires NVIDIA's compiler wheels only where they are needed.

A package that ships kernels names it in its pyproject.toml::

    [build-system]
    requires = ["setuptools", "cupola"]
    build-backend = "cupola.build.backend"

cupola itself is built by this very file, before cupola can be imported.
"""

from __future__ import annotations

import importlib.util
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
    name = "_cupola_build"
    if name not in sys.modules:
        here = Path(__file__).resolve().parent
        spec = importlib.util.spec_from_file_location(
            name, here / "__init__.py", submodule_search_locations=[str(here)]
        )
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return importlib.import_module(f"{name}.toolkit")


def compiler_requirements() -> list[str]:
    """The wheels that contain nvcc; none where the machine has a suitable one."""
    toolkit = _toolkit()
    try:
        toolkit.find(wheels=False)
    except RuntimeError:
        return [toolkit.REQUIREMENT]
    return []


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """setuptools' own, and nvcc."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *compiler_requirements()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """setuptools' own, and nvcc."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *compiler_requirements()]


if __name__ == "__main__":  # prints the requirements for builds without isolation
    print("\n".join(compiler_requirements()))
