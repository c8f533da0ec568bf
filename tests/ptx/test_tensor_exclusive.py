# ruff: noqa: E501 - PTX text is wide
"""Exclusive allocations of tensor memory (PTX 9.4): any multiple of 32 columns, beside no other one."""

import os

import driver_abi
import numpy as np
import pytest

from . import tensor_memory, test_tensor_pairs

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = """tcgen05.alloc.exclusive.cta_group::1.sync.aligned.b32
tcgen05.dealloc.exclusive.cta_group::1.sync.aligned.b32"""
ILLEGAL_INSTRUCTION = 715
ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"
DEALLOC = "tcgen05.dealloc.cta_group::1.sync.aligned.b32"
EXCLUSIVE = "tcgen05.alloc.exclusive.cta_group::1.sync.aligned.shared::cta.b32"
FREE = "tcgen05.dealloc.exclusive.cta_group::1.sync.aligned.b32"
SPIN = "mov.u32 %r20, 0; {label}: add.u32 %r20, %r20, 1; setp.lt.u32 %p7, %r20, 20000; @%p7 bra {label};"


def text(body):
    return tensor_memory.text(body, version="9.4")


@pytest.mark.parametrize("columns", [32, 96, 480, 512])
def test_columns(columns, newer_devices):
    """The last column holds what is stored; the block has no column behind it."""
    body = f"""{EXCLUSIVE} [slot], {columns}; ld.shared.u32 %r3, [slot]; add.u32 %r4, %r3, {columns - 1};
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {{%r1}}; tcgen05.wait::st.sync.aligned;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r5}}, [%r4]; tcgen05.wait::ld.sync.aligned; {{more}}
    mul.wide.u32 %d8, %r1, 4; add.u64 %d8, %d0, %d8; st.global.u32 [%d8], %r5; mov.u32 %r6, {columns}; {FREE} %r3, %r6;"""
    device = newer_devices("10.0")
    (out,) = device.run(
        tensor_memory.run, text(body.replace("{more}", "")), [np.zeros(32, np.uint32)], 32
    )
    assert (out == np.arange(32)).all()
    more = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r4+1];"
    code, said = device.run(tensor_memory.fault, text(body.replace("{more}", more)), (), 32)
    assert code == driver_abi.ILLEGAL_ADDRESS and f"not allocated columns {columns}" in said


@pytest.mark.parametrize(("first", "free", "second", "free_second"), [
    (ALLOC, DEALLOC, EXCLUSIVE, FREE), (EXCLUSIVE, FREE, ALLOC, DEALLOC), (EXCLUSIVE, FREE, EXCLUSIVE, FREE),
], ids=["exclusive waits", "waits for exclusive", "both exclusive"])  # fmt: skip
def test_a_second_allocation_waits(first, free, second, free_second, newer_devices):
    """The second warp gets 32 columns after the first one has marked the array and freed its 64."""
    body = f"""setp.eq.u32 %p1, %r1, 0; @!%p0 bra SECOND;
    {first} [slot], 64; ld.shared.u32 %r3, [slot]; bar.sync 1, 64; {SPIN.format(label="S")}
    @%p1 st.global.u32 [%d0], 7; bar.warp.sync -1; {free} %r3, 64; bra END;
    SECOND: bar.sync 1, 64; {second} [room], 32; ld.shared.u32 %r3, [room]; ld.global.u32 %r5, [%d0];
    @%p1 st.global.u32 [%d0+4], %r5; {free_second} %r3, 32; END:"""
    out = newer_devices("10.0").run(tensor_memory.run, text(body), [np.zeros(2, np.uint32)], 64)[0]
    assert out.tolist() == [7, 7]


