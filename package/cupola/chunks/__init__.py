# cupola/chunks/__init__.py - cupola.pipeline: prepares a pipeline and runs it.
"""Pipelines: process host arrays of any size on devices, with overlapped copies and kernels."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cupola import driver
from cupola.chunks.chunk_size import choose
from cupola.chunks.failure_texts import described, named
from cupola.chunks.host_arrays import HostArrays, row_bytes
from cupola.chunks.launches import Launches
from cupola.chunks.progress import progress_report
from cupola.chunks.staging import needs_staging, page_locked_cache
from cupola.chunks.unwritten import Unwritten
from cupola.chunks.work import Work
from cupola.core.integers import checked_count
from cupola.core.registry import registered
from cupola.device import Device, memory_info
from cupola.exceptions import ArgumentTypeError, ArgumentValueError, ChunkError
from cupola.kernel import Kernel
from cupola.memory import Memory
from cupola.pipelines import Pipeline
from cupola.stream import Stream

__all__ = ["pipeline"]

# The default part of a device's free memory: a quarter.
SHARE = 4


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _set_work(
    pipeline: Pipeline, hosts: HostArrays, launches: Launches | None, work: Any
) -> Unwritten | None:
    """Set the work of all slots. The result checks the default grid, where one is used."""
    if launches is None:
        pipeline.set_function(work)
        return None
    there: dict[int, Any] = {}
    for slot in pipeline.slots:
        device = slot.stream.device_index
        if device not in there:
            kernel, arguments = launches.on(device)
            there[device] = (kernel, *launches.forms(pipeline, kernel, arguments))
        pipeline.set_kernel(slot.index, *there[device])
    if not launches.is_default or not Unwritten.applies(pipeline, hosts):
        return None
    forms, which = there[pipeline.slots[0].stream.device_index][1:]
    return Unwritten(launches.kernel.title, pipeline, hosts, forms[which[0]][0])


def _execute(pipeline: Pipeline, schedule: Callable[[Pipeline], object] | None) -> None:
    try:
        if schedule is None:
            pipeline.run()
        else:
            schedule(pipeline)
    except Exception as error:
        failed = pipeline.failed()
        if failed is None:
            raise
        raise ChunkError(f"{named(*failed)}: {described(error)}", *failed) from error
    pipeline.finish(True)


def pipeline(
    kernel: Any,
    inputs: Any = (),
    outputs: Any = (),
    *,
    arguments: Sequence[Any] | None = None,
    threads: Any = None,
    grid: Any = None,
    block: Any = None,
    shared: int = 0,
    chunk: int | None = None,
    streams: int = 4,
    devices: Any = None,
    memory: int | None = None,
    staging: bool | None = None,
    schedule: Callable[[Pipeline], object] | None = None,
    progress: Any = None,
    client: Any = None,
    retries: int | None = None,
    worker_timeout: float | None = None,
) -> Any:
    """Process host arrays of any size with a kernel, with overlapped copies and launches.

    The arrays are cut into chunks along their first axis. A chunk of the inputs is copied to a
    device, the kernel runs on it, and the chunk of the outputs is copied back. Several chunks are
    in flight, each in a slot: a stream with its own memory.

    Parameters
    ----------
    kernel : Kernel or callable
        A kernel is launched once for each chunk. A function is called once for each chunk to queue
        its work: ``kernel(chunk, stream, inputs, outputs)``. It gets a `Chunk`, the stream, which
        is also the current one, and the chunk's device arrays, which it must not keep.
    inputs, outputs : array_like, or a list or tuple of them
        Host arrays with equal first axes: NumPy arrays, memory-mapped files, any buffer.
        Contiguous page-locked arrays are copied directly, others through page-locked memory. An
        array that is both input and output is processed in place. Elements of other outputs that
        the kernel does not write are undefined afterwards.
    arguments : sequence, optional
        The kernel's arguments, as for a launch. Inputs and outputs (the same objects) stand for
        the chunk's parts. ``Chunk.length``, ``Chunk.start``, ``Chunk.stop`` and ``Chunk.index``
        stand for the chunk's values. A function is called with each `Chunk` beforehand. Other
        arguments are the same for every chunk: numbers, and device arrays, which are copied to the
        other devices. By default the inputs, then the outputs that are not inputs. Where the
        kernel has one more parameter, it is the number of the first output's (or input's)
        elements in the chunk.
    threads : int, or as an argument, optional
        The minimum number of threads of a chunk; by default one for each element of the first
        output (or input).
    grid : int or tuple, or as an argument, optional
        The grid of a chunk, instead of `threads`.
    block : int or tuple, optional
        Threads per block; by default the size of highest occupancy.
    shared : int
        Dynamic shared memory per block, in bytes.
    chunk : int, optional
        Rows of a chunk, cut to those of the arrays; by default at most 32 MiB in each direction,
        within `memory`.
    streams : int
        Slots per device, limited by `memory` and the number of chunks.
    devices : Device, int, or a list of them, optional
        The devices to use; by default the kernel's device, or the current one. The kernel's image
        is loaded on each.
    memory : int, optional
        Maximum bytes on each device; by default a quarter of its free memory.
    staging : bool, optional
        Whether pageable memory is copied through page-locked memory. By default not on the CPU
        device, where it would be an extra copy. Arrays that are not C-contiguous always are.
    schedule : callable, optional
        Replaces cupola's own schedule. It is called once with a `cupola.pipelines.Pipeline` and
        must run all steps of every chunk.
    progress : callable or True, optional
        Called after each chunk with the number of finished rows and the number of all rows. True
        shows a progress bar, which needs tqdm.
    client : distributed.Client, optional
        Spreads the chunks over the workers of a Dask cluster. Each worker runs them as a pipeline
        on its first device, to which `streams`, `memory` and `staging` apply. `devices` and
        `schedule` are refused. A memory-mapped input that is no output is read by workers that see
        the same file; others get its elements.
    retries : int, optional
        With `client`: how many times a chunk is sent again after its worker ended or a connection
        broke; by default 3. An error of the kernel is not retried.
    worker_timeout : float, optional
        With `client`: seconds after which a cluster without any worker is an error; by default 60.

    Returns
    -------
    array or tuple of arrays
        The outputs that were passed, complete.

    Raises
    ------
    ArgumentValueError
        After the first chunk, where the default grid has fewer blocks than the kernel has rows.
    ChunkError
        Where a chunk failed; it names the chunk. No other chunk is started, and those in flight
        have ended. Outputs of finished chunks are complete.
        With `client` it names the worker, too, and workers may still finish chunks whose results
        are dropped.
    ArgumentError
        Where arrays, arguments or sizes do not fit together; no work was started.
    LibraryError
        With `client`: where workers have another version of cupola.

    Notes
    -----
    Each slot's stream waits for this thread's current stream first. Ctrl-C ends a pipeline like
    an error. With `client` it cancels the chunks that were sent.
    """
    if client is None and not (retries is worker_timeout is None):
        raise ArgumentTypeError("retries= and worker_timeout= are only for client=")
    if client is not None and not (devices is schedule is None):
        raise ArgumentTypeError(
            "devices= and schedule= can't be used with client=: each worker uses its own device "
            "and cupola's schedule"
        )
    hosts = HostArrays(_as_list(inputs), _as_list(outputs))
    if devices is None and isinstance(kernel, Kernel):
        devices = kernel.device_index
    if staging is not None and not isinstance(staging, (bool, np.bool_)):
        raise ArgumentTypeError(f"staging= is True, False or None, got {staging!r}")
    indices = [Device(device).index for device in _as_list(devices)] or [Device().index]
    if len(set(indices)) < len(indices):
        raise ArgumentValueError("devices= names a device twice")
    if schedule is not None and not callable(schedule):
        raise ArgumentTypeError(
            f"schedule= must be a function that takes a cupola.pipelines.Pipeline, got {schedule!r}"
        )
    if any(Stream.current(index).capturing for index in indices):
        raise ArgumentValueError(
            "pipeline: the stream is being captured, and a pipeline waits for its work: copy the "
            "arrays whole with cupola.to_device(array) and get(out=array), or call it outside of "
            "the capture"
        )
    launches = None
    if isinstance(kernel, Kernel):
        launches = Launches(kernel, hosts, arguments, threads, grid, block, shared)
    elif not callable(kernel):
        raise ArgumentTypeError(f"a pipeline takes a kernel or a function, got {kernel!r}")
    elif not (arguments is threads is grid is block is None and shared == 0):
        raise ArgumentTypeError(
            "arguments=, threads=, grid=, block= and shared= are only for kernels; a function sets "
            "its own launches"
        )
    if client is not None:
        registered("run_on_cluster")(
            client,
            hosts,
            Work.of(kernel, launches, hosts, streams=streams, memory=memory, staging=staging),
            chunk=chunk,
            progress=progress,
            retries=3 if retries is None else retries,
            worker_timeout=60.0 if worker_timeout is None else worker_timeout,
        )
        return outputs
    if memory is None:
        memory = min(memory_info(index).free for index in indices) // SHARE
    length, slots = choose(
        hosts,
        None if chunk is None else checked_count(chunk, "chunk"),
        checked_count(streams, "streams"),
        checked_count(memory, "memory"),
        len(indices),
    )
    run = Pipeline(tuple(hosts.arrays), hosts.inputs, hosts.outputs, length)
    if staging is None:
        staging = driver.info().kind != "cpu"
    locked: list[Memory] = []
    with progress_report(progress, hosts.rows) as report:
        try:
            for number in range(min(slots * len(indices), max(run.chunk_count, 1))):
                device = indices[number % len(indices)]
                stream = Stream(non_blocking=True, device=device)
                pinned = tuple(
                    page_locked_cache.take(device, min(length, hosts.rows) * row_bytes(array))
                    if needs_staging(array, staging)
                    else None
                    for array in hosts.arrays
                )
                locked += [memory for memory in pinned if memory is not None]
                run.add_slot(stream, pinned)
            unwritten = _set_work(run, hosts, launches, kernel)
            for slot in run.slots:  # wait for queued work first
                slot.stream.wait(Stream.current(slot.stream.device_index))
            if unwritten is not None and schedule is None:  # the first report is of chunk 0
                report = unwritten.before(report)
            run.set_progress(report, 0.0 if report else 0.05)
            _execute(run, schedule)
            if unwritten is not None:
                unwritten.check()
        finally:
            with contextlib.suppress(Exception):
                run.finish(False)  # after a failure: waits until no work is in flight
            page_locked_cache.give_back(locked)
    return outputs
