# cupola/judging/inputs.py - the sizes and the values that a candidate is run with.
"""Generates cases: sizes at and around the edges of the launch, values of several kinds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cupola.declare.element_types import itemsize
from cupola.declare.expression import ExpressionError
from cupola.exceptions import ArgumentValueError
from cupola.judging.elements import is_float, limits, stored
from cupola.judging.task import Task, dtype_of
from cupola.judging.views import WAYS
from cupola.ops.sizes import Sizes

ORDINARY = "random"
# Kinds of values besides; each is judged against the reference.
KINDS = (
    "zeros",
    "ones",
    "few",
    "negative",
    "large",
    "nan",
    "infinite",
    "denormal",
    "extreme",
)
_COMMON = (1, 2, 3, 5, 8, 16, 17, 31, 32, 33, 64, 97, 100)
_PRIMES = (3, 5, 7, 2, 11)
_MOST_EDGE = 4096  # of a number in the source
_MOST_ELEMENTS = 1 << 18  # of all tensors of a case
_MOST_SIZES = 90  # of an operation


@dataclass
class Case:
    """The inputs of one launch."""

    sizes: dict[str, int]
    kind: str
    types: tuple[str, ...]
    arrays: dict[str, np.ndarray[Any, Any]]
    scalars: dict[str, Any]
    values: Sizes = field(repr=False)
    seed: int = 0
    own: frozenset[str] = frozenset()  # the inputs that the task's function made
    strides: dict[str, tuple[int, ...]] = field(default_factory=dict)  # in elements, of views


class Cases:
    """Makes cases of a task.

    Parameters
    ----------
    task : Task
    source : str
        The candidate's source, whose numbers are sizes of interest.
    own_inputs : callable
        The task's function ``inputs`` for a seed and sizes, or None.
    """

    def __init__(self, task: Task, source: str, own_inputs: Any) -> None:
        self.task, self.own_inputs = task, own_inputs
        declaration = task.declaration
        names: dict[str, None] = {}
        for tensor in declaration.inputs:
            names.update(dict.fromkeys([tensor.type.pack] if tensor.type.pack else []))
            names.update(dict.fromkeys(one.name for one in tensor.type.lengths if one.name))
        integers = [one.name for one in declaration.scalars if one.kind == "int"]
        names.update(dict.fromkeys(one for one in integers if one in task.bounds))
        self.names = tuple(names)
        self.edges = self._edges(source)

    def _edges(self, source: str) -> list[int]:
        """Sizes near the numbers of the launch and of the source."""
        launch = self.task.declaration.launch
        texts = [one.text for key in ("block", "grid") for one in launch.get(key, ())]
        numbers = {int(one) for text in texts for one in re.findall(r"\b\d{1,4}\b", text)}
        blocks = [int(one.text) for one in launch["block"] if one.text.isdigit()]
        numbers.add(int(np.prod(blocks)) if blocks else 1)
        code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.DOTALL)
        own = {int(one) for one in re.findall(r"(?<![\w.])\d{1,4}(?![\w.]*\.)", code)[:400]}
        shifted = {1 << int(one) for one in re.findall(r"1\s*<<\s*(\d{1,2})\b", code)
                   if int(one) < 13}  # fmt: skip
        numbers |= {one for one in own | shifted if 2 <= one <= _MOST_EDGE}
        near = {n + d for n in numbers if n <= _MOST_EDGE for d in (-1, 0, 1)}
        twice = {2 * n + d for n in numbers if n <= 512 for d in (0, 1, 3)}
        return sorted(one for one in near | twice | set(_COMMON) if one >= 1)

    def sizes(self) -> list[dict[str, int]]:
        """Sizes from small to large; those with a 0 are last."""
        found: dict[tuple[int, ...], None] = {}
        each = [self._allowed(name) for name in self.names]
        for combination in self._combinations(each):
            if all(one in allowed for one, (allowed, _) in zip(combination, each, strict=True)):
                found.setdefault(combination)
        usable = []
        for combination in found:
            sizes = dict(zip(self.names, combination, strict=True))
            count = self.elements(sizes)
            if count is not None and count <= _MOST_ELEMENTS:
                usable.append((0 in combination, count, combination))
        usable.sort()
        chosen = [one for one in usable if not one[0]]
        if len(chosen) > _MOST_SIZES:  # the smallest are closest to each other
            step = len(chosen) / _MOST_SIZES
            chosen = [chosen[int(place * step)] for place in range(_MOST_SIZES - 1)] + chosen[-1:]
        return [
            dict(zip(self.names, one[2], strict=True))
            for one in (*chosen, *(one for one in usable if one[0]))
        ]

    def _allowed(self, name: str) -> tuple[set[int], list[int]]:
        """The possible lengths of a size, and those near an edge."""
        low, high = self.task.bounds.get(name, (0, 1 << 40))
        checks = " ".join(one.text for one in self.task.declaration.checks)
        steps = {int(one) for one in re.findall(r"%\s*(\d{1,4})", checks) if int(one)}
        near = [one for one in self.edges if low <= one <= high]
        near += [-(-one // step) * step for step in steps for one in self.edges]
        near += [low, *([high] if high <= _MOST_EDGE else []), low + 1, *_PRIMES, 0]
        kept = sorted({one for one in near if low <= one <= high})
        return set(kept), [one for one in kept if one]

    def _combinations(self, each: list[tuple[set[int], list[int]]]) -> Iterator[tuple[int, ...]]:
        count = len(each)
        lists = [near or [0] for _, near in each]
        small = [self._nearest(near, _PRIMES[place % 5]) for place, near in enumerate(lists)]
        for place, near in enumerate(lists):
            for one in near:
                yield (*small[:place], one, *small[place + 1 :])
        for base in (1, 2, 16, 17, 32, 33, 64, 65, 100, 130, 257, 600, 1025):
            for turn in range(min(count, 3)):
                wanted = [
                    max(1, base // (1 << (place + turn) % count)) + (3 * place if count > 1 else 0)
                    for place in range(count)
                ]
                yield tuple(
                    self._nearest(near, one) for near, one in zip(lists, wanted, strict=True)
                )
        for place in range(count):
            yield (*small[:place], 0, *small[place + 1 :])
        if count == 2:
            edges = [one for one in self.edges if one <= 300][-12:]
            for one, other in itertools.product(edges, edges[::3]):
                yield self._nearest(lists[0], one), self._nearest(lists[1], other)

    @staticmethod
    def _nearest(near: list[int], wanted: int) -> int:
        return min(near, key=lambda one: (abs(one - wanted), one))

    def elements(self, sizes: Mapping[str, int]) -> int | None:
        """The elements of all tensors; None where the declaration refuses the sizes."""
        try:
            types = next(iter(self.task.declaration.kernels))
            values = self.values(sizes, types, {})
            tensors = self.task.declaration.tensors
            shapes = [
                values.shapes[one.name] if one.role == "input" else values.shape(one)
                for one in tensors
            ]
        except (ArgumentValueError, ExpressionError, KeyError):
            return None
        return int(sum(np.prod(one, dtype=object) for one in shapes))

    def values(
        self, sizes: Mapping[str, int], types: tuple[str, ...], scalars: Mapping[str, Any],
        strides: Mapping[str, tuple[int, ...]] | None = None,
    ) -> Sizes:  # fmt: skip
        """The sizes of a call."""
        declaration = self.task.declaration
        numbers: dict[str, Any] = {**sizes}
        for one in declaration.scalars:
            if one.kind != "float":
                numbers.setdefault(one.name, scalars.get(one.name, one.default or 0))
        for variable, element in zip(declaration.variables, types, strict=True):
            numbers[f"sizeof({variable})"] = itemsize(element)
        shapes = {}
        for tensor in declaration.inputs:
            lengths = [
                sizes[one.name] if one.name else each.evaluate(numbers)
                for one, each in zip(tensor.type.lengths, tensor.lengths, strict=True)
            ]
            shapes[tensor.name] = (
                (sizes[tensor.type.pack], *lengths) if tensor.type.pack else tuple(lengths)
            )
        return Sizes(declaration, shapes, numbers, types, strides=strides)

    def views(self, case: Case) -> Iterator[tuple[str, Case]]:
        """The case with views in place of the inputs whose strides the kernel takes."""
        for text, strides_of in WAYS.items():
            strides = {
                one.name: strides_of(case.arrays[one.name].shape)
                for one in self.task.declaration.inputs
                if one.strided and case.arrays[one.name].ndim
            }
            if strides:
                values = self.values(case.sizes, case.types, case.scalars, strides)
                yield text, replace(case, strides=strides, values=values)

    def case(self, sizes: Mapping[str, int], kind: str, seed: int, types: tuple[str, ...]) -> Case:
        """Inputs of these sizes.

        Raises
        ------
        ArgumentValueError
            The declaration refuses them.
        """
        declaration = self.task.declaration
        rng = np.random.default_rng(seed)
        own: dict[str, Any] = {}
        if self.own_inputs is not None:
            own = self.own_inputs(seed, dict(sizes))
        scalars: dict[str, Any] = {}
        for one in declaration.scalars:
            scalars[one.name] = (
                own[one.name] if one.name in own else sizes[one.name] if one.name in sizes
                else self._scalar(one.name, one.kind, one.default, sizes, rng)
            )  # fmt: skip
        values = self.values(sizes, types, scalars)
        arrays = {}
        for tensor in declaration.inputs:
            dtype = dtype_of(declaration, tensor, types)
            shape = values.shapes[tensor.name]
            if tensor.name in own:
                array = np.asarray(own[tensor.name])
                if array.shape != tuple(shape):
                    raise ArgumentValueError(
                        f"inputs: {tensor.name}: expected shape {tuple(shape)}, got {array.shape}"
                    )
                arrays[tensor.name] = np.ascontiguousarray(array.astype(dtype)).reshape(shape)
            elif tensor.name in self.task.ranges:
                arrays[tensor.name] = self._within(tensor.name, dtype, shape, values, kind, rng)
            else:
                arrays[tensor.name] = of_kind(kind, dtype, tuple(shape), rng)
        return Case(dict(sizes), kind, types, arrays, scalars, values, seed, frozenset(own))

    def _scalar(self, name: str, kind: str, default: Any, sizes: Any, rng: Any) -> Any:
        if name in self.task.ranges:
            low, high = (self.end(one, sizes) for one in self.task.ranges[name])
            if kind == "float":
                return float(rng.uniform(low, high))
            return int(rng.integers(low, max(high, low + 1)))
        if kind == "bool":
            return bool(rng.integers(2))
        if kind == "int":
            return int(rng.integers(0, 8)) if default is None else int(default)
        return float(np.float32(rng.normal())) if default is None else float(default)

    @staticmethod
    def end(one: Any, values: Mapping[str, Any]) -> Any:
        """The value of an end of a range, for sizes."""
        try:
            return one.evaluate(values)
        except (KeyError, ExpressionError) as error:
            raise ArgumentValueError(f"ranges: {one.text} can't be computed: {error}") from None

    def _within(self, name: str, dtype: Any, shape: Any, values: Sizes, kind: str, rng: Any) -> Any:
        low, high = (self.end(one, values.values) for one in self.task.ranges[name])
        count = int(np.prod(shape))
        if count and high <= low:
            raise ArgumentValueError(f"ranges: {name} has no value from {low} to {high}")
        if kind == "negative" and low < 0 < high:
            high = 0
        if dtype.kind == "c" or is_float(dtype):
            made = rng.uniform(low, high, shape)
            picks = np.array([low, (low + high) / 2])
        else:
            made = rng.integers(low, max(high, low + 1), shape)
            picks = np.array([low, high - 1])
        if kind == "few" or kind == "extreme":
            made = rng.choice(picks, shape)
        if kind in ("zeros", "ones") and low <= (kind == "ones") < high:
            made = np.full(shape, kind == "ones")
        return stored(made, dtype)


def of_kind(kind: str, dtype: np.dtype[Any], shape: tuple[int, ...], rng: Any) -> Any:
    """An array of values of a kind."""
    if dtype.kind == "b":
        return rng.integers(2, size=shape).astype(bool)
    if dtype.kind in "iu":
        return _integers(kind, dtype, shape, rng)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        made = np.empty(shape, dtype)
        made.real, made.imag = (of_kind(kind, part, shape, rng) for _ in range(2))
        return made
    return _floats(kind, dtype, shape, rng)


def _integers(kind: str, dtype: np.dtype[Any], shape: tuple[int, ...], rng: Any) -> Any:
    if kind in ("zeros", "ones"):
        return np.full(shape, kind == "ones", dtype)
    ends = np.iinfo(dtype)
    if kind == "extreme":
        made = rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)
        picks = np.array([ends.min, ends.max, 0, 1, ends.max - 1], dtype)
        return np.where(rng.random(shape) < 0.5, rng.choice(picks, shape), made).astype(dtype)
    low, high = (-100, 100) if dtype.kind == "i" else (0, 200)
    if kind == "few":
        low, high = low // 100 + 1, low // 100 + 4
    if kind == "negative" and dtype.kind == "i":
        high = 0
    return rng.integers(low, high, shape).astype(dtype)


def _floats(kind: str, dtype: np.dtype[Any], shape: tuple[int, ...], rng: Any) -> Any:
    made = rng.normal(size=shape)
    about = limits(dtype)
    if kind in ("zeros", "ones"):
        return stored(np.full(shape, float(kind == "ones")), dtype)
    if kind == "few":
        return stored(rng.integers(-1, 2, shape), dtype)
    if kind == "negative":
        return stored(-np.abs(made) - 0.5, dtype)
    if kind == "large":
        return stored(made * 200, dtype)
    if kind == "denormal":
        exponents = rng.uniform(np.log2(float(about.smallest_subnormal)), about.minexp, shape)
        return stored(np.copysign(np.exp2(exponents), made), dtype)
    made = stored(made, dtype)
    flat = made.reshape(-1)
    some = max(1, flat.size // 16)
    if flat.size and kind == "nan":
        flat[rng.integers(0, flat.size, some)] = np.nan
        flat[rng.integers(0, flat.size, max(1, some // 4))] = stored(np.array(-0.0), dtype)
    if flat.size and kind in ("infinite", "extreme"):
        picks = [np.inf, -np.inf] if kind == "infinite" else [about.tiny, -0.0, 0.0, about.eps]
        values = stored(np.array(picks, np.float64), dtype)
        flat[rng.integers(0, flat.size, some)] = values[rng.integers(0, len(values), some)]
    return made
