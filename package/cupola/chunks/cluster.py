# cupola/chunks/cluster.py - cupola.pipeline(client=): chunks over the workers of a cluster.
"""The part of a pipeline on a cluster that runs in the client."""

from __future__ import annotations

import contextlib
import queue
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
from distributed import Client, Future, KilledWorker

from cupola.chunks.chunk_size import choose
from cupola.chunks.failure_texts import described
from cupola.chunks.file_parts import FilePart, OtherFileError, file_part
from cupola.chunks.host_arrays import HostArrays, row_bytes
from cupola.chunks.progress import progress_report
from cupola.chunks.work import Span, SpanError, Work, run_span
from cupola.core.integers import as_int, checked_count
from cupola.distributed.published import Published, publish, require_client
from cupola.exceptions import ArgumentError, ArgumentTypeError, ArgumentValueError, ChunkError

# Bytes of inputs and outputs that are in flight. Client and scheduler may each have a copy of these
# bytes.
IN_FLIGHT = 1 << 30
TASKS = 2  # in flight for each thread of a worker: it computes one while the next arrives
# Tasks for each thread, where there are enough chunks. With several tasks, all threads end at
# nearly the same time.
BALANCE = 4
POLL = 1.0  # seconds between two looks at the workers
# Errors of connections, and errors after workers ended.
BROKEN = (KilledWorker, CancelledError, OSError, TimeoutError)


