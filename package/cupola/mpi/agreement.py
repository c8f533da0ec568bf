# cupola/mpi/agreement.py - compares the arguments of a collective on all ranks.
"""Checks of collectives: all ranks raise an error where the ranks do not fit together."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from cupola.exceptions import ArgumentValueError, Error

# A rank's facts: a failure, the bytes of a part, root, op, dtype and call.
FIELDS = np.dtype(
    [
        ("failed", np.int64),
        ("nbytes", np.int64),
        ("root", np.int64),
        ("op", "S8"),
        ("dtype", "S16"),
        ("name", "S16"),
    ]
)


def compare(
    gather: Any, call_name: str, size: int, error: Exception | None, facts: dict[str, Any]
) -> None:
    """Exchange the facts of a call, and raise the same error on each rank where they differ.

    Parameters
    ----------
    gather : callable
        ``gather(own, all)`` is an all-gather of bytes.
    error : Exception or None
        The error of this rank's arguments, which it raises itself.
    """
    own = np.zeros(1, FIELDS)
    own["failed"], own["name"] = error is not None, call_name.encode()
    for field, value in facts.items():
        own[field] = value
    everyone = np.zeros(size, FIELDS)
    gather([own.view(np.uint8), MPI.BYTE], [everyone.view(np.uint8), MPI.BYTE])
    if error is not None:
        raise error
    failed = [rank for rank in range(size) if everyone["failed"][rank]]
    if failed:
        raise Error(
            f"Communicator.{call_name}: rank {failed[0]} raised an error for its arguments; "
            "no rank takes part"
        )
    for field, what in (
        ("name", "call"),
        ("root", "root"),
        ("op", "op"),
        ("dtype", "dtype"),
        ("nbytes", "bytes"),
    ):
        values = everyone[field].tolist()
        if len(set(values)) > 1:
            other = next(rank for rank in range(size) if values[rank] != values[0])
            first, second = (
                value.decode() if isinstance(value, bytes) else value
                for value in (values[0], values[other])
            )
            raise ArgumentValueError(
                f"Communicator.{call_name}: the ranks differ: {what} {first} on rank 0, {second} "
                f"on rank {other}; pass the same on all ranks"
            )
