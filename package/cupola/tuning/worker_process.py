# cupola/tuning/worker_process.py - the loop of a process that measures variants.
"""Answers the requests of `cupola.tuning.worker`."""

from __future__ import annotations

import os
import pickle
import threading
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from cupola.exceptions import Error
from cupola.tuning.family import Family
from cupola.tuning.measure import CaseRunner
from cupola.tuning.tables import device_record


def serve(descriptor: int) -> None:
    """Answer requests on a socket until the other process closes it, or ends."""
    connection = Connection(descriptor)
    requests: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_receive, args=(connection, requests), daemon=True).start()
    runner: CaseRunner | None = None
    while True:
        name, arguments = requests.get()
        answer: Any = None
        try:
            if name == "setup":
                declaration, source, device, clock = arguments
                runner = CaseRunner(Family(declaration, source), device, clock)
            elif name == "device_record":
                assert runner is not None
                answer = device_record(runner.device)
            else:
                answer = getattr(runner, name)(*arguments)
        except Exception as error:
            answer = _sendable(error)
        connection.send(answer)


def _receive(connection: Connection, requests: SimpleQueue[Any]) -> None:
    """Queue requests. The end of the other process ends this one, also while a kernel hangs."""
    while True:
        try:
            requests.put(connection.recv())
        except (EOFError, OSError):
            os._exit(0)


def _sendable(error: Exception) -> Exception:
    """The error, or its text where its class can't be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return Error(f"{type(error).__name__}: {error}")
    return error