def run_on_cluster(
    client: Client,
    hosts: HostArrays,
    work: Work,
    *,
    chunk: Any,
    progress: Any,
    retries: Any,
    worker_timeout: Any,
) -> None:
    """Run all chunks, and write their outputs; the arguments are those of `cupola.pipeline`."""
    require_client(client)
    attempts = as_int(retries)
    if attempts is None or attempts < 0:
        raise ArgumentTypeError(f"retries= is an int of at least 0, got {retries!r}")
    if isinstance(worker_timeout, bool) or not isinstance(worker_timeout, (int, float)):
        raise ArgumentTypeError(f"worker_timeout= is a number of seconds, got {worker_timeout!r}")
    if worker_timeout < 0:
        raise ArgumentValueError(f"worker_timeout= is at least 0, got {worker_timeout!r}")
    streams = checked_count(work.options["streams"], "streams")
    if work.options["memory"] is not None:
        checked_count(work.options["memory"], "memory")
    length = None if chunk is None else checked_count(chunk, "chunk")
    threads = max(sum(client.nthreads().values()), 1)
    if length is None:
        length, _ = choose(hosts, None, streams, IN_FLIGHT // 2, threads)
    length = max(1, min(length, hosts.rows))
    # Several chunks a task, so that copies and kernels of a worker overlap.
    together = max(1, min(streams, -(-hosts.rows // length) // (BALANCE * threads)))
    spans = [
        Span(row // length, row, min(row + together * length, hosts.rows), length)
        for row in range(0, hosts.rows, together * length)
    ]
    with (
        progress_report(progress, hosts.rows) as report,
        publish(work, client) as published,
    ):
        _Run(client, hosts, work, published, spans, attempts, worker_timeout, report).run()


class _Run:
    """The tasks in flight and those that are done."""

    def __init__(
        self,
        client: Client,
        hosts: HostArrays,
        work: Work,
        published: Published,
        spans: list[Span],
        retries: int,
        worker_timeout: float,
        report: Callable[[int, int], object] | None,
    ) -> None:
        self.client, self.hosts, self.work, self.published = client, hosts, work, published
        self.spans, self.retries, self.report = spans, retries, report
        self.worker_timeout = worker_timeout
        self.name = f"cupola-pipeline-{uuid.uuid4().hex}"
        self.arrived: queue.SimpleQueue[Future] = queue.SimpleQueue()
        # For each key, the task's number, its result, and its input if that was scattered.
        self.flying: dict[str, tuple[int, Future, Future | None]] = {}
        self.unsent = deque(range(len(spans)))
        self.failures: dict[int, int] = {}
        self.is_done = np.zeros(len(spans), bool)
        self.head = 0  # all tasks before this one are done
        rows = spans[0].stop - spans[0].start if spans else 1
        self.task_bytes = max(rows * sum(map(row_bytes, hosts.arrays)), 1)
        # Inputs that workers read from a file. If an input is also an output, its file changes
        # meanwhile.
        self.files = {
            i: part
            for i in set(hosts.inputs) - set(hosts.outputs)
            if (part := file_part(hosts.arrays[i])) is not None
        }
        self.limit = 1
        self.looked = self.seen = time.monotonic()

    def run(self) -> None:
        try:
            self.look_at_workers()
            while self.head < len(self.spans):
                self.send(min(self.limit - len(self.flying), len(self.unsent)))
                self.collect(list(self.next_arrived()))
                if time.monotonic() > self.looked + POLL:
                    self.look_at_workers()
                    self.find_lost()
        finally:
            if self.flying:
                with contextlib.suppress(Exception):
                    futures = [future for _, *both in self.flying.values() for future in both]
                    self.client.cancel(list(filter(None, futures)), force=True)

    def look_at_workers(self) -> None:
        """Adapt the number of tasks in flight; raise an error where no worker comes."""
        if self.client.status != "running":
            raise self.error(
                f"the connection to the scheduler {self.client.scheduler.address} was lost "
                f"(the client is {self.client.status}); connect again, and call this again"
            )
        threads = sum(self.client.nthreads().values())
        self.looked = time.monotonic()
        if threads:
            self.seen = self.looked
            self.limit = max(1, min(TASKS * threads, IN_FLIGHT // self.task_bytes))
        elif self.looked - self.seen > self.worker_timeout:
            raise self.error(
                f"the cluster {self.client.scheduler.address} has had no worker for "
                f"{self.worker_timeout:g} s; start workers, or pass a longer worker_timeout="
            )

    def error(self, text: str) -> ChunkError:
        span = self.spans[self.head]
        return ChunkError(f"{span.title}: {text}", span.first, span.last)

    def send(self, count: int) -> None:
        """Send the inputs of the next tasks, then the tasks."""
        tasks = [self.unsent.popleft() for _ in range(count)]
        if not tasks:
            return
        pieces = [self.pieces(self.spans[task]) for task in tasks]
        inputs: list[Future | None] = [None] * len(tasks)
        # Elements are not in the task itself: the scheduler's logs keep tasks for a long time.
        # Places in files are: a scattered one would be lost with its worker.
        if any(isinstance(piece, np.ndarray) for each in pieces for piece in each):
            try:
                timeout = max(POLL, self.worker_timeout)
                inputs = self.client.scatter(pieces, hash=False, timeout=timeout)
            # A worker has just ended, or no worker has joined. The scheduler's KeyError names a
            # worker that left while it got inputs.
            except (OSError, TimeoutError, KeyError):
                self.unsent.extendleft(reversed(tasks))
                self.look_at_workers()
                return
        for task, one, places in zip(tasks, inputs, pieces, strict=True):
            key = f"{self.name}-{task}-{self.failures.get(task, 0)}"
            given = places if one is None else one
            future = self.client.submit(
                run_span, self.published, self.spans[task], given, key=key, pure=False
            )
            self.flying[key] = task, future, one
            future.add_done_callback(self.arrived.put)

    def pieces(self, span: Span) -> list[np.ndarray | FilePart | None]:
        return [
            None
            if i not in self.hosts.inputs
            else self.files[i].rows(span.start, span.stop)
            if i in self.files
            else np.asarray(array)[span.start : span.stop]
            for i, array in enumerate(self.hosts.arrays)
        ]

    def find_lost(self) -> None:
        """Send tasks again whose input or result ended with a worker."""
        for _, future, one in list(self.flying.values()):
            if {future.status, one and one.status} & {"lost", "cancelled"}:
                self.failed(future, CancelledError("the worker that had its data ended"))

    def next_arrived(self) -> Iterator[Future]:
        """The futures that are done; waits a while for the first."""
        with contextlib.suppress(queue.Empty):
            yield self.arrived.get(timeout=POLL / 2)
            while True:
                yield self.arrived.get_nowait()

    def collect(self, futures: list[Future]) -> None:
        """Write the outputs of finished tasks; send lost ones again."""
        # A future that arrived twice, or that was sent again, is not in flight.
        futures = [future for future in futures if future.key in self.flying]
        finished = [future for future in futures if future.status == "finished"]
        try:
            results = self.gather(finished)
        except Exception:  # one result failed: gathering each alone shows which
            results = {}
        for future in futures:
            try:
                if future.key not in results and future.status != "error":
                    results |= self.gather([future])
                outputs = results[future.key] if future.key in results else future.result()
            except Exception as error:
                self.failed(future, error)
            else:
                self.write(future, outputs)

    def gather(self, futures: list[Future]) -> dict[str, list[np.ndarray]]:
        async def gathered() -> Any:
            return await self.client.gather(futures, asynchronous=True)

        if not futures:
            return {}
        timeout = max(self.worker_timeout, POLL)
        results = self.client.sync(gathered, callback_timeout=timeout)
        return {future.key: result for future, result in zip(futures, results, strict=True)}

    def write(self, future: Future, outputs: list[np.ndarray]) -> None:
        span = self.spans[task := self.landed(future)]
        for i, output in zip(self.hosts.outputs, outputs, strict=True):
            self.hosts.arrays[i][span.start : span.stop] = output
        self.is_done[task] = True
        while self.head < len(self.spans) and self.is_done[self.head]:
            self.head += 1
            if self.report is not None:
                self.report(self.spans[self.head - 1].stop, self.hosts.rows)

    def failed(self, future: Future, error: Exception) -> None:
        """Send a task again whose worker or connection ended; raise other errors."""
        in_worker = future.status == "error"
        span = self.spans[task := self.landed(future)]
        if isinstance(error, OtherFileError):  # on that worker's machine; it gets the elements
            self.files.clear()
            self.unsent.appendleft(task)
            return
        if isinstance(error, SpanError):
            if isinstance(error.cause, ArgumentError):
                raise type(error.cause)(error.text) from error.cause
            raise ChunkError(error.text, error.first, error.last) from error.cause
        if self.client.status != "running":
            self.look_at_workers()
        failures = self.failures[task] = self.failures.get(task, 0) + 1
        # Where the result alone was lost, it is Dask's own error, of any type.
        if in_worker and not isinstance(error, BROKEN):
            text = f"{span.title}: a worker could not run it: {described(error)}"
            raise ChunkError(text, span.first, span.last) from error
        if failures > self.retries:
            text = (
                f"{span.title}: its workers ended, or the connection to them broke, and it was "
                f"sent {failures} times; read the workers' logs, or pass more retries=: "
                f"{described(error)}"
            )
            raise ChunkError(text, span.first, span.last) from error
        self.unsent.appendleft(task)

    def landed(self, future: Future) -> int:
        """The number of a task that is in flight no longer."""
        task, _, one = self.flying.pop(future.key)
        if one is not None:
            one.release()
        future.release()
        return task
