"""libnvidia-ml.so.1 beside the CPU device: asked by nvidia-ml-py and by ctypes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pynvml
import pytest

pytestmark = pytest.mark.cpu_only(reason="a GPU has NVIDIA's own NVML")

# Prints what both libraries report of each device, and what only NVML reports.
COMPARE = """
import ctypes
import pynvml

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    assert code == 0, (name, code)


def driver(ordinal):
    device, major, minor = (ctypes.c_int() for _ in range(3))
    name, bus = ctypes.create_string_buffer(96), ctypes.create_string_buffer(32)
    uuid, total = (ctypes.c_ubyte * 16)(), ctypes.c_size_t()
    call("cuDeviceGet", ctypes.byref(device), ordinal)
    call("cuDeviceGetName", name, 96, device)
    call("cuDeviceGetPCIBusId", bus, 32, device)
    call("cuDeviceGetUuid", uuid, device)
    call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
    call("cuDeviceComputeCapability", ctypes.byref(major), ctypes.byref(minor), device)
    return (
        name.value.decode(), bus.value.decode(), bytes(uuid).hex(), total.value,
        (major.value, minor.value),
    )


def nvml(ordinal):
    handle = pynvml.nvmlDeviceGetHandleByIndex(ordinal)
    pci, uuid = pynvml.nvmlDeviceGetPciInfo(handle), pynvml.nvmlDeviceGetUUID(handle)
    assert pynvml.nvmlDeviceGetIndex(handle) == ordinal
    for other in (
        pynvml.nvmlDeviceGetHandleByUUID(uuid),
        pynvml.nvmlDeviceGetHandleByPciBusId(pci.busId),
        pynvml.nvmlDeviceGetHandleByPciBusId(pci.busIdLegacy),
    ):
        assert pynvml.nvmlDeviceGetIndex(other) == ordinal
    assert (pci.domain, pci.bus, pci.busId[-12:]) == (0xFFFF, ordinal, pci.busIdLegacy)
    return (
        pynvml.nvmlDeviceGetName(handle), pci.busIdLegacy,
        uuid.removeprefix("GPU-").replace("-", ""), pynvml.nvmlDeviceGetMemoryInfo(handle).total,
        pynvml.nvmlDeviceGetCudaComputeCapability(handle),
    )


pynvml.nvmlInit()
count = pynvml.nvmlDeviceGetCount()
before = [nvml(n) for n in range(count)]
call("cuInit", 0)
there, version = ctypes.c_int(), ctypes.c_int()
call("cuDeviceGetCount", ctypes.byref(there))
call("cuDriverGetVersion", ctypes.byref(version))
assert there.value == count and version.value == pynvml.nvmlSystemGetCudaDriverVersion()
assert before == [nvml(n) for n in range(count)] == [driver(n) for n in range(count)]
print(count, before[0][4], pynvml.nvmlSystemGetDriverVersion().split(".")[0])
"""

MEMORY = """
import ctypes
import pynvml

cuda, context, memory = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
free, total = ctypes.c_size_t(), ctypes.c_size_t()
pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByIndex(0)
first = pynvml.nvmlDeviceGetMemoryInfo(handle)
assert cuda.cuInit(0) == cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 20)) == 0
second = pynvml.nvmlDeviceGetMemoryInfo(handle)
assert cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
assert (second.free, second.total) == (free.value, total.value)
assert first.free - second.free == second.used - first.used == 1 << 20
newer = pynvml.nvmlDeviceGetMemoryInfo(handle, pynvml.nvmlMemory_v2)
assert (newer.total, newer.reserved, newer.free, newer.used) == (
    second.total, 0, second.free, second.used,
)
print("well")
"""

# Programs ask NVML before they fork since it starts no driver, which would not serve in a child.
FORK = """
import ctypes
import os
import pynvml

pynvml.nvmlInit()
assert pynvml.nvmlDeviceGetCount() == 2
child = os.fork()
if child == 0:
    os._exit(ctypes.CDLL("libcuda.so.1").cuInit(0))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("well")
"""

ERRORS = """
import ctypes
import pynvml
from ctypes import byref

