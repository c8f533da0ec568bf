# ruff: noqa: E501 - PTX text is wide
"""Tensor memory: its allocation, and its accesses by each shape of tcgen05.ld and tcgen05.st."""

import os
import re

import driver_abi
import numpy as np
import pytest

from . import tensor_memory
from .assembler import Assembler
from .tensor_memory import COLUMNS, LANES, registers, text, within

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = """
tcgen05.alloc.cta_group::1.sync.aligned.b32 tcgen05.dealloc.cta_group::1.sync.aligned.b32
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned
tcgen05.ld.sync.aligned.32x32b.x1.b32 tcgen05.st.sync.aligned.32x32b.x1.b32
tcgen05.ld.sync.aligned.16x64b.x1.b32 tcgen05.st.sync.aligned.16x64b.x1.b32
tcgen05.ld.sync.aligned.16x128b.x1.b32 tcgen05.st.sync.aligned.16x128b.x1.b32
tcgen05.ld.sync.aligned.16x256b.x1.b32 tcgen05.st.sync.aligned.16x256b.x1.b32
tcgen05.ld.sync.aligned.16x32bx2.x1.b32 tcgen05.st.sync.aligned.16x32bx2.x1.b32
tcgen05.wait::ld.sync.aligned tcgen05.wait::st.sync.aligned
tcgen05.fence::before_thread_sync tcgen05.fence::after_thread_sync
tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64
tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64
"""
TENSOR_MEMORY_LEAK, ILLEGAL_INSTRUCTION = 721, 715

# By shape: the bits of a lane and of a register index that are bits of the row and of the column.
# The manual's figures show them, for one repetition and the next ones: (row, column).
PLACES = {
    "32x32b": lambda t, r: (t, r),
    "16x64b": lambda t, r: ((t & 1) << 3 | t >> 2, (t >> 1 & 1) | r << 1),
    "16x128b": lambda t, r: (t >> 2 | (r & 1) << 3, (t & 3) | r >> 1 << 2),
    "16x256b": lambda t, r: (t >> 2 | (r >> 1 & 1) << 3, (r & 1) | (t & 3) << 1 | r >> 2 << 3),
    "16x32bx2": lambda t, r: (t & 15, r),
}
PER_UNIT = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
LARGEST = {"32x32b": 128, "16x64b": 128, "16x128b": 64, "16x256b": 32, "16x32bx2": 128}
SPLIT = 200  # columns between the halves of .16x32bx2
CASES = [
    (shape, count, row, halves)
    for shape in PLACES
    for count, row, halves in [
        (1, 0, False), (2, 16, False), (4, 0, True), (LARGEST[shape], 0, False), (8, 16, True)
    ]
    if row == 0 or shape != "32x32b"
]  # fmt: skip


def places(shape, count, row, halves):
    """The lanes and columns of each register of a block's 128 threads; two columns with halves."""
    thread, r = np.meshgrid(np.arange(LANES), np.arange(count * PER_UNIT[shape]), indexing="ij")
    lane, column = PLACES[shape](thread % 32, r)
    lane, column = lane + thread // 32 * 32 + row, column * (2 if halves else 1)
    if shape == "16x32bx2":
        column = column + thread % 32 // 16 * SPLIT
    return lane, column + 3  # the accesses begin at column 3


def access(kind, shape, count, row, halves):
    """An access of registers from %r100 on."""
    vector = registers(100, count * PER_UNIT[shape])
    split = f", {SPLIT}" if shape == "16x32bx2" else ""
    mode = (".pack::16b" if kind == "ld" else ".unpack::16b") if halves else ""
    place = f"[%r4+{(row << 16) + 3}]{split}"
    operands = f"{vector}, {place}" if kind == "ld" else f"{place}, {vector}"
    return f"tcgen05.{kind}.sync.aligned.{shape}.x{count}{mode}.b32 {operands}; tcgen05.wait::{kind}.sync.aligned;"


