# cupola/judging/large.py - whether index arithmetic overflows at large sizes.
"""Runs the last blocks of a large launch, on memory of which few bytes exist."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from cupola.declare.operation import Tensor
from cupola.exceptions import ArgumentValueError
from cupola.judging.candidate import Candidate, LoadError, Run, number
from cupola.judging.elements import stored
from cupola.judging.inputs import Case, Cases
from cupola.judging.process import Ended, Limits
from cupola.judging.reports import findings_of
from cupola.judging.task import Task, dtype_of
from cupola.judging.verdict import Finding

LARGE = 1 << 31  # elements of a tensor
_MORE = 1 << 16
_ADDRESSES = 1 << 42
_MOST_BYTES = 1 << 36  # of an array
_BLOCK = re.compile(r"(mov\.u32\s+(%r\d+),\s*)%ctaid\.([xyz]);")
_GRID = re.compile(r"(mov\.u32\s+%r\d+,\s*)%nctaid\.([xyz]);")
_LAST_BLOCKS = 2  # along x
_MOST_ROWS = 65535  # blocks along y, and along z


def judge_large(
    task: Task, cases: Cases, ptx: bytes, kernels: dict[tuple[str, ...], str], limits: Limits
) -> Iterator[Finding]:
    """The findings at sizes that the task's bounds allow, and where a tensor has 2**31 elements."""
    types, kernel = next(iter(kernels.items()))
    wide = replace(limits, memory=_ADDRESSES)
    for sizes in large_sizes(task, cases, types):
        try:
            case = _case(task, cases, sizes, types)
            text, grid = last_blocks(ptx, task, case)
            if task.has_inputs:
                raise ArgumentValueError("the task's function makes the inputs")
        except ArgumentValueError as error:
            yield Finding("not-judged", f"large sizes: {error}", sizes=dict(sizes))
            continue
        candidate = Candidate(wide, counts=False, checks="memory")
        try:
            candidate.load(text)
            run = _launch(candidate, task, kernel, case, grid)
        except (LoadError, ArgumentValueError) as error:
            yield Finding("not-judged", f"large sizes: {error}", sizes=dict(sizes))
            continue
        finally:
            candidate.close()
        for one in findings_of(run):
            if one.code == "memory":
                yield Finding("overflow", one.text, one.line, dict(sizes), check=one.check)
                return
            yield Finding("not-judged", f"large sizes: {one.text}", one.line, dict(sizes))


def beyond_grid(task: Task, cases: Cases, types: tuple[str, ...]) -> Iterator[Finding]:
    """The findings about grids that no GPU takes, at the upper bound of each size alone."""
    for name, (_, high) in task.bounds.items():
        lows = {one: max(task.bounds.get(one, (1, 1))[0], 1) for one in cases.names}
        sizes = {**lows, name: high}
        try:
            case = _case(task, cases, sizes, types)
            grid = [number(one, case) for one in task.declaration.launch["grid"]]
        except ArgumentValueError:  # the declaration refuses the sizes
            continue
        if _is_too_large(grid):
            text = f"the grid {tuple(grid)} is too large: y and z end at {_MOST_ROWS:,}"
            code = "launch-error" if "grid" in task.chosen else "not-judged"
            yield Finding(code, text, sizes=sizes)
            return


def _is_too_large(grid: list[int]) -> bool:
    return max(grid) >= 1 << 31 or max([0, *grid[1:]]) > _MOST_ROWS