library, handle, text = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), bytes(80)
count = ctypes.c_uint()
assert library.nvmlDeviceGetCount_v2(byref(count)) == pynvml.NVML_ERROR_UNINITIALIZED
assert library.nvmlDeviceGetTemperature(None, 0, byref(count)) == pynvml.NVML_ERROR_UNINITIALIZED
assert library.nvmlShutdown() == pynvml.NVML_ERROR_UNINITIALIZED
assert library.nvmlInit() == library.nvmlInit_v2() == library.nvmlShutdown() == 0
assert library.nvmlDeviceGetCount(byref(count)) == 0 and count.value == 1
get = library.nvmlDeviceGetHandleByIndex_v2
assert get(1, byref(handle)) == pynvml.NVML_ERROR_INVALID_ARGUMENT
assert get(0, None) == pynvml.NVML_ERROR_INVALID_ARGUMENT
assert get(0, byref(handle)) == 0
assert library.nvmlDeviceGetName(None, text, 80) == pynvml.NVML_ERROR_INVALID_ARGUMENT
assert library.nvmlDeviceGetName(handle, text, 9) == pynvml.NVML_ERROR_INSUFFICIENT_SIZE
assert library.nvmlDeviceGetName(handle, text, 64) == 0
assert library.nvmlDeviceGetHandleByUUID(b"GPU-0", byref(handle)) == pynvml.NVML_ERROR_NOT_FOUND
assert library.nvmlDeviceGetHandleByPciBusId_v2(b"0:0:0", byref(handle)) == (
    pynvml.NVML_ERROR_NOT_FOUND
)
memory = pynvml.c_nvmlMemory_v2_t()
memory.version = 7
assert library.nvmlDeviceGetMemoryInfo_v2(handle, byref(memory)) == (
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH
)
assert library.nvmlDeviceGetTemperature(handle, 0, byref(count)) == pynvml.NVML_ERROR_NOT_SUPPORTED
library.nvmlErrorString.restype = ctypes.c_char_p
for code in (*range(31), 999):
    assert library.nvmlErrorString(code), code
assert library.nvmlErrorString(3) == b"Not Supported"
assert library.nvmlShutdown() == 0
assert library.nvmlDeviceGetName(handle, text, 64) == pynvml.NVML_ERROR_UNINITIALIZED
print("well")
"""

# Prints the names without a symbol, which nvidia-ml-py would report as FUNCTION_NOT_FOUND.
BOUND = """
import ctypes
import sys

library = ctypes.CDLL("libnvidia-ml.so.1")
print([name for name in sys.argv[1:] if not hasattr(library, name)])
"""


def run(text, *arguments, **variables):
    done = subprocess.run(
        [sys.executable, "-m", "cupola", "run", "--cpu", "--", "-c", text, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("devices", [1, 3])
@pytest.mark.parametrize("capability", ["8.0", "9.0"])
def test_devices_are_the_drivers(devices, capability):
    said = run(
        COMPARE,
        CUPOLA_CPU_DEVICES=str(devices),
        CUPOLA_CPU_COMPUTE_CAPABILITY=capability,
    )
    major, minor = capability.split(".")
    assert said == f"{devices} ({major}, {minor}) 580"


def test_memory_is_what_the_driver_has_left():
    assert run(MEMORY) == "well"


def test_asking_starts_no_driver():
    assert run(FORK, CUPOLA_CPU_DEVICES="2") == "well"


def test_errors():
    assert run(ERRORS, CUPOLA_CPU_DEVICES="1") == "well"


def test_each_function_that_programs_bind_is_there():
    bound = re.findall(r'_nvmlGetFunctionPointer\("(\w+)"', Path(pynvml.__file__).read_text())
    assert len(bound) > 300
    assert run(BOUND, *sorted(set(bound))) == "[]"


def test_settings_that_the_driver_refuses():
    text = """
import pynvml
try:
    pynvml.nvmlInit()
except pynvml.NVMLError_DriverNotLoaded:
    print("well")
"""
    done = subprocess.run(
        [sys.executable, "-m", "cupola", "run", "--cpu", "--", "-c", text],
        env={**os.environ, "CUPOLA_CPU_DEVICES": "many"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "well\n" and 'CUPOLA_CPU_DEVICES is "many"' in done.stderr
