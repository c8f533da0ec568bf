# ruff: noqa: E501 - PTX text is wide
"""tcgen05 with cta_group::2: the tensor memory of a pair of blocks, and products of both."""

import os

import numpy as np
import pytest

from . import tensor_memory
from .test_tensor_product import RESULTS, TYPES, Layout, integers, rounded

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = """tcgen05.alloc.cta_group::2 tcgen05.mma.cta_group::2.kind::f16
tcgen05.mma.cta_group::2.kind::i8"""
ROOM, B_AT, A_COLUMN = 40 << 10, 24 << 10, 256
HEAD = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry k({parameters}) .explicitcluster .reqnctapercluster {blocks} {{
.reg .b32 %r<420>; .reg .b64 %d<24>; .reg .b16 %h<4>; .reg .pred %p<10>;
.shared .align 1024 .b8 room[{room}]; .shared .align 8 .b64 bar; .shared .align 4 .b32 slot;
{loads}
mov.u32 %r0, %tid.x; mov.u32 %r1, %laneid; shr.u32 %r2, %r0, 5; setp.eq.u32 %p0, %r2, 0; mov.u32 %r30, %cluster_ctarank; mov.u32 %r31, %ctaid.x;
{body}
ret; }}
"""
SYNC = "barrier.cluster.arrive; barrier.cluster.wait;"
ALLOCATE = "@%p0 tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], {columns}; bar.sync 0; ld.shared.u32 %r3, [slot]; shl.b32 %r4, %r2, 21; add.u32 %r4, %r4, %r3;"
FREE = "bar.sync 0; @%p0 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, {columns}; @%p0 tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;"


def text(body, arrays, blocks=2, room=1024):
    return HEAD.format(
        body=body, blocks=blocks, room=room,
        parameters=", ".join(f".param .u64 p{n}" for n in range(arrays)),
        loads=" ".join(f"ld.param.u64 %d{n}, [p{n}];" for n in range(arrays)),
    )  # fmt: skip


def registers(first, count):
    return "{" + ", ".join(f"%r{first + n}" for n in range(count)) + "}"


class Pair:
    """A product of a pair; rows and columns of D are those of both blocks."""

    def __init__(
        self, kind, m, n, of_a, of_b, in_memory=False, mask=(), issuer=0, d="f32", halvings=0
    ):
        self.kind, self.m, self.n, self.of_a, self.of_b, self.in_memory, self.mask = (
            kind,
            m,
            n,
            of_a,
            of_b,
            in_memory,
            mask,
        )
        self.issuer, self.d, self.rows, self.steps = issuer, d, m // 2, 2
        self.halvings = halvings

    def cells(self):
        """(lane, column) of each element of a block's rows."""
        row, column = np.indices((self.rows, self.n))
        if self.rows == 128:
            return row, column
        upper = column >= self.n // 2
        return row + 64 * upper, column - self.n // 2 * upper

    def kernel(self):
        """%d0: D of both blocks; %d1: their shared memory; %d2: descriptors; %d3: C; %d4: A."""
        name = TYPES[self.kind][0]
        bits = RESULTS[self.d][0] << 4 | TYPES[self.kind][1] << 7 | TYPES[self.kind][1] << 10
        bits |= (
            (self.of_a.across and not self.in_memory) << 15
            | self.of_b.across << 16
            | self.n >> 3 << 17
            | self.m >> 4 << 24
        )
        groups = range(0, self.n, 8)
        size = 4 * 128 * self.n
        body = f"""mov.u32 %r9, bar; setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [%r9], 1; fence.mbarrier_init.release.cluster;
mul.wide.u32 %d9, %r30, {ROOM}; add.u64 %d1, %d1, %d9; mul.wide.u32 %d9, %r30, {size}; add.u64 %d0, %d0, %d9; add.u64 %d3, %d3, %d9;
mul.wide.u32 %d9, %r30, {4 * 128 * 8 * self.steps}; add.u64 %d4, %d4, %d9;
mov.u32 %r5, room; shl.b32 %r6, %r0, 2; more: cvt.u64.u32 %d10, %r6; add.u64 %d10, %d1, %d10; ld.global.u32 %r7, [%d10];
add.u32 %r8, %r5, %r6; st.shared.u32 [%r8], %r7; add.u32 %r6, %r6, 512; setp.lt.u32 %p2, %r6, {ROOM}; @%p2 bra more;
mul.wide.u32 %d9, %r0, {4 * self.n}; add.u64 %d8, %d3, %d9;"""
        for c in groups:
            body += "".join(f"ld.global.u32 %r{100 + n}, [%d8+{4 * (c + n)}];" for n in range(8))
            body += f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%r4+{c}], {registers(100, 8)};"
        for c in range(0, 8 * self.steps, 8):
            body += f"mul.wide.u32 %d10, %r0, {32 * self.steps}; add.u64 %d10, %d4, %d10;"
            body += "".join(f"ld.global.u32 %r{100 + n}, [%d10+{4 * (c + n)}];" for n in range(8))
            body += (
                f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%r4+{A_COLUMN + c}], {registers(100, 8)};"
            )
        body += f"""tcgen05.wait::st.sync.aligned; fence.proxy.async; tcgen05.fence::before_thread_sync; {SYNC} tcgen05.fence::after_thread_sync;
cvt.u64.u32 %d11, %r5; shr.u64 %d11, %d11, 4; and.b64 %d11, %d11, 0x3fff; add.u32 %r11, %r3, {A_COLUMN}; mov.u32 %r12, {bits}; setp.ne.u32 %p4, %r0, 999; setp.eq.and.u32 %p5, %r30, {self.issuer}, %p1;"""
        mask = ""
        if self.mask:
            body += "".join(f"mov.u32 %r{20 + n}, {self.mask[n]};" for n in range(8))
            mask = f"{registers(20, 8)}, "
        for s in range(self.steps):
            last = f", {self.halvings}" if self.halvings and s == 0 else ""
            body += f"ld.global.u64 %d12, [%d2+{16 * s}]; ld.global.u64 %d13, [%d2+{16 * s + 8}]; add.u64 %d12, %d12, %d11; add.u64 %d13, %d13, %d11;"
            a = f"[%r11+{8 * s}]" if self.in_memory else "%d12"
            body += f"@%p5 tcgen05.mma.cta_group::2.kind::{name} [%r3], {a}, %d13, %r12, {mask}%p4{last};"
        body += """mov.u16 %h1, 3; @%p5 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r9], %h1;
wait: mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0; @!%p3 bra wait; tcgen05.fence::after_thread_sync; mul.wide.u32 %d9, %r0, """
        body += f"{4 * self.n}; add.u64 %d8, %d0, %d9;"
        for c in groups:
            body += f"tcgen05.ld.sync.aligned.32x32b.x8.b32 {registers(100, 8)}, [%r4+{c}]; tcgen05.wait::ld.sync.aligned;"
            body += "".join(f"st.global.u32 [%d8+{4 * (c + n)}], %r{100 + n};" for n in range(8))
        return text(ALLOCATE.format(columns=512) + body + FREE.format(columns=512), 5, room=ROOM)

    def arrays(self, a, b, c):
        rooms = np.zeros((2, ROOM), np.uint8)
        cells = np.full((2, 128, self.n), 0xABCD0123, np.uint32)
        of_lanes = np.zeros((2, 128, 8 * self.steps), np.uint32)
        lane, column = self.cells()
        for p in range(2):
            half = a[p * self.rows : (p + 1) * self.rows]
            of_b = self.of_b.place(
                np.ascontiguousarray(b[p * self.n // 2 : (p + 1) * self.n // 2]), rooms[p], B_AT, 32
            )
            of_a = self.of_a.place(np.ascontiguousarray(half), rooms[p], 0, 32)
            cells[p, lane, column] = c[p * self.rows : (p + 1) * self.rows].view(np.uint32)
            of_lanes[p, : self.rows] = np.ascontiguousarray(half).view(np.uint32)
            if self.rows == 64:
                of_lanes[p, 64:] = of_lanes[p, :64]
        descriptors = np.array(list(zip(of_a, of_b, strict=True)), np.uint64).reshape(-1)
        return [
            np.zeros_like(cells).reshape(-1),
            rooms.reshape(-1),
            descriptors,
            cells.reshape(-1),
            of_lanes.reshape(-1),
        ]


PLAIN, SW64, SW128, T128 = Layout(16), Layout(64), Layout(128), Layout(128, True)
CASES = [
    Pair("f16", 256, 64, PLAIN, SW64), Pair("f16", 256, 256, SW128, SW128), Pair("f16", 128, 64, PLAIN, PLAIN), Pair("bf16", 128, 256, SW64, T128),
    Pair("tf32", 256, 32, SW128, PLAIN, in_memory=True), Pair("f16", 128, 96, SW128, SW64, in_memory=True), Pair("e4m3", 256, 16, SW64, SW64, issuer=1),
    Pair("s8", 256, 64, SW64, SW128, d="s32"), Pair("f16", 256, 64, PLAIN, PLAIN, mask=(1, 0, 1 << 31, 0, 0, 6, 0, 0xFFFF)),
    Pair("f16", 128, 64, PLAIN, PLAIN, mask=(1, 2, 4, 8, 16, 32, 64, 128)), Pair("f16", 256, 64, PLAIN, SW64, halvings=2),
    Pair("tf32", 128, 64, PLAIN, PLAIN, in_memory=True, halvings=1), Pair("e5m2", 128, 64, SW64, T128),
    Pair("s8", 128, 64, SW64, SW128, in_memory=True, mask=(0, 1, 0, 2, 3, 0, 4, 0), d="s32"),
]  # fmt: skip


@pytest.mark.parametrize(
    "case",
    CASES,
    ids=lambda c: f"{c.kind}-{c.m}x{c.n}-{c.issuer}-{bool(c.mask)}-{c.in_memory}-{c.halvings}",
)
def test_products_of_a_pair(case, newer_devices):
    """Each block has half of the rows of A and D, and half of the columns of B."""
    make = integers(np.random.default_rng(8))
    k = case.steps * 32 // TYPES[case.kind][3]
    a, b = (rounded(make((x, k), case.kind), case.kind) for x in (case.m, case.n))
    c = make((case.m, case.n), case.d).astype(RESULTS[case.d][1])
    arrays = case.arrays(a, b, c)
    before = arrays[3].copy().reshape(2, 128, case.n)
    out = (
        newer_devices("10.0")
        .run(tensor_memory.run, case.kernel(), arrays, 128, 2)[0]
        .reshape(2, 128, case.n)
    )
    expected = before.copy()
    product = (
        (a.astype(np.float64) @ b.astype(np.float64).T + c / 2**case.halvings)
        .astype(RESULTS[case.d][1])
        .view(np.uint32)
    )
    lane, column = case.cells()
    for p in range(2):
        expected[p, lane, column] = product[p * case.rows : (p + 1) * case.rows]
        for n in range(128):
            if case.mask and case.mask[4 * p + n // 32] >> n % 32 & 1:
                expected[p, n] = before[p, n]
    assert (out == expected).all()


def test_both_blocks_allocate_the_same_columns(newer_devices):
    """The second block comes late, and has columns of its own: the pair's are free in both."""
    body = f"""setp.eq.u32 %p6, %r30, 1; mov.u32 %r5, 0; @!%p6 bra GO; spin: add.u32 %r5, %r5, 1; setp.lt.u32 %p7, %r5, 20000; @%p7 bra spin;
GO: {ALLOCATE.format(columns=64)} mov.u32 %r10, %r3; bar.sync 0; {ALLOCATE.format(columns=128)} mov.u32 %r11, %r3; bar.sync 0;
shl.b32 %r6, %r31, 3; cvt.u64.u32 %d5, %r6; add.u64 %d5, %d0, %d5; setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%d5], %r10; @%p1 st.global.u32 [%d5+4], %r11;
bar.sync 0; @%p0 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r10, 64; @%p0 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r11, 128;"""
    out = np.zeros(8, np.uint32)
    (out,) = newer_devices("10.0").run(tensor_memory.run, text(body, 1, 4), [out], 64, 4)
    assert out.reshape(4, 2).tolist() == [[0, 64]] * 4


def test_columns_become_free_in_both(newer_devices):
    """A second allocation waits until both blocks have freed the first one."""
    body = f"""setp.eq.u32 %p8, %r2, 1; {ALLOCATE.format(columns=512)} @%p8 bra SECOND; bar.sync 1, 64;
@%p0 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, 512; bra END; SECOND: bar.sync 1, 64; tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], 32;
ld.shared.u32 %r5, [slot]; tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r5, 32; setp.eq.u32 %p1, %r1, 0; mul.wide.u32 %d5, %r31, 4; add.u64 %d5, %d0, %d5; @%p1 st.global.u32 [%d5], 5; END:"""
    out = np.zeros(4, np.uint32)
    (out,) = newer_devices("10.0").run(tensor_memory.run, text(body, 1), [out], 64, 4)
    assert out.tolist() == [5] * 4


MMA = "setp.eq.u32 %p1, %r0, 0; mov.u32 %r12, 0; mov.u64 %d12, {descriptor}; setp.ne.u32 %p4, %r0, 999; @%p1 tcgen05.mma.cta_group::2.kind::f16 [%r3], %d12, %d12, {instruction}, %p4;"
GOOD = 1 << 46
RIGHT = 1 << 4 | 8 << 17 | 16 << 24


def fault(kernel, threads, blocks):
    import driver_abi

    from . import device_process
    from .native_kernels import last_fault

    driver = device_process.driver()
    try:
        driver.load(kernel).run("k", blocks, threads, [np.zeros(16, np.uint32)])
    except driver_abi.DriverError:
        said = last_fault(driver)
        driver.reset()
        return said
    return ""


@pytest.mark.parametrize(("body", "blocks", "said"), [
    (ALLOCATE.format(columns=32), 1, "a cluster in which the block has a peer"),
    (ALLOCATE.format(columns=32) + SYNC + MMA.format(descriptor=GOOD, instruction=RIGHT), 2, "block 0 of the cluster has not allocated columns 0 to 63"),
    (ALLOCATE.format(columns=64) + SYNC + MMA.format(descriptor=GOOD, instruction=1 << 4 | 8 << 17 | 4 << 24), 2, "M must be 128 or 256"),
    (ALLOCATE.format(columns=64) + SYNC + MMA.format(descriptor=GOOD, instruction=1 << 4 | 1 << 17 | 16 << 24), 2, "N must be a multiple of 16"),
    (ALLOCATE.format(columns=64) + SYNC + MMA.format(descriptor=GOOD | 0x3FFF, instruction=RIGHT), 2, "shared memory"),
    ("setp.eq.u32 %p6, %r30, 0; mov.u32 %r5, 32; @%p6 mov.u32 %r5, 64; @%p0 tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], %r5;", 2, "the same number of columns"),
    ("setp.eq.u32 %p6, %r30, 0; @%p6 bra END; " + ALLOCATE.format(columns=32) + "END:", 2, "tcgen05.alloc"),
], ids=["alone", "columns", "m", "n", "memory", "numbers", "absent"])  # fmt: skip
def test_hostile_pairs(body, blocks, said, newer_devices):
    assert said in newer_devices("10.0").run(fault, text(body, 1, blocks), 32, blocks)