# Each cell of tensor memory gets 1 << 26 | lane << 13 | column + 1.
FILL = "add.u32 %r5, %r0, 0x2000; shl.b32 %r5, %r5, 13;" + "".join(
    "".join(f"add.u32 %r{100 + n}, %r5, {c + n + 1};" for n in range(64))
    + f"tcgen05.st.sync.aligned.32x32b.x64.b32 [%r4+{c}], {registers(100, 64)};"
    for c in range(0, COLUMNS, 64)
)
CELLS = (
    (1 << 26) + (np.arange(LANES)[:, None] << 13) + np.arange(COLUMNS)[None, :] + 1
).astype(np.uint32)  # fmt: skip


def store_all(first, count):
    """Stores registers of each thread side by side at %d0."""
    return f"mul.wide.u32 %d8, %r0, {4 * count}; add.u64 %d8, %d0, %d8;" + "".join(
        f"st.global.u32 [%d8+{4 * n}], %r{first + n};" for n in range(count)
    )


READ_ALL = f"mul.wide.u32 %d8, %r0, {4 * COLUMNS}; add.u64 %d8, %d0, %d8;" + "".join(
    f"tcgen05.ld.sync.aligned.32x32b.x64.b32 {registers(100, 64)}, [%r4+{c}];"
    + "".join(f"st.global.u32 [%d8+{4 * (c + n)}], %r{100 + n};" for n in range(64))
    for c in range(0, COLUMNS, 64)
)


def kernel_of_load(case):
    count = case[1] * PER_UNIT[case[0]]
    return text(within(FILL + access("ld", *case) + store_all(100, count)))


def kernel_of_store(case):
    count = case[1] * PER_UNIT[case[0]]
    numbers = "mad.lo.u32 %r5, %r0, 0x10001, 0x20000;" + "".join(
        f"xor.b32 %r{100 + n}, %r5, {n << 23 | n << 8};" for n in range(count)
    )
    return text(within(FILL + numbers + access("st", *case) + READ_ALL))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_loads_by_shape(case, newer_devices):
    lane, column = places(*case)
    out = newer_devices("10.0").run(
        tensor_memory.run, kernel_of_load(case), [np.zeros(lane.size, np.uint32)]
    )[0]
    expected = CELLS[lane, column]
    if case[3]:
        expected = (expected & 0xFFFF) | CELLS[lane, column + 1] << np.uint32(16)
    assert (out.reshape(lane.shape) == expected).all()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_stores_by_shape(case, newer_devices):
    """The access writes its cells, and no other one."""
    lane, column = places(*case)
    thread, r = np.meshgrid(np.arange(LANES), np.arange(lane.shape[1]), indexing="ij")
    value = ((thread * 0x10001 + 0x20000) ^ (r << 23 | r << 8)).astype(np.uint32)
    expected = CELLS.copy()
    expected[lane, column] = value & 0xFFFF if case[3] else value
    if case[3]:
        expected[lane, column + 1] = value >> 16
    out = newer_devices("10.0").run(
        tensor_memory.run, kernel_of_store(case), [np.zeros(CELLS.size, np.uint32)]
    )[0]
    assert (out.reshape(CELLS.shape) == expected).all()


def test_columns_begin_as_nan(newer_devices):
    """A block does not see what an earlier block stored."""
    kernel = text(within(READ_ALL + FILL))
    out = newer_devices("10.0").run(
        tensor_memory.run, kernel, [np.zeros(CELLS.size, np.uint32)], 128, 3
    )[0]
    assert (out == 2**32 - 1).all()


@pytest.mark.parametrize("target", ["sm_100f", "sm_103a", "sm_110a", "sm_110f"])
def test_other_targets(target, newer_devices):
    device = {"sm_100f": "10.0", "sm_103a": "10.3"}.get(target, "11.0")
    kernel = text(within(FILL + READ_ALL), target=target)
    out = newer_devices(device).run(tensor_memory.run, kernel, [np.zeros(CELLS.size, np.uint32)])[0]
    assert (out.reshape(CELLS.shape) == CELLS).all()


ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"
DEALLOC = "tcgen05.dealloc.cta_group::1.sync.aligned.b32"


