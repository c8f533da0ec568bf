# cupola/chunks/work.py - what a worker of a cluster does with its chunks.
"""The part of a pipeline that runs on a worker."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np

from cupola.chunks.failure_texts import described, named
from cupola.chunks.file_parts import FilePart, OtherFileError
from cupola.chunks.host_arrays import HostArrays
from cupola.chunks.launches import Launches
from cupola.core.part_launch import is_placeholder, value_for
from cupola.core.pickled_images import this_process
from cupola.core.registry import registered
from cupola.exceptions import ChunkError, OutOfMemoryError
from cupola.pipelines import Chunk, HostArgument


@dataclass
class Work:
    """A kernel or function with its options; each worker has it once."""

    kernel: Any
    launch: dict[str, Any]  # arguments, grid, block and others; empty for a function
    options: dict[str, Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    rows: list[
        tuple[tuple[int, ...], np.dtype[Any]]
    ]  # for each array, the shape of a row and the dtype

    @classmethod
    def of(cls, kernel: Any, launches: Launches | None, hosts: HostArrays, **options: Any) -> Work:
        launch = {}
        if launches is not None:
            kernel, arguments = launches.on(0)  # a worker's own device is its first
            launch = {
                "arguments": arguments,
                "grid": launches.grid,
                "block": launches.block,
                "shared": launches.shared,
                "threads": launches.given_threads,
            }
        rows = [(array.shape[1:], array.dtype) for array in hosts.arrays]
        return cls(kernel, launch, options, hosts.inputs, hosts.outputs, rows)


@dataclass(frozen=True)
class Span:
    """The successive chunks of a task."""

    index: int  # index of the first chunk
    start: int  # rows
    stop: int
    length: int  # rows of a chunk

    def chunk(self, local: Chunk) -> Chunk:
        """A chunk of the whole pipeline, for one that counts from this task's first row."""
        return Chunk(self.index + local.index, self.start + local.start, self.start + local.stop)

    @property
    def first(self) -> Chunk:
        return Chunk(self.index, self.start, min(self.start + self.length, self.stop))

    @property
    def last(self) -> Chunk:
        count = -(-(self.stop - self.start) // self.length)
        return Chunk(self.index + count - 1, self.start + (count - 1) * self.length, self.stop)

    @property
    def title(self) -> str:
        rows = f"rows {self.start} to {self.stop - 1}"
        if self.first == self.last:
            return f"chunk {self.index} ({rows})"
        return f"chunks {self.index} to {self.last.index} ({rows})"


class SpanError(Exception):
    """An error of a worker's work, which another worker would have, too."""

    def __init__(self, text: str, first: Chunk, last: Chunk, cause: BaseException | None) -> None:
        super().__init__(text, first, last, cause)
        self.text, self.first, self.last, self.cause = text, first, last, cause


def run_span(
    published: Any, span: Span, pieces: list[np.ndarray | FilePart | None]
) -> list[np.ndarray]:
    """Run a task's chunks as a pipeline of this process; the new contents of the outputs.

    Parameters
    ----------
    published : cupola.distributed.Published
        A `Work`.
    span : Span
    pieces : list of (array, FilePart or None)
        The inputs' rows, or where they are; None for an array that is output alone.
    """
    try:
        work: Work = published.get()
        arrays = []
        for i, ((shape, dtype), piece) in enumerate(zip(work.rows, pieces, strict=True)):
            if isinstance(piece, FilePart):
                piece = piece.open()
            if piece is None:
                piece = np.empty((span.stop - span.start, *shape), dtype)
            elif i in work.outputs:
                piece = piece.copy()  # a retry needs the input before it was changed
            arrays.append(piece)
        kernel, launch = work.kernel, dict(work.launch)
        if launch:
            launch["arguments"] = [
                arrays[value.index] if isinstance(value, HostArgument) else _in_span(span, value)
                for value in launch["arguments"]
            ]
            for name in ("grid", "block", "threads"):
                launch[name] = _in_span(span, launch[name])
        else:
            kernel = _function_in(span, work.kernel)
        outputs = [arrays[i] for i in work.outputs]
        inputs = [arrays[i] for i in work.inputs]
        pipeline = registered("pipeline")
        pipeline(kernel, inputs, outputs, chunk=span.length, **launch, **work.options)
        return outputs
    except OtherFileError:
        raise
    except ChunkError as error:
        first, last = span.chunk(error.first), span.chunk(error.last)
        raise _failure(first, last, named(first, last), error.__cause__ or error) from error
    except Exception as error:
        raise _failure(span.first, span.last, span.title, error) from error


def _in_span(span: Span, value: Any) -> Any:
    """A function of a chunk of this process, for one of a chunk of the whole pipeline."""
    if not is_placeholder(value, Chunk) or value is Chunk.length:
        return value
    return lambda chunk: value_for(value, span.chunk(chunk))


def _function_in(span: Span, function: Any) -> Any:
    def call(chunk: Chunk, stream: Any, inputs: Any, outputs: Any) -> None:
        function(span.chunk(chunk), stream, inputs, outputs)

    return call


def _failure(first: Chunk, last: Chunk, where: str, error: BaseException) -> SpanError:
    from distributed import get_worker

    text = f"{where} on the worker {get_worker().address} ({this_process()}): {described(error)}"
    if isinstance(error, OutOfMemoryError):
        text += "; use a smaller chunk=, fewer streams=, or fewer threads a worker"
    cause: BaseException | None = error
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # its text is known, and is all that can be sent
        cause = None
    return SpanError(text, first, last, cause)
