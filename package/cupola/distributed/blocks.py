# cupola/distributed/blocks.py - map_blocks: a launch of a kernel for each block of Dask arrays.
"""Kernels on the blocks of ``dask.array``."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from dask.base import tokenize
from distributed.worker import get_worker

import cupola
from cupola.array import Array
from cupola.core.part_launch import check_options, launch_form, value_for
from cupola.core.unwritten import is_large, mark, new_pattern, require_written
from cupola.exceptions import ArgumentTypeError, ArgumentValueError, Error
from cupola.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the result of `map_blocks`. Its attributes are placeholders in arguments.

    Attributes
    ----------
    index : tuple of int
        The block's position along each axis.
    number : int
        Its number, in C order of the positions.
    start : tuple of int
        The position of its first element in the whole array.
    shape : tuple of int
    size : int
        Its elements.
    output : Array
        The block itself, uninitialized before the launch.
    inputs : tuple of Array
        The blocks of the arrays that were passed.
    """

    index: tuple[int, ...]
    number: int
    start: tuple[int, ...]
    shape: tuple[int, ...]
    size: int
    output: Array
    inputs: tuple[Array, ...]


class _Input:
    """A placeholder for the block of an array that was passed."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, block: Block) -> Array:
        return block.inputs[self.number]


class _Launch:
    """The kernel with its arguments and grid; each worker gets it once."""

    def __init__(
        self, kernel: Kernel, arguments: list[Any], dtype: Any, check: bool, **options: Any
    ) -> None:
        self.kernel, self.arguments, self.options = kernel, arguments, options
        self.dtype = dtype  # dtype of the output
        self.check = check  # whether to test at the next launch that the default grid is enough

    def __call__(self, block: Block) -> None:
        """Launch on the current device's current stream, and wait, so that a fault is here."""
        kernel, stream = self.kernel, cupola.Stream.current()
        if kernel.device_index != stream.device_index:
            kernel = kernel.module.on(stream.device_index)[kernel.name]
        values = tuple(value_for(argument, block) for argument in self.arguments)
        grid, threads, shared, values = launch_form(
            kernel, "a block", block, values, **self.options
        )
        count = math.prod(grid) if isinstance(grid, tuple) else grid
        check = self.check and is_large(block.shape)
        pattern = new_pattern(block.output.nbytes) if check else None
        if pattern is not None:
            mark(block.output, pattern)
        if count:
            kernel.launch(grid, threads, *values, shared=shared)
        stream.synchronize()
        if pattern is not None:
            self.check = False
            require_written(
                kernel.title,
                block.output,
                pattern,
                count,
                "as in grid=lambda block: block.shape[0], or threads=Block.size where this is "
                "right",
            )


def _device_block(block: Any) -> Array:
    """A block as a C-contiguous array of the current device."""
    array = cupola.asarray(block)
    current = cupola.Device().index
    if array.device_index != current:
        array = cupola.to_device(array, device=current)
    return array if array.flags.c_contiguous else array.copy()


def _where() -> str:
    try:
        return f"worker {get_worker().address}"
    except ValueError:
        return f"process {os.getpid()}, outside of a cluster"


def _run(*blocks: Any, launch: _Launch, block_info: Any = None) -> Array:
    """The task of one block."""
    info = block_info[None]
    index, shape = tuple(info["chunk-location"]), tuple(info["chunk-shape"])
    try:
        block = Block(
            index=index,
            number=int(np.ravel_multi_index(index, info["num-chunks"])) if index else 0,
            start=tuple(int(start) for start, _ in info["array-location"]),
            shape=shape,
            size=math.prod(shape),
            output=cupola.empty(shape, launch.dtype),
            inputs=tuple(map(_device_block, blocks)),
        )
        launch(block)
    except Exception as error:
        raise Error(
            f"{launch.kernel.title}: block {index} on {_where()}: {type(error).__name__}: {error}"
        ) from error
    return block.output


def _checked(kernel: Kernel, arrays: tuple[Any, ...], arguments: Any) -> list[Any]:
    """The kernel's arguments; a `Block` gives the values of placeholders."""
    if arguments is None:
        arguments = [*map(_Input, range(len(arrays))), Block.output]
        if len(kernel.params) == len(arguments) + 1:
            arguments.append(Block.size)
    found: list[Any] = []
    for i, value in enumerate(arguments):
        if isinstance(value, da.Array):
            same = [k for k, array in enumerate(arrays) if array is value]
            if not same:
                raise ArgumentTypeError(
                    f"{kernel.title}: argument {i} is a Dask array whose blocks were not passed to "
                    "map_blocks; pass it before arguments=, too"
                )
            value = _Input(same[0])
        elif isinstance(value, np.ndarray) and value.ndim:
            raise ArgumentTypeError(
                f"{kernel.title}: argument {i} is a host array; use cupola.to_device(array), which "
                "every block can read, or a Dask array, whose blocks are passed"
            )
        found.append(value)
    if len(found) != len(kernel.params):
        raise ArgumentTypeError(
            f"{kernel.title}: {len(found)} arguments for {len(kernel.params)} parameters "
            f"({', '.join(p.name or p.kind for p in kernel.params)}); pass arguments="
        )
    return found