def test_allocations_lie_side_by_side(newer_devices):
    """Columns of 256, 128, 64, 32 and 32; the 64 are freed, and are the first that fit again."""
    sizes = [256, 128, 64, 32, 32]
    body = "".join(
        f"{ALLOC} [room+{4 * n}], {size}; ld.shared.u32 %r{10 + n}, [room+{4 * n}];"
        for n, size in enumerate(sizes)
    )
    body += f"{DEALLOC} %r12, 64; {ALLOC} [room+32], 32; ld.shared.u32 %r15, [room+32]; mov.u32 %r12, %r15;"
    body += store_all(10, 6)
    body += "".join(f"{DEALLOC} %r{10 + n}, {s};" for n, s in enumerate([256, 128, 32, 32, 32]))
    out = (
        newer_devices("10.0")
        .run(tensor_memory.run, text(body), [np.zeros(32 * 6, np.uint32)], 32)[0]
        .reshape(32, 6)
    )
    assert (out == [0, 256, 384, 448, 480, 384]).all()


def test_a_warp_waits_for_columns_of_another_warp(newer_devices):
    """Warps take all columns in turns, each counts the turn, and gives them back."""
    body = f"""setp.eq.u32 %p1, %r1, 0; mov.u32 %r20, 0;
again: {ALLOC} [room], 512; @%p1 ld.global.u32 %r21, [%d0]; @%p1 add.u32 %r21, %r21, 1; @%p1 st.global.u32 [%d0], %r21;
bar.warp.sync -1; mov.u32 %r22, 0; {DEALLOC} %r22, 512; add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, 5; @%p2 bra again;"""
    out = newer_devices("10.0").run(tensor_memory.run, text(body), [np.zeros(1, np.uint32)], 256)[0]
    assert out[0] == 8 * 5


def test_the_addresses_lane_and_offset_add(newer_devices):
    """A constant in [ ] is added to the whole address."""
    body = FILL + f"tcgen05.ld.sync.aligned.32x32b.x2.b32 {registers(100, 2)}, [%r4+511];"
    body = body.replace("[%r4+511]", "[%r6+-2]").replace(FILL, FILL + "add.u32 %r6, %r4, 512;")
    out = newer_devices("10.0").run(
        tensor_memory.run, text(within(body + store_all(100, 2))), [np.zeros(256, np.uint32)]
    )[0]
    assert (out.reshape(LANES, 2) == CELLS[:, 510:]).all()


