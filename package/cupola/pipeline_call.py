# cupola/pipeline_call.py - cupola.pipeline: chooses sizes, slots and arguments, and runs it.
"""Pipelines: process host arrays of any size on devices, with overlapped copies and kernels."""

from __future__ import annotations

import contextlib
import math
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cupola import driver
from cupola.array import Array
from cupola.creation import to_device
from cupola.device import Device, memory_info
from cupola.exceptions import ArgumentTypeError, ArgumentValueError, ChunkError, Error
from cupola.kernel import Kernel
from cupola.memory import Memory
from cupola.pipelines import Chunk, HostArgument, Pipeline, is_page_locked, page_locked
from cupola.stream import Stream

# Bytes of a chunk in its larger direction: large enough for full copy speed, and for a small host
# overhead.
MOST = 32 << 20
LEAST = 1 << 20
# With fewer chunks, the first upload and the last download take a large part of the time.
CHUNKS = 64
# The default part of a device's free memory: a quarter.
SHARE = 4
# Page-locked memory is kept for the next pipeline, since page-locking is slow.
KEPT = 512 << 20


class _Hosts:
    """The distinct host arrays, with the indices of inputs and outputs."""

    def __init__(self, inputs: Any, outputs: Any) -> None:
        self.arrays: list[np.ndarray] = []
        self.given: list[object] = []
        self.inputs = tuple(self._add(array, "input", i) for i, array in enumerate(inputs))
        self.outputs = tuple(self._add(array, "output", i) for i, array in enumerate(outputs))
        if not self.arrays:
            raise ArgumentValueError("a pipeline has at least one input or output")
        lengths = {len(array) for array in self.arrays}
        if len(lengths) > 1:
            raise ArgumentValueError(
                "inputs and outputs are cut along their first axis, which must be equally long in "
                f"all; they have the shapes {', '.join(str(a.shape) for a in self.arrays)}"
            )
        self.rows = len(self.arrays[0])
        self._refuse_overlaps()

    def _add(self, value: object, what: str, number: int) -> int:
        name = f"{what} {number}"
        array = _host_array(value, name)
        if what == "output":
            if not array.flags.writeable:
                raise ArgumentValueError(f"{name} is read-only")
            if not _is_same(array, _as_array(value)):  # a temporary array
                raise ArgumentTypeError(f"{name}: a {type(value).__name__} can't be written to")
        known = self.find(value)
        if known is not None:
            return known
        self.arrays.append(array)
        self.given.append(value)
        return len(self.arrays) - 1

    def _refuse_overlaps(self) -> None:
        for i in self.outputs:
            for k, other in enumerate(self.arrays):
                if k != i and _may_overlap(self.arrays[i], other):
                    raise ArgumentValueError(
                        f"output {self.outputs.index(i)} shares memory with another array, so "
                        "that one chunk's results could be another's input; to work in place, "
                        "pass the same array as input and output"
                    )

    def find(self, value: object) -> int | None:
        """The index of an array that was added before, or None."""
        for i, given in enumerate(self.given):
            if given is value:
                return i
            if isinstance(value, np.ndarray) and value.size and _is_same(self.arrays[i], value):
                return i
        return None


def _is_same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.__array_interface__ == other.__array_interface__


def _as_array(value: Any) -> np.ndarray:
    """An array over a buffer's memory; for other values a new array."""
    if not isinstance(value, np.ndarray):
        with contextlib.suppress(TypeError):
            value = memoryview(value)  # NumPy would read bytes as a string
    return np.asarray(value)


def _host_array(value: object, name: str) -> np.ndarray:
    if hasattr(value, "__cuda_array_interface__"):
        raise ArgumentTypeError(
            f"{name} is on a device already; inputs and outputs are host arrays: pass device "
            "arrays in arguments="
        )
    try:
        array = _as_array(value)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"{name}: a {type(value).__name__} can't be made an array: {error}"
        ) from error
    if array.ndim == 0:
        raise ArgumentValueError(f"{name} has no axis to be cut along")
    if array.dtype.hasobject:
        raise ArgumentTypeError(f"{name}: a device can't hold Python objects")
    if not array.dtype.isnative:
        raise ArgumentTypeError(f"{name} has {array.dtype}, of the other byte order")
    return array


def _may_overlap(one: np.ndarray, other: np.ndarray) -> bool:
    try:
        return bool(np.shares_memory(one, other, max_work=10_000))
    except Exception as error:  # TooHardError's module depends on NumPy's version
        if type(error).__name__ == "TooHardError":
            return True
        raise


def _row_bytes(array: np.ndarray) -> int:
    return int(np.prod(array.shape[1:], dtype=np.int64)) * array.itemsize


