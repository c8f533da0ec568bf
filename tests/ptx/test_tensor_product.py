# ruff: noqa: E501 - PTX text is wide
"""tcgen05.mma: matrices in shared memory, in each layout, and in tensor memory; NumPy multiplies."""

import os
from dataclasses import dataclass, replace

import driver_abi
import ml_dtypes
import numpy as np
import pytest

from . import tensor_memory
from .assembler import Assembler
from .tensor_layout import (
    PLAIN,
    SW32,
    SW64,
    SW128,
    T32,
    T64,
    T128,
    T_PLAIN,
    T_WIDE,
    Layout,
)  # fmt: skip
from .tensor_memory import LANES, ROOM, registers, text, within

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = "tcgen05.mma.cta_group::1.kind::f16 tcgen05.mma.cta_group::1.kind::i8"
A_COLUMN = 256  # where A begins in tensor memory
B_AT = 24 << 10  # where B begins in shared memory


class Tf32:
    """A float32 whose lower 13 bits are 0."""


# kind, its number in the instruction descriptor, NumPy's type, bytes
TYPES = {
    "f16": ("f16", 0, np.float16, 2),
    "bf16": ("f16", 1, ml_dtypes.bfloat16, 2),
    "tf32": ("tf32", 2, Tf32, 4),
    "e4m3": ("f8f6f4", 0, ml_dtypes.float8_e4m3fn, 1),
    "e5m2": ("f8f6f4", 1, ml_dtypes.float8_e5m2, 1),
    "u8": ("i8", 0, np.uint8, 1),
    "s8": ("i8", 1, np.int8, 1),
}
RESULTS = {"f16": (0, np.float16), "f32": (1, np.float32), "s32": (2, np.int32)}


def rounded(values, name):
    kind = TYPES[name][2]
    if kind is Tf32:
        return (values.astype(np.float32).view(np.uint32) & 0xFFFFE000).view(np.float32)
    return values.astype(kind)


