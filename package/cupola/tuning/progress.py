# cupola/tuning/progress.py - shows how many variants are measured.
"""Progress of a tuning."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from cupola.exceptions import ArgumentTypeError

# It takes the numbers of measured and of all variants; 0 where the number of cases is not known.
Report = Callable[[int, int], object]


@contextlib.contextmanager
def progress_report(asked: Any) -> Iterator[Report]:
    """The function that shows progress."""
    if asked is None or asked is False:
        yield lambda done, total: None
    elif asked is True:
        with _bar() as report:
            yield report
    elif callable(asked):
        yield asked
    else:
        raise ArgumentTypeError(
            f"progress= is True for a bar, False, or a function of the measured variants and of "
            f"all; got {asked!r}"
        )


@contextlib.contextmanager
def _bar() -> Iterator[Report]:
    """A bar on a terminal where tqdm is installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield lambda done, total: None
        return
    with tqdm(unit=" variants", disable=None) as bar:

        def report(done: int, total: int) -> None:
            bar.total = total or None
            bar.update(done - bar.n)

        yield report
