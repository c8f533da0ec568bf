"""CUPOLA_CPU_CHECK: each defect planted in tests/cpu/check is found on its line, and no other."""

import functools
import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass, field

import images
import pytest

FOLDER = pathlib.Path(__file__).with_name("check")
pytestmark = pytest.mark.usefixtures("own")
# The check of each file of kernels.
CHECKS = {"memory": "memory", "race": "race", "copies": "race", "init": "init", "sync": "sync"}
ROOT = pathlib.Path(__file__).parents[2]

# Runs the kernels whose names, blocks and threads are the arguments; each begins with fresh memory.
PROGRAM = """
import ctypes, os, sys
from ctypes import byref, c_size_t, c_uint, c_uint64, c_void_p
import numpy as np
from driver_abi import DriverError
from ptx.driver import Driver

driver = Driver()
library = driver.library
library.cupola_cpu_findings.restype = ctypes.c_ulonglong
text = open(sys.argv[1]).read()
module = driver.load(text)
BYTES = 1024

def memory(call="cuMemAlloc_v2", *more):
    at = c_uint64()
    driver.call(call, byref(at), c_size_t(BYTES), *more)
    return at

for case in sys.argv[2:]:
    name, blocks, threads = case.split(":")
    x, y, fresh, freed = (memory() for _ in range(4))
    pooled = memory("cuMemAllocAsync", c_void_p())
    numbers = np.arange(256, dtype=np.int32)
    driver.cuMemcpyHtoD_v2(x, c_void_p(numbers.ctypes.data), c_size_t(BYTES))
    driver.cuMemsetD32_v2(y, c_uint(0), c_size_t(128))
    driver.cuMemFree_v2(freed)
    driver.cuMemFreeAsync(pooled, c_void_p())
    driver.cuCtxSynchronize()
    before = library.cupola_cpu_findings()
    os.write(2, f"@@ {name}\\n".encode())
    code = 0
    try:
        module.launch(name, int(blocks), int(threads), [x, y, fresh, freed, pooled], 256)
    except DriverError as error:
        code = error.code
    print(name, library.cupola_cpu_findings() - before, code, flush=True)
    if code:
        driver.reset()
        module = driver.load(text)
    else:
        for each in (x, y, fresh):
            driver.cuMemFree_v2(each)
os.write(2, b"@@ end\\n")
"""


@dataclass
class Case:
    name: str
    shape: str
    lines: set = field(default_factory=set)  # that a report has to name
    others: set = field(default_factory=set)  # that it may name


@functools.cache
def cases(file):
    """The kernels of a file, and where their marks are: behind a line, or with a kernel's name."""
    found, named, check = {}, [], CHECKS[file]
    for number, line in enumerate((FOLDER / f"{file}.cu").read_text().splitlines(), 1):
        if case := re.match(r"CASE\((\w+), (\d+), (\d+)\)", line):
            name, *shape = case.groups()
            last = found[name] = Case(name, ":".join([name, *shape]))
        if mark := re.search(rf"// ?{check}(\?)?( \w+)?$", line):
            if mark[2]:
                named.append((mark[2].strip(), number))
            else:
                (last.others if mark[1] else last.lines).add(number)
    for name, number in named:
        found[name].lines.add(number)
    return found


