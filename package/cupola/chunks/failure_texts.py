# cupola/chunks/failure_texts.py - the words for a chunk and for what it failed of.
"""Texts of errors of chunks."""

from __future__ import annotations

from cupola.exceptions import Error
from cupola.pipelines import Chunk


def named(first: Chunk, last: Chunk) -> str:
    """Name the chunk that failed, or the range of chunks that contains it."""
    rows = f"rows {first.start} to {last.stop - 1}"
    if first == last:
        return f"chunk {first.index} ({rows})"
    return (
        f"one of chunks {first.index} to {last.index} ({rows}), which the device had in flight; "
        "run with CUPOLA_SYNC=1 to find the one"
    )


def described(error: BaseException) -> str:
    """The error, with its type unless it is cupola's, as in Python's own traceback."""
    text = str(error)
    if isinstance(error, Error):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
