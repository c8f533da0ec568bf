# ruff: noqa: E501 - PTX text is wide
"""tcgen05.cp in each shape and format, and tcgen05.shift, on the whole of tensor memory."""

import os

import driver_abi
import numpy as np
import pytest

from . import tensor_memory
from .tensor_floats import E2M1, E2M3
from .tensor_layout import PLAIN, SW32, SW64, SW128
from .tensor_memory import COLUMNS, LANES, ROOM

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = """tcgen05.cp.cta_group::1.128x256b tcgen05.shift.cta_group::1.down
tcgen05.cp.cta_group::2.128x256b tcgen05.shift.cta_group::2.down"""
# By shape: rows, bytes of a row, and the lanes of a row.
SHAPES = {
    "128x256b": (128, 32, lambda row: [row]),
    "4x256b": (4, 32, lambda row: [32 * row]),
    "128x128b": (128, 16, lambda row: [row]),
    "64x128b.warpx2::02_13": (64, 16, lambda row: [row, row + 64]),
    "64x128b.warpx2::01_23": (
        64,
        16,
        lambda row: [row + row // 32 * 32, row + row // 32 * 32 + 32],
    ),
    "32x128b.warpx4": (32, 16, lambda row: [row, row + 32, row + 64, row + 96]),
}
FORMATS = {"": None, ".b8x16.b6x16_p32": E2M3, ".b8x16.b4x16_p64": E2M1}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", FORMATS)
def test_copies(shape, form, newer_devices):
    generator = np.random.default_rng(3)
    rows, width, lanes_of = SHAPES[shape]
    small = FORMATS[form]
    codes = generator.integers(0, 1 << (small.bits if small else 8), (rows, width)).astype(np.uint8)
    room = np.zeros(ROOM, np.uint8)
    layouts = [PLAIN, SW128, SW64, SW32]
    layout = layouts[list(SHAPES).index(shape) % 4] if width == 32 or form else PLAIN
    at = layout.place(small.shared(codes) if small else codes, room, 2048, width)[0]
    before = generator.integers(0, 1 << 32, (LANES, COLUMNS), np.uint32)
    lane = 29 if shape == "4x256b" else 0
    statement = f"tcgen05.cp.cta_group::1.{shape}{form} [{{n0}}+8], {{d0}}"
    got = tensor_memory.after(
        newer_devices("10.0"), statement, before, room, [at], [lane << 16 | 100]
    )
    words = np.ascontiguousarray(small.bytes(codes) if small else codes).view(np.uint32)
    for row in range(rows):
        for each in lanes_of(row):
            before[lane + each, 108 : 108 + width // 4] = words[row]
    assert (got == before).all()


@pytest.mark.parametrize("issuer", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_copies_of_a_pair(shape, issuer, newer_devices):
    """Each block gets rows of its own shared memory."""
    generator = np.random.default_rng(6)
    rows, width, lanes_of = SHAPES[shape]
    room = np.zeros((2, ROOM), np.uint8)
    before = generator.integers(0, 1 << 32, (2, LANES, COLUMNS), np.uint32)
    codes = generator.integers(0, 256, (2, rows, width)).astype(np.uint8)
    at = [
        PLAIN.place(part, of_block, 2048, width)[0]
        for part, of_block in zip(codes, room, strict=True)
    ]
    statement = f"tcgen05.cp.cta_group::2.{shape} [{{n0}}+8], {{d0}}"
    got = tensor_memory.after(
        newer_devices("10.0"), statement, before, room, at[:1], [100], issuer=issuer
    )
    words = np.ascontiguousarray(codes).view(np.uint32)
    for block, row in np.ndindex(2, rows):
        for lane in lanes_of(row):
            before[block, lane, 108 : 108 + width // 4] = words[block, row]
    assert (got == before).all()


@pytest.mark.parametrize("issuer", [0, 1])
def test_shifts_of_a_pair(issuer, newer_devices):
    before = np.random.default_rng(4).integers(0, 1 << 32, (2, LANES, COLUMNS), np.uint32)
    statement = "tcgen05.shift.cta_group::2.down [{n0}+3]"
    got = tensor_memory.after(
        newer_devices("10.0"), statement, before, numbers=[64 << 16 | 37], issuer=issuer
    )
    expected = before.copy()
    expected[:, 64:95, 40:48] = before[:, 65:96, 40:48]
    assert (got == expected).all()


@pytest.mark.parametrize("lane", [0, 96])
def test_shifts(lane, newer_devices):
    """A lane of a warp gets eight columns of the next one."""
    before = np.random.default_rng(4).integers(0, 1 << 32, (LANES, COLUMNS), np.uint32)
    statement = "tcgen05.shift.cta_group::1.down [{n0}+3]"
    got = tensor_memory.after(newer_devices("10.0"), statement, before, numbers=[lane << 16 | 37])
    expected = before.copy()
    expected[lane : lane + 31, 40:48] = before[lane + 1 : lane + 32, 40:48]
    assert (got == expected).all()


def copying(shape="128x256b", place=0, descriptor=1 << 46, columns=512):
    body = f"""mov.u64 %d12, {descriptor & 2**64 - 1}; setp.eq.u32 %p1, %r0, 0; mov.u32 %r5, room; cvt.u64.u32 %d11, %r5; shr.u64 %d11, %d11, 4;
add.u64 %d12, %d12, %d11; add.u32 %r10, %r3, {place}; @%p1 tcgen05.cp.cta_group::1.{shape} [%r10], %d12;"""
    return tensor_memory.text(tensor_memory.within(body, columns), room=8 << 10)


def shifting(place):
    body = f"setp.eq.u32 %p1, %r0, 0; add.u32 %r10, %r3, {place}; @%p1 tcgen05.shift.cta_group::1.down [%r10];"
    return tensor_memory.text(tensor_memory.within(body))


FAULTS = [
    (copying(), 0, ""),
    (copying(place=505), 715, "the block has not allocated columns 505 to 512"),
    (copying(place=30, columns=32), 715, "columns 30 to 37"),
    (copying(place=1 << 16), 715, "must begin at lane 0 of tensor memory, got lane 1"),
    (copying("4x256b", 31 << 16), 0, ""),
    (copying("4x256b", 32 << 16), 715, "lane 0 to 31 of tensor memory, got lane 32"),
    (copying(descriptor=0), 715, "descriptor of the rows: bits 46 to 48 must be 1"),
    (copying(descriptor=1 << 46 | 1 << 61), 715, "mode 1 needs a transposed matrix"),
    (copying(descriptor=1 << 46 | 0x2000 << 32), driver_abi.ILLEGAL_ADDRESS, "shared memory"),
    (copying(descriptor=1 << 46 | 0x3F00), driver_abi.ILLEGAL_ADDRESS, "shared memory"),
    (shifting(64 << 16), 0, ""),
    (shifting(16 << 16), 715, "lane 0, 32, 64 or 96 of tensor memory, got lane 16"),
    (shifting(128 << 16), 715, "got lane 128"),
    (shifting(508), 715, "columns 508 to 515"),
    (copying().replace("cta_group::1.128", "cta_group::2.128"), 715, "needs a cluster in which the block has a peer"),
    (shifting(0).replace("cta_group::1.down", "cta_group::2.down"), 715, "needs a cluster in which the block has a peer"),
]  # fmt: skip


def test_faults(newer_devices):
    got = newer_devices("10.0").run(tensor_memory.faults, [kernel for kernel, *_ in FAULTS])
    for n, ((code, said), (_, wanted, part)) in enumerate(zip(got, FAULTS, strict=True)):
        assert code == wanted and part in said, (n, code, said, part)
        assert not code or "PTX line" in said
