# cupola/tuning/journal.py - measurements that a later process continues with.
"""The journal of a tuning: a file of JSON lines in the cache folder, until its end."""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
from dataclasses import asdict
from typing import Any

from cupola import cache
from cupola.declare.family import Variant
from cupola.declare.tuning_table import DeviceRecord
from cupola.tuning import tables
from cupola.tuning.family import Family
from cupola.tuning.outcomes import FAILURES, Failure, Footprint, Outcome, Timing

_MOST_BYTES = 256 << 20
Key = tuple[tuple[str, ...], tuple[int, ...]]  # types and sizes of a case
Entry = tuple[tuple[str, ...], tuple[int, ...], str]  # the same, and the digest of the case


class Journal:
    """The outcomes of one family on one kind of device.

    Parameters
    ----------
    family : Family
    device : DeviceRecord
    timed : list
        How variants are searched and timed, for JSON.
    resume : bool
        Whether to read what an earlier process has written. Otherwise the file begins again.
    """

    def __init__(
        self, family: Family, device: DeviceRecord, timed: list[Any], resume: bool
    ) -> None:
        table = {key: value for key, value in family.declaration.table.items() if key != "cases"}
        name = cache.key_of([family.digest, table, asdict(device), timed])
        folder = tables.user_folder()
        self.path = folder and os.path.join(folder, f"{name}.journal")
        self._known: dict[Entry, dict[Variant, Outcome]] = {}
        self._complete: set[Entry] = set()
        self._variants = set(family.variants)
        if self.path is None:
            return
        if resume:
            self._read(self.path)
        else:
            self.remove()

    def known(self, entry: Entry) -> list[Outcome]:
        """The outcomes of a case that an earlier process measured. A variant that hung is none of
        them: the time that it has may differ.
        """
        found = self._known.get(entry, {}).values()
        return [one for one in found if one.failure is None or one.failure.kind != "hang"]

    def is_complete(self, entry: Entry) -> bool:
        """Whether an earlier process measured a case to its end."""
        return entry in self._complete

    def append(self, entry: Entry, outcome: Outcome) -> None:
        """Add an outcome; a later one of the same variant replaces it."""
        self._write([*entry, *outcome])

    def complete(self, entry: Entry) -> None:
        """Add that a case was measured to its end."""
        self._write([*entry])

    def _write(self, fields: list[Any]) -> None:
        """Append a line. One write of a whole line is not mixed with those of other processes."""
        if self.path is None:
            return
        os.makedirs(os.path.dirname(self.path), 0o700, exist_ok=True)
        line = json.dumps(fields).encode()
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, b"\n" + line + b"\n")  # after a torn line, too
        finally:
            os.close(file)

    def remove(self) -> None:
        """Remove the file: its rows are in a table."""
        if self.path is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)

    def _is_possible(self, outcome: Outcome) -> bool:
        numbers = [*(outcome.timing or ()), *(outcome.footprint or ())]
        return (
            outcome.variant in self._variants
            and (outcome.failure is None or outcome.failure.kind in FAILURES)
            and all(isinstance(one, (int, float)) and 0 <= one < math.inf for one in numbers)
        )

    def _read(self, path: str) -> None:
        try:
            # Don't block on a pipe.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return
                lines = file.read(_MOST_BYTES).splitlines()
        except OSError:
            return
        for line in lines:
            # A line that a killed process has not finished is left out.
            with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
                types, sizes, digest, *fields = json.loads(line)
                entry = tuple(types), tuple(sizes), digest
                if not fields:
                    self._complete.add(entry)
                    continue
                variant, failure, footprint, timing = fields
                outcome = Outcome(
                    tuple(variant),
                    failure and Failure(*failure),
                    footprint and Footprint(*footprint),
                    timing and Timing(*timing),
                )
                if not self._is_possible(outcome):
                    continue
                self._known.setdefault(entry, {})[outcome.variant] = outcome
