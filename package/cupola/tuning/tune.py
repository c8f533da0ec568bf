# cupola/tuning/tune.py - cupola.tune: measures the variants of a family on cases.
"""`cupola.tune`, and the tuning of a call at its first use."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from cupola import driver
from cupola.declare.tuning_table import DeviceRecord, Row
from cupola.device import Device, is_cpu
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.tuning import tables
from cupola.tuning.cases import Case
from cupola.tuning.family import Call, Family
from cupola.tuning.journal import Journal
from cupola.tuning.measure import EventClock
from cupola.tuning.outcomes import Failure
from cupola.tuning.progress import progress_report
from cupola.tuning.race import Race
from cupola.tuning.results import TunedCase, Tuning
from cupola.tuning.search import SEARCHES
from cupola.tuning.session import Session, Settings, key_text, search, tuned
from cupola.tuning.worker import Worker

__all__ = ["tune"]


def tune(
    family: Family,
    cases: Any,
    *,
    device: Any = None,
    budget: float = 60.0,
    search: str = "all",
    flush: bool = True,
    seed: int = 0,
    resume: bool = True,
    progress: Any = True,
    store: bool | str | os.PathLike[str] = True,
    timeout: float = 10.0,
) -> Tuning:
    """Measure the variants of a family on cases, and store the best for each key.

    Each variant's results are compared with the case's reference before it is timed. The variants
    run in a process of their own for each device, which is started again where a variant faults,
    hangs or ends it.

    Parameters
    ----------
    family : Family
    cases : callable, iterable of Case, or Case
        A function without arguments that yields cases, which are held one at a time. Each has a
        key of its own: the sizes that the declaration names.
    device : Device, int, "cpu", or a list of them, optional
        By default the current one. Several devices of one kind share the cases.
    budget : float
        Seconds for all cases. A list's cases have equal shares of the time that is left. Where the
        number of cases is not known, each has an eighth.
    search : {"all", "random", "greedy", "hill-climbing"}
        ``all`` measures each variant, in random order. ``random`` ends when many in a row are no
        better. ``greedy`` improves one tunable at a time, from the default on. ``hill-climbing``
        goes from the default to the best neighbour, and begins again at random variants.
    flush : bool
        Whether a fill that is larger than the L2 cache precedes each timed launch. Otherwise
        launches in a row are timed, whose arrays may be in the cache.
    seed : int
        Of the random orders.
    resume : bool
        Whether to continue a tuning that was interrupted, from its journal in the cache folder.
    progress : bool or callable
        True shows a bar on a terminal, where tqdm is installed. A function is called with the
        numbers of measured and of all variants; the second is 0 where it is not known.
    store : bool or path-like
        Whether the rows go to the user's table of the device; a path is the folder of another
        table, such as ``tuning`` in a package.
    timeout : float
        Seconds after which a launch counts as hanging.

    Returns
    -------
    Tuning
        The rows, and what was measured; printed as a table.

    Raises
    ------
    ArgumentValueError
        There is no case, two have one key, or the declared default misses a reference. Nothing is
        stored.
    ArgumentError
        A case does not fit the kernel's parameters, or another argument is wrong.
    KeyboardInterrupt
        After Ctrl-C. The rows of finished cases are stored, and the journal has the rest.

    Notes
    -----
    A time is the median of rounds, which are interleaved over the variants near the best. Of
    variants whose medians differ by less than their uncertainty, the one with the fewest bytes of
    registers and shared memory is chosen; among such, the one with the fewest changed tunables.
    """
    settings = Settings(
        EventClock(bool(flush)),
        _checked_seconds("budget", budget),
        _checked_search(search),
        _checked_seed(seed),
        _checked_seconds("timeout", timeout),
    )
    return tune_with(
        family, cases, settings, device=device, resume=resume, progress=progress, store=store
    )


def tune_with(
    family: Family,
    cases: Any,
    settings: Settings,
    *,
    device: Any = None,
    resume: bool = True,
    progress: Any = None,
    store: bool | str | os.PathLike[str] = True,
) -> Tuning:
    """As `tune`, with any clock."""
    if not isinstance(family, Family):
        raise ArgumentTypeError(f"tune takes a cupola.Family, got {type(family).__name__}")
    with contextlib.ExitStack() as opened, progress_report(progress) as report:
        workers = [
            opened.enter_context(
                Worker(family, _for_process(one), settings.clock, settings.timeout)
            )
            for one in _devices(device)
        ]
        session = Session(family, cases, settings)
        record = _record(workers)
        timed = [type(settings.clock).__name__, getattr(settings.clock, "flush", None)]
        journal = Journal(family, record, [*timed, settings.search, settings.seed], resume)

        def keep(cases: Sequence[TunedCase]) -> str | None:
            # A case that the budget ended at the default says nothing: older rows may be better.
            rows = [one.row for one in cases if one.is_complete or one.row.variants > 1]
            if store is False or not rows:
                return None
            folder = None if store is True else os.fspath(store)
            place = tables.store(record, family.rows(rows), folder)
            family.reload()
            return place

        try:
            session.run(workers, journal, report)
        except KeyboardInterrupt:
            keep(session.cases)
            raise
    found = Tuning(
        family.declaration, family.name, family.digest, record, session.cases, session.unmeasured
    )
    found.file = keep(found.cases)
    is_kept = store is False or found.file is not None
    if is_kept and not session.unmeasured and all(one.is_complete for one in found.cases):
        journal.remove()
    return found


def _record(workers: Sequence[Worker]) -> DeviceRecord:
    """The record of the devices, which are of one kind."""
    with ThreadPoolExecutor(len(workers)) as pool:
        first, *others = pool.map(Worker.device_record, workers)
    for one in others:
        if one != first:
            raise ArgumentValueError(
                f"device= names devices of two kinds ({first.name} and {one.name}), whose times "
                "differ: tune on each kind alone"
            )
    return first


def tune_at_first_use(family: Family, call: Call, budget: float) -> Row | None:
    """Measure the variants on a copy of a call's arguments, in a process of its own.

    The declared default computes the reference. The call's arrays are read, and not written.

    Parameters
    ----------
    family : Family
    call : Call
        As `Family.call` returns it.
    budget : float
        Seconds.

    Returns
    -------
    Row or None
        None where an argument can't be copied, as an address given as a number, where no array is
        written, or where the default fails.
    """
    if _has_addresses(family, call):
        return None
    copies = [_copied(one) for one in call.arguments]
    if any(one is None for one in copies):
        return None
    settings = Settings(EventClock(), budget)
    deadline = time.monotonic() + settings.budget
    device = _for_process(Device())
    with Worker(family, device, settings.clock, settings.timeout) as worker:
        worker.until(deadline)
        reference = worker.results(copies)
        if isinstance(reference, Failure) or not reference:
            return None
        opened = worker.open(Case(copies, reference))
        key = opened.types, opened.key
        race = Race(worker, family.declaration.default, deadline)
        if race.start() is not None:
            return None
        search(family, race, settings)
        race.finish()
        if race.outcomes[family.declaration.default].timing is None:
            return None
        found = tuned(family, key, key_text(family, key), race, None, not race.is_over)
        return found.row if found.is_complete or found.row.variants > 1 else None


def _has_addresses(family: Family, call: Call) -> bool:
    """Whether a number is given for a pointer: it means nothing in another process, or the memory
    of something else.
    """
    parameters = family.kernel(family.declaration.default, call.types).params
    return any(
        parameter.kind == "pointer" and isinstance(value, (int, np.integer))
        for parameter, value in zip(parameters, call.arguments, strict=False)
    )


def _copied(value: Any) -> Any:
    """A NumPy array, or a value that is no array; None where it can't be copied."""
    if isinstance(value, (bool, int, float, complex, np.generic, np.ndarray)):
        return value
    if hasattr(value, "get") and hasattr(value, "__cuda_array_interface__"):
        return value.get()
    if hasattr(value, "__dlpack__"):
        from cupola.dlpack import from_dlpack

        return from_dlpack(value).get()
    return None


def _devices(asked: Any) -> list[Device]:
    """The devices of an argument."""
    listed = list(asked) if isinstance(asked, (list, tuple)) else [asked]
    found = [Device(one) for one in listed]
    if not found:
        raise ArgumentValueError("device= is an empty list: expected at least one device")
    if len(set(found)) < len(found):
        raise ArgumentValueError("device= names a device twice")
    return found


def _for_process(device: Device) -> int | str:
    """The device by a name that a new process knows."""
    beside = driver.info().kind == "cuda" and is_cpu(device.index)
    return "cpu" if beside else device.index


def _checked_seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"{name}= is a number of seconds, got {value!r}")
    if not (math.isfinite(value) and value > 0):
        raise ArgumentValueError(f"{name}= is a number of seconds above 0, got {value!r}")
    return float(value)


def _checked_search(name: Any) -> str:
    if name not in SEARCHES:
        raise ArgumentValueError(f"search={name!r}: expected one of {', '.join(SEARCHES)}")
    return str(name)


def _checked_seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ArgumentTypeError(f"seed= is an int, got {value!r}")
    return int(value)
