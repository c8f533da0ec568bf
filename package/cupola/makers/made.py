# cupola/makers/made.py - checks of the arguments that all makers' functions take.
"""Names, dtypes and options of makers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from cupola.compiler.arguments import options_of as read_options
from cupola.exceptions import ArgumentTypeError, ArgumentValueError


def name_of(name: Any) -> str:
    """The name of a maker."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ArgumentValueError(
            f"name is a word of letters, digits and _, as in 'scale', got {name!r}"
        )
    return name


def dtypes_of(structs: Any) -> dict[str, np.dtype[Any]]:
    """The dtypes of structs by name, in the machine's byte order, which they have in C++."""
    if structs is None:
        return {}
    if not isinstance(structs, Mapping):
        raise ArgumentTypeError(
            "structs is a dict of names in C++ and dtypes, as in {'Pair': pair_dtype}, got "
            f"{type(structs).__name__}"
        )
    found = {}
    for name, dtype in structs.items():
        try:
            found[str(name)] = np.dtype(dtype).newbyteorder("=")
        except TypeError as error:
            raise ArgumentTypeError(f"structs[{name!r}]: expected a dtype: {error}") from None
    return found


def options_of(title: str, options: Any) -> tuple[str, ...]:
    """NVRTC's options."""
    try:
        return read_options(options)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{title}: {error}") from None
