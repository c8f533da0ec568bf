# cupola/coverage/report.py - counts by file, line and branch, from counters of modules.
"""Adds the counters of modules up to lines and branches.

The count of a line in one function, or in one inlined call of it, is the highest one of its basic
blocks: the condition of a loop runs more often than its start. The counts of functions and inlined
calls are added, so those of a template's instantiations are too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass
class Line:
    """The count of a source line.

    Attributes
    ----------
    lanes : int
        The number of threads that ran it, each as often as it did.
    warps : int
        The number of times that a warp ran it.
    """

    lanes: int = 0
    warps: int = 0

    @property
    def masked(self) -> int:
        """The number of lanes that were inactive while their warp ran the line."""
        return 32 * self.warps - self.lanes


@dataclass
class Branch:
    """The counts of a branch.

    Attributes
    ----------
    sides : list of (int, int)
        For each side, the line that it leads to and the lanes that took it. Line 0: the function
        ends, or the line is in another file.
    divergent : int
        The number of times that lanes of one warp took different sides; 0: never divergent.
    """

    sides: list[tuple[int, int]]
    divergent: int = 0

    def add(self, other: Branch) -> None:
        """Add the counts of the same branch elsewhere."""
        pairs = zip(self.sides, other.sides, strict=True)
        self.sides = [(line, mine + its) for (line, mine), (_, its) in pairs]
        self.divergent += other.divergent


@dataclass
class SourceFile:
    """The counts of a file.

    Attributes
    ----------
    path : str
        The path, as the compiler wrote it.
    lines : dict of int to Line
        The lines that an instruction came from, by number.
    branches : dict of int to list of Branch
        The branches, by line.
    """

    path: str
    lines: dict[int, Line] = field(default_factory=dict)
    branches: dict[int, list[Branch]] = field(default_factory=dict)

    def arcs(self) -> dict[tuple[int, int], int]:
        """The branches as pairs of lines, with the lanes that went from one to the other.

        A pair (line, -line) leaves the function. Branches within one line are left out, and those
        that lead to one line on both sides.
        """
        found: dict[tuple[int, int], int] = defaultdict(int)
        for line, branches in self.branches.items():
            for branch in branches:
                for to, lanes in branch.sides:
                    if to != line:
                        found[line, to or -line] += lanes
        exits: dict[int, int] = defaultdict(int)
        for line, _ in found:
            exits[line] += 1
        return {arc: lanes for arc, lanes in found.items() if exits[arc[0]] > 1}


@dataclass
class Report:
    """The counts of a coverage file, by source file.

    Attributes
    ----------
    files : dict of str to SourceFile
        By path.
    """

    files: dict[str, SourceFile] = field(default_factory=dict)


Site = tuple[int, int, int]  # scope, file, line


@dataclass
class Counter:
    """A counter of a function: see csrc/cpu/coverage/plan.hpp."""

    kind: str
    word: int
    sites: Sequence[Site]
    sides: Sequence[Site] = ()


@dataclass
class Function:
    """A function of a module: its counters, and their words by context."""

    name: str
    entry: bool
    counters: list[Counter] = field(default_factory=list)
    counts: dict[str, dict[int, int]] = field(default_factory=dict)

    def words(self, context: str | None) -> dict[int, int]:
        """The words of one context, or of all together."""
        if context is not None:
            return self.counts.get(context, {})
        total: dict[int, int] = defaultdict(int)
        for words in self.counts.values():
            for word, count in words.items():
                total[word] += count
        return total


@dataclass
class Module:
    """A module, as its records describe it."""

    files: list[str] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    scopes: list[tuple[int, int, int]] = field(default_factory=lambda: [(0, 0, 0)])


def add_function(report: Report, module: Module, function: Function, context: str | None) -> None:
    """Add the counts of a function in a context, or in all (None), to a report."""
    words = function.words(context)
    for file, line, best in _lines(function, words):
        lines = _file(report, module, file).lines
        known = lines.setdefault(line, Line())
        known.lanes += best.lanes
        known.warps += best.warps
    ordinals: dict[tuple[Site, tuple[int, ...]], int] = defaultdict(int)
    for counter in function.counters:
        if counter.kind == "lines":
            continue
        _, file, line = site = counter.sites[0]
        branches = _file(report, module, file).branches.setdefault(line, [])
        made = _branch(counter, words, file)
        key = site, tuple(_targets(made))
        at = ordinals[key]
        ordinals[key] += 1
        same = [i for i in range(len(branches)) if _targets(branches[i]) == _targets(made)]
        if at < len(same):
            branches[same[at]].add(made)
        else:
            branches.append(made)


def _file(report: Report, module: Module, file: int) -> SourceFile:
    path = module.files[file]
    return report.files.setdefault(path, SourceFile(path))


def _lines(function: Function, words: dict[int, int]) -> Iterator[tuple[int, int, Line]]:
    best: dict[Site, Line] = {}
    for counter in function.counters:
        if counter.kind != "lines":
            continue
        lanes, warps = words.get(counter.word, 0), words.get(counter.word + 1, 0)
        for site in counter.sites:
            known = best.setdefault(site, Line())
            if lanes > known.lanes or (lanes == known.lanes and warps > known.warps):
                known.lanes, known.warps = lanes, warps
    for (_, file, line), count in best.items():
        yield file, line, count


def _branch(counter: Counter, words: dict[int, int], file: int) -> Branch:
    lines = [line if where == file else 0 for _, where, line in counter.sides]
    lanes = [words.get(counter.word + n, 0) for n in range(len(lines))]
    if counter.kind == "branch":
        return Branch(list(zip(lines, lanes, strict=True)), words.get(counter.word + 2, 0))
    merged: dict[int, int] = {}
    for line, count in zip(lines, lanes, strict=True):
        merged[line] = merged.get(line, 0) + count
    return Branch(list(merged.items()))


def _targets(branch: Branch) -> list[int]:
    return [line for line, _ in branch.sides]
