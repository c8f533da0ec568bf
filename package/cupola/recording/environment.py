# cupola/recording/environment.py - CUPOLA_RECORD: records a program without a change of its code.
"""Starts the recording that CUPOLA_RECORD asks for at the program's first launch."""

from __future__ import annotations

import atexit
import os
import re
import sys
from threading import Lock
from typing import Any

from cupola import launch_observer
from cupola.core.result_types import ObservedLaunch
from cupola.exceptions import ArgumentValueError
from cupola.recording.record import Record, record

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}


def recording_of(text: str) -> Record:
    """The recording that a value of CUPOLA_RECORD describes.

    Parameters
    ----------
    text : str
        The file and options, with commas between, such as
        ``case.cupola,kernel=step*,launches=0:3,limit=1G``, or ``fault``.

    Raises
    ------
    ArgumentValueError
        An option is unknown, or its value is invalid.
    """
    first, *options = text.split(",")
    given: dict[str, Any] = {}
    if first == "fault":
        first, options = "fault.cupola", ["fault", *options]
    if not first:
        raise _refusal(text, "a file's name first")
    for option in options:
        name, _, value = option.partition("=")
        if name == "fault" and not value:
            given["fault"] = True
        elif name == "kernel" and value:
            given["kernels"] = value
        elif name == "launches" and (found := re.fullmatch(r"(\d{0,9}):(\d{0,9})", value)):
            given["launches"] = slice(*(int(one) if one else None for one in found.groups()))
        elif name == "limit" and (found := re.fullmatch(r"([1-9]\d{0,14})([kmg]?)(ib)?",
                                                        value.lower())):  # fmt: skip
            given["limit"] = int(found[1]) << _UNITS[found[2]]
        else:
            raise _refusal(text, f"kernel=, launches=A:B, limit= or fault in place of {option!r}")
    return record(first.replace("%p", str(os.getpid())), **given)


def _refusal(text: str, expected: str) -> ArgumentValueError:
    return ArgumentValueError(f"CUPOLA_RECORD is {text!r}: expected {expected}")


class _FirstLaunch:
    """The observer until the first launch, which starts the recording."""

    def __init__(self, text: str) -> None:
        self._text, self._lock = text, Lock()
        self._recording: Record | None = None

    def __call__(self, stage: int, launch: ObservedLaunch | None) -> None:
        """Start the recording, and let it see this launch."""
        with self._lock:
            if self._recording is None and stage == launch_observer.BEGINS:
                # The name may have this process's number: a parent's import was not this process.
                self._recording = recording_of(self._text)
                try:
                    self._recording.start()
                except Exception as error:
                    launch_observer.observe(None)
                    print(f"cupola: CUPOLA_RECORD={self._text}: {error}", file=sys.stderr)
                    return
                atexit.register(self._recording.stop)
        if self._recording is not None:
            self._recording.observe(stage, launch)


def start(text: str) -> None:
    """Record from the first launch of this process to its end.

    Parameters
    ----------
    text : str
        The value of CUPOLA_RECORD.
    """
    recording_of(text)  # an invalid value is an error of the import
    launch_observer.observe(_FirstLaunch(text))