def large_sizes(task: Task, cases: Cases, types: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """Sizes with one large length, for each length that is bounded and may be large enough."""
    found: list[dict[str, int]] = []
    for name in cases.names:
        if name not in task.bounds:
            continue
        sizes = {
            one: min(max(task.bounds.get(one, (0, 40))[0], 33), task.bounds.get(one, (0, 40))[1])
            for one in cases.names
        }
        for other in (None, *(one for one in cases.names if one != name)):
            if other is not None:  # both have to be large
                sizes[other] = min(task.bounds.get(other, (0, 40))[1], 1 << 16)
            sizes[name] = task.bounds[name][1]
            most = _most_elements(task, cases, sizes, types)
            if most >= LARGE:
                sizes[name] = min(sizes[name], -(-sizes[name] * (LARGE + _MORE) // most))
                if sizes not in found:
                    found.append(dict(sizes))
                    yield dict(sizes)
                break


def _most_elements(task: Task, cases: Cases, sizes: dict[str, int], types: Any) -> int:
    try:
        values = cases.values(sizes, types, {})
        return max(
            math.prod(values.shapes.get(one.name) or values.shape(one))
            for one in task.declaration.tensors
        )
    except ArgumentValueError:
        return 0


def _case(task: Task, cases: Cases, sizes: dict[str, int], types: tuple[str, ...]) -> Case:
    scalars: dict[str, Any] = {}
    for one in task.declaration.scalars:
        zero = {"float": 0.0, "int": 0, "bool": False}[one.kind]
        scalars[one.name] = sizes.get(one.name, zero if one.default is None else one.default)
    return Case(dict(sizes), "zeros", types, {}, scalars, cases.values(sizes, types, scalars))


def _filled(task: Task, tensor: Tensor, case: Case) -> bytes:
    """The bytes of each element of an input: its last integer, else 0 or the first value.

    The last of the integers are what indices overflow with.
    """
    dtype = dtype_of(task.declaration, tensor, case.types)
    low, high = 0, 1
    if tensor.name in task.ranges:
        low, high = (Cases.end(one, case.values.values) for one in task.ranges[tensor.name])
    if not low < high:
        raise ArgumentValueError(f"ranges: {tensor.name} has no value from {low} to {high}")
    value = high - 1 if dtype.kind in "iu" else 0 if low <= 0 < high else low
    return stored(np.full(1, value), dtype).tobytes()


def last_blocks(ptx: bytes, task: Task, case: Case) -> tuple[bytes, list[int]]:
    """PTX whose first blocks have the indices of the last ones, and the grid of these blocks.

    Raises
    ------
    ArgumentValueError
        The blocks can't be moved.
    """
    launch = task.declaration.launch
    if {"cluster", "cooperative", "dependent"} & set(launch):
        raise ArgumentValueError("the launch has clusters or is cooperative")
    whole = [*(number(one, case) for one in launch["grid"]), 1, 1][:3]
    if _is_too_large(whole):
        raise ArgumentValueError(f"the grid {tuple(whole)} is too large")
    grid = [min(whole[0], _LAST_BLOCKS), 1, 1]
    text = ptx.decode(errors="replace")
    for axis, place in zip("xyz", range(3), strict=True):
        first = whole[place] - grid[place]
        text = re.sub(
            _BLOCK.pattern.replace("[xyz]", axis),
            rf"\g<1>%ctaid.\g<3>;\nadd.u32 \g<2>, \g<2>, {first};", text,
        )  # fmt: skip
        text = re.sub(_GRID.pattern.replace("[xyz]", axis), rf"\g<1>{whole[place]};", text)
    if text.count("%ctaid") != len(_BLOCK.findall(text)) or "%nctaid" in text or "%cluster" in text:
        raise ArgumentValueError("the code reads its block's index in another way")
    return text.encode(errors="replace"), grid


def _launch(candidate: Candidate, task: Task, kernel: str, case: Case, grid: list[int]) -> Run:
    declaration = task.declaration
    places: dict[str, tuple[int, int, int]] = {}
    memory: list[tuple[int, str]] = []  # bytes, those of each element
    for tensor in declaration.tensors:
        shape = case.values.shapes.get(tensor.name)
        shape = case.values.shape(tensor) if shape is None else shape
        nbytes = math.prod(shape) * dtype_of(declaration, tensor, case.types).itemsize
        if nbytes > _MOST_BYTES:
            return Run(error=f"{tensor.name} has {nbytes:,} bytes", fault="too large")
        places[tensor.name] = len(memory), 0, nbytes
        given = tensor.role == "input"
        memory.append((nbytes, _filled(task, tensor, case).hex() if given else ""))
    launch = {key: [number(one, case) for one in each] for key, each in declaration.launch.items()}
    header = {
        "do": "large", "kernel": kernel, "memory": memory, "grid": grid,
        "block": [*launch["block"], 1, 1][:3],
        "shared": launch.get("shared", [0])[0], "attributes": None,
        "arguments": candidate.arguments(task, kernel, case, places),
    }  # fmt: skip
    try:
        told = candidate.ask(header)
    except Ended as error:
        return Run(error=error.text, ended=error)
    return Run(error=told["error"], fault=told.get("fault", ""), findings=told["findings"])