@dataclass(frozen=True)
class Case:
    a: str = "f16"
    b: str = ""
    d: str = "f32"
    m: int = 128
    n: int = 64
    steps: int = 2
    of_a: Layout = PLAIN
    of_b: Layout = PLAIN
    in_memory: bool = False  # A is in tensor memory
    adds: bool = True
    negate: tuple = (0, 0)
    saturate: bool = False
    lane: int = 0  # the first lane of D
    mask: tuple = ()

    @property
    def kind(self):
        return TYPES[self.a][0]

    def instruction(self):
        bits = RESULTS[self.d][0] << 4 | TYPES[self.a][1] << 7 | TYPES[self.b or self.a][1] << 10
        bits |= self.negate[0] << 13 | self.negate[1] << 14 | self.saturate << 3
        bits |= (self.of_a.across and not self.in_memory) << 15 | self.of_b.across << 16
        return bits | self.n >> 3 << 17 | self.m >> 4 << 24

    def lanes(self):
        """The lane of each row of D."""
        rows = np.arange(self.m)
        return rows if self.m == 128 else self.lane + rows // 16 * 32 + rows % 16

    def kernel(self):
        """%d0: D; %d1: shared memory; %d2: descriptors; %d3: C; %d4: A for tensor memory."""
        groups = range(0, self.n, 8)
        row = f"mul.wide.u32 %d9, %r0, {4 * self.n}; add.u64 %d8, %d3, %d9;"
        body = f"""mov.u32 %r9, bar; @%p0 bra one; one: setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [%r9], 1;
mov.u32 %r5, room; shl.b32 %r6, %r0, 2; more: cvt.u64.u32 %d10, %r6; add.u64 %d10, %d1, %d10; ld.global.u32 %r7, [%d10];
add.u32 %r8, %r5, %r6; st.shared.u32 [%r8], %r7; add.u32 %r6, %r6, 512; setp.lt.u32 %p2, %r6, {ROOM}; @%p2 bra more;
{row}"""
        for c in groups:
            body += "".join(f"ld.global.u32 %r{100 + n}, [%d8+{4 * (c + n)}];" for n in range(8))
            body += f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%r4+{c}], {registers(100, 8)};"
        if self.in_memory:
            body += f"mul.wide.u32 %d10, %r0, {32 * self.steps}; add.u64 %d10, %d4, %d10;"
            for c in range(0, 8 * self.steps, 8):
                body += "".join(
                    f"ld.global.u32 %r{100 + n}, [%d10+{4 * (c + n)}];" for n in range(8)
                )
                body += f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%r4+{A_COLUMN + c}], {registers(100, 8)};"
        body += """tcgen05.wait::st.sync.aligned; fence.proxy.async; tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
cvt.u64.u32 %d11, %r5; shr.u64 %d11, %d11, 4;"""
        body += f"add.u32 %r10, %r3, {self.lane << 16}; add.u32 %r11, %r10, {A_COLUMN}; mov.u32 %r12, {self.instruction()}; setp.ne.u32 %p4, %r0, 999;"
        mask = ""
        if self.mask:
            body += "".join(f"mov.u32 %r{20 + n}, {self.mask[n]};" for n in range(4))
            mask = f"{registers(20, 4)}, "
        for s in range(self.steps):
            body += f"ld.global.u64 %d12, [%d2+{16 * s}]; ld.global.u64 %d13, [%d2+{16 * s + 8}]; add.u64 %d12, %d12, %d11; add.u64 %d13, %d13, %d11;"
            a = f"[%r11+{8 * s}]" if self.in_memory else "%d12"
            adds = "%p4" if self.adds or s else "!%p4"
            body += f"@%p1 tcgen05.mma.cta_group::1.kind::{self.kind} [%r10], {a}, %d13, %r12, {mask}{adds};"
        body += """@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];
wait: mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0; @!%p3 bra wait; tcgen05.fence::after_thread_sync; add.u64 %d8, %d0, %d9;"""
        for c in groups:
            body += f"tcgen05.ld.sync.aligned.32x32b.x8.b32 {registers(100, 8)}, [%r4+{c}]; tcgen05.wait::ld.sync.aligned;"
            body += "".join(f"st.global.u32 [%d8+{4 * (c + n)}], %r{100 + n};" for n in range(8))
        return text(within(body), 5, room=ROOM)

    def data(self, numbers):
        """A, B and C as matrices of their types; `numbers(shape, type)` makes them."""
        k = self.steps * 32 // TYPES[self.a][3]
        a = rounded(numbers((self.m, k), self.a), self.a)
        b = rounded(numbers((self.n, k), self.b or self.a), self.b or self.a)
        c = numbers((self.m, self.n), self.d).astype(RESULTS[self.d][1])
        return a, b, c

    def arrays(self, a, b, c):
        room = np.zeros(ROOM, np.uint8)
        of_b = self.of_b.place(b, room, B_AT, 32)
        of_a = [0] * self.steps if self.in_memory else self.of_a.place(a, room, 0, 32)
        descriptors = np.array(list(zip(of_a, of_b, strict=True)), np.uint64).reshape(-1)
        cells = np.full((LANES, self.n), 0xABCD0123, np.uint32)
        bits = c.view(np.uint16 if c.itemsize == 2 else np.uint32)
        cells[self.lanes()] = bits
        of_lanes = np.zeros((LANES, 8 * self.steps), np.uint32)
        of_lanes[self.lanes()] = np.ascontiguousarray(a).view(np.uint32)
        return [
            np.zeros_like(cells).reshape(-1),
            room,
            descriptors,
            cells.reshape(-1),
            of_lanes.reshape(-1),
        ]

    def expected(self, a, b, c):
        sign = (-1) ** sum(self.negate)
        product = sign * (a.astype(np.float64) @ b.astype(np.float64).T)
        return product + (c.astype(np.float64) if self.adds else 0)


def computed(case, device, a, b, c):
    """D, and the cells of tensor memory that hold it."""
    out = device.run(tensor_memory.run, case.kernel(), case.arrays(a, b, c))[0]
    cells = out.reshape(LANES, case.n)
    rows = cells[case.lanes()]
    kind = RESULTS[case.d][1]
    return (rows.astype(np.uint16).view(kind) if case.d == "f16" else rows.view(kind)), cells


