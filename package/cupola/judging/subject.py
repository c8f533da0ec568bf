# cupola/judging/subject.py - what is judged: the common part of sources and operations.
"""`Subject`: the task, the code and the further checks of a candidate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from cupola.judging.candidate import Candidate
from cupola.judging.process import Process
from cupola.judging.task import Task
from cupola.judging.trials import Trials
from cupola.judging.verdict import Finding


class Subject(ABC):
    """A candidate.

    Attributes
    ----------
    title : str
        For the verdict.
    numbers : str
        A text whose numbers are sizes of interest.
    ptx : bytes
        After `load`.
    resources : mapping
        Registers and more by kernel and target, after `load`.
    about : dict
        Members of the verdict.
    """

    def __init__(self, title: str, numbers: str) -> None:
        self.title, self.numbers = title, numbers
        self.ptx = b""
        self.resources: Mapping[str, Any] = {}
        self.about: dict[str, Any] = {}
        self.processes: list[Process] = []  # beside those of the reference and the candidate

    @abstractmethod
    def task(self, told: Mapping[str, Any]) -> Task:
        """The task, of what the reference's file says.

        Raises
        ------
        TaskError, Refused
        """

    @abstractmethod
    def load(self, task: Task, candidate: Candidate) -> dict[tuple[str, ...], str]:
        """Load the code, and return the kernels' names in it by the types of the type variables.

        Raises
        ------
        LoadError, Refused
        """

    def counted(self, counts: Mapping[str, Any]) -> Mapping[str, Any]:
        """The part of the counts of lines and branches that is the candidate's."""
        return counts

    @abstractmethod
    def start(self) -> None:
        """Read what the task needs, and start processes."""

    def close(self) -> None:
        """End the processes."""
        while self.processes:
            self.processes.pop().close()

    def further(self, trials: Trials, seconds: float) -> list[Finding]:
        """Launch what this kind of candidate needs besides, and return advice.

        Findings that make the verdict are added to the launches of the trials.
        """
        return []
