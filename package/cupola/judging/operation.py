# cupola/judging/operation.py - a candidate that is an operation of an installed package.
"""The task, the code and the further checks of an operation that a package ships."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cupola.declare.operation import Declaration
from cupola.declare.record import Record
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.judging import shipped
from cupola.judging.advice import PROCESSORS
from cupola.judging.candidate import EXACT, GUARDED, Candidate, LoadError, number
from cupola.judging.gradients import CASES, Gradients
from cupola.judging.inputs import ORDINARY, Case
from cupola.judging.launches import Arrays, Launches, Stop
from cupola.judging.reference import BrokenReference
from cupola.judging.subject import Subject
from cupola.judging.task import Task, TaskError, declaration_of, dtype_of, made
from cupola.judging.trials import Trials
from cupola.judging.verdict import Finding
from cupola.ops.sizes import Sizes

# Keys of a table that say nothing about the kernel or its launch.
_OTHERS = ("name", "library", "doc")
_CASES_OF_VARIANT = 4
_COMPARED = re.compile(r"\s*(?:@!?%\w+\s+)?setp\.[\w.]+\s[^;]*,\s*(\d{1,4});\s*")
_MOST_LINES = 100000  # of a kernel's PTX


class Operation(Subject):
    """An operation.

    Parameters
    ----------
    candidate : str
        As ``heat:step``.
    """

    def __init__(self, candidate: str) -> None:
        super().__init__(candidate, "")
        self._lines: set[int] = set()
        self._told: Mapping[str, Any] = {}
        # The variants of its family besides the default: a text, the library and the table.
        self._variants: list[tuple[str, shipped.Library, dict[str, Any]]] = []
        self._left: dict[tuple[str, ...], str] = {}  # why the kernels of types can't be judged

    def start(self) -> None:
        """Read the manifest.

        Raises
        ------
        MissingFileError
            There is no such package or operation.
        Refused
            The manifest of the package is invalid.
        """
        self._library, self._table = shipped.find(self.title)
        self._main = self._library  # has the declarations; variants may be in other libraries
        self._operations = self._library.operations()
        self._backward = self._table.get("backward")

    def task(self, told: Mapping[str, Any]) -> Task:
        """The task of the manifest's declaration, with the bounds of the reference's file."""
        self._require_equal(told)
        if told.get("options"):
            raise TaskError("task", "options: an operation of a package is not compiled")
        self._told = told
        if "family" in self._table:
            self._variants = shipped.variants_of(self._library, self._table)
            if not self._variants:
                raise TaskError("package", f"the family {self._table['family']!r} has no kernel")
            _, self._library, self._table = self._variants.pop(0)
        task = self._task(self._table, told)
        self.ptx = self._library.ptx()
        self.numbers = self._sizes_of_interest(task.declaration)
        return task

    def _require_equal(self, told: Mapping[str, Any]) -> None:
        """Refuse a reference's file that declares another operation."""
        given = told.get("operation", {})
        if not isinstance(given, Mapping):
            raise TaskError("task", f"operation: expected a dict, got {given!r}"[:300])
        for key, value in given.items():
            if key not in _OTHERS and _plain(value) != _plain(self._table.get(key)):
                raise TaskError(
                    "task", f"operation: {key} is {value!r}, and the package declares "
                    f"{self._table.get(key)!r}: remove operation from the file"[:600]
                )  # fmt: skip

    def _task(self, table: Mapping[str, Any], told: Mapping[str, Any]) -> Task:
        """The task of a table, without the kernels whose elements NumPy lacks."""
        whole = declaration_of(table, "package")
        kernels, left = {}, {}
        for types, text in whole.kernels.items():
            try:
                for one in whole.tensors:
                    dtype_of(whole, one, types)
                kernels[types] = text
            except ArgumentTypeError as error:
                left[types] = str(error)
        if table is self._table:
            self._left = left
        if not kernels:
            raise TaskError("task", f"{whole.name}: {next(iter(left.values()))}")
        if any(isinstance(one, tuple) and not isinstance(one, Record) for one in whole.arguments):
            raise TaskError("package", f"{whole.name}: arguments: the sizes of a launch are a list")
        found = {text: self._library.kernel(text) for text in kernels.values()}
        declaration = replace(
            whole, kernels={types: str(found[text]["name"]) for types, text in kernels.items()}
        )
        hidden = {str(one["name"]): shipped.hidden_of(one) for one in found.values()}
        return made(told, declaration, table={**table, "kernels": _texts(kernels)}, hidden=hidden)

    def _sizes_of_interest(self, declaration: Declaration) -> str:
        """A text with the numbers of the declaration, and those with which its PTX compares."""
        expressions = (
            *declaration.checks, *declaration.sizes.values(),
            *(one for several in declaration.launch.values() for one in several),
            *(one for tensor in declaration.tensors for one in tensor.lengths),
        )  # fmt: skip
        code = self.ptx.decode("ascii", "replace")
        return "\n".join([*(one.text for one in expressions), *_compared(code, declaration)])

    def load(self, task: Task, candidate: Candidate) -> dict[tuple[str, ...], str]:
        """Load the PTX; the kernels' names are those of the declaration."""
        kernels = task.declaration.kernels
        title, self._lines = shipped.source_lines(self.ptx, set(kernels.values()))
        try:
            candidate.load(self.ptx, title)
        except LoadError as error:
            if error.code != "launch-error":
                raise
            raise TaskError("package", f"the CPU device refuses the image: {error.text}") from None
        self._require_kernels(task, candidate)
        self.about["package"] = str(self._library.manifest.head.get("package", ""))[:200]
        self.resources = {name: self._resources(name) for name in kernels.values()}
        return dict(kernels)

    @staticmethod
    def _require_kernels(task: Task, candidate: Candidate) -> None:
        for name in task.declaration.kernels.values():
            if name not in candidate.kernels:
                raise TaskError("package", f"the image lacks the kernel {name} of the manifest")

    def _resources(self, name: str) -> dict[str, Any]:
        """The registers and the memory of a kernel by target, as the manifest has them."""
        given = self._library.kernel(name).get("resources")
        keys = ("registers", "shared", "local")
        return {
            target: {key: one[key] for key in keys}
            for target, one in (given.items() if isinstance(given, dict) else ())
            if target in PROCESSORS and isinstance(one, dict)
            and all(type(one.get(key)) is int and 0 <= one[key] < 1 << 20 for key in keys)
        }  # fmt: skip

    def counted(self, counts: Mapping[str, Any]) -> Mapping[str, Any]:
        """The counts of the lines of the operation's own kernels."""
        return {
            key: [one for one in counts[key] if one[0] in self._lines] for key in ("lines", "sides")
        }

    def further(self, trials: Trials, seconds: float) -> list[Finding]:
        """Launch without optional inputs, compare the gradients, and say what was not judged."""
        launches = trials.launches
        texts = [f"the kernel for {', '.join(types)}: {why}" for types, why in self._left.items()]
        if not launches.compares:
            texts.append("results were not compared: there is no reference")
        texts += self._open_integers(launches)
        _require_written_without_blocks(launches)
        if all(one.advice for one in launches.findings):
            try:
                for case in trials.chosen(2):
                    self._without_optional(launches, case)
                texts += self._other_variants(trials, time.monotonic() + seconds)
                if self._backward:
                    texts += self._gradients(trials, seconds)
            except Stop:
                pass
        elif self._backward:
            texts.append("gradients were not compared: the operation is wrong")
        return [Finding("not-judged", one) for one in texts]

    def _other_variants(self, trials: Trials, end: float) -> list[str]:
        """Compare the other variants of the family with the default, and say which were not."""
        launches, left = trials.launches, []
        cases = trials.chosen(_CASES_OF_VARIANT) if self._variants else []
        expected = [(case, launches.expected(case)) for case in cases]
        for text, library, table in self._variants:
            if library is not self._library or time.monotonic() > end:
                left.append(text)
                continue
            task = self._task(table, self._told)
            self._require_kernels(task, launches.candidate)
            own = Launches(task, launches.cases, None, launches.candidate, task.declaration.kernels)
            try:
                for case, results in expected:
                    _compare(own, case, results)
            finally:
                for one in own.findings:
                    one.text = f"with {text}: {one.text}"
                launches.findings += own.findings
                launches.origins.update(own.origins)
            if own.findings:
                break
        return [f"{len(left)} variants of the family: {'; '.join(left[:3])}"] if left else []

    def _gradients(self, trials: Trials, seconds: float) -> list[str]:
        """Compare the gradients, and say which were not compared."""
        table = self._operations.get(str(self._backward))
        if table is None:
            raise TaskError(
                "package", f"the manifest has no operation {self._backward!r}, named by backward"
            )
        variants = [("", self._main, table)]
        if "family" in table:
            variants = shipped.variants_of(self._main, table)
        end, told, left = time.monotonic() + seconds, [], []
        for text, library, one in variants:
            first = "gradients" not in self.about
            if library.path != self._library.path or (not first and time.monotonic() > end):
                left.append(text or str(table["name"]))
                continue
            task = self._task(one, {})
            self._require_kernels(task, trials.launches.candidate)
            gradients = Gradients(trials.launches, task, seconds, text)
            self.about.setdefault("gradients", gradients.counts)
            found = gradients.run(trials, CASES if first else 1)
            told += found if first else []
            if gradients.wrong:
                break
        if left:
            told.append(f"gradients by {len(left)} variants: {'; '.join(left[:3])}")
        return told

    @staticmethod
    def _open_integers(launches: Launches) -> list[str]:
        """Advice about accesses out of bounds, where an input may have indices."""
        task = launches.task
        names = [
            one.name for one in task.declaration.inputs
            if one.name not in task.ranges
            and any(dtype_of(task.declaration, one, types).kind in "iu" for types in launches.names)
        ]  # fmt: skip
        if not names or task.has_inputs or "memory" not in [one.code for one in launches.findings]:
            return []
        return [
            f"values of {', '.join(names)}: if these are indices, give their ranges by --against"
        ]

    @staticmethod
    def _without_optional(launches: Launches, case: Case) -> None:
        """Launch without each of the optional inputs, and without all of them."""
        inputs = launches.task.declaration.inputs
        optional = [one.name for one in inputs if one.type.optional and not one.mutated]
        several = [[name] for name in optional] + ([optional] if len(optional) > 1 else [])
        for names in several:
            try:
                less = without(launches.task.declaration, case, names)
                expected = launches.expected(less)
            except (ArgumentValueError, BrokenReference) as error:
                launches.skip(f"without {', '.join(names)}: {error}")
                continue
            if expected is None:
                continue
            run, found = launches.compared(less, expected, EXACT)
            if found and not run.failed:
                code = "wrong-result" if launches.compares else "not-deterministic"
                launches.add(
                    Finding(code, f"without {', '.join(names)}: {found}"), launches.origin(less)
                )


