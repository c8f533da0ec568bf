# cupola/chunks/launches.py - the grid, block and arguments of each chunk.
"""Launches of a kernel, one for each chunk."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.chunks.host_arrays import HostArrays, row_bytes
from cupola.core.part_launch import check_options, is_placeholder, launch_form, value_for
from cupola.creation import to_device
from cupola.exceptions import ArgumentTypeError
from cupola.kernel import Kernel
from cupola.pipelines import Chunk, HostArgument, Pipeline


class _Elements:
    """The number of an array's elements in a chunk."""

    def __init__(self, array: np.ndarray) -> None:
        self.width = row_bytes(array) // array.itemsize if array.itemsize else 0

    def __call__(self, chunk: Chunk) -> int:
        return chunk.length * self.width


def _differs(value: object) -> bool:
    """Whether its value may differ for chunks of the same length."""
    return (
        is_placeholder(value, Chunk)
        and value is not Chunk.length
        and not isinstance(value, _Elements)
    )


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
        check_options(arguments, threads, grid, block)
        self.kernel, self.shared = kernel, shared
        self.grid, self.block = grid, block
        main = hosts.arrays[hosts.outputs[0] if hosts.outputs else 0]
        self.given_threads = threads
        self.threads = _Elements(main) if threads is None else threads
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

    @property
    def is_default(self) -> bool:
        """Whether the grid has a thread for each element, because the caller set none."""
        return self.grid is None and self.given_threads is None

    def _form(self, chunk: Chunk, kernel: Kernel, arguments: list[object]) -> tuple[Any, ...]:
        values = tuple(value_for(argument, chunk) for argument in arguments)
        return launch_form(
            kernel,
            "a chunk",
            chunk,
            values,
            threads=self.threads,
            grid=self.grid,
            block=self.block,
            shared=self.shared,
        )

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