def integers(generator):
    """Whole numbers that each type holds, and whose sums are exact."""

    def make(shape, name):
        low, high = {"u8": (0, 256), "s8": (-128, 128)}.get(name, (-3, 4))
        return generator.integers(low, high, shape).astype(np.float64)

    return make


CASES = [
    Case(),
    *(Case(of_a=x, of_b=y) for x, y in [(SW32, SW64), (SW64, SW128), (SW128, SW32)]),
    *(Case(of_a=x, of_b=y) for x, y in [(T_PLAIN, T32), (T32, T64), (T64, T128), (T128, T_PLAIN)]),
    Case(n=256, adds=False), Case(m=64, n=8), Case(m=64, n=248, steps=1), Case(n=16, steps=1),
    Case(m=64, lane=16, n=24), Case(in_memory=True, of_b=SW128, n=128), Case(in_memory=True, m=64, n=40),
    Case(in_memory=True, m=64, lane=16), Case(negate=(1, 0)), Case(negate=(0, 1)), Case(negate=(1, 1), in_memory=True),
    Case(d="f16"), Case(d="f16", m=64, adds=False), Case(mask=(1 << 31, 0, 0xFFFFFFFF, 5)),
    Case(m=64, mask=(2, 0, 0xFFFF0000, 1)),
    *(Case(a="bf16", of_a=SW128, of_b=SW128, in_memory=x) for x in (False, True)),
    *(Case(a="tf32", of_a=x, of_b=y) for x, y in [(SW128, PLAIN), (T_WIDE, T_WIDE), (T_PLAIN, T_WIDE)]),
    Case(a="tf32", in_memory=True, negate=(1, 0)),
    *(Case(a=x, b=y, of_a=SW64, of_b=T64) for x, y in [("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e4m3", "e4m3")]),
    Case(a="e4m3", d="f16", in_memory=True, negate=(0, 1)),
    *(Case(a=x, b=y, d="s32", of_a=SW32, of_b=T128) for x, y in [("s8", "u8"), ("u8", "s8"), ("s8", "s8")]),
    Case(a="u8", d="s32", in_memory=True, m=64, n=32),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_whole_numbers_are_exact(case, newer_devices):
    """So each element is at its place, and the cells beside D stay as they were."""
    a, b, c = case.data(integers(np.random.default_rng(5)))
    got, cells = computed(case, newer_devices("10.0"), a, b, c)
    expected = case.expected(a, b, c).astype(RESULTS[case.d][1])
    kept = np.zeros(LANES, bool)
    if case.mask:
        kept = np.array([case.mask[lane // 32] >> lane % 32 & 1 for lane in range(LANES)], bool)
    written = ~kept[case.lanes()]
    assert (got[written] == expected[written]).all()
    before = case.arrays(a, b, c)[3].reshape(LANES, case.n)
    beside = np.setdiff1d(np.arange(LANES), case.lanes()[written])
    assert (cells[beside] == before[beside]).all()


@pytest.mark.parametrize("name", ["f16", "bf16", "tf32", "e4m3", "e5m2"])
@pytest.mark.parametrize("in_memory", [False, True])
def test_real_numbers(name, in_memory, newer_devices):
    generator = np.random.default_rng(6)
    case = Case(a=name, in_memory=in_memory, steps=4)
    a, b, c = case.data(lambda shape, _: generator.standard_normal(shape))
    got, _ = computed(case, newer_devices("10.0"), a, b, c)
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)).T + np.abs(c)
    assert (np.abs(got - case.expected(a, b, c)) <= size * 2.0**-21).all()


@pytest.mark.parametrize("saturate", [False, True])
def test_integers_saturate(saturate, newer_devices):
    case = Case(a="u8", d="s32", saturate=saturate, steps=1, n=16)
    a, b = np.full((128, 32), 255, np.uint8), np.full((16, 32), 255, np.uint8)
    c = np.full((128, 16), 2**31 - 10, np.int32)
    got, _ = computed(case, newer_devices("10.0"), a, b, c)
    wrapped = (2**31 - 10 + 32 * 255 * 255) - 2**32
    assert (got == (2**31 - 1 if saturate else wrapped)).all()


def test_special_values(newer_devices):
    case = Case(steps=1, n=16, adds=False)
    a, b = np.ones((128, 16), np.float16), np.ones((16, 16), np.float16)
    a[0, 3], a[1, 4], a[2, 5], b[7, 5] = np.inf, np.nan, np.inf, -np.inf
    got, _ = computed(case, newer_devices("10.0"), a, b, np.zeros((128, 16), np.float32))
    with np.errstate(invalid="ignore"):
        expected = case.expected(a, b, np.zeros((128, 16)))
    assert np.array_equal(got, expected, equal_nan=True)


def changed(case, descriptor=None, instruction=None, place=None, b=True):
    """The kernel of a case in one block, with bits of its descriptors changed; %d1 has no matrix."""
    of = 1 << 46
    bits = case.instruction() if instruction is None else instruction(case.instruction())
    one, other = (
        (of, of) if descriptor is None else ((of, descriptor(of)) if b else (descriptor(of), of))
    )
    body = f"""mov.u64 %d12, {one & 2**64 - 1}; mov.u64 %d13, {other & 2**64 - 1}; mov.u32 %r12, {bits & 2**32 - 1}; setp.eq.u32 %p1, %r0, 0; setp.ne.u32 %p4, %r0, 999;
mov.u32 %r5, room; cvt.u64.u32 %d11, %r5; shr.u64 %d11, %d11, 4; add.u64 %d12, %d12, %d11; add.u64 %d13, %d13, %d11;
add.u32 %r10, %r3, {place or 0}; add.u32 %r11, %r3, {A_COLUMN}; """
    a = "[%r11]" if case.in_memory else "%d12"
    body += f"@%p1 tcgen05.mma.cta_group::1.kind::{case.kind} [%r10], {a}, %d13, %r12, %p4;"
    return text(within(body), room=16 << 10)


SMALL = Case(n=16, steps=1)
FAULTS = [
    (changed(SMALL), 0, ""),
    # the instruction descriptor
    (changed(SMALL, instruction=lambda x: x | 4), 715, "tcgen05.mma.sp"),
    (changed(SMALL, instruction=lambda x: x | 1), 715, "must be 0"),
    (changed(SMALL, instruction=lambda x: x | 1 << 6), 715, "must be 0"),
    (changed(SMALL, instruction=lambda x: x | 1 << 23), 715, "must be 0"),
    (changed(SMALL, instruction=lambda x: x | 1 << 31), 715, "must be 0"),
    (changed(SMALL, instruction=lambda x: x | 8), 715, "only integers saturate"),
    (changed(SMALL, instruction=lambda x: x | 0x30), 715, "no type 3 of D"),
    (changed(SMALL, instruction=lambda x: x | 2 << 7), 715, "types 2 and 0"),
    (changed(SMALL, instruction=lambda x: x | 1 << 7), 715, "both be f16"),
    (changed(replace(SMALL, a="bf16"), instruction=lambda x: x & ~0x30), 715, "both bf16 with a D of f32"),
    (changed(replace(SMALL, a="tf32"), instruction=lambda x: x & ~0x30), 715, "no type 0 of D"),
    (changed(replace(SMALL, a="e4m3"), instruction=lambda x: x | 2 << 10), 715, "types 0 and 2"),
    (changed(replace(SMALL, a="s8", d="s32"), instruction=lambda x: x | 1 << 13), 715, "integers are not negated"),
    (changed(SMALL, instruction=lambda x: x & ~(31 << 24) | 16 << 24), 715, "M must be 64 or 128, got 256"),
    (changed(SMALL, instruction=lambda x: x & ~(31 << 24)), 715, "got 0"),
    (changed(SMALL, instruction=lambda x: x & ~(63 << 17)), 715, "N must be"),
    (changed(SMALL, instruction=lambda x: x | 63 << 17), 715, "got 504"),
    (changed(SMALL, instruction=lambda x: x | 1 << 17), 0, ""),
    (changed(replace(SMALL, a="e4m3", n=24), instruction=lambda x: x | 1 << 16), 715, "a multiple of 16"),
    (changed(replace(SMALL, a="s8", d="s32", m=64, n=40)), 715, "a multiple of 16"),
    # descriptors of matrices
    (changed(SMALL, lambda x: 0), 715, "descriptor of B: bits 46 to 48 must be 1"),
    (changed(SMALL, lambda x: 0, b=False), 715, "descriptor of A: bits 46 to 48 must be 1"),
    (changed(SMALL, lambda x: x | 1 << 52), 715, "absolute leading dimension"),
    (changed(SMALL, lambda x: x | 1 << 53), 715, "reserved bits"),
    (changed(SMALL, lambda x: x | 1 << 15), 715, "reserved bits"),
    (changed(SMALL, lambda x: x | 3 << 61), 715, "swizzling mode 3 does not exist"),
    (changed(SMALL, lambda x: x | 7 << 61), 715, "swizzling mode 7 does not exist"),
    (changed(SMALL, lambda x: x | 1 << 61), 715, "swizzling mode 1 needs a transposed matrix"),
    (changed(SMALL, lambda x: x | 0x3F00), driver_abi.ILLEGAL_ADDRESS, "shared memory"),
    (changed(SMALL, lambda x: x | 0x3000 << 16, b=False), driver_abi.ILLEGAL_ADDRESS, "shared memory"),
    (changed(SMALL, lambda x: x | 0x3000 << 32), driver_abi.ILLEGAL_ADDRESS, "shared memory"),
    # tensor memory
    (changed(SMALL, place=512), 715, "D: the block has not allocated columns 512 to 527"),
    (changed(SMALL, place=500), 715, "columns 500 to 515"),
    (changed(SMALL, place=16 << 16), 715, "D must begin at lane 0 of tensor memory, got lane 16"),
    (changed(replace(SMALL, m=64), place=16 << 16), 0, ""),
    (changed(replace(SMALL, m=64), place=32 << 16), 715, "lane 0 or 16 of tensor memory, got lane 32"),
    (changed(replace(SMALL, m=64, in_memory=True), place=16 << 16), 715, "A and D must begin at the same lane"),
    (changed(replace(SMALL, in_memory=True), place=256), 0, ""),
    (changed(replace(SMALL, in_memory=True), instruction=lambda x: x | 1 << 15), 715, "A in tensor memory is not transposed"),
    (changed(replace(SMALL, in_memory=True)).replace(", 512;", ", 256;"), 715, "A: the block has not allocated columns 256 to 263"),
]  # fmt: skip


def test_faults(newer_devices):
    got = newer_devices("10.0").run(tensor_memory.faults, [kernel for kernel, *_ in FAULTS])
    for n, ((code, said), (_, wanted, part)) in enumerate(zip(got, FAULTS, strict=True)):
        assert code == wanted and part in said, (n, code, said, part)
        assert not code or "PTX line" in said


def test_hostile_descriptors_never_leave_the_block(newer_devices):
    """Random bits: a product, or a fault of the launch."""
    generator = np.random.default_rng(7)

    def noise(bits, count):
        chosen = (1 << int(n) for n in generator.integers(0, bits, count))
        return sum(set(chosen))

    kernels = []
    for n in range(60):
        case = replace(SMALL, a=["f16", "tf32", "e4m3"][n % 3], in_memory=n % 5 == 0)
        a, i, p = noise(64, 6) | 1 << 46, noise(32, n % 3), noise(25, n % 3)
        kernels.append(
            changed(
                case,
                lambda x, a=a: x | a,
                lambda x, i=i: x ^ i,
                place=p,
                b=bool(n % 2),
            )
        )
    codes = {code for code, _ in newer_devices("10.0").run(tensor_memory.faults, kernels)}
    assert codes <= {0, 715, driver_abi.ILLEGAL_ADDRESS} and len(codes) > 1


def test_the_assembler_takes_the_texts(tmp_path, ptxas):
    kernels = [case.kernel() for case in CASES] + [kernel for kernel, *_ in FAULTS[:1]]
    assembler = Assembler(ptxas, tmp_path, "sm_100a")
    head, _, _ = kernels[0].partition(".visible")
    lines = [
        ".visible" + k.partition(".visible")[2].replace(" k(", f" k{n}(").replace("\n", " ")
        for n, k in enumerate(kernels)
    ]
    refused = assembler.verdicts(lines, head)
    assert not any(refused), [r for r in refused if r]