def _choose(
    hosts: _Hosts, chunk: int | None, slots: int, memory: int, devices: int
) -> tuple[int, int]:
    """The rows of a chunk, and the number of slots of a device."""
    row = sum(_row_bytes(array) for array in hosts.arrays)
    if chunk is None:
        way = max(
            sum(_row_bytes(hosts.arrays[i]) for i in set(hosts.inputs)),
            sum(_row_bytes(hosts.arrays[i]) for i in set(hosts.outputs)),
            1,
        )
        wanted = min(max(hosts.rows * way // CHUNKS, LEAST), MOST)
        each = -(-hosts.rows // devices)  # so that no device is idle
        chunk = max(1, min(wanted // way, memory // max(slots * row, 1), each))
    fit = memory // max(chunk * row, 1)
    if fit < 1:
        raise ArgumentValueError(
            f"a chunk of {chunk} rows takes {chunk * row} bytes of a device, and memory= allows "
            f"{memory}" + ("; take a smaller chunk=" if chunk > 1 else "")
        )
    return chunk, min(slots, fit)


class _Locked:
    """A cache of page-locked memory, reused by later pipelines."""

    def __init__(self) -> None:
        self.mutex = threading.Lock()
        self.spare: list[Memory] = []

    def take(self, device: int, nbytes: int) -> Memory:
        with self.mutex:
            fitting = [m for m in self.spare if nbytes <= m.nbytes <= 2 * nbytes]
            if fitting:
                best = min(fitting, key=lambda memory: memory.nbytes)
                self.spare.remove(best)
                return best
        return page_locked(device, nbytes)

    def give_back(self, all_of_it: list[Memory]) -> None:
        with self.mutex:
            self.spare += all_of_it
            while sum(memory.nbytes for memory in self.spare) > KEPT:
                self.spare.pop(0)


_locked = _Locked()


class _Elements:
    """The number of an array's elements in a chunk."""

    def __init__(self, array: np.ndarray) -> None:
        self.width = _row_bytes(array) // array.itemsize if array.itemsize else 0

    def __call__(self, chunk: Chunk) -> int:
        return chunk.length * self.width


def _is_of_chunk(value: object) -> bool:
    return getattr(value, "__objclass__", None) is Chunk or (
        callable(value) and not isinstance(value, (Array, np.generic))
    )


def _value(value: Any, chunk: Chunk) -> Any:
    """Replace a placeholder by its value for this chunk."""
    if not _is_of_chunk(value):
        return value
    return value.__get__(chunk) if hasattr(value, "__objclass__") else value(chunk)


def _differs(value: object) -> bool:
    """Whether its value may differ for chunks of the same length."""
    return _is_of_chunk(value) and value is not Chunk.length and not isinstance(value, _Elements)


class _Launches:
    """Grid, block and arguments of each chunk; equal ones are stored once."""

    def __init__(
        self, kernel: Kernel, hosts: _Hosts, arguments: Any, threads: Any, grid: Any, block: Any,
        shared: int,
    ) -> None:  # fmt: skip
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

    def _argument(self, hosts: _Hosts, index: int, value: object) -> object:
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
        values = tuple(_value(argument, chunk) for argument in arguments)
        block = _value(self.block, chunk)
        if self.grid is not None:
            grid = _lengths(kernel, "grid", _value(self.grid, chunk))
            return grid, _lengths(kernel, "block", block), self.shared, values
        if block is None:
            block = kernel.max_potential_block_size(self.shared)
        block = _lengths(kernel, "block", block)
        given = _value(self.threads, chunk)
        threads = _int(given)
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


def _set_work(pipeline: Pipeline, launches: _Launches | None, work: Any) -> None:
    if launches is None:
        pipeline.set_function(work)
        return
    there: dict[int, Any] = {}
    for slot in pipeline.slots:
        device = slot.stream.device_index
        if device not in there:
            kernel, arguments = launches.on(device)
            there[device] = (kernel, *launches.forms(pipeline, kernel, arguments))
        pipeline.set_kernel(slot.index, *there[device])


@contextlib.contextmanager
def _progress(asked: Any, rows: int) -> Iterator[Callable[[int, int], object] | None]:
    if asked is None or asked is False:
        yield None
    elif asked is True:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError(
                "progress=True draws a bar with tqdm, which is not installed: pip install tqdm "
                "(or cupola[progress]), or give a function: progress=lambda done, rows: ..."
            ) from error
        with tqdm(total=rows, unit=" rows", unit_scale=True) as bar:
            yield lambda done, _: bar.update(done - bar.n)
    elif callable(asked):
        yield asked
    else:
        raise ArgumentTypeError(
            f"progress= is a function of the rows that are done and of all, or True for a bar; "
            f"got {asked!r}"
        )


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _int(value: Any) -> int | None:
    """The value as an int; None where it is a bool or not an integer."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _lengths(kernel: Kernel, name: str, value: Any) -> int | tuple[int, ...]:
    """A grid or block; its size is checked later."""
    several = isinstance(value, (tuple, list))
    lengths = [_int(each) for each in (value if several else (value,))]
    found = tuple(length for length in lengths if length is not None)
    if len(found) < len(lengths):
        raise ArgumentTypeError(
            f"{kernel.title}: {name}= is an int or a tuple of up to three, or gives that for a "
            f"chunk; got {value!r}"
        )
    return found if several else found[0]


def _count(value: Any, name: str) -> int:
    count = _int(value)
    if count is None:
        raise ArgumentTypeError(f"{name}= is an int of at least 1, got {value!r}")
    if count < 1:
        raise ArgumentValueError(f"{name}= is an int of at least 1, got {value!r}")
    return count


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
        first, last = failed
        rows = f"rows {first.start} to {last.stop - 1}"
        which = f"chunk {first.index} ({rows})"
        if first != last:
            which = (
                f"one of chunks {first.index} to {last.index} ({rows}), which the device had "
                "in flight; run with CUPOLA_SYNC=1 to find the one"
            )
        what = str(error)
        if not isinstance(error, Error):  # formatted like Python's own traceback
            what = f"{type(error).__name__}: {error}" if what else type(error).__name__
        raise ChunkError(f"{which}: {what}", first, last) from error
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
        Rows of a chunk; by default at most 32 MiB in each direction, within `memory`.
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

    Returns
    -------
    array or tuple of arrays
        The outputs that were passed, complete.

    Raises
    ------
    ChunkError
        Where a chunk failed; it names the chunk. No other chunk is started, and those in flight
        have ended. Outputs of finished chunks are complete.
    ArgumentError
        Where arrays, arguments or sizes do not fit together; no work was started.

    Notes
    -----
    Each slot's stream waits for this thread's current stream first. Ctrl-C ends a pipeline like
    an error.
    """
    hosts = _Hosts(_as_list(inputs), _as_list(outputs))
    if devices is None and isinstance(kernel, Kernel):
        devices = kernel.device_index
    indices = [Device(device).index for device in _as_list(devices)] or [Device().index]
    if len(set(indices)) < len(indices):
        raise ArgumentValueError("devices= names a device twice")
    if schedule is not None and not callable(schedule):
        raise ArgumentTypeError(
            f"schedule= must be a function that takes a cupola.pipelines.Pipeline, got {schedule!r}"
        )
    if any(Stream.current(index).capturing for index in indices):
        raise ArgumentValueError(
            "a pipeline waits for its work and can't be part of the graph that is being captured"
        )
    launches = None
    if isinstance(kernel, Kernel):
        launches = _Launches(kernel, hosts, arguments, threads, grid, block, shared)
    elif not callable(kernel):
        raise ArgumentTypeError(f"a pipeline takes a kernel or a function, got {kernel!r}")
    elif not (arguments is threads is grid is block is None and shared == 0):
        raise ArgumentTypeError(
            "arguments=, threads=, grid=, block= and shared= are only for kernels; a function sets "
            "its own launches"
        )
    if memory is None:
        memory = min(memory_info(index).free for index in indices) // SHARE
    length, slots = _choose(
        hosts,
        None if chunk is None else _count(chunk, "chunk"),
        _count(streams, "streams"),
        _count(memory, "memory"),
        len(indices),
    )
    if staging is not None and not isinstance(staging, (bool, np.bool_)):
        raise ArgumentTypeError(f"staging= is True, False or None, got {staging!r}")
    run = Pipeline(tuple(hosts.arrays), hosts.inputs, hosts.outputs, length)
    if staging is None:
        staging = driver.info().kind != "cpu"
    locked: list[Memory] = []
    with _progress(progress, hosts.rows) as report:
        try:
            for number in range(min(slots * len(indices), max(run.chunk_count, 1))):
                device = indices[number % len(indices)]
                stream = Stream(non_blocking=True, device=device)
                pinned = tuple(
                    _locked.take(device, min(length, hosts.rows) * _row_bytes(array))
                    if _needs_staging(array, staging)
                    else None
                    for array in hosts.arrays
                )
                locked += [memory for memory in pinned if memory is not None]
                run.add_slot(stream, pinned)
            _set_work(run, launches, kernel)
            for slot in run.slots:  # wait for queued work first
                slot.stream.wait(Stream.current(slot.stream.device_index))
            run.set_progress(report, 0.0 if report else 0.05)
            _execute(run, schedule)
        finally:
            with contextlib.suppress(Exception):
                run.finish(False)  # after a failure: waits until no work is in flight
            _locked.give_back(locked)
    return outputs


def _needs_staging(array: np.ndarray, staging: bool) -> bool:
    if not array.nbytes:
        return False
    if not array.flags.c_contiguous:
        return True
    return staging and not is_page_locked(array)