def _require_written_without_blocks(launches: Launches) -> None:
    """Find sizes for which the grid is empty, so that nothing is launched, and an output is not."""
    types = next(iter(launches.names))
    for sizes in launches.cases.sizes():
        case = launches.case(sizes, ORDINARY, types) if 0 in sizes.values() else None
        if case is None:
            continue
        try:
            empty = 0 in [number(one, case) for one in launches.task.declaration.launch["grid"]]
            left = [one.name for one in launches.task.declaration.outputs
                    if empty and 0 not in case.values.shape(one)]  # fmt: skip
        except ArgumentValueError as error:
            launches.skip(str(error))
            continue
        if left:
            text = f"the grid is empty, so nothing is launched and {', '.join(left)} is not written"
            launches.findings.append(Finding("output-not-written", text, sizes=dict(sizes)))
            return


def _compare(own: Launches, case: Case, expected: Arrays | None) -> None:
    """Launch a variant of a family, and compare with the results that are expected."""
    if expected is None or case.types not in own.names:
        return
    for layout in (EXACT, GUARDED):
        run, found = own.compared(case, expected, layout)
        if found and not run.failed:
            own.add(Finding("variant", found), own.origin(case, layout))


def without(declaration: Declaration, case: Case, names: list[str]) -> Case:
    """A case without some of its optional inputs.

    Raises
    ------
    ArgumentValueError
        The declaration refuses the call.
    """
    shapes = {name: one for name, one in case.values.shapes.items() if name not in names}
    arrays = {name: one for name, one in case.arrays.items() if name not in names}
    values = Sizes(declaration, shapes, case.scalars, case.types)
    return replace(case, arrays=arrays, values=values)


def _compared(ptx: str, declaration: Declaration) -> dict[str, None]:
    """The numbers with which the first of the kernels compares."""
    name = next(iter(declaration.kernels.values()))
    body = ptx.partition(f".entry {name}(")[2].partition("\n}")[0]
    found = (_COMPARED.fullmatch(line[:200]) for line in body.split("\n", _MOST_LINES))
    return dict.fromkeys(one[1] for one in found if one)


def _texts(kernels: Mapping[tuple[str, ...], str]) -> Any:
    """Kernels by types, as a table has them."""
    if () in kernels:
        return kernels[()]
    return {", ".join(types): text for types, text in kernels.items()}


def _plain(value: Any) -> Any:
    """A value of a table, with numbers as texts."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if isinstance(value, bool) or value is None else str(value)
