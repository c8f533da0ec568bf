"""Without a driver, calls say so, and what needs none still works."""

import json
import os
import subprocess
import sys

import pytest

from .test_contract import LIBRARIES

pytestmark = pytest.mark.cpu_only(reason="a machine with a GPU has a driver")

NO_DRIVER = 35  # cudaErrorInsufficientDriver
PROGRAM = """\
import ctypes, json, sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
runtime = ctypes.CDLL(sys.argv[1])
runtime.cudaGetErrorName.restype = c_char_p
number, pointer = c_int(7), c_void_p()
print(json.dumps({
    "runtime": [runtime.cudaRuntimeGetVersion(byref(number)), number.value],
    "driver": [runtime.cudaDriverGetVersion(byref(number)), number.value],
    "count": [runtime.cudaGetDeviceCount(byref(number)), number.value],
    "others": [
        runtime.cudaGetDevice(byref(number)),
        runtime.cudaSetDevice(0),
        runtime.cudaDeviceSynchronize(),
        runtime.cudaDeviceReset(),
        runtime.cudaMalloc(byref(pointer), c_size_t(4)),
        runtime.cudaFree(None),
        runtime.cudaStreamSynchronize(None),
        runtime.cudaGetDriverEntryPoint(b"cuInit", byref(pointer), c_size_t(0), None),
        runtime.cudaPeekAtLastError(),
        runtime.cudaGetLastError(),
        runtime.cudaGetLastError(),
    ],
    "name": runtime.cudaGetErrorName(35).decode(),
}))
"""


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda path: path.name)
def test_calls_return_that_there_is_no_driver(library):
    command = [sys.executable, "-c", PROGRAM, os.fspath(library)]
    environment = {name: v for name, v in os.environ.items() if name != "LD_LIBRARY_PATH"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["runtime"] == [0, 12090 if library.name.endswith("12") else 13000]
    assert found["driver"] == [0, 0]
    assert found["count"] == [NO_DRIVER, 0]
    assert set(found["others"]) == {NO_DRIVER}
    assert found["name"] == "cudaErrorInsufficientDriver"
