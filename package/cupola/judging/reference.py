# cupola/judging/reference.py - the reference's results, as data.
"""Asks the process that has the reference."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from cupola.judging.elements import computable, stored
from cupola.judging.inputs import Case
from cupola.judging.process import Ended, Limits, Process
from cupola.judging.task import Task, dtype_of


class BrokenReference(Exception):
    """The reference can't be used.

    Parameters
    ----------
    code : str
        A code of a finding.
    text : str
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class Reference:
    """The process of a reference.

    Parameters
    ----------
    path : path-like
    limits : Limits
    """

    def __init__(self, path: str | os.PathLike[str], limits: Limits) -> None:
        self._process = Process("reference_process", limits)
        self._process.tell({"do": "load", "path": os.path.abspath(path)})
        self.called = 0

    def task(self) -> dict[str, Any]:
        """The task, as the file describes it."""
        try:
            told, _ = self._process.answer()
        except Ended as error:
            raise BrokenReference("task", f"the file ended its process: {error.text}") from None
        if "error" in told:
            raise BrokenReference("task", f"the file raises {told['error']}")
        task: dict[str, Any] = told["task"]
        return task

    def inputs(self, seed: int, sizes: Mapping[str, int]) -> dict[str, Any]:
        """The inputs that the task's own function makes."""
        told, pieces = self._ask({"do": "inputs", "seed": seed, "sizes": dict(sizes)}, [])
        if "error" in told:
            raise BrokenReference("task", f"inputs raises {told['error']} for sizes {dict(sizes)}")
        return {**_arrays(told, pieces), **told["numbers"]}

    def answer(self, task: Task, case: Case) -> dict[str, np.ndarray[Any, Any]]:
        """The expected contents of the outputs, and of the inputs that the kernel changes.

        Raises
        ------
        BrokenReference
            Its code is ``reference-raises`` where the function raised.
        """
        arrays = {name: computable(one) for name, one in case.arrays.items()}
        given = [[name, one.dtype.str, list(one.shape)] for name, one in arrays.items()]
        told, pieces = self._ask(
            {"do": "answer", "arrays": given, "scalars": case.scalars},
            [np.ascontiguousarray(one).reshape(-1).view(np.uint8) for one in arrays.values()],
        )
        self.called += 1
        where = f"for sizes {case.sizes}" if case.sizes else ""
        if "error" in told:
            raise BrokenReference("reference-raises", f"{told['error']} {where}")
        declaration = task.declaration
        mutated = [one for one in declaration.inputs if one.mutated]
        changed = set(told.get("changed", ())) - {one.name for one in mutated}
        if changed:
            raise BrokenReference(
                "reference-mutates", f"it changes {', '.join(sorted(changed))} {where}"
            )
        found = list(_arrays(told, pieces).values())
        wanted = [*declaration.outputs, *mutated]
        if len(found) != len(wanted):
            raise BrokenReference(
                "reference-shape", f"it returned {len(found)} arrays {where}, and "
                f"{', '.join(one.name for one in wanted)} are expected"
            )  # fmt: skip
        made = {}
        for tensor, array in zip(wanted, found, strict=True):
            shape = (
                case.values.shapes[tensor.name] if tensor.mutated
                else tuple(case.values.shape(tensor))
            )  # fmt: skip
            if tuple(array.shape) != tuple(shape):
                raise BrokenReference(
                    "reference-shape", f"{tensor.name} has shape {array.shape} {where}, and "
                    f"{tuple(shape)} is expected"
                )  # fmt: skip
            with np.errstate(all="ignore"):
                made[tensor.name] = stored(array, dtype_of(declaration, tensor, case.types))
        return made

    def _ask(self, header: dict[str, Any], pieces: Any) -> tuple[dict[str, Any], list[bytearray]]:
        try:
            return self._process.ask(header, pieces)
        except Ended as error:
            raise BrokenReference("reference-raises", f"its process: {error.text}") from None

    def close(self) -> None:
        """End the process."""
        self._process.close()


def _arrays(told: Mapping[str, Any], pieces: list[bytearray]) -> dict[str, Any]:
    return {
        name: np.frombuffer(piece, dtype).reshape(shape)
        for (name, dtype, shape), piece in zip(told["arrays"], pieces, strict=True)
    }
