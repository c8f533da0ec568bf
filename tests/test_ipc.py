"""Two processes work on one array, in turns that their streams alone wait for."""

import pickle
import subprocess
import sys

import numpy as np

import cupola

TURNS, COUNT = 20, 5000

OTHER = f"""
import pickle, sys
import numpy as np
import cupola

handle, theirs = pickle.loads(bytes.fromhex(sys.stdin.readline()))
memory = cupola.Memory.from_ipc_handle(handle)
x = cupola.Array.from_address(memory.address, {COUNT}, np.float32, owner=memory)
ours, stream = cupola.Event(ipc=True), cupola.Stream(non_blocking=True)
double = cupola.shipped_kernels()["saxpy"].prepare(20, 256, 1.0, x, x, x, {COUNT}, stream=stream)
print(pickle.dumps(ours).hex(), flush=True)
for _ in range({TURNS}):
    assert sys.stdin.readline() == "go\\n"
    stream.wait(theirs)
    double()
    ours.record(stream)
    print("done", flush=True)
sys.stdin.readline()
stream.synchronize()
"""


def test_two_processes_take_turns(driver):
    memory = cupola.alloc(4 * COUNT, exportable=True)
    x = cupola.Array.from_address(memory.address, COUNT, np.float32, owner=memory)
    one = cupola.to_device(np.ones(COUNT, np.float32))
    x.fill(0)
    cupola.Device().synchronize()
    ours, stream = cupola.Event(ipc=True), cupola.Stream(non_blocking=True)
    add = cupola.shipped_kernels()["saxpy"].prepare(20, 256, 1.0, x, one, x, COUNT, stream=stream)
    child = subprocess.Popen(
        [sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def say(line):
        child.stdin.write(line + "\n")
        child.stdin.flush()

    try:
        say(pickle.dumps((memory.ipc_handle(), ours)).hex())
        theirs = pickle.loads(bytes.fromhex(child.stdout.readline()))
        for _ in range(TURNS):
            add()
            ours.record(stream)
            say("go")
            assert child.stdout.readline() == "done\n"
            stream.wait(theirs)
        stream.synchronize()
        # Each turn makes 2 (x + 1) of x.
        np.testing.assert_array_equal(x.get(), np.full(COUNT, 2.0 ** (TURNS + 1) - 2))
        child.communicate("end\n", timeout=60)
        assert child.returncode == 0
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()
