# cupola/core/part_launch.py - the grid, block and arguments of the launch on one part.
"""Placeholders for values of a part, and the form of a launch: grid, block, shared, arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.core.integers import as_int
from cupola.exceptions import ArgumentTypeError
from cupola.kernel import Kernel


def is_placeholder(value: object, kind: type) -> bool:
    """Whether it stands for a value of each part: an attribute of its class, or a function."""
    return getattr(value, "__objclass__", None) is kind or (
        callable(value) and not isinstance(value, (Array, np.generic))
    )


def value_for(value: Any, part: Any) -> Any:
    """Replace a placeholder by its value for this part."""
    if not is_placeholder(value, type(part)):
        return value
    return value.__get__(part) if hasattr(value, "__objclass__") else value(part)


def check_options(arguments: Any, threads: Any, grid: Any, block: Any) -> None:
    """Refuse options that do not go together."""
    if grid is not None and threads is not None:
        raise ArgumentTypeError("threads= and grid= both set the grid: pass only one of them")
    if grid is not None and block is None:
        raise ArgumentTypeError("grid= needs block=, too")
    if arguments is not None and (
        isinstance(arguments, (str, bytes)) or not isinstance(arguments, Sequence)
    ):
        raise ArgumentTypeError(
            "arguments= must be a list or tuple of the kernel's arguments, got "
            f"{type(arguments).__name__}"
        )


def launch_form(
    kernel: Kernel, what: str, part: Any, values: tuple[Any, ...],
    *, threads: Any, grid: Any, block: Any, shared: int,
) -> tuple[Any, ...]:  # fmt: skip
    """Grid, block, shared memory and arguments of the launch on one part.

    Parameters
    ----------
    what : str
        The name of a part in errors: "a chunk".
    values : tuple
        The arguments, without placeholders.
    threads, grid, block
        As those of `cupola.pipeline`, also placeholders; threads where the grid is None.
    """
    block = value_for(block, part)
    if grid is not None:
        grid = _lengths(kernel, "grid", value_for(grid, part), what)
        return grid, _lengths(kernel, "block", block, what), shared, values
    if block is None:
        block = kernel.max_potential_block_size(shared)
    block = _lengths(kernel, "block", block, what)
    given = value_for(threads, part)
    count = as_int(given)
    if count is None or count < 0:
        raise ArgumentTypeError(
            f"{kernel.title}: threads= is an int >= 0, or gives one for {what}; got {given!r}"
        )
    size = math.prod(block) if isinstance(block, tuple) else block
    return -(-count // max(size, 1)), block, shared, values


def _lengths(kernel: Kernel, name: str, value: Any, what: str) -> int | tuple[int, ...]:
    """A grid or block; its size is checked later."""
    several = isinstance(value, (tuple, list))
    lengths = [as_int(each) for each in (value if several else (value,))]
    found = tuple(length for length in lengths if length is not None)
    if len(found) < len(lengths):
        raise ArgumentTypeError(
            f"{kernel.title}: {name}= is an int or a tuple of up to three, or gives that for "
            f"{what}; got {value!r}"
        )
    return found if several else found[0]
