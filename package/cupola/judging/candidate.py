# cupola/judging/candidate.py - runs a candidate's kernel in its process, and reads what it wrote.
"""The memory and the arguments of launches, and the results as data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cupola.declare.element_types import itemsize
from cupola.declare.expression import Expression, ExpressionError
from cupola.declare.record import Record
from cupola.exceptions import ArgumentValueError
from cupola.judging.inputs import Case
from cupola.judging.process import Ended, Limits, Process
from cupola.judging.task import Task, dtype_of
from cupola.judging.views import GUARD_BYTE, memory_of, view_of

TITLE = "candidate.cu"
GUARD = 1024  # bytes before and behind each array
_MARGIN = 5.0  # seconds of a request beside the launch
_COOPERATIVE, _DEPENDENT = 1, 2


@dataclass(frozen=True)
class Layout:
    """How the memory of a launch is laid out.

    Attributes
    ----------
    fill : int or None
        None: arrays have exactly their size, and outputs are not written. Else each array has
        guard zones, and the outputs have this byte.
    aliases : mapping of str to str
        Outputs and inputs that are the memory of another input.
    """

    fill: int | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)


EXACT, GUARDED, OTHER = Layout(), Layout(0xCB), Layout(0x5A)


@dataclass
class Run:
    """The result of a launch.

    Attributes
    ----------
    arrays : dict
        The contents of inputs and outputs after it; empty where it failed.
    outside : list of str
        Arrays whose guard zones were written.
    error, fault, findings : str
    traffic : str
        The counted accesses; empty where the caller did not want them.
    ended : Ended or None
        The process ended.
    """

    arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    outside: list[str] = field(default_factory=list)
    error: str = ""
    fault: str = ""
    findings: str = ""
    traffic: str = ""
    ended: Ended | None = None

    @property
    def failed(self) -> bool:
        """Whether the launch has no results."""
        return bool(self.error) or self.ended is not None


class LoadError(Exception):
    """The driver refuses the candidate's code.

    Parameters
    ----------
    code : str
        A code of a finding.
    text : str
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class Candidate:
    """A candidate's process, which is started again after a fault.

    Parameters
    ----------
    limits : Limits
    counts : bool
        Whether lines and branches are counted.
    checks : str
        As ``CUPOLA_CPU_CHECK``.
    """

    def __init__(self, limits: Limits, counts: bool = True, checks: str = "all") -> None:
        self.limits, self._counts, self._checks = limits, counts, checks
        self.cut: dict[str, Any] = {}
        self.kernels: dict[str, dict[str, Any]] = {}
        self.runs = 0
        self._ptx, self.title = b"", TITLE
        self._process = self._started()

    def _started(self) -> Process:
        made = Process("candidate_process", self.limits, {
            "CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_CHECK": self._checks, "CUPOLA_CPU_THREADS": "1",
            "CUPOLA_CPU_MODE": "interpret", "CUPOLA_CPU_TIMEOUT": f"{self.limits.launch_seconds:g}",
        })  # fmt: skip
        made.tell({"do": "about", "counts": self._counts})
        self._fresh = True
        return made

    def load(self, ptx: bytes, title: str = TITLE) -> None:
        """Load the candidate's PTX.

        Parameters
        ----------
        ptx : bytes
        title : str
            The name of the source whose lines are counted; "" for none.

        Raises
        ------
        LoadError
        """
        self._ptx, self.title = ptx, title
        self._load()

    def _load(self) -> None:
        try:
            self.cut, _ = self._process.answer()
            told, _ = self._process.ask({"do": "load", "title": self.title or TITLE}, [self._ptx])
        except Ended as error:
            raise LoadError(error.code, f"while the code was loaded: {error.text}") from None
        if "error" in told:
            raise LoadError("memory-limit" if told["memory"] else "launch-error", told["error"])
        self.kernels, self._fresh = told["kernels"], False

    def restart(self) -> None:
        """Start a new process, with the code loaded."""
        self._process.close()
        self._process = self._started()
        self._load()

    def run(
        self, task: Task, kernel: str, case: Case, layout: Layout = EXACT, seed: int | None = None,
        record: str = "", traffic: bool = False,
    ) -> Run:  # fmt: skip
        """Launch a kernel with the inputs of a case.

        Raises
        ------
        ArgumentValueError
            The launch can't be computed from the declaration.
        """
        header, pieces, places = self._request(task, kernel, case, layout)
        header.update(do="run", kernel=kernel, seed=seed, record=record, traffic=traffic)
        self.runs += 1
        try:
            told, found = self._process.ask(header, pieces, self.limits.launch_seconds + _MARGIN)
            if self._process.flooded:
                raise Ended("output-limit", "it printed more than the limit")
        except Ended as error:
            return Run(ended=error)
        made = Run(error=told["error"], fault=told.get("fault", ""), findings=told["findings"])
        if not made.error:
            made.traffic = told["traffic"]
            self._read(task, case, made, places, found)
        return made

    def _request(
        self, task: Task, kernel: str, case: Case, layout: Layout
    ) -> tuple[dict[str, Any], list[Any], dict[str, tuple[int, int, int]]]:
        declaration, values = task.declaration, case.values
        memory: list[dict[str, Any]] = []
        pieces: list[Any] = []
        places: dict[str, tuple[int, int, int]] = {}  # index, offset, bytes
        for tensor in declaration.tensors:
            if tensor.name in layout.aliases:
                continue
            dtype = dtype_of(declaration, tensor, case.types)
            data = None
            if tensor.name in case.arrays:
                data = memory_of(case.arrays[tensor.name], case.strides.get(tensor.name))
            elif tensor.type.optional and tensor.name not in values.shapes:
                continue  # an input that is not given
            nbytes = math.prod(values.shape(tensor)) * dtype.itemsize if data is None else data.size
            guarded = layout.fill is not None and tensor.role != "workspace"
            shift = dtype.itemsize if declaration.align <= dtype.itemsize else declaration.align
            at = GUARD + shift if guarded else 0
            places[tensor.name] = len(memory), at, nbytes
            if guarded:
                whole = np.full(at + nbytes + GUARD, GUARD_BYTE, np.uint8)
                whole[at : at + nbytes] = layout.fill if data is None else data
                memory.append({"nbytes": whole.size, "written": [0]})
                pieces.append(whole)
            else:
                written = [0] if data is not None and nbytes else []
                memory.append({"nbytes": nbytes, "written": written})
                pieces += [data] if written and data is not None else []
        for name, other in layout.aliases.items():
            places[name] = places[other]
        launch = {key: [number(one, case) for one in each]
                  for key, each in declaration.launch.items()}  # fmt: skip
        if 0 in launch["grid"]:
            raise ArgumentValueError("the grid is empty: nothing is launched")
        cluster = _three(launch["cluster"]) if "cluster" in launch else [0, 0, 0]
        flags = _COOPERATIVE * ("cooperative" in launch) + _DEPENDENT * ("dependent" in launch)
        plain = not flags and "cluster" not in launch
        header = {
            "memory": memory, "arguments": self.arguments(task, kernel, case, places),
            "grid": _three(launch["grid"]), "block": _three(launch["block"]),
            "shared": launch.get("shared", [0])[0],
            "attributes": None if plain else [cluster, flags, 0, -1],
            "read": [
                [place, 0, memory[place]["nbytes"]]
                for place in dict.fromkeys(one[0] for one in places.values())
                if memory[place]["nbytes"]
            ],
        }  # fmt: skip
        return header, pieces, places

    def ask(self, header: dict[str, Any]) -> dict[str, Any]:
        """Send a request for a launch, and return what the process says of it.

        Raises
        ------
        Ended
        """
        self.runs += 1
        told, _ = self._process.ask(header, (), self.limits.launch_seconds + _MARGIN)
        return told

    def arguments(self, task: Task, kernel: str, case: Case, places: Any) -> list[Any]:
        """The arguments of a launch, for the process: addresses by index and offset, numbers."""
        declaration, found = task.declaration, list[list[Any]]()
        params, hidden = self.kernels[kernel]["params"], task.hidden.get(kernel, ())
        if hidden:
            params = [one for place, one in enumerate(params) if place not in hidden]
        if len(params) != len(declaration.arguments):
            raise LoadError(
                "launch-error", f"the kernel takes {len(params)} parameters, and the task passes "
                f"{len(declaration.arguments)}: {', '.join(map(str, declaration.arguments))}"
            )  # fmt: skip
        for given, (_, size) in zip(declaration.arguments, params, strict=True):
            if isinstance(given, Record):
                fields = [
                    [one.offset, one.size, *self._argument(task, one.text, one.size, case, places)]
                    for one in given.fields
                ]
                if given.size != size:
                    raise LoadError(
                        "launch-error", f"a parameter has {size} bytes, and the struct for it has "
                        f"{given.size}"
                    )  # fmt: skip
                found.append(["struct", fields])
                continue
            assert isinstance(given, str)
            found.append(self._argument(task, given, size, case, places))
        for place in hidden:
            found.insert(place, ["int", 0])
        return found

    @staticmethod
    def _argument(task: Task, text: str, size: int, case: Case, places: Any) -> list[Any]:
        """The kind and the value of an argument of that many bytes."""
        kinds = {one.name: one.kind for one in task.declaration.scalars}
        kind, widths = "int", [1, 2, 4, 8]
        if text in places:
            place, at, _ = places[text]
            kind, widths = "memory", [8]
            value: Any = (place, at)
        elif text in kinds:
            value = case.scalars[text]
            if kinds[text] == "float":
                kind, widths = "float", [2, 4, 8]
            else:
                value = int(value)
        elif task.declaration.tensor(text) is not None:
            value, widths = 0, [8]  # an input that is not given
        else:
            value = number(task.declaration.values[text], case)
        if size not in widths:
            raise LoadError(
                "launch-error", f"the parameter for {text} has {size} bytes: expected "
                f"{' or '.join(map(str, widths))}"
            )  # fmt: skip
        if kind == "int" and not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
            raise ArgumentValueError(f"{text} = {value} does not fit {size} bytes")
        return [kind, value]

    def _read(self, task: Task, case: Case, made: Run, places: Any, found: list[bytearray]) -> None:
        declaration = task.declaration
        contents = dict(zip(
            (one for one in dict.fromkeys(place for place, _, nbytes in places.values()
                                          if nbytes or places_have_guard(places, place))),
            found, strict=True,
        ))  # fmt: skip
        for tensor in declaration.tensors:
            if tensor.name not in places:
                continue
            place, at, nbytes = places[tensor.name]
            content = np.frombuffer(contents.get(place, b""), np.uint8)
            if content.size not in (nbytes, at + nbytes + GUARD):
                raise ArgumentValueError("the process returned another number of bytes")
            if at and not (content[:at] == GUARD_BYTE).all():
                made.outside.append(f"before {tensor.name}")
            if at and not (content[at + nbytes :] == GUARD_BYTE).all():
                made.outside.append(f"behind {tensor.name}")
            if tensor.role == "workspace":
                continue
            shape = case.values.shapes.get(tensor.name)
            shape = case.values.shape(tensor) if shape is None else shape
            dtype = dtype_of(declaration, tensor, case.types)
            elements = content[at : at + nbytes].view(dtype)
            if tensor.name in case.strides:
                view = view_of(elements, shape, case.strides[tensor.name])
                given = memory_of(view, case.strides[tensor.name])
                if given.tobytes() != elements.tobytes():
                    made.outside.append(f"between the elements of {tensor.name}")
                made.arrays[tensor.name] = view.copy()
            else:
                made.arrays[tensor.name] = elements.reshape(shape)

    def counts(self) -> dict[str, Any]:
        """The counts of the candidate's lines and branches; empty where its process ended."""
        try:
            told, _ = self._process.ask({"do": "counts", "title": self.title})
        except Ended:
            return {"lines": [], "sides": []}
        return told

    def written(self, name: str) -> Any:
        """The path of a file in the folder of the process."""
        return self._process.path(name)

    def close(self) -> None:
        """End the process."""
        self._process.close()


