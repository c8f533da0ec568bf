# ruff: noqa: E501 - PTX text and tables of it are wide
"""Vector registers, parameters in registers, register + constant, constant expressions, and the
addresses of kernels: what the manual's chapters on variables, operands and functions have beside
the instructions. Expected values are the manual's.
"""

import shutil
import subprocess
from pathlib import Path

import driver_abi
import numpy as np
import pytest

from . import driver as ptx

TOP = ".version 8.8\n.target sm_90\n.address_size 64\n"
HEAD = """.visible .entry k(.param .u64 p) {
.reg .b32 %r<12>; .reg .b64 %d<8>; .reg .f32 %f<8>; .reg .b16 %h<8>; .reg .pred %p<4>; .reg .f64 %g<4>; .reg .b128 %q<2>;
.reg .v4 .u32 v, w, %n<3>; .reg .v2 .u32 a, b; .reg .v4 .f32 vf; .reg .v2 .b64 vd; .reg .v2 .f64 vg; .reg .v4 .b16 vh; .reg .v4 .b8 vc; .reg .align 8 .v2 .s16 vs;
.local .align 16 .b8 lo[64]; .shared .align 16 .b8 sh[64];
ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 32; add.u64 %d0, %d0, %d1;
mov.v4.u32 v, {1, 2, 3, 4}; add.u32 v.x, v.x, %r0; mov.v4.u32 w, {10, 20, 30, 40}; mov.v2.u32 a, {7, 8}; mov.v4.f32 vf, {0f3f800000, 0f40000000, 0f40400000, 0f40800000};
"""
TAIL = " ret; }\n"
THREADS = 40


def text_of(body, before=""):
    return TOP + before + HEAD + body + TAIL


def run(load, body, before=""):
    """Eight words of each thread."""
    out = np.zeros((THREADS, 8), np.uint32)
    load(text_of(body, before)).run("k", 1, THREADS, [out])
    return out


N = np.arange(THREADS, dtype=np.uint32)
STORE4 = " st.global.v4.u32 [%d0], v;"


def words(*columns):
    out = np.zeros((THREADS, 8), np.uint32)
    for n, c in enumerate(columns):
        out[:, n] = c
    return out


def single(*values):
    return np.array(values, np.float32).view(np.uint32)