FAULTS = [
    (f"{EXCLUSIVE} [slot], 32; {ALLOC} [slot], 32;", ILLEGAL_INSTRUCTION, "deadlock: tcgen05.alloc"),
    (f"{ALLOC} [slot], 32; {EXCLUSIVE} [slot], 32;", ILLEGAL_INSTRUCTION, "deadlock: tcgen05.alloc"),
    (f"{EXCLUSIVE} [slot], 576;", ILLEGAL_INSTRUCTION, "a multiple of 32 up to 512; the first lane has 576"),
    (f"mov.u32 %r9, 40; {EXCLUSIVE} [slot], %r9;", ILLEGAL_INSTRUCTION, "a multiple of 32 up to 512; the first lane has 40"),
    (f"mov.u32 %r9, 0; {EXCLUSIVE} [slot], %r9;", ILLEGAL_INSTRUCTION, "the first lane has 0"),
    (f"{EXCLUSIVE} [slot], 64; mov.u32 %r9, 0; {DEALLOC} %r9, 64;", driver_abi.ILLEGAL_ADDRESS, "tcgen05.dealloc of columns 0 to 63 of tensor memory, which no tcgen05.alloc of"),
    (f"{ALLOC} [slot], 64; mov.u32 %r9, 0; {FREE} %r9, 64;", driver_abi.ILLEGAL_ADDRESS, "tcgen05.dealloc.exclusive of columns 0 to 63 of tensor memory, which no tcgen05.alloc.exclusive of"),
    (f"{EXCLUSIVE} [slot], 96; mov.u32 %r9, 0; {FREE} %r9, 64;", driver_abi.ILLEGAL_ADDRESS, "tcgen05.dealloc.exclusive"),
]  # fmt: skip


@pytest.mark.parametrize("body, code, said", FAULTS)
def test_faults(body, code, said, newer_devices):
    got, message = newer_devices("10.0").run(tensor_memory.fault, text(body), (), 32)
    assert got == code, message
    assert said in message and "PTX line" in message


@pytest.mark.parametrize("statement", [
    f"{EXCLUSIVE} [slot], 33;", f"{EXCLUSIVE} [slot], 0;", f"{FREE} %r3, 100;", f"{ALLOC} [slot], 96;",
    "tcgen05.relinquish_alloc_permit.exclusive.cta_group::1.sync.aligned;",
])  # fmt: skip
def test_wrong_statements_are_refused(statement, newer_devices):
    code, said = newer_devices("10.0").run(tensor_memory.fault, text(statement), (), 32)
    assert code == driver_abi.INVALID_PTX, said


def pair(body, arrays):
    return test_tensor_pairs.text(body, arrays).replace(".version 9.0", ".version 9.4")


def test_a_pair_waits_for_both_blocks(newer_devices):
    """Block 1 has columns of its own; the pair gets its exclusive ones when these are free."""
    body = f"""setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r30, 1; @!%p0 bra OTHER;
    bar.sync 1, 64; tcgen05.alloc.exclusive.cta_group::2.sync.aligned.shared::cta.b32 [slot], 96; ld.shared.u32 %r3, [slot];
    ld.global.u32 %r5, [%d0]; mul.wide.u32 %d5, %r30, 4; add.u64 %d5, %d0, %d5; @%p1 st.global.u32 [%d5+4], %r5;
    tcgen05.dealloc.exclusive.cta_group::2.sync.aligned.b32 %r3, 96; bra END;
    OTHER: @%p2 {ALLOC} [room], 64; bar.sync 1, 64; {SPIN.format(label="S")} @!%p2 bra END; ld.shared.u32 %r3, [room];
    @%p1 st.global.u32 [%d0], 7; bar.warp.sync -1; {DEALLOC} %r3, 64; END:"""
    (out,) = newer_devices("10.0").run(
        tensor_memory.run, pair(body, 1), [np.zeros(3, np.uint32)], 64, 2
    )
    assert out.tolist() == [7, 7, 7]


def test_both_warps_of_a_pair_allocate_alike(newer_devices):
    body = """setp.eq.u32 %p6, %r30, 0; @%p6 bra PLAIN;
    tcgen05.alloc.exclusive.cta_group::2.sync.aligned.shared::cta.b32 [slot], 32; bra END;
    PLAIN: tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], 32; END:"""
    said = newer_devices("10.0").run(test_tensor_pairs.fault, pair(body, 1), 32, 2)
    assert "one warp of a pair allocates with .exclusive, the other one without" in said
