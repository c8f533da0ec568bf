"""cupola.nccl on several devices: by NCCL on GPUs, by nccl_stub.c on the CPU device."""

import os
import subprocess
import sys
from pathlib import Path

import nccl_stub
import pytest

import cupola
from cupola.nccl import library
from cupola.toolkit import libraries

BEGIN = """
import gc, sys, threading
import numpy as np, cupola
from cupola import nccl
if sys.argv[1]:
    import nccl_stub
    nccl_stub.use(sys.argv[1])
SIZE = min(3, len(cupola.devices()))
assert SIZE > 1
chosen = cupola.devices()[:SIZE]
communicators = nccl.Communicator.all(chosen)
host = np.random.default_rng(1).integers(1, 9, (SIZE, SIZE, 1000)).astype(np.float32)
x = [cupola.to_device(host[i], device=i) for i in range(SIZE)]
def refused(call, *words):
    try:
        call()
    except cupola.ArgumentValueError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(words)
def close():
    with nccl.group():
        for one in communicators:
            one.close()
"""


@pytest.fixture(scope="module")
def program(driver, tmp_path_factory):
    if driver == "cuda":
        try:
            library.library("the tests", 0)
        except cupola.MissingFileError:
            pytest.skip("NCCL is not installed")
        path = ""
    else:
        path = nccl_stub.build(tmp_path_factory.mktemp("nccl"))

    def run(code, begin=BEGIN):
        variables = {**os.environ, "CUPOLA_CPU_DEVICES": "3", "CUPOLA_DRIVER": driver}
        variables["PYTHONPATH"] = os.pathsep.join(
            filter(None, [os.fspath(Path(__file__).parent), os.environ.get("PYTHONPATH")])
        )
        answer = subprocess.run(
            [sys.executable, "-c", begin + code, path],
            env=variables,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (answer.returncode, answer.stdout, answer.stderr) == (0, "done\n", "")

    return run


@pytest.mark.several_devices
def test_operations(program):
    program("""
with nccl.group():
    reduced = [one.all_reduce(x[i]) for i, one in enumerate(communicators)]
    means = [one.all_reduce(x[i], op="avg") for i, one in enumerate(communicators)]
    parts = [one.reduce_scatter(x[i], op="max") for i, one in enumerate(communicators)]
    gathered = [one.all_gather(x[i][i]) for i, one in enumerate(communicators)]
    swapped = [one.all_to_all(x[i]) for i, one in enumerate(communicators)]
    root = [one.reduce(x[i], root=1) for i, one in enumerate(communicators)]
for i in range(SIZE):
    assert reduced[i].device == chosen[i]
    assert (reduced[i].get() == host.sum(0)).all()
    np.testing.assert_allclose(means[i].get(), host.mean(0), rtol=1e-6)
    assert (parts[i].get() == host.max(0)[i]).all()
    assert (gathered[i].get() == [host[k, k] for k in range(SIZE)]).all()
    assert (swapped[i].get() == host[:, i]).all()
assert root[0] is None and (root[1].get() == host.sum(0)).all()
with nccl.group():
    for i, one in enumerate(communicators):
        one.all_reduce(x[i], x[i])
    for i, one in enumerate(communicators):
        one.broadcast(x[i][0], 1)
for i, one in enumerate(communicators):
    one.check()
out = [cupola.empty_like(one) for one in x]
with nccl.group():
    for i, one in enumerate(communicators):
        one.send(x[i], (i + 1) % SIZE)
        one.recv(out[i], (i - 1) % SIZE)
for i in range(SIZE):
    assert (out[i].get() == host.sum(0)).all()
close()
print("done")
""")


@pytest.mark.several_devices
def test_what_belongs_to_another_device(program):
    program("""
one, stream = communicators[0], cupola.Stream(device=1)
refused(lambda: one.all_reduce(x[1]), "rank 0", "argument x is on device 1", "to_device")
refused(lambda: one.all_reduce(x[0], x[1]), "argument out is on device 1")
refused(lambda: one.all_reduce(x[0], stream=stream), "argument stream", "is of device 1")
close()
print("done")
""")


@pytest.mark.several_devices
def test_captures_on_several_devices(program):
    """A graph of each device, and memory that the graphs alone hold."""
    program("""
streams = [cupola.Stream(non_blocking=True, device=one) for one in chosen]
out = [cupola.zeros(host.shape[1:], np.float32, device=one) for one in chosen]
with nccl.group():  # NCCL connects the ranks at the first operation
    for i, one in enumerate(communicators):
        one.all_reduce(x[i], stream=streams[i])
for one in chosen:
    one.synchronize()
captures = [stream.capture() for stream in streams]
graphs = [one.__enter__() for one in captures]
with nccl.group():
    for i, one in enumerate(communicators):
        one.all_reduce(x[i], x[i], stream=streams[i])
for i in range(SIZE):
    out[i].set(x[i], stream=streams[i])
for one in reversed(captures):
    one.__exit__(None, None, None)
ready = [graph.instantiate() for graph in graphs]
del graphs, x
gc.collect()
others = [cupola.zeros(host.shape[1:], np.float32, device=one) for one in chosen]
for one in chosen:
    one.synchronize()
refused(communicators[0].close, "graph")
for times in range(3):
    for graph, stream in zip(ready, streams):
        graph(stream)
    for stream in streams:
        stream.synchronize()
    for one in out:
        assert (one.get() == SIZE**times * host.sum(0)).all()
assert all((one.get() == 0).all() for one in others)
del ready, captures, graph
gc.collect()
close()
print("done")
""")


@pytest.mark.several_devices
def test_threads_with_a_device_each(program):
    program("""
close()
identifier, found = nccl.UniqueId(), {}
def rank(i):
    with cupola.Device(i), cupola.Stream(non_blocking=True, device=i) as stream:
        with nccl.Communicator(SIZE, i, identifier) as one:
            mine = cupola.to_device(host[i])
            found[i] = one.all_reduce(mine).get()
threads = [threading.Thread(target=rank, args=(i,)) for i in range(SIZE)]
for one in threads: one.start()
for one in threads: one.join(60)
assert len(found) == SIZE and all((one == host.sum(0)).all() for one in found.values())
print("done")
""")


@pytest.mark.several_devices
@pytest.mark.parametrize(
    "code",
    [
        "pass",
        "communicators[0].all_reduce(x[0])",  # the other ranks never come
        "reduce()\nclose()",
        "graph = captured()",
        "class Late:\n    def __del__(self): communicators[0].abort()\nlate = Late()",
        "del communicators",
    ],
    ids=["open", "work that never ends", "closed", "a graph", "an abort at the end", "deleted"],
)
def test_the_end_of_the_program(program, code):
    """No message, and no wait."""
    program(f"""
def reduce():
    with nccl.group():
        for i, one in enumerate(communicators):
            one.all_reduce(x[i])
def captured():
    stream = cupola.Stream(non_blocking=True, device=0)
    with stream.capture() as graph, nccl.group():
        communicators[0].all_reduce(x[0], stream=stream)
    return graph.instantiate()
reduce()
{code}
print("done")
""")


@pytest.mark.several_devices
def test_ranks_of_mpi(program):
    pytest.importorskip("mpi4py")
    program(
        """
from mpi4py import MPI
close()
with nccl.Communicator.from_mpi(MPI.COMM_SELF) as one:
    assert (one.size, one.rank) == (1, 0)
    assert (one.all_reduce(x[0]).get() == host[0]).all()
print("done")
"""
    )


@pytest.mark.cuda_only(reason="it needs a machine with one GPU or more, and NCCL itself")
def test_nccl_itself_on_one_gpu(driver):
    """A communicator of one rank: the library is found, and takes arrays and streams."""
    try:
        libraries.load("nccl")
    except cupola.MissingFileError:
        pytest.skip("NCCL is not installed")
    (one,) = cupola.nccl.Communicator.all([0])
    with one:
        x = cupola.arange(1000)
        assert (one.all_reduce(x).get() == x.get()).all()
