# ruff: noqa: E501 - PTX text and tables of it are wide
"""Atomic operations: of every type and space, on vectors, and across blocks."""

import driver_abi
import numpy as np
import pytest

from . import driver as ptx
from .lanes import HEAD, lanes

COVERED = """
atom.add.u32 atom.add.noftz.f16 atom.min.u32 atom.inc.u32 atom.and.b32 atom.exch.b32 atom.cas.b16
atom.add.v2.f32 atom.add.noftz.v2.f16 atom.min.noftz.v2.f16 red.add.v2.f32 red.add.noftz.v2.f16
red.min.noftz.v2.f16 atom.exch.b128 atom.cas.b128
red.add.u32 red.add.noftz.f16 red.min.u32 red.inc.u32 red.and.b32
"""


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(("op", "kind", "function"), [
    ("add", "u32", np.add), ("add", "s32", np.add), ("add", "u64", np.add), ("add", "f32", np.add),
    ("add", "f64", np.add), ("min", "u32", np.minimum), ("max", "s32", np.maximum),
    ("min", "s64", np.minimum), ("max", "u64", np.maximum), ("and", "b32", np.bitwise_and),
    ("or", "b64", np.bitwise_or), ("xor", "b32", np.bitwise_xor),
])  # fmt: skip
@pytest.mark.parametrize("returns", [True, False])
def test_atomics(space, op, kind, function, returns, load):
    dtype = np.dtype({"u": "u", "s": "i", "b": "u", "f": "f"}[kind[0]] + str(int(kind[1:]) // 8))
    rng = np.random.default_rng(3)
    a = (
        rng.integers(-50, 50, 256).astype(dtype)
        if dtype.kind != "u"
        else rng.integers(1, 2**31, 256).astype(dtype)
    )
    start = np.array([3], dtype)
    b = start.copy()
    size = dtype.itemsize
    bits = size * 8
    reg = "%rd5" if bits == 64 else "%r5"
    old = "%rd6" if bits == 64 else "%r6"
    at = "%rd1" if space == "global" else "shared_cell"
    code = (
        f"atom.{space}.{op}.{kind} {old}, [{at}], {reg};"
        if returns
        else f"red.{space}.{op}.{kind} [{at}], {reg};"
    )
    if space == "global":
        wrap = code
    else:
        wrap = f"""setp.eq.u32 %p0, %r0, 0; @%p0 ld.global.b{bits} {old}, [%rd1];
        @%p0 st.shared.b{bits} [shared_cell], {old}; bar.sync 0; {code} bar.sync 0;
        @%p0 ld.shared.b{bits} {old}, [shared_cell]; @%p0 st.global.b{bits} [%rd1], {old};"""
    body = f"""
    .shared .align 8 .b8 shared_cell[8];
    mul.wide.u32 %rd2, %r0, {size}; add.u64 %rd2, %rd0, %rd2; ld.global.b{bits} {reg}, [%rd2]; {wrap}"""
    lanes(load, body, a, b, block=256)
    assert b[0] == function.reduce(np.concatenate([start, a]), dtype=dtype)


def test_denormals_are_flushed_where_f32_are_added_in_global_memory(load):
    body = """
    .shared .align 16 .b8 cells[16]; mov.u32 %r1, 0x00000003; mov.u32 %r2, 0x80000002; mov.u64 %rd2, cells;
    cvta.shared.u64 %rd2, %rd2; st.shared.u32 [cells], %r1; st.shared.u32 [cells+4], %r1;
    atom.global.add.f32 %r3, [%rd1], %r2; atom.relaxed.gpu.add.f32 %r3, [%rd1+4], %r2;
    atom.global.add.v2.f32 {%r3, %r4}, [%rd1+8], {%r2, %r1};
    atom.shared.add.f32 %r3, [cells], %r1; atom.add.f32 %r3, [%rd2+4], %r1;
    ld.shared.v2.b32 {%r3, %r4}, [cells]; st.global.v2.b32 [%rd1+16], {%r3, %r4};"""
    b = np.array([0, 1, 0x80000001, 0x3F800000, 0, 0], np.uint32)
    load(HEAD + body + "ret; }\n").run("k", 1, 1, [np.zeros(1), b])
    assert list(b) == [0, 0, 0x80000000, 0x3F800000, 6, 6]


def test_inc_dec_exchange_compare(load):
    b = np.array([0, 5, 7, 9], np.uint32)
    body = """
    atom.global.inc.u32 %r1, [%rd1], 9; atom.global.dec.u32 %r2, [%rd1+4], 6;
    red.global.inc.u32 [%rd1+8], 9; atom.global.cas.b32 %r3, [%rd1+12], 9, 77;
    atom.global.exch.b32 %r4, [%rd1+8], %r0; atom.acq_rel.gpu.global.cas.b64 %rd3, [%rd0], 0, 5;"""
    a = np.zeros(1, np.uint64)
    module = load(HEAD + body + "ret; }\n")
    module.run("k", 1, 1, [a, b])
    assert a[0] == 5
    assert list(b) == [1, 4, 0, 77]
    b[:] = [0, 5, 7, 9]
    module.run("k", 1, 64, [a, b])
    assert b[0] == 64 % 10
    assert b[1] == (5 - 64) % 7
    assert b[3] == 77


def test_half_atomics(load):
    b = np.zeros(4, np.float16)
    body = """
    mov.b16 %h0, 0x3c00; mov.b32 %r1, 0x40003c00; atom.global.add.noftz.f16 %h1, [%rd1], %h0;
    red.global.add.noftz.f16 [%rd1], %h0; red.global.add.noftz.f16x2 [%rd1+4], %r1;
    mov.b16 %h2, 5; atom.global.cas.b16 %h3, [%rd1+2], 0, %h2;"""
    lanes(load, body, np.zeros(1), b)
    assert b[0] == 128
    assert b.view(np.uint16)[1] == 5
    assert list(b[2:]) == [64, 128]


KINDS = ["v2.f32", "v4.f32", "v2.f16", "v4.bf16", "v8.f16", "v2.f16x2", "v4.bf16x2"]


@pytest.mark.parametrize(
    "op, kind, returns",
    [
        (op, kind, returns)
        for returns in (True, False)
        for kind in KINDS
        for op in (("add",) if kind.endswith("f32") else ("add", "min", "max"))
    ],
)
def test_vector_atomics(op, kind, returns, load):
    """Each element is a separate operation; sources may be destinations."""
    count, element = int(kind[1]), kind.split(".")[1]
    single = element.endswith("f32")
    words = element.endswith("x2")
    per = 1 if single else 2 if words else 1
    bits = 16 if not single and not words else 32
    values = (np.arange(count * per) % 7 - 3).astype(np.float32)
    start = np.full(count * per, 2, np.float32)

    def encoded(x):
        if element.startswith("bf16"):
            return (x.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        return x.astype(np.float32 if single else np.float16)

    regs = [f"%r{10 + k}" if bits == 32 else f"%h{k}" for k in range(count)]
    results = "{" + ", ".join(reversed(regs)) + "}"
    size = count * bits // 8
    noftz = "" if single else ".noftz"
    code = f"{'atom' if returns else 'red'}.relaxed.gpu.global.{op}{noftz}.{kind} "
    code += (results + ", " if returns else "") + "[%rd1], {" + ", ".join(regs) + "};"
    fetch = "".join(f"ld.global.b{bits} {r}, [%rd0+{k * bits // 8}];" for k, r in enumerate(regs))
    keep = "".join(
        f"st.global.b{bits} [%rd1+{size + k * bits // 8}], {r};"
        for k, r in enumerate(reversed(regs))
    )
    a, b = encoded(values), np.concatenate([encoded(start), encoded(start * 0)])
    lanes(load, fetch + code + (keep if returns else ""), a, b, block=1)
    function = {"add": np.add, "min": np.minimum, "max": np.maximum}[op]
    assert (b[: count * per] == encoded(function(start, values))).all()
    assert (b[count * per :] == encoded(start if returns else start * 0)).all()


@pytest.mark.parametrize("place", ["global", "shared"])
def test_atomics_of_128_bits(place, load):
    """Every thread adds one to both halves, by comparing and exchanging."""
    at = "[%rd1]" if place == "global" else "[cell]"
    body = f"""
    .shared .align 16 .b8 cell[16]; setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.v2.u64 [cell], {{0, 0}}; bar.sync 0;
    ld.{place}.b128 %q0, {at};
    AGAIN: mov.b128 {{%rd4, %rd5}}, %q0; add.u64 %rd4, %rd4, 1; add.u64 %rd5, %rd5, 3; mov.b128 %q1, {{%rd4, %rd5}};
    atom.acq_rel.gpu.{place}.cas.b128 %q2, {at}, %q0, %q1; mov.b128 {{%rd6, %rd7}}, %q2; mov.b128 {{%rd8, %rd9}}, %q0;
    setp.ne.u64 %p1, %rd6, %rd8; setp.ne.or.u64 %p1, %rd7, %rd9, %p1; mov.b128 %q0, %q2; @%p1 bra AGAIN;
    bar.sync 0; @!%p0 bra END; mov.b128 %q1, {{%rd0, %rd1}}; atom.relaxed.gpu.{place}.exch.b128 %q2, {at}, %q1;
    st.global.b128 [%rd1+16], %q2; ld.{place}.b128 %q3, {at}; mov.b128 {{%rd4, %rd5}}, %q3; sub.u64 %rd4, %rd4, %rd0;
    sub.u64 %rd5, %rd5, %rd1; st.global.v2.u64 [%rd1+32], {{%rd4, %rd5}}; END:"""
    b = np.zeros(6, np.uint64)
    b[4:] = 9
    lanes(load, body, np.zeros(1), b, block=96)
    assert list(b[2:]) == [96, 3 * 96, 0, 0]


@pytest.mark.parametrize("store", ["st.relaxed.gpu.global.b128 [%rd1], %q0;", "atom.relaxed.gpu.global.exch.b128 %q3, [%rd1], %q0;"])  # fmt: skip
def test_128_bits_are_never_seen_in_halves(store, load):
    """Both halves of each stored value are equal; other blocks load and exchange at the same time."""
    body = f"""mov.u32 %r1, %ctaid.x; mov.u32 %r2, 0; mov.u32 %r4, 0; and.b32 %r5, %r1, 1; setp.eq.u32 %p0, %r5, 0;
    AGAIN: mad.lo.u32 %r3, %r2, 64, %r1; cvt.u64.u32 %rd2, %r3; mov.b128 %q0, {{%rd2, %rd2}};
    @%p0 bra LOOKS; {store} bra ON;
    LOOKS: ld.relaxed.gpu.global.b128 %q1, [%rd1]; mov.b128 {{%rd4, %rd5}}, %q1; setp.ne.u64 %p1, %rd4, %rd5; @%p1 add.u32 %r4, %r4, 1;
    atom.relaxed.gpu.global.cas.b128 %q2, [%rd1], %q1, %q0; mov.b128 {{%rd4, %rd5}}, %q2; setp.ne.u64 %p1, %rd4, %rd5; @%p1 add.u32 %r4, %r4, 1;
    ON: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 400; @%p1 bra AGAIN; red.global.add.u32 [%rd1+16], %r4;"""
    b = np.zeros(6, np.uint64)
    lanes(load, body, np.zeros(1), b, block=32, grid=64)
    assert b[0] == b[1] and b[2] == 0


def test_vectors_of_atomics_are_aligned_as_a_whole(driver, load):
    text = ".version 8.6\n.target sm_90\n.address_size 64\n" + HEAD
    text += "red.global.add.v4.f32 [%rd1+8], {%f0, %f1, %f2, %f3}; ret; }\n"
    done = ptx.in_child(text, "module.run('k', 1, 32, [np.zeros(8), np.zeros(8)])")
    assert done.stdout == f"code {driver_abi.MISALIGNED_ADDRESS}\n", done.stderr


def test_atomics_across_blocks(load):
    b = np.zeros(2, np.uint32)
    body = "atom.global.add.u32 %r1, [%rd1], 1; red.global.add.u32 [%rd1+4], 2;"
    lanes(load, body, np.zeros(1), b, block=256, grid=64)
    assert list(b) == [256 * 64, 512 * 64]
