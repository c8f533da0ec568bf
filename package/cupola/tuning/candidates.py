# cupola/tuning/candidates.py - the measured rows that launches of a family choose from.
"""Rows of tables for a family, a device and types; and the reasons why others are ignored."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from cupola.declare.family import Variant
from cupola.declare.table_fit import unfit
from cupola.declare.tuning_table import DeviceRecord, Row
from cupola.tuning import mode as modes
from cupola.tuning import tables

if TYPE_CHECKING:
    from cupola.tuning.family import Family

# The begin of the CPU device's names. Its tables say nothing about a GPU of its capability.
_CPU_NAME = "cupola CPU device"


class Candidate(NamedTuple):
    """A measured row, in the form that a launch needs."""

    level: int  # 0: of a device of the same name; 1: of the same compute capability
    key: tuple[int, ...]
    variant: Variant
    row: Row
    path: str
    device: DeviceRecord


class Candidates(NamedTuple):
    """The rows, lower levels first, and why others are ignored."""

    rows: tuple[Candidate, ...]
    ignored: tuple[str, ...]


def find(family: Family, index: int, types: tuple[str, ...]) -> Candidates:
    """The rows for a device and element types. Of two rows with one key, the first table's stays.

    Raises
    ------
    ArgumentValueError
        CUPOLA_TUNE has another value than it can have.
    """
    from cupola.device import Device, is_cpu

    chosen, cpu = modes.mode(), is_cpu(index)
    if chosen == modes.OFF:
        return Candidates((), ("all tables: CUPOLA_TUNE is off",))
    if chosen == modes.ON_GPUS and cpu:
        return Candidates((), ("all tables: the CPU device reads them with CUPOLA_TUNE=tables",))
    major, minor = Device(index).compute_capability
    name, capability = Device(index).name, f"{major}.{minor}"
    known: dict[tuple[int, tuple[int, ...]], Candidate] = {}
    ignored: list[str] = []
    for path, table in tables.find(family.source.package(family.declaration)):
        about = table.device
        if about.capability != capability:
            continue
        if not cpu and about.name.startswith(_CPU_NAME):
            continue
        level = int(about.name != name)
        for rows in table.families:
            if rows.name != family.name:
                continue
            if why := unfit(rows, family.declaration, family.digest):
                ignored.append(f"{path}: {why}")
                continue
            for row in rows.rows:
                if row.types != types:
                    continue
                variant = family.declaration.variant(row.variant)
                if variant not in family.variants:
                    text = family.declaration.text(variant)
                    ignored.append(f"{path}: the family has no variant {text}")
                    continue
                one = Candidate(level, row.key, variant, row, path, about)
                known.setdefault((level, row.key), one)
    found = Candidates(
        tuple(sorted(known.values(), key=lambda one: one.level)), tuple(dict.fromkeys(ignored))
    )
    _log(family, index, types, found)
    return found


def _log(family: Family, index: int, types: tuple[str, ...], found: Candidates) -> None:
    """Lines of CUPOLA_LOG, whose values the library checks."""
    if os.environ.get("CUPOLA_LOG") not in ("info", "debug"):
        return
    typed = f" of {', '.join(types)}" if types else ""
    lines: list[Any] = [f"family {family.name}{typed}: {len(found.rows)} rows for device {index}"]
    lines += [f"family {family.name}: ignored {text}" for text in found.ignored]
    os.write(2, "".join(f"cupola: {line}\n" for line in lines).encode(errors="replace"))
