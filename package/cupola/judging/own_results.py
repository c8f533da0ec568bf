# cupola/judging/own_results.py - launches of an operation that are compared with one another.
"""Without a reference, the results of an equal launch are the expected results."""

from __future__ import annotations

from collections.abc import Mapping

from cupola.judging.candidate import OTHER, Candidate, Run
from cupola.judging.inputs import Case, Cases
from cupola.judging.launches import Arrays, Launches
from cupola.judging.task import Task


class OwnResults(Launches):
    """Launches whose expected results are those of an equal launch.

    In that launch the outputs hold other bytes before, the arrays have other addresses, and blocks
    run in the usual order. So elements that are not written differ, and so does what depends on an
    address or on the order.
    """

    @property
    def compares(self) -> bool:
        """Whether results are compared with a reference's."""
        return False

    def __init__(
        self, task: Task, cases: Cases, candidate: Candidate, names: Mapping[tuple[str, ...], str]
    ) -> None:  # fmt: skip
        super().__init__(task, cases, None, candidate, names)

    def expected(self, case: Case, twice: bool = False) -> Arrays | None:
        """The results of the equal launch; None where it fails, which is found then."""
        run, _ = self.compared(case, {}, OTHER)
        return None if run.failed else self._results(run)

    def _results(self, run: Run) -> Arrays:
        tensors = self.task.declaration.tensors
        return {
            one.name: run.arrays[one.name]
            for one in tensors
            if one.name in run.arrays and (one.mutated or one.role == "output")
        }
