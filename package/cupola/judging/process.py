# cupola/judging/process.py - a process with limits, which answers messages.
"""The judge's processes: a compiler's, the reference's and the candidate's."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cupola.judging import confine
from cupola.judging.messages import MessageError, receive, send

_TAIL = 4096
_NO_MEMORY = ("bad_alloc", "MemoryError", "out of memory", "Cannot allocate memory",
              "CUDA_ERROR_OUT_OF_MEMORY", "virtual memory exhausted")  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """The limits of each of the judge's processes.

    Attributes
    ----------
    seconds : float
        Of processor time of a process; a compiler gets this time by the clock, too.
    launch_seconds : float
        Of one launch.
    memory : int
        Bytes of address space.
    output : int
        Bytes that a process may print, and of each file that it writes.
    answer : int
        Bytes of one answer.
    """

    seconds: float = 60.0
    launch_seconds: float = 5.0
    memory: int = 6 << 30
    output: int = 1 << 20
    answer: int = 256 << 20


class Ended(Exception):
    """A process ended, or was ended, before it answered.

    Parameters
    ----------
    code : str
        A code of a finding: ``timeout``, ``memory-limit``, ``output-limit`` or ``exit``.
    text : str
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class Process:
    """A process of the judge, by the name of its module here.

    Parameters
    ----------
    role : str
        ``compile_process``, ``reference_process`` or ``candidate_process``.
    limits : Limits
    environment : mapping of str to str
        Variables in addition to those that a process of Python needs.
    files : int
        Bytes of each file that it writes.
    """

    def __init__(
        self, role: str, limits: Limits, environment: Mapping[str, str] | None = None,
        files: int = 256 << 20,
    ) -> None:  # fmt: skip
        self.limits, self.role = limits, role
        self.folder = tempfile.mkdtemp(prefix="cupola-judge-")
        ours, theirs = socket.socketpair()
        told = {
            "folder": self.folder, "CORE": 0, "FSIZE": files, "AS": limits.memory,
            "CPU": int(limits.seconds) + 1,
        }  # fmt: skip
        command = [
            sys.executable, "-I", "-S", confine.__file__, json.dumps(told),
            sys.executable, "-m", f"cupola.judging.{role}", str(theirs.fileno()),
        ]  # fmt: skip
        try:
            self._child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, pass_fds=[theirs.fileno()],
                env=_environment(self.folder, environment or {}),
            )  # fmt: skip
        except BaseException:
            ours.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        finally:
            theirs.close()
        self._socket = ours
        self._printed, self._tail, self._flooded = 0, b"", False
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def _drain(self) -> None:
        """Read what the process prints; end it where that is too much."""
        stream = self._child.stdout
        assert stream is not None
        while data := os.read(stream.fileno(), 65536):
            self._printed += len(data)
            self._tail = (self._tail + data)[-_TAIL:]
            if self._printed > self.limits.output and not self._flooded:
                self._flooded = True
                self._kill()

    def _kill(self) -> None:
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self._child.pid, signal.SIGKILL)

    def ask(
        self, header: dict[str, Any], pieces: Sequence[Any] = (), seconds: float | None = None
    ) -> tuple[dict[str, Any], list[bytearray]]:
        """Send a request, and wait for the answer.

        Raises
        ------
        Ended
        """
        self.tell(header, pieces)
        return self.answer(seconds)

    def tell(self, header: dict[str, Any], pieces: Sequence[Any] = ()) -> None:
        """Send a request."""
        with contextlib.suppress(MessageError):  # `answer` then finds out why
            send(self._socket, header, pieces)

    def answer(self, seconds: float | None = None) -> tuple[dict[str, Any], list[bytearray]]:
        """Wait for the answer to a request."""
        wait = self.limits.seconds if seconds is None else seconds
        try:
            return receive(self._socket, self.limits.answer, wait)
        except TimeoutError:
            self._kill()
            raise Ended("timeout", f"no answer within {wait:g} s") from None
        except MessageError as error:
            raise self._why(str(error)) from None

    def _why(self, text: str) -> Ended:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(2)
        self._kill()
        status = self._child.wait()
        self._reader.join(2)
        tail = self._tail.decode(errors="replace").strip()
        if self._flooded:
            return Ended("output-limit", f"it printed more than {self.limits.output:,} bytes")
        if status == -signal.SIGXCPU:
            return Ended("timeout", f"it used more than {self.limits.seconds:g} s")
        if any(one in tail for one in _NO_MEMORY):
            return Ended("memory-limit", f"it needs more than {self.limits.memory:,} bytes")
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        last = tail.splitlines()[-1][:300] if tail else ""
        return Ended("exit", f"{text}: {how}{f'; it printed last: {last}' if last else ''}")

    @property
    def flooded(self) -> bool:
        """Whether it printed more than the limit."""
        return self._flooded

    def path(self, name: str) -> Path:
        """A file in the folder of the process."""
        return Path(self.folder) / name

    def close(self) -> None:
        """End the process, and remove its folder."""
        self._kill()
        self._child.wait()
        self._reader.join(2)
        if self._child.stdout is not None and not self._reader.is_alive():
            self._child.stdout.close()
        self._socket.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _environment(folder: str, more: Mapping[str, str]) -> dict[str, str]:
    """The variables of a process; nothing else of the user's is given to it."""
    kept = ("PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "NVCC_CCBIN", "LD_LIBRARY_PATH",
            "PYTHONPATH", "VIRTUAL_ENV", "CUPOLA_LIBRARY", "LANG", "LC_ALL")  # fmt: skip
    found = {name: os.environ[name] for name in kept if name in os.environ}
    return {
        **found, "HOME": folder, "TMPDIR": folder, "CUPOLA_CACHE_DIR": "none",
        "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1", **more,
    }  # fmt: skip


def serve(descriptor: int, functions: Mapping[str, Any]) -> None:
    """In a process: answer requests by functions of a header and pieces, until the judge ends.

    A function returns a header and pieces.
    """
    with socket.socket(fileno=descriptor) as judge:
        while True:
            select.select([judge], [], [])
            try:
                header, pieces = receive(judge, 1 << 40)
            except MessageError:
                return
            told, answers = functions[header.pop("do")](header, pieces)
            send(judge, told, answers)
