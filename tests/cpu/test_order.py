"""CUPOLA_CPU_SEED: an order finds mistakes that the usual one hides, and repeats by its seed."""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import images
import numpy as np
import pytest

SOURCE = Path(__file__).with_name("orders") / "planted.cu"
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("own")
SEEDS = 50

# Runs each kernel without a seed and with some of them; prints a digest of each result.
PROGRAM = """
import ctypes, re, sys
from ctypes import byref, c_size_t, c_uint, c_uint64, c_void_p
import numpy as np
from ptx.driver import Driver

source, ptx, seeds = sys.argv[1], sys.argv[2], int(sys.argv[3])
driver = Driver()
set_seed = driver.library.cupola_cpu_set_seed
set_seed.argtypes = [ctypes.c_int, ctypes.c_ulonglong]
module = driver.load(open(ptx).read())
arrays = []
for _ in range(3):
    at = c_uint64()
    driver.cuMemAlloc_v2(byref(at), c_size_t(1024))
    arrays.append(at)
numbers = np.arange(256, dtype=np.int32)
driver.cuMemcpyHtoD_v2(arrays[0], c_void_p(numbers.ctypes.data), c_size_t(1024))
out = np.empty(256, np.int32)
for name, blocks, threads in re.findall(r"CASE\\((\\w+), (\\d+), (\\d+)\\) {", open(source).read()):
    for seed in [None, *range(seeds)]:
        for each in arrays[1:]:
            driver.cuMemsetD32_v2(each, c_uint(0), c_size_t(256))
        set_seed(seed is not None, seed or 0)
        module.launch(name, int(blocks), int(threads), arrays, 0)
        driver.cuMemcpyDtoH_v2(c_void_p(out.ctypes.data), arrays[1], c_size_t(1024))
        print(name, *out)
"""


def right_results():
    """The values of `out` where a kernel is right."""
    t = np.arange(256)
    sums = np.cumsum(t)
    return {
        "first_warp_stores": t[:64] % 32,
        "thread_0_stores": [7] * 192,
        "overwritten_while_read": [*range(32, 64), *[0] * 32],
        "zeroed_by_the_first_warp": [4] * 32,
        "carry_of_the_warp_before": t[:128] // 32,
        "second_pass_without_barrier": t[:64] % 32 + 34,
        "neighbour_in_lockstep": t[:32] ^ 1,
        "reduction_in_lockstep": [sums[31]],
        "lane_0_stores": t[:64] // 32 + 3,
        "one_branch_first": range(16, 32),
        "rejoined_after_a_loop": sums[31::-1],
        "block_0_first": [9] * 192,
        "last_block_last": [sums[5]],
        "block_before_first": sums[:8],
        "counted_before_stored": [sums[7]],
        "sum_of_blocks": [1, 8],
        "sum_of_warps": [sums[7]],
        "maximum_of_blocks": [7],
        "list_of_blocks": [1] * 8,
        "test_and_set": [1],
        "lock_released_too_early": [8],
        "last_warp_by_a_counter": [1],
    }


NAMES = re.findall(r"^CASE\((\w+)", SOURCE.read_text(), re.MULTILINE)


@functools.cache
def runs(fixed, threads=1):
    """By kernel, whether each run was right: without a seed, and with each of them."""
    name = f"planted-{fixed}.ptx"
    options = ["-DFIXED"] if fixed else []
    ptx = images.compiled(name, SOURCE, "-ptx", "-lineinfo", "-arch=compute_75", *options)
    environment = {"CUPOLA_CPU_THREADS": str(threads), "CUPOLA_CPU_TIMEOUT": "20"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, SOURCE, ptx, str(SEEDS)],
        cwd=ROOT / "tests",
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    results = {name: [] for name in NAMES}
    for line in done.stdout.splitlines():
        name, *numbers = line.split()
        results[name].append(np.array(numbers, np.int32))
    return results


def verdicts(name, results):
    right = np.zeros(256, np.int32)
    expected = right_results()[name]
    right[: len(expected)] = expected
    return [bool((each == right).all()) for each in results[name]]


def test_there_are_as_many_as_were_asked_for():
    assert len(NAMES) >= 20 and set(NAMES) == set(right_results())


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_finds_what_the_usual_order_hides(name):
    usual, *seeded = verdicts(name, runs(False))
    assert usual
    assert not all(seeded)


@pytest.mark.parametrize("name", NAMES)
def test_a_right_kernel_is_right_in_each_order(name):
    assert all(verdicts(name, runs(True)))


def test_an_order_repeats_whatever_the_number_of_threads():
    one, four = runs(False), runs(False, threads=4)
    for name in NAMES:
        assert np.array_equal(one[name][1:], four[name][1:]), name
