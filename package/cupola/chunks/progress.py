# cupola/chunks/progress.py - reports the rows that are done to a function or a bar.
"""Progress of a pipeline."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from cupola.exceptions import ArgumentTypeError


@contextlib.contextmanager
def progress_report(asked: Any, rows: int) -> Iterator[Callable[[int, int], object] | None]:
    """The function that shows progress, or None. It takes the numbers of done and of all rows."""
    if asked is None or asked is False:
        yield None
    elif asked is True:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError(
                "progress=True draws a bar with tqdm, which is not installed: pip install tqdm "
                "(or cupola[progress]), or give a function: progress=lambda done, rows: ..."
            ) from error
        with tqdm(total=rows, unit=" rows", unit_scale=True) as bar:
            yield lambda done, _: bar.update(done - bar.n)
    elif callable(asked):
        yield asked
    else:
        raise ArgumentTypeError(
            f"progress= is a function of the rows that are done and of all, or True for a bar; "
            f"got {asked!r}"
        )
