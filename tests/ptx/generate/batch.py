"""Programs in one module, run on a driver: what each leaves in memory, and digests of that."""

import ctypes
import random
import zlib
from collections import namedtuple
from ctypes import byref, c_size_t, c_uint, c_uint64, c_void_p

import numpy as np

from .program import HEAD, RECORD, THREADS, Program

# Words of each program: first the records of its threads, then the cells.
WORDS = THREADS * RECORD // 8 + 16
COLUMNS = RECORD // 8 + 1
# Fields that running a program needs; a Program has them, too.
Launch = namedtuple("Launch", "name grid block_shape")

# Special values. Recordings depend on them: do not change them.
INTEGERS = [0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256]
FLOATS = {
    "f32": [0, 1, 0x7FFFFF, 0x800000, 0x33800000, 0x3EFFFFFF, 0x3F000000, 0x3F7FFFFF, 0x3F800000,
            0x3F800001, 0x3FC00000, 0x40200000, 0x4B800000, 0x4F000000, 0x5F000000, 0x7F7FFFFF,
            0x7F800000, 0x7FC00000, 0x7F800001],
    "f64": [0, 1, 0xFFFFFFFFFFFFF, 1 << 52, 0x3E70000000000000, 0x3FE0000000000000,
            0x3FF0000000000000, 0x3FF0000000000001, 0x3FF8000000000000, 0x4004000000000000,
            0x41E0000000000000, 0x43E0000000000000, 0x47EFFFFFE0000000, 0x36A0000000000000,
            0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000000000000, 0x40EFFE0000000000],
    "f16": [0, 1, 0x3FF, 0x400, 0x3800, 0x3BFF, 0x3C00, 0x3C01, 0x3E00, 0x4100, 0x7BFF, 0x7C00,
            0x7E00],
    "bf16": [0, 1, 0x7F, 0x80, 0x3F00, 0x3F7F, 0x3F80, 0x3F81, 0x3FC0, 0x4020, 0x7F7F, 0x7F80,
             0x7FC0],
}  # fmt: skip


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
    """The words that each program leaves: rows of WORDS words.

    With optimisation by NVIDIA's compiler, some of these programs leave other words.
    """
    module = driver.load(text, level=0)
    try:
        return run_loaded(driver, module, programs)
    finally:
        driver.library.cuModuleUnload(module.handle)


def run_loaded(driver, module, programs):
    """The same, of programs in a module that stays loaded."""
    memory = np.tile(BEFORE, (len(programs), 1))
    table_at, at = c_uint64(), c_uint64()
    try:
        for address, data in ((table_at, TABLE), (at, memory)):
            driver.cuMemAlloc_v2(byref(address), c_size_t(data.nbytes))
            driver.cuMemcpyHtoD_v2(address, c_void_p(data.ctypes.data), c_size_t(data.nbytes))
        for n, program in enumerate(programs):
            start = at.value + n * WORDS * 8
            values = [table_at, c_uint64(start), c_uint64(start + THREADS * RECORD)]
            pointers = (c_void_p * 3)(*[ctypes.addressof(v) for v in values])
            block = (*program.block_shape, 1, 1)[:3]
            driver.cuLaunchKernel(
                module.function(program.name),
                *map(c_uint, (program.grid, 1, 1, *block, 0)),
                c_void_p(),
                pointers,
                c_void_p(),
            )
        driver.cuCtxSynchronize()
        driver.cuMemcpyDtoH_v2(c_void_p(memory.ctypes.data), at, c_size_t(memory.nbytes))
    finally:
        for address in (table_at, at):
            driver.library.cuMemFree_v2(address)
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
