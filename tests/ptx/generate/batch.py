"""Programs in one module, run on a driver: what each leaves in memory, and digests of that."""

import ctypes
import random
import zlib
from collections import namedtuple
from ctypes import byref, c_size_t, c_uint, c_uint64, c_void_p

import numpy as np

from ..test_rows import FLOATS, INTEGERS
from .program import HEAD, RECORD, THREADS, Program

WORDS = THREADS * RECORD // 8 + 16  # of each program: its threads' records, then cells
COLUMNS = RECORD // 8 + 1
# What running a program takes: a Program has it, too.
Launch = namedtuple("Launch", "name grid block_shape")


def word(rng):
    """64 bits: a number of that size, or several smaller ones, most of them special."""
    bits = rng.choice((64, 64, 32, 32, 16))
    out = 0
    for at in range(0, 64, bits):
        kind = rng.choice(("real", "real", "integer", "integer", "small", "any"))
        x = rng.getrandbits(bits)
        if kind == "real":
            name = {64: "f64", 32: "f32", 16: rng.choice(("f16", "bf16"))}[bits]
            x = rng.choice(FLOATS[name]) | rng.getrandbits(1) << (bits - 1)
            x ^= rng.getrandbits(4) if rng.random() < 0.2 else 0
        elif kind == "integer":
            x = rng.choice(INTEGERS) * rng.choice((1, -1)) + rng.choice((0, 0, 1 << (bits - 1)))
        elif kind == "small":
            x >>= rng.randrange(bits)
        out |= (x & ((1 << bits) - 1)) << at
    return out


def table():
    rng = random.Random("table")
    return np.array([word(rng) for _ in range(2048)], np.uint64)


def multiples(count, odd):
    return np.arange(1, count + 1, dtype=np.uint64) * np.uint64(odd)


TABLE = table()
BEFORE = multiples(WORDS, 0x9E3779B97F4A7C15)
WEIGHTS = multiples(WORDS, 0xD6E8FEB86659FD93) | np.uint64(1)


def of_seeds(seeds):
    """(text of a module, its programs)"""
    programs = [Program(seed) for seed in seeds]
    return HEAD + "".join(p.text() for p in programs), programs


def run(driver, text, programs):
    """What each program leaves: rows of WORDS words."""
    module = driver.load(text)
    memory = np.tile(BEFORE, (len(programs), 1))
    table_at, at = c_uint64(), c_uint64()
    try:
        for address, data in ((table_at, TABLE), (at, memory)):
            driver("cuMemAlloc_v2", byref(address), c_size_t(data.nbytes))
            driver("cuMemcpyHtoD_v2", address, c_void_p(data.ctypes.data), c_size_t(data.nbytes))
        for n, program in enumerate(programs):
            start = at.value + n * WORDS * 8
            values = [table_at, c_uint64(start), c_uint64(start + THREADS * RECORD)]
            pointers = (c_void_p * 3)(*[ctypes.addressof(v) for v in values])
            block = (*program.block_shape, 1, 1)[:3]
            driver(
                "cuLaunchKernel",
                module.function(program.name),
                *map(c_uint, (program.grid, 1, 1, *block, 0)),
                c_void_p(),
                pointers,
                c_void_p(),
            )
        driver("cuCtxSynchronize")
        driver("cuMemcpyDtoH_v2", c_void_p(memory.ctypes.data), at, c_size_t(memory.nbytes))
    finally:
        for address in (table_at, at):
            driver.library.cuMemFree_v2(address)
        driver.library.cuModuleUnload(module.handle)
    return memory


def digests(memory):
    """A number for each program."""
    return (memory * WEIGHTS).sum(axis=1, dtype=np.uint64)


def columns(memory):
    """16 bits for each word of a record, over the threads, and for the cells: where a difference
    lies.
    """
    threads = memory[:, : -(WORDS - THREADS * RECORD // 8)].reshape(-1, THREADS, RECORD // 8)
    each = (threads * WEIGHTS[:THREADS, None]).sum(axis=1, dtype=np.uint64)
    cells = digests(memory * (np.arange(WORDS) >= THREADS * RECORD // 8))
    return (np.column_stack([each, cells]) >> np.uint64(48)).astype(np.uint16)


def checksum(text):
    return zlib.crc32(text.encode())
