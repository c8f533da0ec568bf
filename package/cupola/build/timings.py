# package/cupola/build/timings.py - the processor time of each build step.
"""Times of build steps."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

VARIABLE = "CUPOLA_BUILD_TIMINGS"


@dataclass(frozen=True)
class Time:
    """The time of one step in seconds, of all its processes together."""

    name: str
    group: str  # the kind of step: its target's folder
    processor: float
    elapsed: float


@dataclass
class Timings:
    """The times of one build's steps."""

    times: list[Time] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.times)

    def add(self, name: str, group: str, processor: float, elapsed: float) -> None:
        """Note a step that has run."""
        self.times.append(Time(name, group, processor, elapsed))

    def table(self, longest: int = 15) -> str:
        """Processor time by kind of step, in seconds, and the longest steps."""
        groups: dict[str, list[float]] = {}
        for time in self.times:
            groups.setdefault(time.group, []).append(time.processor)
        rows = sorted(((sum(all_), len(all_), name) for name, all_ in groups.items()), reverse=True)
        lines = [f"{'seconds':>8} {'steps':>6}  made in"]
        lines += [f"{seconds:8.1f} {count:6}  {name}" for seconds, count, name in rows]
        lines.append(f"{sum(time.processor for time in self.times):8.1f} {len(self):6}  in all")
        lines.append(f"{'seconds':>8} {'elapsed':>8}  step")
        ordered = sorted(self.times, key=lambda time: -time.processor)
        lines += [f"{t.processor:8.1f} {t.elapsed:8.1f}  {t.name}" for t in ordered[:longest]]
        return "\n".join(lines)

    def report(self) -> None:
        """Report as CUPOLA_BUILD_TIMINGS sets: ``1`` prints the table, a path gets JSON."""
        wanted = os.environ.get(VARIABLE, "")
        if not wanted or not self.times:
            return
        if wanted == "1":
            print(self.table(), flush=True)
        else:
            Path(wanted).write_text(json.dumps([vars(time) for time in self.times], indent=1))