# Instructions, and the words that each thread stores.
VECTORS = {
    "whole": (STORE4, [1 + N, 2, 3, 4]),
    "elements": ("st.global.u32 [%d0], v.x; st.global.u32 [%d0+4], v.g; st.global.u32 [%d0+8], v.b; st.global.u32 [%d0+12], v.w;", [1 + N, 2, 3, 4]),
    "colours": ("mov.u32 v.r, v.a; mov.u32 v.g, 9; add.u32 v.b, v.y, v.z;" + STORE4, [4, 9, 12, 4]),
    "a move": ("mov.v4.u32 v, w;" + STORE4, [10, 20, 30, 40]),
    "a move of bits": ("mov.v4.b32 v, vf;" + STORE4, single(1, 2, 3, 4)),
    "a move of two": ("mov.v2.u32 b, a; mov.v2.u32 a, {b.y, b.x}; st.global.v2.u32 [%d0], a;", [8, 7]),
    "a rotation": ("mov.v4.u32 v, {v.y, v.z, v.w, v.x};" + STORE4, [2, 3, 4, 1 + N]),
    "an exchange": ("mov.v2.u32 {a.x, a.y}, {a.y, a.x}; st.global.v2.u32 [%d0], a;", [8, 7]),
    "a move into some": ("mov.v4.u32 {%r1, %r3, v.x, %r2}, w; mov.u32 %r4, 5; mov.v4.u32 w, {%r1, v.x, %r2, %r4}; st.global.v4.u32 [%d0], w;", [10, 30, 40, 5]),
    "a constant goes to the first": ("mov.v4.u32 v, 5;" + STORE4, [5, 0, 0, 0]),
    "a guarded move": ("setp.lt.u32 %p0, %r0, 20; @%p0 mov.v4.u32 v, w;" + STORE4, [np.where(N < 20, 10, 1 + N), *(np.where(N < 20, w, v) for w, v in ((20, 2), (30, 3), (40, 4)))]),
    "64 bits of two": ("mov.b64 %d2, a; st.global.u64 [%d0], %d2; mov.b64 b, 0x300000004; st.global.v2.u32 [%d0+8], b;", [7, 8, 4, 3]),
    "128 bits of four": ("mov.b128 %q0, {%d0, %d0}; mov.v4.u32 v, w;" + STORE4, [10, 20, 30, 40]),
    "64 bits of four": ("mov.b64 vh, 0x0004000300020001; mov.u16 vh.y, 9; mov.b64 %d2, vh; st.global.u64 [%d0], %d2;", [0x00090001, 0x00040003]),
    "32 bits of four": ("mov.b32 vc, 0x04030201; cvt.u32.u8 %r1, vc.z; mov.b32 %r2, vc; st.global.v2.u32 [%d0], {%r1, %r2};", [3, 0x04030201]),
    "loads and stores": ("st.global.v4.u32 [%d0+16], w; ld.global.v4.u32 v, [%d0+16]; ld.global.v2.u32 {a.x, _}, [%d0+24]; mov.u32 v.w, a.x;" + STORE4, [10, 20, 30, 30, 10, 20, 30, 40]),
    "of local memory": ("st.local.v4.f32 [lo], vf; ld.local.v4.u32 v, [lo];" + STORE4, single(1, 2, 3, 4)),
    "of shared memory": ("st.shared.v4.u32 [sh], w; ld.shared.v2.b64 vd, [sh]; st.global.v2.b64 [%d0], vd;", [10, 20, 30, 40]),
    "narrow": ("st.global.v4.u8 [%d0], w; ld.global.v4.u8 vh, [%d0]; cvt.u32.u16 %r1, vh.w; st.global.u32 [%d0+4], %r1;", [0x281e140a, 40]),
    "doubles": ("mov.v2.f64 vg, {0d3ff0000000000000, 0d4000000000000000}; add.f64 vg.x, vg.x, vg.y; mov.v2.b64 vd, vg; st.global.v2.b64 [%d0], vd;", [0, 0x40080000, 0, 0x40000000]),
    "halves": ("mov.v2.s16 vs, {-1, 2}; mov.b32 %r1, {vs.x, vs.y}; st.global.u32 [%d0], %r1;", [0x2ffff]),
    "a range": ("mov.v4.u32 %n1, w; mov.u32 %n2.y, %n1.z; mov.u32 %n0.w, %n2.y; st.global.u32 [%d0], %n0.w;", [30]),
    "arithmetic": ("mad.lo.u32 v.x, v.y, w.z, v.w; setp.gt.u32 %p0, v.x, w.y; selp.u32 v.y, w.x, w.w, %p0;" + STORE4, [64, 10, 3, 4]),
    "a conversion": ("cvt.rn.f32.u32 vf.x, w.y; mov.v4.b32 v, vf;" + STORE4, single(20, 2, 3, 4)),
    "a scope of its own": ("{ .reg .v2 .u32 v; mov.v2.u32 v, {5, 6}; st.global.v2.u32 [%d0+16], v; }" + STORE4, [1 + N, 2, 3, 4, 5, 6]),
    "an atomic": ("st.global.u32 [%d0], v.y; atom.global.add.u32 v.z, [%d0], w.w; st.global.u32 [%d0+4], v.z;", [42, 2]),
    "a reduction of four": ("red.global.add.v4.f32 [%d0], vf; red.global.add.v4.f32 [%d0], vf;", single(2, 4, 6, 8)),
    "a thread's index": ("mov.v4.u32 v, %tid;" + STORE4, [N, 0, 0, 0]),
    "a block's shape": ("mov.v4.u32 v, %ntid; mov.u32 v.y, %ntid.g; mov.u32 v.w, %ntid.w;" + STORE4, [THREADS, 1, 1, 0]),
    "16 bits of an index": ("mov.v4.u16 vh, %tid; mov.b64 %d2, vh; st.global.u64 [%d0], %d2;", [N]),
    "places of clusters": ("mov.v4.u32 v, %nclusterid; mov.v4.u32 w, %cluster_nctaid; st.global.v4.u32 [%d0+16], w;" + STORE4, [1, 1, 1, 0, 1, 1, 1, 0]),
}  # fmt: skip


