"""The clock of multiprocessors by NVML, for which a small library stands in."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.cpu_only(reason="the device's own NVML would be loaded")

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
static int fails(const char* name) {
    const char* which = getenv("NVML_FAILS");
    return which && !strcmp(which, name) ? 999 : 0;
}
static int device;
int nvmlInit_v2(void) { return fails("init"); }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
    const char* expected = getenv("NVML_BUS");
    *handle = &device;
    return !expected || strcmp(bus, expected) ? 6 : fails("handle");
}
#ifndef WITHOUT_CLOCK
int nvmlDeviceGetClockInfo(void* handle, int kind, unsigned* clock) {
    *clock = 1410;
    return handle != &device || kind != 1 ? 2 : fails("clock");
}
#endif
"""
# The CPU device takes the place of a GPU.
PROGRAM = """
import cupola, json, os, re
from cupola.tuning import sm_clock
sm_clock.is_cpu = lambda index: False
device = cupola.Device(1)
bus = sm_clock._bus(1)
assert re.fullmatch(rb'[0-9A-F]{4}:[0-9A-F]{2}:[0-9A-F]{2}\\.0', bus, re.I), bus
assert bus != sm_clock._bus(0)
os.environ["NVML_BUS"] = bus.decode()
found = {}
for fails in ("", "init", "handle", "clock"):
    os.environ["NVML_FAILS"] = fails
    sm_clock._nvml.cache_clear()
    found[fails] = sm_clock.sm_clock(device)
os.environ["NVML_FAILS"] = ""
sm_clock._nvml.cache_clear()
found["other device"] = sm_clock.sm_clock(cupola.Device(0))
print(json.dumps(found))
"""


def clocks(folder, **environment):
    variables = {"CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_DEVICES": "2", "LD_LIBRARY_PATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True,
        env={**os.environ, **variables, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def library(folder, *options):
    (folder / "nvml.c").write_text(SOURCE)
    name = folder / "libnvidia-ml.so.1"
    command = ["cc", "-shared", "-fPIC", *options, folder / "nvml.c", "-o", name]
    subprocess.run(command, check=True)
    return folder


NONE = dict.fromkeys(("", "init", "handle", "clock", "other device"))


def test_the_clock_is_that_of_nvml(tmp_path):
    assert clocks(library(tmp_path)) == {**NONE, "": 1410}


def test_a_library_without_the_function(tmp_path):
    assert clocks(library(tmp_path, "-DWITHOUT_CLOCK")) == NONE


def test_without_nvml(tmp_path):
    """A file that is no library comes first, so that no other one is found."""
    (tmp_path / "libnvidia-ml.so.1").write_bytes(b"")
    assert clocks(tmp_path) == NONE
