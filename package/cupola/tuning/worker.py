# cupola/tuning/worker.py - measures variants in a process of its own, which may be lost.
"""The process that measures: its start, its requests, and what ends it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from cupola.declare.family import Variant
from cupola.declare.tuning_table import DeviceRecord
from cupola.exceptions import Error
from cupola.tuning.cases import Case
from cupola.tuning.family import Family
from cupola.tuning.measure import Clock, Opened
from cupola.tuning.outcomes import BudgetEndedError, Failure, Footprint

_COMPILE_SECONDS = 600.0  # for a start, a case or a compilation
_FIRST = 6  # times the timeout: the first check, whose time is not known
_COPIES = 4  # times the first check: copies and comparisons of later ones
_START = """\
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from cupola.tuning.worker_process import serve
serve(int(sys.argv[1]))
"""


class Stopped(Exception):
    """The measurement was stopped from another thread."""


class _LostError(Exception):
    """The process ended, or did not answer in time."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class Worker:
    """A process that measures variants on one device. It is started again after it was lost.

    Parameters
    ----------
    family : Family
    device : int or "cpu"
        The device's index in the process, which has the environment of this one.
    clock : Clock
        It is pickled.
    timeout : float
        Seconds after which a launch counts as hanging.
    """

    def __init__(self, family: Family, device: Any, clock: Clock, timeout: float) -> None:
        self._setup = (family.declaration, family.source, device, clock)
        self._default = family.declaration.default
        self._end = math.inf  # of the budget, by `time.monotonic`
        self._timeout = timeout
        self._limit = _FIRST * timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._opened: Case | None = None
        self._is_checked = False
        self._stopped = False

    def device_record(self) -> DeviceRecord:
        """The device as tables describe it."""
        found: DeviceRecord = self._ask_surely("device_record")
        return found

    def sm_clock(self) -> int | None:
        """The current clock of the multiprocessors, in MHz; None without a running process."""
        if self._process is None:
            return None
        found: int | None = self._ask_surely("sm_clock")
        return found

    def until(self, end: float) -> None:
        """Set when the budget ends, by `time.monotonic`. A request about a variant besides the
        default then raises `BudgetEndedError`, and ends the process. The default gets the timeout
        at least.
        """
        self._end = end

    def open(self, case: Case) -> Opened:
        """Send a case.

        Raises
        ------
        Error
            The case does not fit the family, or the process ended.
        """
        self._opened, self._is_checked = None, False
        self._limit = _FIRST * self._timeout
        opened: Opened = self._ask_surely("open", case)
        self._opened = case
        return opened

    def results(self, arguments: Sequence[Any]) -> dict[str | int, Any] | Failure:
        """The arrays that the declared default may write, after a launch on these arguments."""
        self._opened = None
        found: dict[str | int, Any] | Failure = self._measured("results", arguments, self._default)
        return found

    def compile(self, variants: Sequence[Variant]) -> list[Failure | Footprint]:
        """Compile variants, all at a time, and one by one where that loses the process."""
        found: list[Failure | Footprint]
        limit = _COMPILE_SECONDS
        if self._default not in variants:
            limit = min(limit, self._left())
        try:
            found = self._ask(limit, "compile", list(variants))
        except _LostError as lost:
            self._left()
            if len(variants) == 1:
                return [lost.failure]
            found = [self.compile([one])[0] for one in variants]
        return found

    def check(self, variant: Variant) -> Failure | None:
        """Compare a variant's results with the reference."""
        start = time.monotonic()
        failure: Failure | None = self._measured("check", variant, variant)
        if failure is None and not self._is_checked:
            self._is_checked = True
            taken = time.monotonic() - start
            self._limit = min(self._limit, self._timeout + _COPIES * taken)
        return failure

    def sample(self, variant: Variant) -> float | Failure:
        """Seconds of one launch."""
        found: float | Failure = self._measured("sample", variant, variant)
        return found

    def stop(self) -> None:
        """End the process; a request that waits in another thread raises `Stopped`."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process."""
        connection, process = self._connection, self._process
        self._connection = self._process = None
        if connection is not None:
            connection.close()
        if process is not None:
            process.kill()
            process.wait()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _measured(self, name: str, argument: Any, variant: Variant) -> Any:
        """An answer to a request that launches a variant; the process ends after a fault."""
        limit = self._limit
        if variant != self._default:
            limit = min(limit, self._left())
        elif self._end < math.inf:
            limit = min(limit, max(self._end - time.monotonic(), self._timeout))
        try:
            answer = self._ask(limit, name, argument)
        except _LostError as lost:
            if variant != self._default:
                self._left()
            return lost.failure
        if isinstance(answer, Failure) and answer.kind == "fault":
            self.close()  # the context is lost
        return answer

    def _left(self) -> float:
        """Seconds of the budget."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise BudgetEndedError
        return left

    def _ask_surely(self, name: str, *arguments: Any) -> Any:
        """An answer to a request that launches nothing."""
        try:
            return self._ask(_COMPILE_SECONDS, name, *arguments)
        except _LostError as lost:
            raise Error(
                f"the process that measures variants was lost: it {lost.failure.reason}"
            ) from None

    def _ask(self, limit: float, name: str, *arguments: Any) -> Any:
        if self._process is None:
            self._start()
            if self._opened is not None:
                self._exchange(_COMPILE_SECONDS, "open", self._opened)
        return self._exchange(limit, name, *arguments)

    def _exchange(self, limit: float, name: str, *arguments: Any) -> Any:
        if self._stopped:
            raise Stopped
        assert self._connection is not None
        try:
            self._connection.send((name, arguments))
            if not self._connection.poll(limit):
                self.close()
                raise _LostError(Failure("hang", f"gave no answer within {limit:.3g} s"))
            answer = self._connection.recv()
        except (EOFError, OSError):
            if self._stopped:
                raise Stopped from None
            raise _LostError(Failure("died", self._how_it_ended())) from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _how_it_ended(self) -> str:
        """How the process ended."""
        process = self._process
        assert process is not None
        try:
            status = process.wait(5)
        except subprocess.TimeoutExpired:
            status = 0  # it closed the connection, and runs
        self.close()
        if status >= 0:
            return f"ended with status {status}"
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-status).name}"
        return f"was ended by signal {-status}"

    def _start(self) -> None:
        if self._stopped:
            raise Stopped
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, str(theirs.fileno()), json.dumps(sys.path)],
                stdin=subprocess.DEVNULL,
                stdout=2,  # output of kernels must not mix with a table on stdout
                pass_fds=[theirs.fileno()],
                env={**os.environ, "CUPOLA_TUNE": "off"},
                start_new_session=True,  # Ctrl-C interrupts this process alone
            )
        self._connection = Connection(ours.detach())
        self._exchange(_COMPILE_SECONDS, "setup", *self._setup)
