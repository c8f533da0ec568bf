"""tests/cluster.py - a cluster of processes for tests, and its workers."""

import contextlib
import os
import time

import dask
import distributed

# The workers' logs go to standard error; only their errors are of use in a test's output.
CONFIG = {
    "logging.distributed": "critical",
    # After this time LocalCluster looks once, and closes a nanny whose worker was killed again.
    "distributed.deploy.lost-worker-timeout": "1 hour",
}


@contextlib.contextmanager
def client(workers=2, *, memory="1 GiB", env=()):
    """A client of a new cluster, with one thread a worker."""
    with (
        dask.config.set({**CONFIG, "distributed.scheduler.allowed-failures": 30}),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=memory,
            env={"CUPOLA_CPU_THREADS": "1", **dict(env)},
        ) as made,
        distributed.Client(made) as one,
    ):
        yield one


def processes(client, count, without=None, seconds=60):
    """The process numbers of this many workers that answer, once the one `without` is gone."""
    end = time.monotonic() + seconds
    found = []
    while len(found) < count or without in found:
        assert time.monotonic() < end, f"{found} of {count} workers"
        time.sleep(0.1)
        with contextlib.suppress(OSError):  # the process just ended
            found = sorted(client.run(os.getpid).values())
    return found
