# benchmarks/cluster_memory.py - memory of a cluster's processes while many tasks pass through it.
"""Tasks of a pipeline on a Dask cluster, and the memory of client and workers beside them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import psutil

import cupola


def resident() -> int:
    """Bytes of this process in memory."""
    return psutil.Process().memory_info().rss


def copied(chunk: Any, stream: Any, inputs: Any, outputs: Any) -> None:
    outputs[0].set(inputs[0])


def memory_of_tasks(
    client: Any, tasks: int, *, row_bytes: int = 100_000, rounds: int = 10
) -> dict[str, Any]:
    """Run a pipeline of tasks, a row each, and measure the resident memory of all processes.

    Parameters
    ----------
    client : distributed.Client
    tasks : int
        Tasks of all rounds together.
    row_bytes : int
        Bytes of a task's input, and of its output.
    rounds : int
        Pipelines; memory is read after each.

    Returns
    -------
    dict
        ``seconds``; ``bytes_through``, which all inputs and outputs have; ``client`` and
        ``workers``: bytes after each round. Of the workers it is the largest one's.
    """
    rows = max(tasks // rounds, 1)
    x = np.ones((rows, row_bytes // 4), np.float32)
    out = np.empty_like(x)
    found: dict[str, Any] = {"tasks": rows * rounds, "bytes_through": 2 * rounds * x.nbytes}
    found["client"], found["workers"] = [], []
    began = time.perf_counter()
    for number in range(rounds):
        x.fill(number)
        cupola.pipeline(copied, x, out, chunk=1, streams=1, client=client)
        if not (out == number).all():
            raise AssertionError(f"round {number} computed something else")
        found["client"].append(resident())
        found["workers"].append(max(client.run(resident).values()))
    found["seconds"] = time.perf_counter() - began
    return found
