# ruff: noqa: E501 - tables of cases are wide
"""tcgen05.mma of a pair of blocks with scale factors, with a sparse A, and with .ashift."""

import os
from dataclasses import dataclass, replace

import numpy as np
import pytest

from . import tensor_memory
from .tensor_floats import put_scales, scale_codes
from .tensor_layout import SW64, SW128
from .tensor_memory import COLUMNS, LANES, ROOM
from .test_tensor_sparse import A_COLUMN, B_AT, SCALES_A, SCALES_B, WIDE, Case

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = " ".join(
    f"tcgen05.mma{form}.cta_group::2.kind::{kind}"
    for form, kind in (
        *((".sp", kind) for kind in ("f16", "i8", "mxf8f6f4.block_scale", "mxf4.block_scale")),
        *((".sp", f"{kind}.block_scale.block32") for kind in ("mxf8f6f4", "mxf4")),
        *(("", f"{kind}.block_scale") for kind in ("mxf8f6f4", "mxf4")),
        *(("", f"{kind}.block_scale.block32") for kind in ("mxf8f6f4", "mxf4")),
        *((f, "mxf8f6f4.block_scale.scale_vec::1X") for f in ("", ".sp")),
        *((f, "mxf4nvf4.block_scale.scale_vec::2X") for f in ("", ".sp")),
    )
)


@dataclass(frozen=True)
class Long(Case):
    """Rows of 96 packed floats."""

    kind: str = "mxf4"
    type: str = "e2m1"
    sparse: bool = False
    scale: str = ".block32"

    @property
    def terms(self):
        return 96

    @property
    def scales(self):
        return 3

    def instruction(self):
        return super().instruction() | 1 << 31


