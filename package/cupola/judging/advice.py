# cupola/judging/advice.py - what a right kernel could do better, and what was not reached.
"""Registers, shared memory and occupancy on GPUs; sectors and bank conflicts; lines and branches
that no input reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cupola.judging.candidate import TITLE
from cupola.judging.verdict import Finding


class Processor(NamedTuple):
    """The limits of a multiprocessor, from the CUDA C++ Programming Guide."""

    warps: int
    blocks: int
    shared: int  # bytes


# Targets that run the PTX of a candidate.
PROCESSORS = {
    "sm_90": Processor(64, 32, 228 << 10),
    "sm_100": Processor(64, 32, 228 << 10),
    "sm_120": Processor(48, 24, 100 << 10),
}
_REGISTERS, _UNIT = 65536, 256  # of a multiprocessor; registers are given to warps in such units
_PARTITIONS = 4  # of a multiprocessor; a warp runs in one of them
_RESERVED, _STEP = 1024, 128  # bytes of shared memory: those of the system, and the granularity
_LOW = 0.25
_SECTOR = 32  # bytes of global memory that move at once
_PIECES = {"global": ("uncoalesced", "sectors"), "shared": ("bank-conflicts", "wavefronts")}
_COUNTS = ("warps", "lanes", "bytes", "pieces", "least")
_MUCH = 0.1  # of all pieces of a launch


def occupancy(target: str, registers: int, shared: int, threads: int) -> float:
    """The part of a multiprocessor's warps that can be resident.

    Parameters
    ----------
    target : str
        A key of `PROCESSORS`.
    registers : int
        Of a thread.
    shared : int
        Bytes of a block, static and dynamic.
    threads : int
        Of a block.
    """
    limits, warps = PROCESSORS[target], -(-threads // 32)
    of_warp = -(-max(registers, 1) * 32 // _UNIT) * _UNIT
    of_block = -(-(shared + _RESERVED) // _STEP) * _STEP
    blocks = min(
        limits.blocks, limits.warps // warps, limits.shared // of_block,
        _REGISTERS // _PARTITIONS // of_warp * _PARTITIONS // warps,
    )  # fmt: skip
    return blocks * warps / limits.warps


def of_resources(
    resources: Mapping[str, Mapping[str, Any]], threads: int, dynamic: int
) -> tuple[dict[str, Any], list[Finding]]:
    """Resources and occupancy by target, and the advice that follows.

    Parameters
    ----------
    resources : mapping
        By target: ``registers``, ``shared``, ``local`` and, where known, ``spills`` of the kernel.
    threads : int
        Of a block.
    dynamic : int
        Bytes of dynamic shared memory.
    """
    about: dict[str, Any] = {}
    found = []
    for target, one in resources.items():
        part = occupancy(target, one["registers"], one["shared"] + dynamic, threads)
        about[target] = {**one, "threads": threads, "occupancy": round(part, 3)}
        spilled = f"; {one['spills']} bytes are spilled" if one.get("spills") else ""
        if part < _LOW or spilled:
            found.append(Finding(
                "occupancy", f"{target}: {one['registers']} registers and "
                f"{one['shared'] + dynamic:,} bytes of shared memory let {part:.0%} of the warps "
                f"be resident{spilled}",
            ))  # fmt: skip
    return about, found


def of_traffic(text: str, output: int, title: str = TITLE) -> tuple[dict[str, Any], list[Finding]]:
    """Memory traffic of a launch by line, and the advice that follows.

    Parameters
    ----------
    text : str
        As ``csrc/cpu/traffic/traffic.hpp`` describes.
    output : int
        Bytes of the outputs.
    title : str
        The name of the source whose lines are named; "" for none.
    """
    accesses: list[dict[str, Any]] = []
    distinct = 0
    for kind, _, *fields in (line.split("\t") for line in text.splitlines()):
        if kind == "footprint":
            distinct += _SECTOR * sum(map(int, fields))
        else:
            space, how, *numbers, place = fields
            line = re.search(rf"{re.escape(title)}:(\d+)", place) if title else None
            accesses.append({
                "line": int(line[1]) if line else 0, "space": space, "how": how,
                **dict(zip(_COUNTS, map(int, numbers), strict=True)),
            })  # fmt: skip
    pieces = {space: sum(one["pieces"] for one in accesses if one["space"] == space)
              for space in _PIECES}  # fmt: skip
    moved = _SECTOR * pieces["global"]
    about = {
        "output_bytes": output, "moved_bytes": moved, "distinct_bytes": distinct,
        "moved_per_output_byte": round(moved / max(output, 1), 3), "accesses": accesses,
    }  # fmt: skip
    found = []
    for one in accesses:
        space, count, least = one["space"], one["pieces"], one["least"]
        if count >= 2 * least and count - least >= _MUCH * pieces[space]:
            code, name = _PIECES[space]
            text = (
                f"{one['how']}s of {space} memory take {count / one['warps']:.1f} {name} a warp, "
                f"and their bytes fit {least / one['warps']:.1f}"
            )
            found.append(Finding(code, text, one["line"]))
    return about, found


def of_coverage(counts: Mapping[str, Any]) -> tuple[dict[str, Any], Iterator[Finding]]:
    """How much of the candidate ran, and the lines and branches that did not."""
    lines = dict(counts["lines"])
    sides = [(line, to, lanes) for line, to, lanes in counts["sides"]]
    missed = sorted(line for line, lanes in lines.items() if not lanes)
    branches = sorted({(line, to) for line, to, lanes in sides if not lanes})
    about = {
        "lines": len(lines), "lines_run": len(lines) - len(missed), "lines_missed": missed,
        "branches": len(sides), "branches_missed": [list(one) for one in branches],
    }  # fmt: skip

    def found() -> Iterator[Finding]:
        if missed:
            listed = ", ".join(map(str, missed[:20]))
            yield Finding("uncovered", f"no input reached lines {listed}", missed[0])

    return about, found()