COVERED = "mov.v2.u32 mov.v4.u32 mov.v4.f32 mov.v4.b32 mov.v2.b64 mov.v4.u16"


@pytest.mark.parametrize("what", VECTORS)
def test_vector_registers(what, driver, load):
    if what == "an atomic":
        driver.skip_on_hardware("NVIDIA's driver makes an illegal instruction of it on an H100")
    body, left = VECTORS[what]
    assert np.array_equal(run(load, body), words(*left))


PUT = " st.global.u32 [%d0], %r1;"
SUMS = {
    "mov": ("mov.u32 %r1, %r0+4;" + PUT, [N + 4]),
    "two": ("mov.u32 %r2, v.x; add.u32 %r1, %r0+1, %r2+2;" + PUT, [2 * N + 4]),
    "less": ("mov.u32 %r2, v.y; add.u32 %r1, %r2+-5, 4;" + PUT, [1]),
    "an expression": ("mov.u32 %r1, %r0+(1+2)*WARP_SZ;" + PUT, [N + 96]),
    "64 bits": ("cvt.u64.u32 %d2, %r0; mov.b64 %d2, %d2+0x100000001; st.global.u64 [%d0], %d2;", [N + 1, 1]),
    "16 bits": ("cvt.u16.u32 %h1, %r0; add.u16 %h1, %h1+0xffff, 2; cvt.u32.u16 %r1, %h1;" + PUT, [N + 1]),
    "widened": ("mov.u32 %r2, -1; cvt.u64.u32 %d2, %r2+1; st.global.u64 [%d0], %d2;", [0, 0]),
    "stored": ("st.global.u32 [%d0], %r0+7;", [N + 7]),
    "compared": ("setp.eq.u32 %p0, %r0+1, 5; selp.u32 %r1, %r0+1, 0, %p0;" + PUT, [np.where(N == 4, 5, 0)]),
    "shifted": ("mov.u32 %r2, v.y; shl.b32 %r1, 1, %r2+1;" + PUT, [8]),
    "guarded": ("mov.u32 %r1, 3; setp.lt.u32 %p0, %r0, 5; @%p0 mov.u32 %r1, %r0+4;" + PUT, [np.where(N < 5, N + 4, 3)]),
    "at a label": ("mov.u32 %r1, 0; L: add.u32 %r1, %r1+1, 1; setp.lt.u32 %p0, %r1, %r0+0; @%p0 bra L;" + PUT, [np.maximum((N + 1) // 2 * 2, 2)]),
}  # fmt: skip


@pytest.mark.parametrize("what", SUMS)
def test_a_register_and_a_constant(what, load):
    body, left = SUMS[what]
    assert np.array_equal(run(load, body), words(*left))


# Computed in 64 bits, signed unless a constant is unsigned.
EXPRESSIONS = {
    "2+3*4": 14, "(2+3)*4": 20, "7/2": 3, "-7/2": -3, "7 % 4": 3, "-7>>1": -4, "1<<33>>32": 2, "1<<2+1": 8, "1-2-3": -4, "8/4/2": 1,
    "3<4": 1, "3==4": 0, "!3": 0, "!!3": 1, "~3": -4, "~0>>1": -1, "1?2:3": 2, "0?2:0?3:4": 4, "1|2^3&4": 3, "3&&4": 1, "0||0": 0,
    "WARP_SZ*2": 64, "0x80000000/2": 0x40000000, "0xffffffffffffffff/2>>32": 0x7fffffff, "-1<1": 1, "-1<1U": 0, "-1>>60": -1,
    "-1U>>60": 15, "(.u64)-1>>60": 15, "(.s64)3": 3, "- -3": 3, "5 - -3": 8, "1<<64": 1, "1<<65": 2, "1.5<2.5": 1, "0b101+010": 13,
}  # fmt: skip


def test_constant_expressions(load):
    body = "".join(
        f" mov.u32 %r1, {e}; st.global.u32 [%d2+{4 * n}], %r1;" for n, e in enumerate(EXPRESSIONS)
    )
    words = " , ".join(EXPRESSIONS)
    before = f".const .s32 table[{len(EXPRESSIONS)}] = {{{words}}};\n"
    body += " mov.u64 %d3, table;" + "".join(
        f" ld.const.u32 %r1, [%d3+2*{2 * n}]; st.global.u32 [%d2+{4 * (n + len(EXPRESSIONS))}], %r1;"
        for n in range(len(EXPRESSIONS))
    )
    out = np.zeros(2 * len(EXPRESSIONS), np.int32)
    load(text_of("ld.param.u64 %d2, [p];" + body, before)).run("k", 1, 1, [out])
    assert list(out) == 2 * list(EXPRESSIONS.values())


def test_constant_expressions_of_reals(load):
    body = "mov.f32 %f1, 1.5+2.5; mov.f32 %f2, 1.0/3.0; mov.f32 %f3, -(1.5)*2.0; mov.f64 %g1, 0d3ff0000000000000-0.25; st.global.v2.f32 [%d0], {%f1, %f2}; st.global.f32 [%d0+8], %f3; st.global.f64 [%d0+16], %g1;"
    assert np.array_equal(
        run(load, body), words(*single(4, 1 / 3, -3), 0, 0, np.float64(0.75).view(np.uint64) >> 32)
    )


REGISTERS = """.func (.reg .u32 s, .reg .pred q, .reg .v2 .u32 w) f(.reg .u32 x, .reg .pred c, .reg .v4 .f32 u, .param .b64 m);
.func (.reg .u32 s) g(.reg .u32 x) { setp.gt.u32 z, x, 9; @z bra L; add.u32 s, x, 100; ret; L: sub.u32 s, x, 1; }
.func (.reg .f64 s) h(.reg .f64 x, .reg .b16 n, .reg .b8 m, .param .f32 y) { .reg .f32 a; .reg .f64 b; .reg .u32 i; ld.param.f32 a, [y]; cvt.f64.f32 b, a; fma.rn.f64 s, x, b, x;
 cvt.u32.u16 i, n; cvt.rn.f64.u32 b, i; add.f64 s, s, b; cvt.u32.u8 i, m; cvt.rn.f64.u32 b, i; add.f64 s, s, b; ret; }
.func (.reg .u32 s) down(.reg .u32 x) { .reg .u32 y; .reg .pred c; setp.eq.u32 c, x, 0; mov.u32 s, 0; @c ret; sub.u32 y, x, 1; call (y), down, (y); add.u32 s, x, y; ret; }
.func (.param .b32 o) inmemory(.param .b32 a) { .reg .b32 r; ld.param.b32 r, [a]; add.u32 r, r, 5; st.param.b32 [o], r; ret; }
.func (.reg .u32 s, .reg .pred q, .reg .v2 .u32 w) f(.reg .u32 x, .reg .pred c, .reg .v4 .f32 u, .param .b64 m) { .reg .b64 t; .reg .f32 y;
 ld.param.b64 t, [m]; cvt.u32.u64 w.y, t; selp.u32 s, x, 77, c; not.pred q, c; add.f32 y, u.x, u.w; cvt.rni.u32.f32 w.x, y; ret; }
"""
REGISTERS = REGISTERS.replace("setp.gt.u32 z", ".reg .pred z; setp.gt.u32 z")
CALLS = {
    "one": ("call (%r1), g, (%r0);" + PUT, [np.where(N > 9, N - 1, N + 100)]),
    "a constant": ("call (%r1), g, (4+1);" + PUT, [105]),
    "guarded": ("mov.u32 %r1, 3; setp.lt.u32 %p0, %r0, 5; @%p0 call (%r1), g, (%r0);" + PUT, [np.where(N < 5, N + 100, 3)]),
    "no result": ("mov.u32 %r1, 3; call (_), g, (%r0);" + PUT, [3]),
    "into its argument": ("mov.u32 %r1, 3; call (%r1), g, (%r1);" + PUT, [103]),
    "from memory": ("{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call (y), g, (x); ld.param.b32 %r1, [y]; }" + PUT, [np.where(N > 9, N - 1, N + 100)]),
    "a float's bits": ("mov.b32 %f1, %r0; call (%f2), g, (%f1); st.global.f32 [%d0], %f2;", [np.where(N > 9, N - 1, N + 100)]),
    "several": ("setp.lt.u32 %p0, %r0, 10; cvt.u64.u32 %d2, %r0; call (%r1, %p1, a), f, (%r0, %p0, vf, %d2); selp.u32 %r2, 1, 0, %p1; st.global.v2.u32 [%d0], {%r1, %r2}; st.global.v2.u32 [%d0+8], a;", [np.where(N < 10, N, 77), np.where(N < 10, 0, 1), 5, N]),
    "its own guard": ("setp.lt.u32 %p0, %r0, 10; mov.v2.u32 a, {0, 0}; mov.u32 %r1, 0; @%p0 call (%r1, %p0, a), f, (%r0, %p0, vf, 6); selp.u32 %r2, 1, 0, %p0; st.global.v2.u32 [%d0], {%r1, %r2}; st.global.v2.u32 [%d0+8], a;", [np.where(N < 10, N, 0), 0, np.where(N < 10, 5, 0), np.where(N < 10, 6, 0)]),
    "other widths": ("cvt.rn.f64.u32 %g1, %r0; mov.u16 %h1, 3; call (%g2), h, (%g1, %h1, 2, 0f40000000); cvt.rni.u32.f64 %r1, %g2;" + PUT, [3 * N + 5]),
    "recursion": ("call (%r1), down, (%r0);" + PUT, [N * (N + 1) // 2]),
    "memory's by register": ("call (%r1), inmemory, (%r0);" + PUT, [N + 5]),
    "a pointer": ("mov.u64 %d2, g; P: .callprototype (.reg .u32 _) _ (.reg .u32 _); call (%r1), %d2, (%r0), P;" + PUT, [np.where(N > 9, N - 1, N + 100)]),
    "a list": ("mov.u64 %d2, g; setp.lt.u32 %p0, %r0, 20; @%p0 mov.u64 %d2, down; T: .calltargets g, down; call (%r1), %d2, (%r0), T;" + PUT, [np.where(N < 20, N * (N + 1) // 2, N - 1)]),
}  # fmt: skip


# ptxas refuses predicates, bytes, 16 bits, and a float for plain bits, which the manual permits.
NOT_PTXAS = {"several", "its own guard", "other widths", "a float's bits"}


@pytest.mark.parametrize("what", CALLS)
def test_parameters_in_registers(what, driver, load):
    if what in NOT_PTXAS:
        driver.skip_on_hardware("ptxas refuses parameters of these types in registers")
    body, left = CALLS[what]
    before = REGISTERS
    if driver.on_hardware:  # without the functions that ptxas refuses
        before = "\n".join(line for line in REGISTERS.split("\n") if not line.startswith((".func (.reg .u32 s, ", " ld.param.b64", ".func (.reg .f64", " cvt.u32.u16")))  # fmt: skip
    assert np.array_equal(run(load, body, before), words(*left))


KERNELS = """.visible .entry other() { ret; }
.global .align 8 .u64 table[3] = {other, k, other};
"""


NO_ADDRESS = "hardware that launches no kernels from kernels gives the address 0"


def test_addresses_of_kernels(driver, load):
    driver.skip_on_hardware(NO_ADDRESS)
    declared = ".visible .entry k(.param .u64 p);\n"
    body = "mov.u64 %d2, k; mov.u64 %d3, other; ld.global.u64 %d4, [table+8]; ld.global.u64 %d5, [table+16]; setp.eq.u64 %p0, %d2, %d4; setp.eq.u64 %p1, %d3, %d5; setp.ne.u64 %p2, %d2, %d3;"
    body += (
        "selp.u32 v.x, 1, 0, %p0; selp.u32 v.y, 1, 0, %p1; selp.u32 v.z, 1, 0, %p2; setp.ne.u64 %p0, %d2, 0; selp.u32 v.w, 1, 0, %p0;"
        + STORE4
    )
    assert np.array_equal(run(load, body, declared + KERNELS), words(1, 1, 1, 1))


def test_addresses_of_kernels_in_a_large_text(driver, load):
    """Whose kernels are read one by one."""
    driver.skip_on_hardware(NO_ADDRESS)
    fill = (
        ".visible .entry big(.param .u64 p) { .reg .b32 %r<3>;\n"
        + "mov.u32 %r1, 5;\n" * 5000
        + "ret; }\n"
    )
    other = ".visible .entry other() { ret; }\n"
    body = "mov.u64 %d2, other; mov.u64 %d3, other; setp.eq.u64 %p0, %d2, %d3; setp.ne.u64 %p1, %d2, 0; selp.u32 v.x, 1, 0, %p0; selp.u32 v.y, 1, 0, %p1; st.global.v2.u32 [%d0], {v.x, v.y};"
    assert np.array_equal(run(load, body, fill + other), words(1, 1))
    body = "ld.global.u64 %d2, [table]; mov.u64 %d3, other; setp.eq.u64 %p0, %d2, %d3; selp.u32 v.x, 1, 0, %p0; st.global.u32 [%d0], v.x;"
    before = other + ".global .align 8 .u64 table[1] = {other};\n" + fill
    assert np.array_equal(run(load, body, before), words(1))


def test_a_kernel_is_not_called(driver):
    driver.skip_on_hardware("hardware jumps to wherever the pointer leads")
    body = "mov.u64 %d2, other; P: .callprototype _ (); call %d2, P;"
    done = ptx.in_child(text_of(body, ".visible .entry other() { ret; }\n"), "module.run('k', 1, 64, [np.zeros(512, np.uint32)])")  # fmt: skip
    assert done.stdout == "code 715\n", done.stderr


# Refused by NVIDIA's assembler as well; what the message says here.
REFUSED = {
    ".reg .v4 .u64 x;": "more than 128 bits", ".reg .v2 .b128 x;": "more than 128 bits", ".reg .v2 .pred x;": "predicates cannot be vectors",
    ".reg .v3 .u32 x;": "type .v3", ".reg .v8 .u32 x;": "type .v8", ".reg .bf16 x;": "type .bf16", ".reg .tf32 x;": "type .tf32", ".reg .u32 x[4];": "expected ';'",
    ".reg .u32 .v4 x;": "a register's name", "mov.u32 v, w;": "operand 1", "mov.v2.u32 a, v;": "expected a vector of 2, got 4", "mov.v4.u32 v, a;": "expected a vector of 4, got 2",
    "add.u32 v, v, w;": "expected a register", "mov.u32 %r1, a.z;": "no element '.z'", "mov.v4.u32 %r1, %tid;": "expected a vector of 4", "mov.u32 %r1, %tid;": "operand 2",
    "ld.global.v2.u32 v, [%d0];": "expected a vector of 2, got 4", "ld.global.u32 v, [%d0];": "expected a vector of 1, got 4", "ld.global.v4.u32 {a, b}, [%d0];": "in a vector, got the vector 'a'",
    "add.u32 %r1+1, %r2, %r3;": "got register + constant", "ld.global.f32 %f2, [%d0]; add.f32 %f1, %f2+1, %f2; st.global.f32 [%d0], %f1;": "register + constant needs an integer register", "mov.u32 %r1, %r2+%r3;": "expected a constant to add",
    "mov.u32 %r1, %r2*2;": "expected ';'", "mov.u32 %r1, 8/0;": "division by zero", "mov.f32 %f1, 1.5+1;": "cannot mix integer", "mov.f32 %f1, 0f3f800000+1.0;": "a 0f constant cannot",
    "mov.f32 %f1, !1.5;": "does not apply to a floating-point constant", "mov.u32 %r1, %r2+1.0;": "expected an integer as a constant to add", "@v bra L; L:": "is not a predicate", "ld.global.u32 %r1, [%d0+1.5];": "expected an integer as an offset",
    "call g, (%r1);": "expected 1 arguments and 1 results, got 1 and 0", "call (%r1), g, (%d1);": "expected .reg .u32, got a register of .b64", "call (%r1), g, (a);": "expected .reg .u32, got a vector of 2 .u32",
    "call (%d1), g, (%r1);": "result 1: expected .reg .u32, got a register of .b64", "call (%r1), g, (_);": "'_' can replace a result", "call (5), g, (%r1);": "expected a register or a .param variable for a result", "call (%r1), g, (1.5);": "got a floating-point constant",
    "call (%r1), g, (%p1);": "a register of .pred", "call (%r1), g, (sh);": "expected a .param variable, a register or a constant as an argument", "call (%r1), g, (lo);": "expected a .param variable, a register or a constant as an argument",
    "{ .param .b64 x; call (%r1), g, (x); }": "argument 1: expected .reg .u32, got .param .b64", "setp.eq.u32 %p1|sh, %r1, %r2;": "is not a predicate", "@sh mov.u32 %r1, 1;": "is not a predicate",
    "mov.u32 %r1, " + "(" * 5000 + "1;": "nested more than 64", "mov.u32 %r1, " + "-" * 5000 + "1;": "nested more than 64", "mov.u32 %r1, " + "1?" * 5000 + "1;": "nested more than 64",
    "mov.u32 %r1, " + "0?1:" * 5000 + "1;": "nested more than 64", "mov.u32 %r1, " + "(.s64)" * 5000 + "1;": "nested more than 64",
}  # fmt: skip


# Results of NVIDIA's driver where it does not refuse them.
DRIVER_580 = {
    "mov.u32 %r1, a.z;": "takes it",
    "call (5), g, (%r1);": "ends the process",
    "ld.global.f32 %f2, [%d0]; add.f32 %f1, %f2+1, %f2; st.global.f32 [%d0], %f1;": "ends the process",
}  # fmt: skip


@pytest.mark.parametrize("body", REFUSED, ids=lambda body: body[:40])
def test_what_is_refused(body, driver):
    if body in DRIVER_580:
        driver.skip_on_hardware(f"NVIDIA's driver {DRIVER_580[body]}")
    before = ".func (.reg .u32 s) g(.reg .u32 x) { mov.u32 s, x; ret; }\n"
    with pytest.raises(driver_abi.DriverError) as error:
        driver.load(text_of(body, before))
    assert error.value.code == driver_abi.INVALID_PTX
    assert driver.on_hardware or REFUSED[body] in error.value.log


def ptxas():
    found = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    return found if Path(found).is_file() else None


@pytest.mark.skipif(not ptxas(), reason="no ptxas")
def test_ptxas_takes_and_refuses_the_same(tmp_path):
    def takes(text):
        (tmp_path / "k.ptx").write_text(text)
        command = [ptxas(), "-arch=sm_90", "-c", "k.ptx", "-o", "k.cubin"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 0

    for what, (body, _) in {**VECTORS, **SUMS}.items():
        assert takes(text_of(body)), what
    for body in list(REFUSED)[::5]:
        if len(body) < 1000:
            assert not takes(
                text_of(body, ".func (.reg .u32 s) g(.reg .u32 x) { mov.u32 s, x; ret; }\n")
            ), body