@pytest.fixture(scope="module")
def reports():
    """Of a file's kernels: how many findings, the error, and what was written."""

    @functools.cache
    def run(file, setting):
        ptx = images.compiled(
            f"check-{file}.ptx", FOLDER / f"{file}.cu", "-ptx", "-lineinfo", "-arch=compute_90"
        )
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, ptx, *(c.shape for c in cases(file).values())],
            cwd=ROOT / "tests",
            env={**os.environ, "CUPOLA_CPU_CHECK": setting, "CUPOLA_CPU_TIMEOUT": "20"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        parts = [part.split("\n", 1) for part in done.stderr.split("@@ ")[1:]]
        said = {name.strip(): text for name, text in parts}
        counts = {
            name: (int(count), int(code))
            for name, count, code in map(str.split, done.stdout.splitlines())
        }
        return said, counts

    return run


ALL = [(file, name) for file in CHECKS for name in cases(file)]
FAULTY = [(file, name) for file, name in ALL if cases(file)[name].lines or cases(file)[name].others]
HEALTHY = [each for each in ALL if each not in FAULTY]


# Cases that end in another error than ILLEGAL_ADDRESS.
ERRORS = {
    "misaligned": 716,
    "misaligned_vector": 716,
    "half_of_the_block": 715,
    "more_than_named": 715,
}


def test_there_are_as_many_as_were_asked_for():
    assert len(FAULTY) >= 40 and len(HEALTHY) >= 40


@pytest.mark.parametrize(("file", "name"), FAULTY)
def test_a_defect_is_found(file, name, reports):
    case, check = cases(file)[name], CHECKS[file]
    said, counts = reports(file, check)
    report, (count, code) = said[name], counts[name]
    assert count >= 1 and f"cupola: {check}: " in report and f"kernel {name}" in report, report
    lines = {int(n) for n in re.findall(rf"/{file}\.cu:(\d+)", report)}
    assert case.lines <= lines <= case.lines | case.others and lines, report
    assert code == ERRORS.get(name, 700 if check == "memory" else 0), report


@pytest.mark.parametrize(("file", "name"), HEALTHY)
def test_nothing_is_reported_of_the_healthy(file, name, reports):
    said, counts = reports(file, "all")
    assert counts[name] == (0, 0) and said[name] == "", said[name]


@pytest.mark.campaign("all tests of launches again, with each check")
def test_nothing_is_reported_of_the_tests_own_kernels():
    """CUB, atomics, cooperative groups, clusters, shipped kernels, arrays that work in place.

    Not what runs for long for the sake of its numbers: it accesses no more memory than the others.
    """
    chosen = [
        "cpu/test_cooperative.py",
        "ptx/test_toolkit.py",
        "ptx/test_toolkit_half.py",
        "ptx/test_cluster.py",
        "test_shipped.py",
        "test_convolve.py",
        "test_operators.py",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "--driver=cpu"]
        + ["-k", "not a_fault_ends and not borders and (not test_operators or in_place)"]
        + [str(ROOT / "tests" / name) for name in chosen],
        cwd=ROOT,
        env={**os.environ, "CUPOLA_CPU_CHECK": "all"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "=== cupola: " not in done.stdout + done.stderr, done.stderr


@pytest.mark.parametrize("checks", ["init", "memory,init"])
def test_memory_that_is_freed_behind_a_launch_is_an_allocation(checks):
    """The program frees a temporary array before the kernel that was queued earlier reads it."""
    program = """
import sys, cupola
kernel = cupola.load(sys.argv[1])["scale"]
stream = cupola.Stream()
stream.launch_host_func(__import__("time").sleep, 0.3)
with stream:
    kernel[1, 32](cupola.empty(32, "f4"), 2.0, 32)
stream.synchronize()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(images.SCALE)],
        env={**os.environ, "CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_CHECK": checks},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "read, and never written since it was allocated" in done.stderr
    assert "in an allocation that the program has freed, of " in done.stderr
    assert "nothing is allocated" not in done.stderr


def test_unknown_words_are_refused(script):
    done = script("print(cuda.code('cuInit', 0))", start=False, CUPOLA_CPU_CHECK="memory,rase")
    assert 'CUPOLA_CPU_CHECK is "memory,rase"; expected memory, race, init, sync' in done.stderr
    assert done.stdout.strip() == "1"


def test_kernels_are_interpreted_where_they_are_checked(script):
    done = script(
        """
        function = cuda.function(cuda.module(), "empty")
        cuda.library.cupola_cpu_execution.restype = ctypes.c_char_p
        print(cuda.library.cupola_cpu_execution(c_void_p(function)).decode())
        """,
        CUPOLA_CPU_MODE="compile",
        CUPOLA_CPU_CHECK="memory",
    )
    assert done.stdout.strip() == "interpreted", done.stderr


def test_a_kernel_is_made_ready_to_be_watched_once(script):
    """Each launch of a large one would take as long as that otherwise; here nothing of it runs."""
    done = script(
        """
        def kernel(name, count):
            body = "add.u32 %r1, %r1, %r0; " * count
            registers = ".reg .b32 %r<2>; .reg .pred %p; mov.u32 %r0, %tid.x;"
            away = "setp.eq.u32 %p, %r0, 0; @%p bra END;"
            return f".visible .entry {name}() {{ {registers} {away} {body} END: ret; }}"
        head = ".version 7.8 .target sm_75 .address_size 64 "
        text = head + kernel("small", 2) + kernel("large", 60000)
        module = c_void_p()
        cuda.cuModuleLoadData(byref(module), text.encode() + b"\\0")
        for name in ("small", "large"):
            function, times = cuda.function(module.value, name), []
            for _ in range(60):
                begin = time.perf_counter()
                cuda.launch(function, 1, 1)
                cuda.cuCtxSynchronize()
                times.append(time.perf_counter() - begin)
            print(min(times))
        """,
        CUPOLA_CPU_CHECK="race",
    )
    assert done.returncode == 0, done.stderr
    small, large = map(float, done.stdout.split())
    assert large < small + 0.001, (small, large)
