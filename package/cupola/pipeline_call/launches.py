# cupola/pipeline_call/launches.py - the grid, block and arguments of each chunk.
"""Launches of a kernel, one for each chunk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.creation import to_device
from cupola.exceptions import ArgumentTypeError
from cupola.kernel import Kernel
from cupola.pipeline_call.host_arrays import HostArrays, row_bytes
from cupola.pipeline_call.integers import as_int
from cupola.pipelines import Chunk, HostArgument, Pipeline


class _Elements:
    """The number of an array's elements in a chunk."""

    def __init__(self, array: np.ndarray) -> None:
        self.width = row_bytes(array) // array.itemsize if array.itemsize else 0

    def __call__(self, chunk: Chunk) -> int:
        return chunk.length * self.width


def is_of_chunk(value: object) -> bool:
    """Whether it stands for a value of the chunk."""
    return getattr(value, "__objclass__", None) is Chunk or (
        callable(value) and not isinstance(value, (Array, np.generic))
    )


def value_in(value: Any, chunk: Chunk) -> Any:
    """Replace a placeholder by its value for this chunk."""
    if not is_of_chunk(value):
        return value
    return value.__get__(chunk) if hasattr(value, "__objclass__") else value(chunk)


def _differs(value: object) -> bool:
    """Whether its value may differ for chunks of the same length."""
    return is_of_chunk(value) and value is not Chunk.length and not isinstance(value, _Elements)


class Launches:
    """Grid, block and arguments of each chunk; equal ones are stored once."""

    def __init__(
        self,
        kernel: Kernel,
        hosts: HostArrays,
        arguments: Any,
        threads: Any,
        grid: Any,
        block: Any,
        shared: int,
    ) -> None:
        if grid is not None and threads is not None:
            raise ArgumentTypeError("threads= and grid= both set the grid: pass only one of them")
        if grid is not None and block is None:
            raise ArgumentTypeError("grid= needs block=, too")
        self.kernel, self.shared = kernel, shared
        self.grid, self.block = grid, block
        main = hosts.arrays[hosts.outputs[0] if hosts.outputs else 0]
        self.threads = _Elements(main) if threads is None else threads
        if arguments is not None and (
            isinstance(arguments, (str, bytes)) or not isinstance(arguments, Sequence)
        ):
            raise ArgumentTypeError(
                "arguments= must be a list or tuple of the kernel's arguments, got "
                f"{type(arguments).__name__}"
            )
        if arguments is None:
            arguments = [HostArgument(i) for i in range(len(hosts.arrays))]
            if len(kernel.params) == len(arguments) + 1:
                arguments.append(_Elements(main))
        self.arguments = [self._argument(hosts, i, a) for i, a in enumerate(arguments)]

    def _argument(self, hosts: HostArrays, index: int, value: object) -> object:
        place = hosts.find(value)
        if place is not None:
            return HostArgument(place)
        if isinstance(value, np.ndarray) and value.ndim:
            raise ArgumentTypeError(
                f"{self.kernel.title}: argument {index} is a host array which is neither input "
                "nor output; use cupola.to_device(array), which every chunk can read"
            )
        return value

    def _form(self, chunk: Chunk, kernel: Kernel, arguments: list[object]) -> tuple[Any, ...]:
        values = tuple(value_in(argument, chunk) for argument in arguments)
        block = value_in(self.block, chunk)
        if self.grid is not None:
            grid = _lengths(kernel, "grid", value_in(self.grid, chunk))
            return grid, _lengths(kernel, "block", block), self.shared, values
        if block is None:
            block = kernel.max_potential_block_size(self.shared)
        block = _lengths(kernel, "block", block)
        given = value_in(self.threads, chunk)
        threads = as_int(given)
        if threads is None or threads < 0:
            raise ArgumentTypeError(
                f"{kernel.title}: threads= is an int >= 0, or gives one for a chunk; got {given!r}"
            )
        size = math.prod(block) if isinstance(block, tuple) else block
        return -(-threads // max(size, 1)), block, self.shared, values

    def forms(
        self, pipeline: Pipeline, kernel: Kernel, arguments: list[object]
    ) -> tuple[list[tuple[Any, ...]], Any]:
        """The distinct launches, and the index of each chunk's launch."""
        which = np.zeros(max(pipeline.chunk_count, 1), np.uint32)
        if not pipeline.chunk_count:  # nothing to launch, but check the arguments
            return [self._form(Chunk(0, 0, 0), kernel, arguments)], which
        every = any(map(_differs, (*arguments, self.grid, self.block, self.threads)))
        forms: list[tuple[Any, ...]] = []
        known: dict[object, int] = {}
        for index in range(pipeline.chunk_count):
            chunk = pipeline.chunk(index)
            key = index if every else chunk.length
            if key not in known:
                known[key] = len(forms)
                forms.append(self._form(chunk, kernel, arguments))
            which[index] = known[key]
        return forms, which

    def on(self, device: int) -> tuple[Kernel, list[object]]:
        """The kernel and its arguments on a device; arrays of other devices are copied."""
        kernel = self.kernel
        if kernel.device_index != device:
            kernel = kernel.module.on(device)[kernel.name]
        return kernel, [
            to_device(value, device=device)
            if isinstance(value, Array) and value.device_index != device
            else value
            for value in self.arguments
        ]


def _lengths(kernel: Kernel, name: str, value: Any) -> int | tuple[int, ...]:
    """A grid or block; its size is checked later."""
    several = isinstance(value, (tuple, list))
    lengths = [as_int(each) for each in (value if several else (value,))]
    found = tuple(length for length in lengths if length is not None)
    if len(found) < len(lengths):
        raise ArgumentTypeError(
            f"{kernel.title}: {name}= is an int or a tuple of up to three, or gives that for a "
            f"chunk; got {value!r}"
        )
    return found if several else found[0]