def places_have_guard(places: Mapping[str, tuple[int, int, int]], place: int) -> bool:
    """Whether memory has bytes although its array has none."""
    return any(at for index, at, _ in places.values() if index == place)


def number(expression: Expression, case: Case) -> int:
    """The value of an expression of the declaration for a case.

    Raises
    ------
    ArgumentValueError
    """
    values = dict(case.values.values)
    for name, one in case.scalars.items():
        values.setdefault(name, one)
    for symbol in expression.symbols:
        if symbol in values or "(" not in symbol:
            continue
        name, _, inside = symbol.partition("(")
        given = [one.strip() for one in inside.removesuffix(")").split(",")]
        if name == "stride":
            shape = case.values.shapes[given[0]]
            tensor = case.values.declaration.tensor(given[0])
            axis = len(shape) - len(tensor.type.lengths) + int(given[1])  # type: ignore[union-attr]
            strides = case.strides.get(given[0])
            step = math.prod(shape[axis + 1 :]) if strides is None else strides[axis]
            values[symbol] = 0 if shape[axis] == 1 else step
        elif name == "present":
            values[symbol] = int(given[0] in case.arrays)
        elif name == "sizeof":
            variables = case.values.declaration.variables
            known = dict(zip(variables, case.types, strict=True))
            values[symbol] = itemsize(known.get(given[0], given[0]))
    try:
        return int(expression.evaluate(values))
    except (ExpressionError, KeyError) as error:
        raise ArgumentValueError(f"{expression.text} can't be computed: {error}") from None


def _three(axes: list[int]) -> list[int]:
    return [*axes, 1, 1][:3]
