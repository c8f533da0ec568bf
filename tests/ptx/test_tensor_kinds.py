# ruff: noqa: E501 - PTX text is wide
"""tcgen05.mma of floats of 4 and 6 bits, and with scale factors; NumPy multiplies."""

import os
from dataclasses import dataclass, replace

import driver_abi
import numpy as np
import pytest

from . import tensor_memory
from .tensor_floats import E2M1, E4M3, SMALL, nibbles, put_scales, scale_codes
from .tensor_layout import PLAIN, SW32, SW64, SW128, T128, Layout
from .tensor_memory import COLUMNS, LANES, ROOM, registers

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = """tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale tcgen05.mma.cta_group::1.kind::mxf4.block_scale
tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32
tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::2X"""
A_COLUMN, SCALES_A, SCALES_B = 256, 320, 352
B_AT = 24 << 10
# By kind and modifier: the number of scale factors.
SCALES = {
    ("mxf8f6f4", ""): 1, ("mxf8f6f4", ".scale_vec::1X"): 1, ("mxf8f6f4", ".block32"): 1,
    ("mxf4", ""): 2, ("mxf4", ".scale_vec::2X"): 2, ("mxf4", ".block32"): 2,
    ("mxf4nvf4", ".scale_vec::2X"): 2, ("mxf4nvf4", ".block32"): 2,
    ("mxf4nvf4", ".scale_vec::4X"): 4, ("mxf4nvf4", ".block16"): 4,
}  # fmt: skip


def halves(generator, shape):
    """Numbers that each type holds, and whose sums are exact."""
    return generator.integers(-4, 5, shape) / 2


