"""Dask over cupola: the cost of a task, memory of many tasks, and a plan for 1,000 workers

python benchmarks/bench_cluster.py [--out FOLDER]

The scheduler, the workers and the client are processes of this host. The rows of the plan follow
from the other rows by the formulas in docs/concepts/scale.md.
"""

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import distributed
import numpy as np
import psutil
import records

import cupola

TASKS = 1000  # in each round that measures the cost of a task
MANY = 10_000
ROUNDS = 3
MEGABYTES = 64
PLANNED = 1000
# Workers in one process: they have no work of their own, so the scheduler is the bound.
CROWD = """
import asyncio, sys, time
from distributed import Worker

async def main(address, count):
    workers = []
    for _ in range(count):
        start = time.perf_counter()
        workers.append(await Worker(address, nthreads=1, dashboard=False))
        print(time.perf_counter() - start, flush=True)
    await asyncio.Event().wait()  # until the process is ended

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


class Processes:
    """A scheduler process and what joins it; all end with the context."""

    def __init__(self):
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.file = folder / "scheduler.json"
        self.scheduler = self.python(
            "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
            "--no-dashboard", "--scheduler-file", self.file,
        )  # fmt: skip
        while not self.file.exists():
            time.sleep(0.01)
            if self.scheduler.poll() is not None:
                raise RuntimeError("the scheduler did not start")
        self.client = self.stack.enter_context(distributed.Client(scheduler_file=str(self.file)))
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)

    def python(self, *arguments, **more):
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)], stderr=subprocess.DEVNULL, **more
        )

        def end():
            process.terminate()
            process.wait()

        self.stack.callback(end)
        return process

    def add_workers(self, count):
        """Worker processes with a thread each; returns the seconds until all have joined."""
        start = time.perf_counter()
        before = len(self.client.scheduler_info()["workers"])
        made = [
            self.python(
                "-m", "distributed.cli.dask_worker", "--scheduler-file", self.file,
                "--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0",
            )
            for _ in range(count)
        ]  # fmt: skip
        self.client.wait_for_workers(before + count)
        return time.perf_counter() - start, made

    def add_crowd(self, count):
        """Workers of one process; returns the seconds that each took to join."""
        process = self.python(
            "-c", CROWD, self.client.scheduler.address, count,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return [float(process.stdout.readline()) for _ in range(count)]

    def scheduler_seconds(self):
        """Processor time of the scheduler so far."""
        times = psutil.Process(self.scheduler.pid).cpu_times()
        return times.user + times.system


def add_one(block, number):
    return block + 1


def run_tasks(client, block, count):
    """Seconds of tasks that read one block and leave one each, at most 500 at a time."""
    start = time.perf_counter()
    for first in range(0, count, 500):
        futures = client.map(
            add_one, [block] * 500, range(first, first + 500), pure=False, batch_size=100
        )
        distributed.wait(futures)
        failed = [future for future in futures if future.status != "finished"]
        if failed:
            raise failed[0].exception()
    return time.perf_counter() - start


def resident(processes):
    return sum(psutil.Process(process.pid).memory_info().rss for process in processes) / 2**20


def costs_of_tasks(cluster):
    """Rows: a task over a device array beside one over a NumPy array; the memory of many."""
    _, workers = cluster.add_workers(2)
    client = cluster.client
    host = np.ones(1024, np.float32)
    blocks = {
        name: client.submit(make, host, pure=False)
        for name, make in {"NumPy arrays": np.copy, "device arrays": cupola.to_device}.items()
    }
    distributed.wait(list(blocks.values()))
    times = {name: [] for name in blocks}
    for block in blocks.values():
        run_tasks(client, block, TASKS)
    for _ in range(ROUNDS):
        for name, block in blocks.items():
            times[name].append(run_tasks(client, block, TASKS) / TASKS)
    rows = records.titled("a task", records.medians(times, "us", {"device arrays": "ratio <= 1.1"}))
    all_of_them = [cluster.scheduler, *workers]
    before = resident(all_of_them)
    run_tasks(client, blocks["device arrays"], MANY)
    grown = resident(all_of_them) - before
    note = f"scheduler and two workers, after {MANY} tasks more; before {before:.0f} MiB"
    rows.append(
        records.Row("memory of 10,000 tasks over device arrays", grown, "MiB",
                    goal="value <= 40", note=note)
    )  # fmt: skip
    return rows


def transfer(cluster):
    """Row: device arrays from one worker to another."""
    client = cluster.client
    first, second = list(client.scheduler_info()["workers"])[:2]
    count = MEGABYTES << 18
    rates = []
    for _ in range(ROUNDS + 1):
        made = client.submit(cupola.zeros, count, "f4", workers=[first], pure=False)
        distributed.wait(made)
        start = time.perf_counter()
        there = client.submit(lambda array: array.nbytes, made, workers=[second], pure=False)
        if there.result() != count * 4:
            raise RuntimeError("the array did not arrive whole")
        rates.append(count * 4 / (time.perf_counter() - start) / 1e9)
    return records.Row(
        f"a device array of {MEGABYTES} MiB to another worker", statistics.median(rates[1:]),
        "GB/s", note="through the host and TCP",
    )  # fmt: skip


def crowds():
    """Rows: what workers and tasks cost the scheduler, by the number of workers."""
    rows, joins, tasks, idle = [], {}, {}, {}
    few, many = 8, 64
    for count in (few, many):
        with Processes() as cluster:
            joined = cluster.add_crowd(count)
            joins[count] = statistics.median(joined[-8:])
            start = cluster.scheduler_seconds()
            time.sleep(5)
            idle[count] = (cluster.scheduler_seconds() - start) / 5
            run_tasks(cluster.client, 1, 500)
            start = cluster.scheduler_seconds()
            run_tasks(cluster.client, 1, 2000)
            tasks[count] = (cluster.scheduler_seconds() - start) / 2000
        about = f"with {count} workers"
        rows += [
            records.Row(f"a worker joins, {about}", joins[count] * 1e3, "ms"),
            records.Row(f"the scheduler's time for a task, {about}", tasks[count] * 1e6, "us"),
        ]
    # Work of the scheduler for each idle worker. Its other work does not grow with the workers.
    heartbeats = (idle[many] - idle[few]) / (many - few)
    rows.append(records.Row("the scheduler's time for an idle worker", heartbeats * 1e6, "us/s"))
    return rows, max(joins.values()), max(tasks.values()), heartbeats


def plan(join, task, idle, rate):
    """Rows: predictions for PLANNED workers."""
    title = f"plan for {PLANNED} workers"
    busy = idle * PLANNED
    rows = [
        records.Row("all have joined", join * PLANNED, "s"),
        records.Row("share of the scheduler's time for idle workers", busy * 100, "%"),
        records.Row("shortest task over 32 MiB that the client feeds",
                    PLANNED * 2 * 32 * 2**20 / (rate * 1e9), "s",
                    note="to the workers and back, as in pipeline(client=)"),
    ]  # fmt: skip
    if busy < 1:  # else the scheduler has no time for tasks
        rows.append(
            records.Row("shortest task that keeps all busy", task * PLANNED / (1 - busy), "s")
        )
    return records.titled(title, rows)


def run():
    with Processes() as cluster:
        rows = costs_of_tasks(cluster)
        moved = transfer(cluster)
    started = []
    with Processes() as cluster:
        for _ in range(ROUNDS):
            started.append(cluster.add_workers(1)[0])
    rows += [moved, records.Row("a worker process starts", statistics.median(started), "s")]
    more, *costs = crowds()
    return rows + more + plan(*costs, moved.value)


if __name__ == "__main__":
    os.environ.setdefault("DASK_DISTRIBUTED__LOGGING__DISTRIBUTED", "error")
    records.main(__file__, __doc__, run)
