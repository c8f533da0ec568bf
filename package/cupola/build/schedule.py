# package/cupola/build/schedule.py - the order of build steps: after their inputs, long ones first.
"""The order of build steps."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from pathlib import Path

from .error import BuildError
from .step import Step


class Schedule:
    """Returns each step after its inputs are made, the longest chain of remaining work first.

    With this order, all processors finish at about the same time.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._by_target = _targets(steps)
        self._order = {step.target: at for at, step in enumerate(self._by_target.values())}
        self._waits = {
            target: {path for path in step.inputs if path in self._by_target}
            for target, step in self._by_target.items()
        }
        self._users: dict[Path, list[Path]] = {target: [] for target in self._by_target}
        for target, needed in self._waits.items():
            for path in needed:
                self._users[path].append(target)
        self._urgency: dict[Path, float] = {}
        for target in reversed(list(self._sorted())):
            after = (self._urgency[user] for user in self._users[target])
            self._urgency[target] = self._by_target[target].weight + max(after, default=0)
        self._ready: list[tuple[float, int, Path]] = []
        for target, needed in self._waits.items():
            if not needed:
                self._push(target)

    def __len__(self) -> int:
        return len(self._by_target)

    def take(self) -> Step | None:
        """The next step, or None while all remaining steps wait for others."""
        return self._by_target[heapq.heappop(self._ready)[2]] if self._ready else None

    def made(self, step: Step) -> None:
        """Note that a step is done; steps that waited only for it become available."""
        for user in self._users[step.target]:
            self._waits[user].discard(step.target)
            if not self._waits[user]:
                self._push(user)

    def _push(self, target: Path) -> None:
        heapq.heappush(self._ready, (-self._urgency[target], self._order[target], target))

    def _sorted(self) -> Iterator[Path]:
        """Targets, each after its inputs."""
        left = {target: len(needed) for target, needed in self._waits.items()}
        found = [target for target, count in left.items() if not count]
        while found:
            target = found.pop()
            yield target
            for user in self._users[target]:
                left[user] -= 1
                if not left[user]:
                    found.append(user)
        circle = next((target for target, count in left.items() if count), None)
        if circle is not None:
            raise BuildError(f"{circle} is made from itself")


def _targets(steps: Sequence[Step]) -> dict[Path, Step]:
    targets: dict[Path, Step] = {}
    for step in steps:
        if step.target in targets:
            raise BuildError(f"two steps make {step.target}")
        targets[step.target] = step
    return targets