@dataclass(frozen=True)
class Case:
    a: str = "e2m1"
    b: str = "e2m1"
    kind: str = "f8f6f4"
    scale: str = ""  # the modifier
    scale_type: str = "ue8m0"
    first: tuple = (0, 0)  # the bytes of the first scale factors
    long_k: bool = False
    m: int = 128
    n: int = 64
    of_a: Layout = PLAIN
    of_b: Layout = PLAIN
    in_memory: bool = False
    negate: tuple = (0, 0)

    @property
    def packed(self):
        return self.kind.startswith("mxf4")

    @property
    def k(self):
        return (96 if self.long_k else 64) if self.packed else 32

    @property
    def scales(self):
        if self.long_k:
            return 6 if self.scale == ".block16" else 3
        return SCALES.get((self.kind, self.scale), 0)

    def instruction(self):
        numbers = (1, 1) if self.packed else (SMALL[self.a].number, SMALL[self.b].number)
        bits = numbers[0] << 7 | numbers[1] << 10 | self.negate[0] << 13 | self.negate[1] << 14
        bits |= (self.of_a.across and not self.in_memory) << 15 | self.of_b.across << 16
        bits |= self.n >> 3 << 17
        if not self.scales:
            return bits | 1 << 4 | self.m >> 4 << 24
        bits |= (self.scale_type == "ue8m0") << 23 | self.m >> 7 << 27
        return bits | self.first[0] << 29 | self.first[1] << 4 | self.long_k << 31

    def statement(self):
        name = f"tcgen05.mma.cta_group::1.kind::{self.kind}{'.block_scale' if self.scales else ''}{self.scale}"
        a = f"[{{n1}}+{A_COLUMN}]" if self.in_memory else "{d0}"
        scales = f"[{{n2}}+{SCALES_A}], [{{n3}}], " if self.scales else ""
        return f"{name} [{{n1}}], {a}, {{d1}}, {{n0}}, {scales}%p4"

    def bytes(self, type_, codes, axis=1):
        return nibbles(codes) if self.packed else type_.shared(codes, axis)

    def run(self, device, generator, target="sm_100a", draw=halves):
        """D, NumPy's D, the sum of magnitudes, and the cells beside D before and after."""
        a_type, b_type = (E2M1, E2M1) if self.packed else (SMALL[self.a], SMALL[self.b])
        a = a_type.codes(draw(generator, (self.m, self.k)))
        b = b_type.codes(draw(generator, (self.n, self.k)))
        c = generator.integers(-99, 99, (self.m, self.n)).astype(np.float32)
        room, before = np.zeros(ROOM, np.uint8), np.full((LANES, COLUMNS), 0xABCD0123, np.uint32)
        rows = np.arange(self.m) if self.m == 128 else np.arange(64) // 16 * 32 + np.arange(64) % 16
        before[rows, : self.n] = c.view(np.uint32)
        step = self.k // 2 if self.packed else 32
        at_b = self.of_b.place(self.bytes(b_type, b, not self.of_b.across), room, B_AT, step)[0]
        at_a = 1 << 46
        if self.in_memory:
            stored = nibbles(a) if self.packed else a_type.bytes(a)
            words = np.ascontiguousarray(stored).view(np.uint32)
            before[rows, A_COLUMN : A_COLUMN + words.shape[1]] = words
        else:
            at_a = self.of_a.place(self.bytes(a_type, a, not self.of_a.across), room, 0, step)[0]
        real = [a_type.values(a), b_type.values(b)]
        for n, (column, lines) in enumerate(((SCALES_A, self.m), (SCALES_B, self.n))):
            if not self.scales:
                break
            factors = 2.0 ** generator.integers(-3, 4, (lines, self.scales))
            if self.scale_type == "ue4m3":
                factors *= generator.integers(1, 4, factors.shape) / 2
            put_scales(before, column, scale_codes(factors, self.scale_type), self.first[n])
            real[n] *= np.repeat(factors, self.k // self.scales, axis=1)
        sign = (-1.0) ** sum(self.negate)
        expected = sign * (real[0] @ real[1].T) + c
        size = abs(real[0]) @ abs(real[1]).T + abs(c)
        # Programs have the byte of the first factor in the upper bits of the address, too.
        numbers = [self.instruction(), 0, self.first[0] << 30, SCALES_B | self.first[1] << 30]
        got = tensor_memory.after(
            device, self.statement(), before, room, [at_a, at_b], numbers, target
        )
        beside = np.ones_like(before, bool)
        beside[rows, : self.n] = False
        return got[rows, : self.n].view(np.float32), expected, size, before[beside], got[beside]


PAIRS = [("e2m1", "e2m1"), ("e2m3", "e3m2"), ("e3m2", "e4m3"), ("e5m2", "e2m3"), ("e2m1", "e5m2")]
NVFP4 = Case(kind="mxf4nvf4", scale=".block16", scale_type="ue4m3")
CASES = [
    *(Case(a, b, of_a=SW32, of_b=SW128) for a, b in PAIRS),
    *(Case(a, b, in_memory=True, m=64, n=24) for a, b in PAIRS[:3]),
    *(Case(a, b, of_a=T128, of_b=T128) for a, b in PAIRS[:2]), Case("e2m3", "e2m1", negate=(1, 0)), Case("e3m2", "e2m1", negate=(0, 1)),
    *(Case(a, b, "mxf8f6f4", scale, first=first) for (a, b), scale, first in zip(PAIRS, ("", ".scale_vec::1X", ".block32", "", ""), ((0, 0), (1, 2), (3, 0), (2, 3), (0, 1)), strict=True)),
    Case("e4m3", "e4m3", "mxf8f6f4", n=256, of_b=SW64), Case("e4m3", "e2m1", "mxf8f6f4", in_memory=True, n=8),
    *(Case(kind=kind, scale=scale, of_a=SW64, of_b=SW32, first=(2, 0) if count == 2 else (0, 0)) for (kind, scale), count in SCALES.items() if kind != "mxf8f6f4"),
    Case(kind="mxf4", in_memory=True, n=256, first=(0, 2)), Case(kind="mxf4", negate=(1, 0)),
    NVFP4, replace(NVFP4, in_memory=True, n=136), replace(NVFP4, scale=".scale_vec::4X", n=256, of_a=SW128, of_b=SW64),
    *(Case(kind=kind, scale=".block32", long_k=True, first=(n, 3 - n), n=240 if n % 2 else 64) for n, kind in enumerate(("mxf4", "mxf4nvf4", "mxf4", "mxf4"))),
    *(replace(NVFP4, long_k=True, first=first, n=n, in_memory=n == 48) for first, n in (((0, 2), 48), ((2, 0), 256))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_whole_numbers_are_exact(case, newer_devices):
    target, capability = ("sm_103a", "10.3") if case.long_k else ("sm_100a", "10.0")
    got, expected, _, before, after = case.run(
        newer_devices(capability), np.random.default_rng(5), target
    )
    assert (got == expected).all()
    assert (before == after).all()


@pytest.mark.parametrize(
    "case", [Case("e3m2", "e2m3"), Case("e5m2", "e2m1", "mxf8f6f4"), NVFP4], ids=str
)
def test_real_numbers(case, newer_devices):
    got, expected, size, *_ = case.run(
        newer_devices("10.0"),
        np.random.default_rng(6),
        draw=lambda generator, shape: generator.standard_normal(shape) * 2,
    )
    assert (abs(got - expected) <= size * 2.0**-21).all()


def test_a_row_in_two_pieces(newer_devices):
    """K = 96 from byte 96 of rows of 128: the last 16 bytes are where the leading dimension says."""
    case = replace(NVFP4, long_k=True)
    generator = np.random.default_rng(9)
    wide = [E2M1.codes(generator.integers(-4, 5, (lines, 512)) / 2) for lines in (128, 64)]
    room, cells = np.zeros(64 << 10, np.uint8), np.zeros((LANES, COLUMNS), np.uint32)
    for column, lines in ((SCALES_A, 128), (SCALES_B, 64)):
        put_scales(cells, column, scale_codes(np.ones((lines, 6)), "ue4m3"), 0)
    at = []
    for codes, start in zip(wide, (0, 32 << 10), strict=True):
        lines = len(codes)
        SW128.place(nibbles(codes), room, start, 256)
        behind = start + 128 * lines
        at.append(
            start + 96 >> 4 | behind >> 4 << 16 | 1024 >> 4 << 32 | 1 << 46 | 1 << 52 | 2 << 61
        )
    # The address behind the rows is that of shared memory, as the address of the rows is.
    statement = "shl.b64 %d11, %d11, 16; add.u64 {d0}, {d0}, %d11; add.u64 {d1}, {d1}, %d11; @%p1 "
    got = tensor_memory.after(
        newer_devices("10.3"), statement + case.statement(), cells, room, at,
        [case.instruction(), 0, 0, SCALES_B], "sm_103a",
    )  # fmt: skip
    a, b = (E2M1.values(codes[:, 192:288]) for codes in wide)
    assert (got[:, :64].view(np.float32) == a @ b.T).all()


def changed(case, instruction=lambda bits: bits, **places):
    """The kernel of a case with a changed instruction descriptor or other places of factors."""
    numbers = [instruction(case.instruction()) & 2**32 - 1, 0, 0, SCALES_B]
    statement = case.statement()
    for name, number in {"n1": 0, "n2": 0, "n3": SCALES_B, **places}.items():
        numbers[int(name[1])] = number
    for n, number in enumerate(numbers):
        statement = statement.replace(f"{{n{n}}}", f"%r{20 + n}")
        statement = f"mov.u32 %r{20 + n}, {number}; @%p1 " + statement
    statement = statement.replace("{d0}", "%d12").replace("{d1}", "%d12")
    body = f"""mov.u64 %d12, {1 << 46}; mov.u32 %r5, room; cvt.u64.u32 %d11, %r5; shr.u64 %d11, %d11, 4; add.u64 %d12, %d12, %d11;
setp.eq.u32 %p1, %r0, 0; setp.ne.u32 %p4, %r0, 999; {statement};"""
    return tensor_memory.text(tensor_memory.within(body), room=16 << 10)


MX = Case("e4m3", "e4m3", "mxf8f6f4", n=16)
MXF4 = Case(kind="mxf4", n=16)
FAULTS = [
    (changed(MX), 0, ""), (changed(NVFP4), 0, ""),
    (changed(MX, lambda x: x | 4), 715, "tcgen05.mma.sp"),
    (changed(MX, lambda x: x | 1), 715, "must be 0"),
    (changed(MX, lambda x: x | 8), 715, "must be 0"),
    (changed(MX, lambda x: x | 1 << 24), 715, "24, 25 and 26 must be 0"),
    (changed(MX, lambda x: x | 2 << 7), 715, "types 2 and 0 of A and B do not exist"),
    (changed(MX, lambda x: x & ~(1 << 23)), 715, "ue4m3 need kind mxf4nvf4"),
    (changed(MX, lambda x: x ^ 3 << 27), 715, "M must be 128, got 256"),
    (changed(MX, lambda x: x & ~(63 << 17)), 715, "N must be"),
    (changed(MX, lambda x: x | 1 << 31), 715, "sm_103a have K = 96"),
    (changed(MXF4, lambda x: x | 1 << 31), 715, "sm_103a have K = 96"),
    (changed(MXF4, lambda x: x | 1 << 16), 715, "packed e2m1 is not transposed"),
    (changed(MXF4, lambda x: x ^ 4 << 7), 715, "types 5 and 1"),
    (changed(MXF4, lambda x: x | 1 << 29), 715, "must be 0 or 2, got 1 for A and 0 for B"),
    (changed(NVFP4, lambda x: x | 2 << 4), 715, "must be 0, got 0 for A and 2 for B"),
    (changed(replace(NVFP4, scale=".block32")), 715, "ue4m3 need kind mxf4nvf4 and blocks of 16"),
    (changed(MX, n2=200), 715, "the scale factors of A: the block has not allocated columns 520 to 523"),
    (changed(MX, n3=512), 715, "the scale factors of B: the block has not allocated columns 512 to 512"),
    (changed(MX, n3=1 << 16), 715, "the scale factors of B must begin at lane 0"),
    (changed(Case(n=16)), 0, ""), (changed(Case(n=16), lambda x: x | 2 << 10), 715, "types 5 and 7"),
    (changed(Case(n=24, of_b=T128)), 715, "a multiple of 16"),
]  # fmt: skip


def test_faults(newer_devices):
    got = newer_devices("10.0").run(tensor_memory.faults, [kernel for kernel, *_ in FAULTS])
    for n, ((code, said), (_, wanted, part)) in enumerate(zip(got, FAULTS, strict=True)):
        assert code == wanted and part in said, (n, code, said, part)
        assert not code or "PTX line" in said


@pytest.mark.parametrize("guard, lane", [("", None), ("@%p0 ", 32)])
def test_the_initialisation_check_finds_factors_that_a_warp_lacks(guard, lane):
    """The product of each warp's lanes reads the factors in these lanes."""
    product = changed(MX).partition("mov.u64 %d12")
    room = "mov.u32 %r5, room; shl.b32 %r6, %r0, 7; add.u32 %r5, %r5, %r6;" + "".join(
        f"st.shared.v2.b32 [%r5+{8 * n}], {{%r0, %r0}};" for n in range(16)
    )
    stores = f"""{room} tcgen05.st.sync.aligned.32x32b.x16.b32 [%r4], {registers(100, 16)};
{guard}tcgen05.st.sync.aligned.32x32b.x4.b32 [%r4+{SCALES_A}], {registers(100, 4)};
{guard}tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4+{SCALES_B}], {registers(100, 1)}; bar.sync 0;
"""
    said = tensor_memory.checked(product[0] + stores + "".join(product[1:]))
    assert said.count("of tensor memory read, and never written") == (lane is not None), said
    assert lane is not None or "finding" not in said, said
    assert lane is None or f"lane {lane}, column {SCALES_A + 1} of tensor memory" in said


def test_factors_without_a_number(newer_devices):
    """A NaN makes a row or a column NaN; NumPy multiplies the other elements."""
    cells = np.zeros((LANES, COLUMNS), np.uint32)
    factors = [np.full((lines, 1), 127, np.uint8) for lines in (128, 16)]
    factors[0][5], factors[1][3] = 255, 255
    put_scales(cells, SCALES_A, factors[0], 0)
    put_scales(cells, SCALES_B, factors[1], 0)
    room = np.zeros(ROOM, np.uint8)
    one = np.full((128, 32), E4M3.codes(1.0), np.uint8)
    at = [PLAIN.place(one, room, 0, 32)[0], PLAIN.place(one[:16], room, B_AT, 32)[0]]
    numbers = [MX.instruction(), 0, 0, SCALES_B]
    got = tensor_memory.after(newer_devices("10.0"), MX.statement(), cells, room, at, numbers)
    expected = np.full((128, 16), 32, np.float32)
    expected[5], expected[:, 3] = np.nan, np.nan
    assert np.array_equal(got[:, :16].view(np.float32), expected, equal_nan=True)


def test_hostile_descriptors_never_leave_the_block(newer_devices):
    """Random bits: a product, or a fault of the launch."""
    generator = np.random.default_rng(7)

    def noise(bits, count):
        return sum({1 << int(n) for n in generator.integers(0, bits, count)})

    kernels = []
    for n in range(40):
        case = [MX, MXF4, NVFP4, replace(MXF4, in_memory=True)][n % 4]
        flips = noise(32, n % 3)
        places = {f"n{at}": noise(25, n % 4) for at in (1, 2, 3)}
        kernels.append(changed(case, lambda x, flips=flips: x ^ flips, **places))
    codes = {code for code, _ in newer_devices("10.0").run(tensor_memory.faults, kernels)}
    assert codes <= {0, 715, driver_abi.ILLEGAL_ADDRESS} and len(codes) > 1
