"""Misuse of the driver, case by case, and what the driver at hand answers.

Each case is a call (or a few) that a program should not make. ``h200.json`` keeps the answers of
NVIDIA's driver. ``python -m cpu.misuse FILE`` runs the driver that CUPOLA_TEST_DRIVER names.
Cases run one after the other, in groups. A case that ends its process is recorded as "crash"
(NVIDIA's driver dereferences some handles unchecked), and a new process runs the next case.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from driver_abi import *

from . import devices, graphs, handles, mapping, memory, modules, streams  # noqa: F401
from .world import CASES, NULL, World, out

TESTS = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("h200.json")

# Asked in a process that has not called cuInit.
BEFORE = {
    f"before cuInit: {name}": (name, arguments)
    for name, *arguments in [
        ("cuDriverGetVersion", out()),
        ("cuGetErrorName", 0, out()),
        ("cuDeviceGetCount", out()),
        ("cuDeviceGet", out(), 0),
        ("cuDeviceGetCount", NULL),
        ("cuCtxGetCurrent", out()),
        ("cuCtxSetCurrent", NULL),
        ("cuCtxCreate_v2", out(), 0, 0),
        ("cuMemAlloc_v2", out(), 16),
        ("cuMemFree_v2", 0),
        ("cuStreamQuery", 0),
        ("cuModuleLoadData", out(), PTX),
        ("cuGraphCreate", out(), 0),
        ("cuPointerGetAttribute", out(), 2, 0),
        ("cuCheckpointProcessGetState", os.getpid(), out()),
        ("cuCheckpointProcessLock", os.getpid(), NULL),
        ("cuProfilerStart",),
        ("cuLaunchKernel", 0, 1, 1, 1, 1, 1, 1, 0, 0, NULL, NULL),
    ]
}


def answer(names):
    """Runs in a process of its own, and prints one line for each case."""
    early = names[0] in BEFORE
    world = Driver() if early else World()
    for name in names:
        print(f"{name}\t", end="", flush=True)
        if early:
            function, arguments = BEFORE[name]
            code = world.code(function, *arguments)
        else:
            try:
                code = CASES[name](world)
            except (DriverError, AttributeError) as error:  # in a step before the tested call
                code = str(error)
        print(code, flush=True)
        if not early and world.code("cuCtxSynchronize") != SUCCESS:
            os._exit(0)  # the next cases need a process with a context
    print("end", flush=True)
    os._exit(0)


def answers(names):
    """Maps each case to its code, to "crash", or to the step that failed."""
    found, left = {}, list(names)
    while left:
        command = [sys.executable, "-m", "cpu.misuse", "--each", json.dumps(left)]
        try:
            done = subprocess.run(command, cwd=TESTS, capture_output=True, timeout=20)
            lines, otherwise = done.stdout, "crash"
        except subprocess.TimeoutExpired as late:
            lines, otherwise = late.stdout, "hang"
        before = len(left)
        for line in lines.decode().splitlines():
            if line == "end":
                return found
            name, _, answer = line.partition("\t")
            left.remove(name)
            found[name] = int(answer) if answer.isdecimal() else answer or otherwise
        assert len(left) < before, done.stderr.decode()
    return found


def lone(name):
    """A case that may affect later cases has a process of its own."""
    return name.startswith(("stale:", "invented:", "foreign:"))


def ask():
    together = [name for name in CASES if not lone(name)]
    size = len(together) // 8 + 1
    groups = [together[at : at + size] for at in range(0, len(together), size)]
    groups += [[name] for name in CASES if lone(name)] + [list(BEFORE)]
    found = {}
    with ThreadPoolExecutor(8) as threads:
        for answered in threads.map(answers, groups):
            found |= answered
    return {name: found[name] for name in [*CASES, *BEFORE]}
