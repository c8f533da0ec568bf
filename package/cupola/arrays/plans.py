# cupola/arrays/plans.py - functions whose repeated calls take the fast path.
"""The decorator `planned`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from cupola.arrays.planned_call import PlannedCalls

Function = TypeVar("Function", bound=Callable[..., Any])


def planned(function: Function, products: bool = False) -> Function:
    """Let repeated calls queue their work without the function's code.

    A decorator for functions whose work depends on the forms of arrays and on the values of other
    arguments; see `PlannedCalls`. The function has no effect but its work and its result.
    """
    run = PlannedCalls(function, products).call

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return run(args, kwargs)

    return call  # type: ignore[return-value]