LD = "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r100, %r101, %r102, %r103}"
LD16 = "tcgen05.ld.sync.aligned.16x64b.x2.b32 {%r100, %r101}"
ILLEGAL_ADDRESS = driver_abi.ILLEGAL_ADDRESS
FAULTS = [
    # allocation
    (f"{ALLOC} [slot], 64;", TENSOR_MEMORY_LEAK, "without freeing 64 columns"),
    (f"mov.u32 %r9, 48; {ALLOC} [slot], %r9;", ILLEGAL_INSTRUCTION, "the first lane has 48"),
    (f"mov.u32 %r9, 1024; {ALLOC} [slot], %r9;", ILLEGAL_INSTRUCTION, "32, 64, 128, 256 or 512"),
    (f"add.u32 %r9, %r1, 32; {ALLOC} [slot], %r9;", ILLEGAL_INSTRUCTION, "the same number of columns"),
    (f"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; {ALLOC} [slot], 32;", ILLEGAL_INSTRUCTION, "after tcgen05.relinquish_alloc_permit"),
    (f"{ALLOC} [slot], 512; {ALLOC} [slot], 32;", ILLEGAL_INSTRUCTION, "deadlock: tcgen05.alloc waits"),
    (f"mov.u32 %r9, 0x30000; {ALLOC} [%r9], 32;", ILLEGAL_ADDRESS, "illegal address"),
    (f"{ALLOC} [slot+2], 32;", driver_abi.MISALIGNED_ADDRESS, "misaligned address"),
    ("tcgen05.alloc.cta_group::1.sync.aligned.b32 [%d0], 32;", ILLEGAL_ADDRESS, "shared memory of its block alone"),
    (f"mov.u32 %r9, 0; {DEALLOC} %r9, 32;", ILLEGAL_ADDRESS, "columns 0 to 31"),
    (f"{ALLOC} [slot], 64; mov.u32 %r9, 0; {DEALLOC} %r9, 32;", ILLEGAL_ADDRESS, "no tcgen05.alloc of the block returned"),
    (f"{ALLOC} [slot], 64; mov.u32 %r9, 0x10000; {DEALLOC} %r9, 64;", ILLEGAL_ADDRESS, "tcgen05.dealloc"),
    (f"{ALLOC} [slot], 64; mov.u32 %r9, 0; {DEALLOC} %r9, 64; {DEALLOC} %r9, 64;", ILLEGAL_ADDRESS, "tcgen05.dealloc"),
    # accesses
    (f"mov.u32 %r9, 0; {LD}, [%r9];", ILLEGAL_ADDRESS, "not allocated columns 0 to 3"),
    (f"{ALLOC} [slot], 64; mov.u32 %r9, 62; {LD}, [%r9];", ILLEGAL_ADDRESS, "columns 62 to 65"),
    (f"{ALLOC} [slot], 512; mov.u32 %r9, 510; {LD}, [%r9];", ILLEGAL_ADDRESS, "columns 510 to 513"),
    (f"{ALLOC} [slot], 512; mov.u32 %r9, 0xffff; {LD}, [%r9];", ILLEGAL_ADDRESS, "columns 65535 to 65538"),
    (f"{ALLOC} [slot], 512; mov.u32 %r9, 0x200000; {LD}, [%r9];", ILLEGAL_ADDRESS, "from lane 0; the address has lane 32"),
    (f"{ALLOC} [slot], 512; mov.u32 %r9, 0x100000; {LD}, [%r9];", ILLEGAL_ADDRESS, "the address has lane 16"),
    (f"{ALLOC} [slot], 512; mov.u32 %r9, 0xffff0000; {LD}, [%r9];", ILLEGAL_ADDRESS, "the address has lane 65535"),
    (f"{ALLOC} [slot], 512; mov.u32 %r9, 0x80000; {LD16}, [%r9];", ILLEGAL_ADDRESS, "from lane 0 or 16"),
    (f"{ALLOC} [slot], 512; {LD}, [%r1];", ILLEGAL_ADDRESS, "the same address"),
    (f"{ALLOC} [slot], 32; mov.u32 %r9, 0; tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {{%r100}}, [%r9], 32;", ILLEGAL_ADDRESS, "columns 32 to 32"),
    (f"{ALLOC} [slot], 32; mov.u32 %r9, 0; tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {{%r100}}, [%r9], -1;", ILLEGAL_ADDRESS, "not allocated columns"),
    (f"{ALLOC} [slot], 32; mov.u32 %r9, 31; tcgen05.st.sync.aligned.32x32b.x1.unpack::16b.b32 [%r9], {{%r100}};", ILLEGAL_ADDRESS, "columns 31 to 32"),
    # arrivals
    ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%d0];", ILLEGAL_ADDRESS, "the mbarrier is not in shared memory"),
    ("mov.u32 %r9, bar; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];", ILLEGAL_ADDRESS, "the mbarrier is not initialised"),
]  # fmt: skip


@pytest.mark.parametrize("body, code, said", FAULTS)
def test_faults(body, code, said, newer_devices):
    got, message = newer_devices("10.0").run(tensor_memory.fault, text(body), (), 32)
    assert got == code, message
    assert said in message and "PTX line" in message


def test_lanes_of_the_second_warp(newer_devices):
    body = within(f"add.u32 %r9, %r3, 0x400000; setp.eq.u32 %p1, %r2, 1; @%p1 {LD}, [%r9];")
    code, said = newer_devices("10.0").run(tensor_memory.fault, text(body), (), 64)
    assert code == ILLEGAL_ADDRESS and "from lane 32; the address has lane 64" in said


OWN_LANES = """tcgen05.st.sync.aligned.32x32b.x1.b32 [{store}], {{%r0}};
tcgen05.wait::st.sync.aligned;
tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r9}}, [{load}];
tcgen05.wait::ld.sync.aligned;
mul.wide.u32 %d8, %r0, 4; add.u64 %d8, %d0, %d8; st.global.u32 [%d8], %r9;
"""


