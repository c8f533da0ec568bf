# ruff: noqa: E501 - PTX text is wide
"""tcgen05.mma.sp, tcgen05.mma.ws and tcgen05.mma.ws.sp, .ashift and scales of D; NumPy multiplies."""

import os
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np
import pytest

from . import tensor_memory
from .tensor_floats import E2M1, SMALL, nibbles, put_scales, scale_codes
from .tensor_layout import PLAIN, SW64, SW128, Layout
from .tensor_memory import COLUMNS, LANES, ROOM

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = " ".join(
    f"tcgen05.mma{form}.cta_group::1.kind::{kind}"
    for form in (".sp", ".ws", ".ws.sp")
    for kind in ("f16", "i8", "mxf8f6f4.block_scale", "mxf4.block_scale", "mxf4nvf4.block_scale")
) + "".join(
    f" tcgen05.mma.sp.cta_group::1.kind::{kind}.block_scale{scale}"
    for kind, scale in (
        ("mxf8f6f4", ".block32"),
        ("mxf4", ".block32"),
        ("mxf8f6f4", ".scale_vec::1X"),
        ("mxf4nvf4", ".scale_vec::2X"),
    )
)
A_COLUMN, METADATA, SCALES_A, SCALES_B = 256, 320, 328, 352
B_AT = 20 << 10
# kind, number in the instruction descriptor, NumPy's type
WIDE = {
    "f16": ("f16", 0, np.float16), "bf16": ("f16", 1, ml_dtypes.bfloat16), "tf32": ("tf32", 2, np.float32),
    "u8": ("i8", 0, np.uint8), "s8": ("i8", 1, np.int8),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    type: str = "f16"
    sparse: bool = True
    stationary: bool = False
    m: int = 128
    n: int = 64
    kind: str = ""
    scale: str = ""
    in_memory: bool = False
    lane: int = 0
    selector: int = 0
    adds: bool = True
    halvings: int = 0
    shifts: bool = False
    zeros: int = 0  # zero-column mask descriptor
    of_a: Layout = PLAIN
    of_b: Layout = PLAIN
    mask: tuple = ()

    @property
    def product(self):
        return self.kind or (WIDE[self.type][0] if self.type in WIDE else "f8f6f4")

    @property
    def packed(self):
        return self.product.startswith("mxf4")

    @property
    def terms(self):
        """The stored elements of a row of A."""
        return {"f16": 16, "bf16": 16, "tf32": 8}.get(self.type, 64 if self.packed else 32)

    @property
    def chunk(self):
        return 8 if self.packed else 2 if self.type == "tf32" else 4

    @property
    def scales(self):
        return {"mxf8f6f4": 1, "mxf4": 2, "mxf4nvf4": 4}.get(self.product, 0)

    def instruction(self):
        number = (
            1
            if self.packed
            else WIDE[self.type][1]
            if self.type in WIDE
            else SMALL[self.type].number
        )
        bits = number << 7 | number << 10 | self.n >> 3 << 17 | self.sparse << 2
        if self.scales:
            return bits | 1 << 23 | self.m >> 7 << 27
        result = 2 if self.product == "i8" else 1
        return bits | result << 4 | self.m >> 4 << 24 | self.selector | bool(self.zeros) << 31

    def statement(self):
        a = f"[{{n1}}+{A_COLUMN}]" if self.in_memory else "{d0}"
        name = f"tcgen05.mma{'.ws' * self.stationary}{'.sp' * self.sparse}.cta_group::1.kind::{self.product}"
        name += f"{'.block_scale' if self.scales else ''}{self.scale}{'.ashift' * self.shifts}"
        operands = [f"{name} [{{n1}}]", a, "{d1}", f"[{{n1}}+{METADATA}]" * self.sparse, "{n0}"]
        operands += ["{%r30, %r31, %r32, %r33}".replace("{", "{{").replace("}", "}}")] * bool(
            self.mask
        )
        operands += [f"[{{n2}}+{SCALES_A}], [{{n2}}+{SCALES_B}]"] * bool(self.scales)
        operands += [
            "%p4" if self.adds else "!%p4",
            str(self.halvings) * bool(self.halvings),
            "%d13" * bool(self.zeros),
        ]
        set_mask = "".join(f"mov.u32 %r{30 + n}, {word}; @%p1 " for n, word in enumerate(self.mask))
        set_zeros = f"mov.u64 %d13, {self.zeros}; @%p1 " * bool(self.zeros)
        return set_mask + set_zeros + ", ".join(filter(None, operands))

    def lanes(self, group=0):
        rows = np.arange(self.m)
        if self.stationary:
            return group * self.m + rows
        return rows if self.m == 128 else self.lane + rows // 16 * 32 + rows % 16

    @property
    def groups(self):
        return 128 // self.m if self.stationary else 1

    def put_metadata(self, cells, indices):
        """`indices`: four bits for each chunk of each row."""
        for group in range(self.groups):
            lanes = self.lanes(group)
            for row, chunk in np.ndindex(*indices.shape):
                lane, column, bit = lanes[row], chunk // 8, chunk % 8 * 4
                if self.product in ("f16", "tf32"):
                    lane = lanes[row // 16 * 16 + chunk // 4 * 8 + row % 8]
                    column, bit = self.selector, row // 8 % 2 * 16 + chunk % 4 * 4
                cells[lane, METADATA + column] &= ~np.uint32(15 << bit)
                cells[lane, METADATA + column] |= np.uint32(int(indices[row, chunk]) << bit)

    def stored(self, matrix, shared):
        """The elements of a factor as bytes, in shared memory or in tensor memory; their values."""
        if self.type in WIDE:
            typed = matrix.astype(WIDE[self.type][2])
            return np.ascontiguousarray(typed).view(np.uint8).reshape(
                len(matrix), -1
            ), typed.astype(float)
        small = E2M1 if self.packed else SMALL[self.type]
        codes = small.codes(matrix)
        data = (
            nibbles(codes) if self.packed else small.shared(codes) if shared else small.bytes(codes)
        )
        return data, small.values(codes)

    def expanded(self, a, indices):
        """The matrix that a sparse A stands for."""
        full = np.zeros((self.m, 2 * self.terms))
        for row, chunk in np.ndindex(*indices.shape):
            index, at = int(indices[row, chunk]), chunk * self.chunk
            first, second = index & 3, index >> 2
            if self.chunk == 2:
                full[row, at + (first >> 1)] = a[row, chunk]
            elif self.chunk == 4:
                full[row, at + first], full[row, at + second] = a[row, 2 * chunk : 2 * chunk + 2]
            else:
                for n in range(4):
                    full[row, at + 2 * (first, second)[n // 2] + n % 2] = a[row, 4 * chunk + n]
        return full

    def run(self, device, generator):
        """D, what NumPy says of it, and the cells beside D before and after."""
        k = 2 * self.terms if self.sparse else self.terms
        halves = 2 if self.product in ("f16", "tf32") or self.type not in WIDE else 1
        low = 0 if self.type == "u8" else -4
        a = generator.integers(low, 5, (self.m, self.terms)) / halves
        b = generator.integers(low, 5, (self.n + 32, k)) / halves
        c = generator.integers(-99, 99, (self.m, self.n)) * 2.0**self.halvings
        c = c.astype(np.int32 if self.product == "i8" else np.float32)
        room, cells = np.zeros(ROOM, np.uint8), np.full((LANES, COLUMNS), 0xABCD0123, np.uint32)
        of_a, a = self.stored(a, not self.in_memory)
        of_b, b = self.stored(b, True)
        at_b, at_a = self.of_b.place(of_b, room, B_AT, of_b.shape[1])[0], 1 << 46
        if not self.in_memory:
            at_a = self.of_a.place(of_a, room, 0, of_a.shape[1])[0]
        width = self.n // self.groups
        for group in range(self.groups):
            lanes = self.lanes(group)
            cells[lanes, :width] = c[:, group * width : (group + 1) * width].view(np.uint32)
            if self.in_memory:
                words = of_a.view(np.uint32)
                cells[lanes, A_COLUMN : A_COLUMN + words.shape[1]] = words
        if self.sparse:
            pairs = [4, 14] if self.chunk == 2 else [4, 8, 12, 9, 13, 14]
            indices = generator.choice(pairs, (self.m, k // self.chunk))
            self.put_metadata(cells, indices)
            a = self.expanded(a, indices)
        if self.scales:
            for n, (column, lines) in enumerate(((SCALES_A, self.m), (SCALES_B, self.n))):
                factors = 2.0 ** generator.integers(-3, 4, (lines, self.scales))
                put_scales(cells, column, scale_codes(factors, "ue8m0"), 0)
                factors = np.repeat(factors, k // self.scales, axis=1)
                if n == 0:
                    a = a * factors
                else:
                    b = b[: self.n] * factors
        if self.shifts:
            a = np.concatenate([a[1:], a[-1:]])
        columns = np.arange(self.n) + (self.zeros >> 56 & 63)
        b = b[columns]
        b[zero_columns(self.zeros, self.m, self.n)] = 0
        expected = a @ b.T + (c * 0.5**self.halvings if self.adds else 0)
        got = tensor_memory.after(
            device,
            self.statement(),
            cells,
            room,
            [at_a, at_b],
            [self.instruction(), self.lane << 16, 0],
        )
        kept = np.zeros(LANES, bool)
        if self.mask:
            kept = np.array([self.mask[lane // 32] >> lane % 32 & 1 for lane in range(LANES)], bool)
        beside, made = np.ones_like(cells, bool), np.zeros((self.m, self.n))
        for group in range(self.groups):
            lanes = self.lanes(group)
            part = got[lanes, :width].view(c.dtype)
            made[:, group * width : (group + 1) * width] = part
            beside[lanes[~kept[lanes]], :width] = False
        written = ~kept[self.lanes()]
        return made[written], expected[written], cells[beside], got[beside]


def zero_columns(bits, m, n):
    """Which columns of B are 0."""
    groups = 128 // m
    found = np.zeros(n, bool)
    if not bits >> 39 & 1:
        return found
    use, skip = (bits >> 48 & 255) + 1, (bits >> 40 & 255) + 1
    for group in range(groups):
        spans = [(False, use), (True, skip)]
        spans = spans[::-1] if bits >> (32 + group) & 1 else spans
        period = [zero for zero, count in spans for _ in range(count)]
        start, width = bits >> 8 * group & 255, n // groups
        found[group * width : (group + 1) * width] = (period * (2 * n))[start : start + width]
    return found


DENSE = Case(sparse=False)
WS = Case(sparse=False, stationary=True)
ZEROS = 1 << 39 | 2 << 40 | 3 << 48
# The manual's example: M = 32, starts 0, 1, 2, 1, the first two masks begin with zeros, shift 2.
EXAMPLE = ZEROS | 0x01020100 | 3 << 32 | 2 << 56
CASES = [
    *(Case(t, of_b=SW64 if t != "tf32" else PLAIN) for t in WIDE), *(Case(t) for t in SMALL),
    *(Case(t, in_memory=True, n=128) for t in ("f16", "tf32", "s8", "e2m3")),
    *(Case(t, m=64, n=8, selector=1) for t in ("f16", "tf32")), Case(m=64, lane=16, n=24), Case("e4m3", m=64, lane=16, in_memory=True),
    *(Case("e4m3", kind="mxf8f6f4", scale=s) for s in ("", ".block32", ".scale_vec::1X")), Case("e2m1", kind="mxf8f6f4", in_memory=True),
    *(Case("e2m1", kind="mxf4", scale=s) for s in ("", ".block32", ".scale_vec::2X")), Case("e2m1", kind="mxf4", in_memory=True),
    *(Case("e2m1", kind="mxf4nvf4", scale=s, of_b=SW128) for s in (".block16", ".scale_vec::4X")),
    Case(mask=(1 << 31, 0, 0xFFFFFFFF, 5)), Case(adds=False), Case(halvings=3), Case("tf32", halvings=15, in_memory=True),
    Case(shifts=True, in_memory=True), Case("s8", shifts=True, in_memory=True),
    replace(DENSE, halvings=1), replace(DENSE, type="tf32", halvings=7, mask=(3, 2, 1, 0)), replace(DENSE, type="bf16", halvings=2, in_memory=True),
    *(replace(DENSE, type=t, shifts=True, in_memory=True) for t in ("f16", "u8", "e3m2")),
    *(replace(WS, m=m, type=t, n=n) for m, t, n in ((32, "f16", 64), (64, "tf32", 128), (128, "s8", 64), (32, "e2m1", 256), (64, "e5m2", 64))),
    *(replace(WS, m=m, type=t, in_memory=True) for m, t in ((32, "f16"), (64, "u8"), (128, "e2m1"))),
    *(replace(WS, sparse=True, m=m, type=t, n=128, in_memory=i) for m, t, i in ((32, "f16", False), (64, "tf32", True), (64, "s8", False), (32, "e4m3", True), (128, "f16", False))),
    *(replace(WS, m=m, zeros=z) for m, z in ((128, ZEROS), (64, ZEROS | 1 << 32), (32, EXAMPLE), (128, ZEROS & ~(1 << 39) | 31 << 56))),
    replace(WS, m=32, n=128, zeros=EXAMPLE, type="s8"), replace(WS, sparse=True, m=64, zeros=ZEROS | 7 | 2 << 32, type="e3m2"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_whole_numbers_are_exact(case, newer_devices):
    got, expected, before, after = case.run(newer_devices("10.0"), np.random.default_rng(5))
    assert (got == expected).all()
    assert (before == after).all()


def test_examples_of_zero_column_masks():
    """As the manual prints them, the lowest column last."""
    for bits, group, expected in (
        (ZEROS, 0, "1110000" * 2), (ZEROS | 1 << 32, 0, "0000111"), (EXAMPLE, 0, "00001110000111"),
        (EXAMPLE, 1, "0000111000011"), (EXAMPLE, 2, "111000011100"), (EXAMPLE, 3, "1110000111000"),
    ):  # fmt: skip
        m = 32 if bits == EXAMPLE else 128
        zero = zero_columns(bits, m, 256)[group * 64 if m == 32 else 0 :]
        assert "".join(str(int(z)) for z in zero[: len(expected)])[::-1] == expected


def changed(case, instruction=lambda bits: bits, metadata=METADATA, zeros=0):
    """A kernel of a case in shared memory without data, with changed bits."""
    statement = replace(case, zeros=zeros or case.zeros).statement()
    statement = statement.replace(f"[{{n1}}+{METADATA}]", "[%r23]")
    for name, register in {
        "{n0}": "%r20",
        "{n1}": "%r21",
        "{n2}": "%r21",
        "{d0}": "%d12",
        "{d1}": "%d12",
    }.items():
        statement = statement.replace(name, register)
    body = f"""mov.u64 %d12, {1 << 46}; mov.u32 %r5, room; cvt.u64.u32 %d11, %r5; shr.u64 %d11, %d11, 4; add.u64 %d12, %d12, %d11;
mov.u32 %r20, {instruction(case.instruction()) & 2**32 - 1}; mov.u32 %r21, 0; mov.u32 %r23, {metadata};
setp.eq.u32 %p1, %r0, 0; setp.ne.u32 %p4, %r0, 999; @%p1 {statement};"""
    return tensor_memory.text(tensor_memory.within(body), room=32 << 10)


FAULTS = [
    (changed(Case()), 0, ""), (changed(WS), 0, ""), (changed(replace(WS, sparse=True)), 0, ""),
    (changed(Case(), lambda x: x & ~4), 715, "bit 2 must be 1"),
    (changed(DENSE, lambda x: x | 4), 715, "tcgen05.mma.sp"),
    (changed(Case(), lambda x: x | 2), 715, "the sparsity selector must be 0 or 1"),
    (changed(Case("s8"), lambda x: x | 1), 715, "selector of this kind must be 0"),
    (changed(Case(), lambda x: x | 1 << 30), 715, "29 to 31 must be 0"),
    (changed(WS, lambda x: x | 3 << 30), 0, ""), (changed(WS, lambda x: x | 1 << 29), 715, "must be 0"),
    (changed(Case(), metadata=METADATA + 1), 715, "an even column of tensor memory, got column 321"),
    (changed(Case(), metadata=512), 715, "the metadata of A: the block has not allocated columns 512 to 512"),
    (changed(Case("s8"), metadata=1 << 16), 715, "the metadata and D must begin at the same lane"),
    (changed(replace(WS, m=32), lambda x: x & ~(31 << 24)), 715, "M must be 32, 64 or 128, got 0"),
    (changed(replace(WS, n=32)), 715, "N must be 64, 128 or 256, got 32"),
    (changed(replace(WS, sparse=True, n=256)), 715, "N must be 64 or 128, got 256"),
    (changed(replace(DENSE, shifts=True, in_memory=True, m=64)), 715, ".ashift needs M = 128, got 64"),
    (changed(WS, zeros=1 << 36), 715, "zero-column mask descriptor: bits 36"),
    (changed(WS, zeros=33 << 56), 715, "shifted by up to 32, got 33"),
    (changed(replace(WS, m=32), zeros=17 << 56), 715, "shifted by up to 16, got 17"),
    (changed(Case("e2m1", kind="mxf4"), lambda x: x | 1 << 31), 715, "K = 96"),
]  # fmt: skip


def test_faults(newer_devices):
    got = newer_devices("10.0").run(tensor_memory.faults, [kernel for kernel, *_ in FAULTS])
    for n, ((code, said), (_, wanted, part)) in enumerate(zip(got, FAULTS, strict=True)):
        assert code == wanted and part in said, (n, code, said, part)
        assert not code or "PTX line" in said
