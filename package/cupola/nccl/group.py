# cupola/nccl/group.py - several calls of NCCL that start together.
"""`group`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from cupola.nccl.library import Nccl


class Call(NamedTuple):
    """A checked call."""

    nccl: Nccl
    start: Callable[[], None]
    finish: Callable[[], None]  # after the group has started all of its calls


class _Local(threading.local):
    calls: list[Call] | None = None


_local = _Local()


@contextmanager
def group() -> Iterator[None]:
    """Start several operations together, at the end of the block.

    A thread that drives several communicators needs it for each operation, and so does a rank that
    sends and receives at the same time. Arguments are checked when an operation is called. The
    operations are queued at the end of the block; after an exception in the block none is. A group
    within a group is a part of it.

    Raises
    ------
    DriverError
        At the end of the block, where NCCL refuses an operation.
    """
    if _local.calls is not None:
        yield
        return
    calls: list[Call] = []
    _local.calls = calls
    try:
        yield
    finally:
        _local.calls = None
    if calls:
        _run(calls)


def is_grouped() -> bool:
    """Whether this thread is in the block of a group."""
    return _local.calls is not None


def submit(call: Call) -> None:
    """Start a call now, or at the end of this thread's group."""
    if _local.calls is not None:
        _local.calls.append(call)
        return
    call.start()
    call.finish()


def _run(calls: list[Call]) -> None:
    nccl = calls[0].nccl
    nccl.call("ncclGroupStart", title="nccl.group")
    try:
        for call in calls:
            call.start()
    except BaseException:
        # NCCL drops what was queued; its status repeats the error of the call.
        nccl.end_failed_group()
        raise
    nccl.call("ncclGroupEnd", title="nccl.group")
    for call in calls:
        call.finish()
