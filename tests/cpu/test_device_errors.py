"""The errors of the device runtime, case by case, on the CPU device and on NVIDIA's driver.

Codes of the CPU device come from CUDA's documents. On a GPU, a failed comparison lists the answers
of NVIDIA's runtime.
"""

from ctypes import c_int, c_uint64
from pathlib import Path

import images
import pytest
from driver_abi import *

from .conditions import linked

SOURCE = Path(__file__).with_name("device_errors.cu")
VALUE, CONFIGURATION, PITCH, DIRECTION, NO_MEMORY = 1, 9, 12, 21, 2
FUNCTION, DEVICE, LIMIT, HANDLE = 98, 101, 215, 400
# Each call of `ask`, in its order, and its error.
ANSWERS = {
    "a launch": 0,
    "a grid of no blocks": CONFIGURATION,
    "a block of no threads": CONFIGURATION,
    "2048 threads": CONFIGURATION,
    "65 threads in z": CONFIGURATION,
    "65536 blocks in y": CONFIGURATION,
    "400 KiB of shared memory": CONFIGURATION,
    "more threads than the launch bounds": CONFIGURATION,
    "no kernel": FUNCTION,
    "a launch in an unknown stream": HANDLE,
    "a stream without the flag for non-blocking": 0,
    "a stream stored at null": VALUE,
    "an event with times": VALUE,
    "an event that blocks": VALUE,
    "destroy an unknown stream": HANDLE,
    "destroy the null stream": HANDLE,
    "destroy an unknown event": HANDLE,
    "record an unknown event": HANDLE,
    "wait for an unknown event": HANDLE,
    "record in the stream of tails": VALUE,
    "wait in the stream of fire-and-forget": VALUE,
    "copy from the host": DIRECTION,
    "copy to the host": DIRECTION,
    "rows longer than the pitch of a copy": PITCH,
    "rows longer than the pitch of a fill": PITCH,
    "a TiB": NO_MEMORY,
    "free null": 0,
    "an attribute of an unknown device": DEVICE,
    "an unknown attribute": VALUE,
    "an unknown limit": LIMIT,
    "occupancy of no threads": VALUE,
    "attributes of no kernel": FUNCTION,
}


@pytest.fixture
def ask(cuda):
    text = images.compiled("device_errors.ptx", SOURCE, "-rdc=true", "-ptx", "-arch=compute_75")
    module = cuda.module(linked(cuda, text.read_text()))
    memory, host = cuda.alloc(4096), cuda.pinned(64)

    def run(name, number, *arguments):
        cuda.cuMemsetD32_v2(memory, 0, 2)
        given = (c_uint64(memory), c_int(number), *arguments)
        cuda.launch(cuda.function(module, name), 1, 1, *given)
        cuda.cuCtxSynchronize()
        return cuda.read(memory, 2, c_int)

    run.addresses, run.on_hardware = (c_uint64(memory + 1024), c_uint64(host)), cuda.on_hardware
    yield run
    cuda.cuMemFreeHost(host)
    cuda.cuMemFree_v2(memory)
    cuda.cuModuleUnload(module)


def test_each_wrong_call_has_its_error(ask):
    """The call returns the error, and cudaGetLastError does, too."""
    expected = {name: [code, code] for name, code in ANSWERS.items()}
    if ask.on_hardware:  # the H200's driver ended the context in a call: at a store to null
        del expected["a stream stored at null"]
    found = {n: ask("ask", k, *ask.addresses) for k, n in enumerate(ANSWERS) if n in expected}
    assert found == expected
    assert ask("ask", len(ANSWERS), *ask.addresses) == [-1, 0]
