# cupola/declare/parameter_names.py - names of kernels' parameters in Python.
"""Names of parameters in Python signatures and stubs."""

from __future__ import annotations

import keyword
from collections.abc import Sequence


def keyword_names(names: Sequence[str]) -> list[str | None]:
    """Each parameter's name in a Python signature; None if it is not valid in Python."""
    return [
        name if name.isidentifier() and not keyword.iskeyword(name) and names.count(name) == 1
        else None for name in names
    ]  # fmt: skip


def placeholder_name(position: int, names: Sequence[str]) -> str:
    """The name in a signature for a parameter without one from `keyword_names`."""
    name = f"argument{position}"
    while name in names:
        name += "_"
    return name