def map_blocks(
    kernel: Kernel,
    *arrays: Any,
    arguments: Sequence[Any] | None = None,
    dtype: Any = None,
    chunks: Any = None,
    drop_axis: Any = None,
    new_axis: Any = None,
    threads: Any = None,
    grid: Any = None,
    block: Any = None,
    shared: int = 0,
    name: str | None = None,
) -> Any:
    """A Dask array whose blocks a kernel writes, with one launch for each block.

    Parameters
    ----------
    kernel : Kernel
    *arrays : dask.array.Array
        Their blocks are the inputs of the launches, matched as by ``dask.array.map_blocks``.
        Blocks in host memory are copied to the worker's device; strided ones are packed. The
        kernel must not write to them, since other tasks use them.
    arguments : sequence, optional
        The kernel's arguments, as for a launch. The arrays themselves stand for their blocks.
        ``Block.output`` stands for the new block; ``Block.size``, ``Block.number`` and the other
        attributes of `Block` for its values. A function is called with each `Block`. Other
        arguments are the same for every block: numbers, and device arrays. By default the blocks
        of the arrays, then the output. Where the kernel has one more parameter, it is the number
        of the output's elements.
    dtype : data-type, optional
        Of the result; by default the first array's.
    chunks, drop_axis, new_axis : optional
        The shape of the result's blocks, as for ``dask.array.map_blocks``.
    threads : int, or as an argument, optional
        The minimum number of threads of a launch; by default one for each element of the output.
    grid : int or tuple, or as an argument, optional
        The grid of a launch, instead of `threads`.
    block : int or tuple, or as an argument, optional
        Threads per block of the grid; by default the size of highest occupancy.
    shared : int
        Dynamic shared memory per block of the grid, in bytes.
    name : str, optional
        The name of the tasks in Dask's graph.

    Returns
    -------
    dask.array.Array
        Its blocks are of `cupola.Array`. Elements that the kernel does not write are undefined.

    Raises
    ------
    ArgumentError
        Where arrays, arguments or chunks do not fit together.
    Error
        By the computation, where a launch failed, or where the default grid has fewer blocks than
        the kernel has rows. It names kernel, block and worker.

    Notes
    -----
    A launch is on the current device and current stream of the thread that runs the task: device 0
    and its legacy default stream, unless the worker's code sets others. The task waits for its
    launch, so its block is complete when Dask sends it on, and a fault is the task's own.
    """
    if not isinstance(kernel, Kernel):
        raise ArgumentTypeError(f"map_blocks launches a cupola.Kernel, got {kernel!r}")
    if not arrays or not all(isinstance(array, da.Array) for array in arrays):
        raise ArgumentTypeError(
            f"{kernel.title}: map_blocks takes Dask arrays, got "
            f"{', '.join(type(array).__name__ for array in arrays) or 'none'}; make one with "
            "dask.array.from_array(x, chunks=...)"
        )
    check_options(arguments, threads, grid, block)
    dtype = np.dtype(arrays[0].dtype if dtype is None else dtype)
    launch = _Launch(
        kernel.module.on(0)[kernel.name] if kernel.device_index else kernel,
        _checked(kernel, arrays, arguments),
        dtype,
        check=grid is None and threads is None,
        threads=Block.size if threads is None else threads,
        grid=grid,
        block=block,
        shared=shared,
    )
    token = tokenize(launch)
    result = da.map_blocks(
        _run,
        *arrays,
        launch=delayed(launch, name=f"launch-{kernel.name}-{token}", traverse=False),
        name=name or f"{kernel.name}-{tokenize(token, *arrays, chunks, drop_axis, new_axis)}",
        dtype=dtype,
        chunks=chunks,
        drop_axis=drop_axis,
        new_axis=new_axis,
        meta=cupola.empty((0,) * arrays[0].ndim, dtype),
    )
    if any(math.isnan(length) for axis in result.chunks for length in axis):
        raise ArgumentValueError(
            f"{kernel.title}: a launch needs the shape of each block, and some are unknown: "
            f"{result.chunks}; call compute_chunk_sizes() of the arrays, or pass chunks="
        )
    return result