@dataclass(frozen=True)
class Pair:
    """`part` is what a block has: half of the rows of A and D."""

    part: Case
    issuer: int = 0
    mask: tuple = ()

    @property
    def is_folded(self):
        return self.part.m == 64 and not self.part.sparse

    def instruction(self):
        return replace(self.part, m=2 * self.part.m).instruction()

    def statement(self):
        whole = self.part.statement()
        if not self.mask:
            return whole
        words = ", ".join(f"%r{30 + n}" for n in range(8))
        set_mask = "".join(f"mov.u32 %r{30 + n}, {word}; @%p1 " for n, word in enumerate(self.mask))
        return set_mask + whole.replace("{n0}", f"{{n0}}, {{{{{words}}}}}")

    def places(self):
        """(lane, column) of each element of a block's D."""
        if not self.is_folded:
            lanes = self.part.lanes()[:, None]
            return lanes + np.zeros(self.part.n, int), np.arange(self.part.n) + 0 * lanes
        row, column = np.indices((64, self.part.n))
        upper = column >= self.part.n // 2
        return row + 64 * upper, column - self.part.n // 2 * upper

    def put_scales_of_b(self, cells, codes):
        """A warp has the factors of those columns of D that its lanes have."""
        parts = np.split(codes, 2) if self.is_folded else [codes]
        each = 4 // len(parts)
        for n, of_warps in enumerate(parts):
            put_scales(cells, SCALES_B, of_warps, 0, range(n * each, n * each + each))

    def run(self, device, generator, target):
        """D of both blocks, what NumPy says of it, and the cells beside D before and after."""
        part, n = self.part, self.part.n
        k = 2 * part.terms if part.sparse else part.terms
        halves = 2 if part.product in ("f16", "tf32") or part.type not in WIDE else 1
        low = 0 if part.type == "u8" else -4
        a = generator.integers(low, 5, (2, part.m, part.terms)) / halves
        b = generator.integers(low, 5, (n, k)) / halves
        c = generator.integers(-99, 99, (2, part.m, n)) * 2.0**part.halvings
        c = c.astype(np.int32 if part.product == "i8" else np.float32)
        rooms = np.zeros((2, ROOM), np.uint8)
        cells = np.full((2, LANES, COLUMNS), 0xABCD0123, np.uint32)
        of_b, b = part.stored(b, True)
        if part.scales:
            factors = 2.0 ** generator.integers(-3, 4, (n, part.scales))
            b = b * np.repeat(factors, k // part.scales, axis=1)
        lane, column = self.places()
        expected, at_a = [], 1 << 46
        for p in range(2):
            half = np.ascontiguousarray(of_b[p * n // 2 : (p + 1) * n // 2])
            at_b = part.of_b.place(half, rooms[p], B_AT, of_b.shape[1])[0]
            of_a, real = part.stored(a[p], not part.in_memory)
            cells[p, lane, column] = c[p].view(np.uint32)
            if part.in_memory:
                words = of_a.view(np.uint32)
                cells[
                    p,
                    part.lanes() if not self.is_folded else np.arange(64),
                    A_COLUMN : A_COLUMN + words.shape[1],
                ] = words
            else:
                at_a = part.of_a.place(of_a, rooms[p], 0, of_a.shape[1])[0]
            if part.sparse:
                pairs = [4, 14] if part.chunk == 2 else [4, 8, 12, 9, 13, 14]
                indices = generator.choice(pairs, (part.m, k // part.chunk))
                part.put_metadata(cells[p], indices)
                real = part.expanded(real, indices)
            if part.scales:
                of_rows = 2.0 ** generator.integers(-3, 4, (part.m, part.scales))
                put_scales(cells[p], SCALES_A, scale_codes(of_rows, "ue8m0"), 0)
                self.put_scales_of_b(cells[p], scale_codes(factors, "ue8m0"))
                real = real * np.repeat(of_rows, k // part.scales, axis=1)
            if part.shifts:
                real = np.concatenate([real[1:], real[-1:]])
            expected.append(real @ b.T + (c[p] * 0.5**part.halvings if part.adds else 0))
        got = tensor_memory.after(
            device, self.statement(), cells, rooms, [at_a, at_b],
            [self.instruction(), part.lane << 16, 0], target, self.issuer,
        )  # fmt: skip
        written = np.ones((2, LANES), bool)
        for p, each in np.ndindex(2, LANES if self.mask else 0):
            written[p, each] = not self.mask[4 * p + each // 32] >> each % 32 & 1
        beside = np.ones_like(cells, bool)
        beside[:, lane, column] = ~written[:, lane]
        made = got[:, lane, column].view(c.dtype)
        chosen = written[:, lane]
        return made[chosen], np.array(expected)[chosen], cells[beside], got[beside]


MX, MXF4, NVF4 = (
    Case("e4m3", sparse=False, kind="mxf8f6f4"), Case("e2m1", sparse=False, kind="mxf4"),
    Case("e2m1", sparse=False, kind="mxf4nvf4", scale=".block16"),
)  # fmt: skip
CASES = [
    *(Pair(replace(MX, scale=s), n) for n, s in ((0, ""), (1, ".block32"), (0, ".scale_vec::1X"))),
    Pair(replace(MX, type="e2m3", n=256, of_b=SW128)), Pair(replace(MX, type="e3m2", in_memory=True, n=96)),
    *(Pair(replace(MX, m=64, n=n, type=t)) for n, t in ((16, "e5m2"), (64, "e2m1"), (256, "e4m3"))),
    *(Pair(replace(MXF4, scale=s, of_a=SW64)) for s in ("", ".block32", ".scale_vec::2X")),
    Pair(replace(MXF4, m=64, n=128), 1), Pair(replace(MXF4, m=64, in_memory=True)),
    Pair(NVF4), Pair(replace(NVF4, scale=".scale_vec::4X", n=256, of_b=SW64)), Pair(replace(NVF4, m=64, n=208)), Pair(replace(NVF4, n=144), 1),
    Pair(Long()), Pair(Long(n=16)), Pair(Long(n=256, kind="mxf4nvf4"), 1),
    *(Pair(Case(t)) for t in ("f16", "bf16", "tf32", "s8", "e4m3", "e2m1")),
    *(Pair(Case(t, m=64, lane=lane, n=n, selector=s)) for t, lane, n, s in (("f16", 0, 64, 1), ("f16", 16, 256, 0), ("tf32", 16, 32, 1), ("u8", 0, 64, 0), ("e3m2", 16, 48, 0))),
    *(Pair(Case(t, m=m, in_memory=True), 1) for t, m in (("f16", 128), ("s8", 128), ("tf32", 64), ("e5m2", 64))),
    Pair(Case("e4m3", kind="mxf8f6f4")), Pair(Case("e2m1", kind="mxf8f6f4", scale=".block32", in_memory=True), 1),
    *(Pair(Case("e2m1", kind=kind, scale=s, n=n)) for kind, s, n in (("mxf4", "", 256), ("mxf4", ".block32", 16), ("mxf4nvf4", ".block16", 64), ("mxf4nvf4", ".scale_vec::4X", 176))),
    Pair(Case(halvings=3)), Pair(Case("tf32", m=64, halvings=1, in_memory=True)), Pair(Case(adds=False, m=64)),
    Pair(Case(), mask=(1, 0, 1 << 31, 0, 0, 6, 0, 0xFFFF)), Pair(Case(m=64, lane=16), mask=(1 << 16, 2, 0xFFFFFFFF, 8, 0, 32, 64, 1 << 31)),
    *(Pair(Case(t, sparse=False, m=m, shifts=True, in_memory=True)) for t, m in (("f16", 128), ("s8", 128), ("e3m2", 64))),
    Pair(Case(shifts=True, in_memory=True)), Pair(Case("tf32", shifts=True, in_memory=True, m=64, lane=16), 1),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_whole_numbers_are_exact(case, newer_devices):
    """NumPy multiplies the matrices of both blocks in float64."""
    target, capability = ("sm_100a", "10.0")
    if isinstance(case.part, Long):
        target, capability = ("sm_103a", "10.3")
    got, expected, before, after = case.run(
        newer_devices(capability), np.random.default_rng(7), target
    )
    assert (got == expected).all()
    assert (before == after).all()


def changed(case, instruction=lambda bits: bits, scales=0, target="sm_100a"):
    """A pair's kernel without data, with a changed instruction descriptor or other columns."""
    statement = case.statement()
    for name, register in {
        "{n0}": "%r20",
        "{n1}": "%r21",
        "{n2}": "%r22",
        "{d0}": "%d12",
        "{d1}": "%d12",
    }.items():
        statement = statement.replace(name, register)
    body = f"""mov.u32 %r5, room; mov.u64 %d12, {1 << 46}; mov.u32 %r20, {instruction(case.instruction()) & 2**32 - 1}; mov.u32 %r21, {case.part.lane << 16};
mov.u32 %r22, {scales}; setp.eq.u32 %p1, %r0, 0; setp.ne.u32 %p4, %r0, 999; {tensor_memory.SYNC} mov.u32 %r9, %cluster_ctarank;
setp.eq.and.u32 %p1, %r9, 0, %p1; @%p1 {statement}; {tensor_memory.SYNC}"""
    kernel = tensor_memory.text(tensor_memory.within(body), room=40 << 10, target=target)
    kernel = kernel.replace("cta_group::1", "cta_group::2")
    return kernel.replace(") {", ") .explicitcluster .reqnctapercluster 2 {", 1)


SPARSE_64 = Pair(Case(m=64, lane=16))
FAULTS = [
    (changed(Pair(MX)), 0, ""), (changed(SPARSE_64), 0, ""),
    (changed(Pair(MX), lambda x: x & ~(31 << 24)), 715, "M must be 128 or 256, got 0"),
    (changed(Pair(Case("e4m3", kind="mxf8f6f4", m=64))), 715, "M must be 256, got 128"),
    (changed(Pair(Long(m=64)), target="sm_103a"), 715, "M must be 256, got 128"),
    (changed(Pair(replace(MX, n=24))), 715, "N must be a multiple of 16 from 16 to 256, got 24"),
    (changed(Pair(MX), scales=300), 715, "the scale factors of A: block 0 of the cluster has not allocated columns"),
    (changed(SPARSE_64, lambda x: x & ~4), 715, "bit 2 must be 1"),
    (changed(Pair(Case(m=64, lane=8))), 715, "D must begin at lane 0 or 16 of tensor memory, got lane 8"),
    (changed(Pair(Case(lane=16))), 715, "D must begin at lane 0 of tensor memory, got lane 16"),
]  # fmt: skip


def fault(kernel):
    import driver_abi

    from . import device_process
    from .native_kernels import last_fault

    driver = device_process.driver()
    try:
        driver.load(kernel).run("k", 2, 128, [np.zeros(16, np.uint32)])
    except driver_abi.DriverError as error:
        said = last_fault(driver)
        driver.reset()
        return error.code, said
    return 0, ""


@pytest.mark.parametrize("n", range(len(FAULTS)))
def test_faults(n, newer_devices):
    kernel, wanted, part = FAULTS[n]
    code, said = newer_devices("10.3" if "sm_103a" in kernel else "10.0").run(fault, kernel)
    assert code == wanted and part in said
    assert not code or "PTX line" in said