@pytest.mark.parametrize("store, load", [("%r3", "%r4"), ("%r4", "%r3"), ("%r3", "%r3")])
def test_the_first_lanes_are_those_of_the_warp(store, load, newer_devices):
    """%r4 has the lanes of the warp, and %r3 has lane 0, as kernels for GPUs use it."""
    kernel = text(within(OWN_LANES.format(store=store, load=load)))
    got = newer_devices("10.0").run(tensor_memory.run, kernel, [np.zeros(128, np.uint32)])[0]
    np.testing.assert_array_equal(got, np.arange(128))


@pytest.mark.parametrize("load", ["%r4", "%r3"])
def test_the_synchronisation_check_finds_lanes_of_other_warps(load):
    kernel = text(within(OWN_LANES.format(store="%r4", load=load)))
    said = f"tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r9}}, [{load}];"
    line = kernel.splitlines().index(said) + 1
    stderr = tensor_memory.checked(kernel, check="sync")
    assert stderr.count("sync: the address has lane 0 of tensor memory") == (load == "%r3"), stderr
    assert load == "%r4" or f"PTX line {line} " in stderr


def test_a_leak_names_the_line_of_the_allocation(newer_devices):
    body = f"mov.u32 %r9, 0;\n{ALLOC} [slot], 64;\n{DEALLOC} %r9, 64;\n{ALLOC} [slot], 32;\n"
    kernel = text(body)
    line = kernel.splitlines().index(f"{ALLOC} [slot], 32;") + 1
    code, said = newer_devices("10.0").run(tensor_memory.fault, kernel, (), 32)
    assert code == TENSOR_MEMORY_LEAK and f"PTX line {line} " in said and "32 columns" in said


COMMIT = """setp.eq.u32 %p1, %r0, 0; mov.u32 %r9, bar; @%p1 mbarrier.init.shared.b64 [%r9], 3; bar.sync 0;
setp.lt.u32 %p2, %r0, 3; mov.b16 %h1, 1; @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster{several}.b64 [%r9]{mask};
tcgen05.fence::before_thread_sync; wait: mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0; @!%p3 bra wait;
tcgen05.fence::after_thread_sync; mul.wide.u32 %d8, %r0, 4; add.u64 %d8, %d0, %d8; st.global.u32 [%d8], 7;"""


@pytest.mark.parametrize("several", ["", ".multicast::cluster", ".multicast::cluster::16b"])
def test_each_thread_of_a_commit_arrives_once(several, newer_devices):
    body = COMMIT.format(several=several, mask=", %h1" if several else "")
    kernel = text(body, version="9.4")
    out = newer_devices("10.0").run(tensor_memory.run, kernel, [np.zeros(128, np.uint32)])[0]
    assert (out == 7).all()


@pytest.mark.parametrize("written", [False, True])
def test_the_initialisation_check_finds_cells_that_nothing_wrote(written):
    """A store of columns 4 to 7, and a load that begins two columns before."""
    vector = registers(100, 4)
    store = f"tcgen05.st.sync.aligned.32x32b.x4.b32 [%r4+4], {vector};"
    load = f"\ntcgen05.ld.sync.aligned.32x32b.x4.b32 {vector}, [%r4+{4 if written else 2}];\n"
    kernel = text(within(store + load, 32))
    line = kernel.splitlines().index(load.strip()) + 1
    stderr = tensor_memory.checked(kernel)
    said = re.search(r"lane \d+, column 2 of tensor memory read, and never written", stderr)
    assert (said is not None) == (not written), stderr
    assert stderr.count("init: ") == (not written)
    assert written or f"PTX line {line} " in stderr


def test_the_assembler_takes_the_texts(tmp_path, ptxas):
    """Each shape of each access, the allocation, and the bodies that fault."""
    kernels = [make(case) for case in CASES for make in (kernel_of_load, kernel_of_store)]
    kernels += [text(body) for body, *_ in FAULTS] + [text(COMMIT.format(several="", mask=""))]
    assembler = Assembler(ptxas, tmp_path, "sm_100a")
    head, _, _ = kernels[0].partition(".visible")
    bodies = [
        k.partition(".visible")[2].replace(" k(", f" k{n}(").replace("\n", " ")
        for n, k in enumerate(kernels)
    ]
    refused = assembler.verdicts([".visible" + b for b in bodies], head)
    assert not any(refused), [r for r in refused if r]
