# cupola/tuning/first_use.py - measures a key when it is first used, where CUPOLA_TUNE allows it.
"""The tuning of a family by its calls."""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any

from cupola.core.registry import registered
from cupola.exceptions import Error
from cupola.tuning import mode as modes
from cupola.tuning import tables

if TYPE_CHECKING:
    from cupola.declare.tuning_table import Row
    from cupola.stream import Stream
    from cupola.tuning.family import Call, Family


class FirstUse:
    """The keys that calls of one family have measured, and the user's answer."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._known: set[Any] = set()  # device, types and key of each measured call
        self._answer: bool | None = None  # to the question of CUPOLA_TUNE=ask

    def measure(self, family: Family, call: Call, stream: Stream | None, index: int) -> bool:
        """Measure the key of a call, and store the row; whether tables may have it now.

        A failure is a warning: the launch takes what tables have.

        Raises
        ------
        ArgumentValueError
            CUPOLA_TUNE or CUPOLA_TUNE_SECONDS has another value than it can have.
        """
        budget = modes.first_use_seconds()
        first_use = index, call.types, family.declaration.key_of(call.given)
        with self._lock:
            if first_use in self._known:
                return True
            if modes.mode() == modes.ASK and not self._asked(family):
                return False
            self._known.add(first_use)
            try:
                with stream if stream is not None else contextlib.nullcontext():
                    row: Row | None = registered("tune_at_first_use")(family, call, budget)
            except Error as error:
                warnings.warn(
                    f"{family.name}: the measurement at the first use of "
                    f"{dict(zip(family.declaration.key, first_use[2], strict=True))} failed: "
                    f"{error}",
                    RuntimeWarning,
                    stacklevel=4,
                )
                return False
            if row is None:
                return False
            from cupola.device import Device

            tables.store(tables.device_record(Device(index)), family.rows([row]))
            return True

    def _asked(self, family: Family) -> bool:
        """The answer of the user, who is asked once."""
        if self._answer is None:
            self._answer = _ask(family)
        return self._answer


def _ask(family: Family) -> bool:
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        print(
            f"cupola: family {family.name} has no measurement near these sizes. Measure its "
            f"{len(family.variants)} variants now, and at other such sizes? [y/N] ",
            end="",
            file=sys.stderr,
            flush=True,
        )
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    package = family.source.package(family.declaration)
    remedy = f"python -m cupola tune {package}" if package else "cupola.tune(family, cases)"
    warnings.warn(
        f"{family.name}: no table has a measurement near these sizes, so that a launch takes the "
        f"declared default or a distant row; measure them with {remedy}",
        RuntimeWarning,
        stacklevel=5,
    )
    return False
