"""Contraction: which products are fused with which sums, as NVIDIA's assembler does by default.

A case is a text and the expressions of its results. Inputs are such that the results differ where
one product is fused that is not in the expression, or the other way round.
"""

import ctypes
import os
import subprocess
import sys
import time
from ctypes import byref, c_int, c_uint, c_void_p

import numpy as np
import pytest

from . import exact
from .driver import Module

SIZE = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4}
LANES = 32
INPUTS = 8
HEAD = ".version 8.6\n.target %s\n.address_size 64\n"
# T is the type, B bits of its size, and CONSTANT 12.5 or, for packed types, a register.
PRODUCTS = "mul.T %t0, %a0, %a1; mul.T %t1, %a2, %a3; "
BRANCH = "@%p0 bra L1; st.global.B [%out+8], %a7; L1: "

CASES = {
    # One product, one sum.
    "sum": ("mul.T %t0, %a0, %a1; add.T %o0, %t0, %a2;", "fma(a0, a1, a2)"),
    "sum from the right": ("mul.T %t0, %a0, %a1; add.T %o0, %a2, %t0;", "fma(a0, a1, a2)"),
    "product minus": ("mul.T %t0, %a0, %a1; sub.T %o0, %t0, %a2;", "fma(a0, a1, -a2)"),
    "minus product": ("mul.T %t0, %a0, %a1; sub.T %o0, %a2, %t0;", "fma(-a0, a1, a2)"),
    "square": ("mul.T %t0, %a0, %a0; add.T %o0, %t0, %a2;", "fma(a0, a0, a2)"),
    "chain": (
        "mul.T %t0, %a0, %a1; add.T %t1, %t0, %a2; mul.T %t2, %t1, %a3; add.T %o0, %t2, %a4;",
        "fma(fma(a0, a1, a2), a3, a4)",
    ),
    # Rounding modifiers keep them apart.
    "rounded product": ("mul.rn.T %t0, %a0, %a1; add.T %o0, %t0, %a2;", "add(mul(a0, a1), a2)"),
    "rounded sum": ("mul.T %t0, %a0, %a1; add.rn.T %o0, %t0, %a2;", "add(mul(a0, a1), a2)"),
    "rounded difference": (
        "mul.T %t0, %a0, %a1; sub.rn.T %o0, %t0, %a2;",
        "sub(mul(a0, a1), a2)",
    ),
    # Both addends are products: the first one is fused.
    "two products": (PRODUCTS + "add.T %o0, %t0, %t1;", "fma(a0, a1, mul(a2, a3))"),
    "two products, other order": (
        PRODUCTS + "add.T %o0, %t1, %t0;",
        "fma(a2, a3, mul(a0, a1))",
    ),
    "difference of products": (PRODUCTS + "sub.T %o0, %t0, %t1;", "fma(a0, a1, -mul(a2, a3))"),
    "three products": (
        PRODUCTS + "mul.T %t2, %a4, %a5; add.T %t3, %t0, %t1; add.T %o0, %t3, %t2;",
        "fma(a4, a5, fma(a0, a1, mul(a2, a3)))",
    ),
    # Several uses.
    "two sums": (
        "mul.T %t0, %a0, %a1; add.T %o0, %t0, %a2; sub.T %o1, %a3, %t0;",
        "fma(a0, a1, a2)",
        "fma(-a0, a1, a3)",
    ),
    "stored too": (
        "mul.T %t0, %a0, %a1; add.T %o0, %t0, %a2; mov.B %o1, %t0;",
        "add(mul(a0, a1), a2)",
        "mul(a0, a1)",
    ),
    "factor too": (
        "mul.T %t0, %a0, %a1; add.T %o0, %t0, %a2; mul.T %o1, %t0, %a3;",
        "add(mul(a0, a1), a2)",
        "mul(mul(a0, a1), a3)",
    ),
    "addend of fma too": (
        "mul.T %t0, %a0, %a1; add.T %o0, %t0, %a2; fma.rn.T %o1, %a3, %a4, %t0;",
        "add(mul(a0, a1), a2)",
        "fma(a3, a4, mul(a0, a1))",
    ),
    "rounded sum too": (
        "mul.T %t0, %a0, %a1; add.T %o0, %t0, %a2; add.rn.T %o1, %t0, %a3;",
        "add(mul(a0, a1), a2)",
        "add(mul(a0, a1), a3)",
    ),
    "twice in one sum": (
        "mul.T %t0, %a0, %a1; add.T %o0, %t0, %t0; add.T %o1, %t0, %a2;",
        "add(mul(a0, a1), mul(a0, a1))",
        "add(mul(a0, a1), a2)",
    ),
    "the one with fewer uses": (
        PRODUCTS + "add.T %o1, %t0, %a4; add.T %o2, %t0, %a5; add.T %o3, %t1, %a6;"
        "add.T %o0, %t0, %t1;",
        "fma(a2, a3, mul(a0, a1))",
        "fma(a0, a1, a4)",
        "fma(a0, a1, a5)",
        "fma(a2, a3, a6)",
    ),
    "as many uses": (
        PRODUCTS + "add.T %o0, %t0, %t1; add.T %o1, %t0, %a4; add.T %o2, %t1, %a5;",
        "fma(a0, a1, mul(a2, a3))",
        "fma(a0, a1, a4)",
        "add(mul(a2, a3), a5)",
    ),
    "as many uses, sum last": (
        PRODUCTS + "add.T %o1, %t0, %a4; add.T %o2, %t1, %a5; add.T %o0, %t0, %t1;",
        "fma(a0, a1, mul(a2, a3))",
        "fma(a0, a1, a4)",
        "fma(a2, a3, a5)",
    ),
    # Copies and signs.
    "copy": ("mul.T %t0, %a0, %a1; mov.B %t1, %t0; add.T %o0, %t1, %a2;", "fma(a0, a1, a2)"),
    "bits": ("mul.T %t0, %a0, %a1; mov.B %t1, %t0; sub.T %o0, %a2, %t1;", "fma(-a0, a1, a2)"),
    # Registers that change.
    "result in place": (
        "mul.T %t0, %a0, %a1; add.T %t0, %t0, %a2; mov.B %o0, %t0;",
        "fma(a0, a1, a2)",
    ),
    "factor changes": (
        "mul.T %t0, %a0, %a1; mov.B %a0, %a4; add.T %o0, %t0, %a2; mov.B %o1, %a0;",
        "fma(a0, a1, a2)",
        "a4",
    ),
    "both factors change": (
        "mul.T %t0, %a0, %a1; mov.B %a0, %a4; mov.B %a1, %a5; add.T %o0, %t0, %a2;"
        "sub.T %o1, %t0, %a3;",
        "fma(a0, a1, a2)",
        "fma(a0, a1, -a3)",
    ),
    # Blocks: %p0 is true.
    "another block": (
        "mul.T %t0, %a0, %a1; " + BRANCH + "add.T %o0, %t0, %a2;",
        "add(mul(a0, a1), a2)",
    ),
    "block and another one": (
        "mul.T %t0, %a0, %a1; add.T %o1, %t0, %a3; " + BRANCH + "add.T %o0, %t0, %a2;",
        "add(mul(a0, a1), a2)",
        "add(mul(a0, a1), a3)",
    ),
    "label without a branch": (
        "mul.T %t0, %a0, %a1; L1: add.T %o0, %t0, %a2;",
        "fma(a0, a1, a2)",
    ),
    "branch to what follows": (
        "mul.T %t0, %a0, %a1; bra L2; L1: add.T %o0, %t0, %a2; bra L3; L2: bra L1; L3:",
        "fma(a0, a1, a2)",
    ),
    "branches that meet at once": (
        "mul.T %t0, %a0, %a1; @%p0 bra L1; bra L2; L1: bra L2; L2: add.T %o0, %t0, %a2;",
        "fma(a0, a1, a2)",
    ),
    "guarded exit between": (
        "mul.T %t0, %a0, %a1; @!%p0 exit; add.T %o0, %t0, %a2;",
        "add(mul(a0, a1), a2)",
    ),
    "barrier between": ("mul.T %t0, %a0, %a1; bar.sync 0; add.T %o0, %t0, %a2;", "fma(a0, a1, a2)"),
    "fence between": (
        "mul.T %t0, %a0, %a1; membar.gl; add.T %o0, %t0, %a2;",
        "add(mul(a0, a1), a2)",
    ),
    "division between": (
        "mul.T %t0, %a0, %a1; div.s32 %r0, %r0, %r1; add.T %o0, %t0, %a2;",
        "add(mul(a0, a1), a2)",
    ),
    "unsigned division between": (
        "mul.T %t0, %a0, %a1; div.u32 %r0, %r0, %r1; add.T %o0, %t0, %a2;",
        "fma(a0, a1, a2)",
    ),
    "guarded store between": (
        "mul.T %t0, %a0, %a1; @!%p0 st.global.B [%out], %a0; add.T %o0, %t0, %a2;",
        "add(mul(a0, a1), a2)",
    ),
    "guarded arithmetic between": (
        "mul.T %t0, %a0, %a1; @%p0 add.u32 %r0, %r0, 1; add.T %o0, %t0, %a2;",
        "fma(a0, a1, a2)",
    ),
    # Loops of two rounds.
    "sum in a loop": (
        "mul.T %t0, %a0, %a1; mov.B %o0, %a2; LOOP add.T %o0, %o0, %t0; AGAIN",
        "add(add(a2, mul(a0, a1)), mul(a0, a1))",
    ),
    "both in a loop": (
        "mov.B %o0, %a2; LOOP mul.T %t0, %o0, %a1; add.T %o0, %t0, %a3; AGAIN",
        "fma(fma(a2, a1, a3), a1, a3)",
    ),
    "product of the last round": (
        "mov.B %t0, %a2; LOOP add.T %o0, %t0, %a3; mul.T %t0, %o0, %a1; AGAIN",
        "add(mul(add(a2, a3), a1), a3)",
    ),
    "product after a loop": (
        "LOOP mul.T %t0, %a0, %a1; AGAIN add.T %o0, %t0, %a2;",
        "add(mul(a0, a1), a2)",
    ),
    # Guards: %p0 is true.
    "guarded sum": (
        "mov.B %o0, %a4; mul.T %t0, %a0, %a1; @%p0 add.T %o0, %t0, %a2;",
        "fma(a0, a1, a2)",
    ),
    "guarded product": (
        "mov.B %t0, %a4; @%p0 mul.T %t0, %a0, %a1; add.T %o0, %t0, %a2;",
        "add(mul(a0, a1), a2)",
    ),
    "guarded result in place": (
        "mul.T %t0, %a0, %a1; @%p0 add.T %t0, %t0, %a2; mov.B %o0, %t0;",
        "add(mul(a0, a1), a2)",
    ),
}
# The bits of 1 and -1. They are no factors, except in packed numbers.
UNITS = {"f16": "0x3c00", "bf16": "0x3f80", "f16x2": "0x3c003c00", "bf16x2": "0x3f803f80"}
# Rules that packed numbers do not share: (scalar results, packed results).
PACKED_DIFFER = {
    "a product with one use goes first": (
        PRODUCTS + "add.T %o0, %t0, %t1; add.T %o1, %t0, %a4;",
        ("fma(a2, a3, mul(a0, a1))", "add(mul(a0, a1), a4)"),
        ("fma(a2, a3, mul(a0, a1))", "add(mul(a0, a1), a4)"),
    ),
    "a product with one use is in a later sum": (
        PRODUCTS + "add.T %o1, %t0, %a4; add.T %o0, %t0, %t1;",
        ("fma(a2, a3, mul(a0, a1))", "add(mul(a0, a1), a4)"),
        ("fma(a2, a3, mul(a0, a1))", "fma(a0, a1, a4)"),
    ),
}
NEGATION = (
    "mul.T %t0, %a0, %a1; neg.T %t1, %t0; add.T %o0, %t1, %a2; add.T %o1, %t0, %a3;",
    ("fma(-a0, a1, a2)", "fma(a0, a1, a3)"),
    ("add(-mul(a0, a1), a2)", "add(mul(a0, a1), a3)"),
)
# A product by a constant, for f32 only.
CONSTANT = "mul.f32 %t0, %a0, 0f41480000; "
SINGLES = {
    "constant in another block": (CONSTANT + BRANCH + "add.f32 %o0, %t0, %a2;", "fma(a0, k, a2)"),
    "constant in a register": (
        "mov.f32 %t5, 0f41480000; mul.f32 %t0, %a0, %t5; " + BRANCH + "sub.f32 %o0, %a2, %t0;",
        "fma(-a0, k, a2)",
    ),
    "constant in both blocks": (
        CONSTANT + "add.f32 %o1, %t0, %a3; " + BRANCH + "add.f32 %o0, %t0, %a2;",
        "fma(a0, k, a2)",
        "fma(a0, k, a3)",
    ),
    "constant, factor changes": (
        CONSTANT + BRANCH + "mov.f32 %a0, %a4; add.f32 %o0, %t0, %a2;",
        "fma(a0, k, a2)",
    ),
    "constant, stored in another block": (
        CONSTANT + "add.f32 %o0, %t0, %a2; " + BRANCH + "mov.f32 %o1, %t0;",
        "add(mul(a0, k), a2)",
        "mul(a0, k)",
    ),
    "constant outside of a loop": (
        CONSTANT + "mov.f32 %o0, %a2; LOOP add.f32 %o0, %o0, %t0; AGAIN",
        "fma(a0, k, fma(a0, k, a2))",
    ),
    "constant, of the last round": (
        "mov.f32 %t0, %a2; LOOP add.f32 %o0, %t0, %a3; mul.f32 %t0, %o0, 0f41480000; AGAIN",
        "add(mul(add(a2, a3), k), a3)",
    ),
    "parameter in another block": (
        "ld.param.f32 %t5, [factor]; mul.f32 %t0, %a0, %t5; " + BRANCH + "add.f32 %o0, %t0, %a2;",
        "fma(a0, k, a2)",
    ),
    "constant memory in another block": (
        "ld.const.f32 %t5, [twelve]; mul.f32 %t0, %a0, %t5; " + BRANCH + "add.f32 %o0, %t0, %a2;",
        "fma(a0, k, a2)",
    ),
    "global memory in another block": (
        "mov.u64 %rd0, eleven; ld.global.f32 %t5, [%rd0]; mul.f32 %t0, %a0, %t5; "
        + BRANCH
        + "add.f32 %o0, %t0, %a2;",
        "add(mul(a0, 11), a2)",
    ),
    "constant addend in another block": (
        "mul.f32 %t0, %a0, %a1; " + BRANCH + "add.f32 %o0, %t0, 0f41480000;",
        "add(mul(a0, a1), k)",
    ),
    "constant addend": ("mul.f32 %t0, %a0, %a1; sub.f32 %o0, %t0, 0f41480000;", "fma(a0, a1, -k)"),
    "minus constant": (CONSTANT + "sub.f32 %o0, 0f41480000, %t0;", "fma(-a0, k, k)"),
    "one is no factor": (
        "mul.f32 %t0, %a0, 0f3f800000; mul.f32 %t1, %a2, %a3; add.f32 %o0, %t0, %t1;",
        "fma(a2, a3, a0)",
    ),
    "flushed sign of a product": (
        "mul.f32 %t0, %a0, %a1; neg.ftz.f32 %t1, %t0; add.f32 %o0, %t1, %a2;",
        "sub(a2, mul(a0, a1))",
    ),
    "flushed sign of a flushed product": (
        "mul.ftz.f32 %t0, %a0, %a1; neg.ftz.f32 %t1, %t0; add.ftz.f32 %o0, %t1, %a2;",
        "fma(-a0, a1, a2)",
    ),
    "flushed, times minus one": (
        "mul.ftz.f32 %t0, %a0, %a1; mul.ftz.f32 %t1, %t0, 0fbf800000; add.ftz.f32 %o0, %t1, %a2;",
        "fma(-a0, a1, a2)",
    ),
    "rounded, times minus one": (
        "mul.f32 %t0, %a0, %a1; mul.rn.f32 %t1, %t0, 0fbf800000; add.f32 %o0, %t1, %a2;",
        "sub(a2, mul(a0, a1))",
    ),
    "times minus one": (
        "mul.f32 %t0, %a0, %a1; mul.f32 %t1, %t0, 0fbf800000; add.f32 %o0, %t1, %a2;",
        "fma(-a0, a1, a2)",
    ),
    "times two": (
        "mul.f32 %t0, %a0, %a1; mul.f32 %t1, %t0, 0f40000000; add.f32 %o0, %t1, %a2;",
        "add(mul(2, mul(a0, a1)), a2)",
    ),
    "two constants": (
        "mul.f32 %t0, 0f3fc90fdb, 0f40490fdb; add.f32 %o0, %t0, %a2;",
        "add(mul(pi / 2, pi), a2)",
    ),
    "selected": (
        "mul.f32 %t0, %a0, %a1; selp.f32 %t1, %t0, %a4, %p0; add.f32 %o0, %t1, %a2;",
        "add(mul(a0, a1), a2)",
    ),
    "absolute": (
        "mul.f32 %t0, %a0, %a1; abs.f32 %t1, %t0; add.f32 %o0, %t1, %a2;",
        "add(abs(mul(a0, a1)), a2)",
    ),
    # A sum compared with zero: its addends are compared.
    "compared with zero": (
        "mul.f32 %t0, %a0, %a1; add.f32 %o0, %t0, %a2; sub.f32 %o1, %a3, %t0;"
        "setp.lt.f32 %p1, %o0, 0f00000000; @%p1 add.u32 %r0, %r0, 1;",
        "add(mul(a0, a1), a2)",
        "sub(a3, mul(a0, a1))",
    ),
    "compared with zero, other sign": (
        "mul.f32 %t0, %a0, %a1; add.f32 %o0, %t0, %a2; sub.f32 %o1, %a3, %t0;"
        "neg.f32 %t1, %o0; setp.geu.f32 %p1, 0f00000000, %t1; @%p1 add.u32 %r0, %r0, 1;",
        "add(mul(a0, a1), a2)",
        "sub(a3, mul(a0, a1))",
    ),
    "compared with zero or equal": (
        "mul.f32 %t0, %a0, %a1; add.f32 %o0, %t0, %a2; sub.f32 %o1, %a3, %t0;"
        "setp.le.f32 %p1, %o0, 0f00000000; @%p1 add.u32 %r0, %r0, 1;",
        "fma(a0, a1, a2)",
        "fma(-a0, a1, a3)",
    ),
    "compared with one": (
        "mul.f32 %t0, %a0, %a1; add.f32 %o0, %t0, %a2; sub.f32 %o1, %a3, %t0;"
        "setp.lt.f32 %p1, %o0, 0f3f800000; @%p1 add.u32 %r0, %r0, 1;",
        "fma(a0, a1, a2)",
        "fma(-a0, a1, a3)",
    ),
    "one use, compared with zero": (
        "mul.f32 %t0, %a0, %a1; add.f32 %o0, %t0, %a2;"
        "setp.lt.f32 %p1, %o0, 0f00000000; @%p1 add.u32 %r0, %r0, 1;",
        "fma(a0, a1, a2)",
    ),
    "constant, compared with zero in another block": (
        CONSTANT
        + "add.f32 %o0, %t0, %a2; sub.f32 %o1, %a3, %t0; "
        + BRANCH
        + "setp.gt.f32 %p1, %o0, 0f00000000; @%p1 add.u32 %r0, %r0, 1;",
        "add(mul(a0, k), a2)",
        "sub(a3, mul(a0, k))",
    ),
    "division of floats between": (
        "mul.f32 %t0, %a0, %a1; div.rn.f32 %t1, %a2, %a3; add.f32 %o0, %t0, %a2;",
        "add(mul(a0, a1), a2)",
    ),
    "estimate between": (
        "mul.f32 %t0, %a0, %a1; rcp.approx.f32 %t1, %a2; add.f32 %o0, %t0, %a2;",
        "fma(a0, a1, a2)",
    ),
    "call between": (
        "mul.f32 %t0, %a0, %a1; call.uni nothing, (); add.f32 %o0, %t0, %a2;",
        "add(mul(a0, a1), a2)",
    ),
    "flushed product": (
        "mul.ftz.f32 %t0, %a0, %a1; add.f32 %o0, %t0, %a2;",
        "add(mul(a0, a1), a2)",
    ),
    "flushed sum": ("mul.f32 %t0, %a0, %a1; add.ftz.f32 %o0, %t0, %a2;", "add(mul(a0, a1), a2)"),
    "both flushed": ("mul.ftz.f32 %t0, %a0, %a1; sub.ftz.f32 %o0, %t0, %a2;", "fma(a0, a1, -a2)"),
    "flushed sum too": (
        "mul.f32 %t0, %a0, %a1; add.f32 %o0, %t0, %a2; add.ftz.f32 %o1, %t0, %a3;",
        "add(mul(a0, a1), a2)",
        "add(mul(a0, a1), a3)",
    ),
    "saturated product": (
        "mul.sat.f32 %t0, %a0, %a1; add.f32 %o0, %t0, %a2;",
        "add(min(max(mul(a0, a1), 0), 1), a2)",
    ),
    "saturated sum": (
        "mul.f32 %t0, %a0, %a1; add.sat.f32 %o0, %t0, %a2;",
        "min(max(fma(a0, a1, a2), 0), 1)",
    ),
    "rounded to zero": (
        "mul.rz.f32 %t0, 0f40000000, %a0; add.rz.f32 %o0, %t0, 0f00000000;",
        "mul(2, a0)",
    ),
}


def text_of(body, type_name, outputs, target="sm_90"):
    size = SIZE[type_name]
    bits = f"b{8 * size}"
    lane = "cvt.u64.u32 %lane, %r0;"
    loads = [f"ld.global.{bits} %a{n}, [%in+{n * LANES * size}];" for n in range(INPUTS)]
    stores = [f"st.global.{bits} [%out+{n * LANES * size}], %o{n};" for n in range(outputs)]
    body = body.replace("LOOP", "mov.u32 %r2, 0; LOOP:")
    body = body.replace("LOOP:", 'LOOP: .pragma "nounroll";')
    body = body.replace("AGAIN", "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 2; @%p1 bra LOOP;")
    body = body.replace(".T ", f".{type_name} ").replace(".B ", f".{bits} ")
    return (
        HEAD % target
        + f"""
.const .f32 twelve = 0f41480000;
.global .f32 eleven = 0f41300000;
.global .u32 count;
.func nothing() {{ ret; }}
.visible .entry fuse(.param .u64 given, .param .u64 made, .param .f32 factor)
{{
    .reg .{bits} %a<{INPUTS}>, %t<8>, %o<8>;
    .reg .pred %p<2>; .reg .u32 %r<4>; .reg .u64 %in, %out, %lane, %rd<2>;
    ld.param.u64 %in, [given]; ld.param.u64 %out, [made];
    mov.u32 %r0, %tid.x; {lane} mul.lo.u64 %lane, %lane, {size};
    add.u64 %in, %in, %lane; add.u64 %out, %out, %lane;
    mov.u32 %r1, 3; setp.lt.u32 %p0, %r0, 100;
    {" ".join(loads)}
    {body}
    {" ".join(stores)}
    red.global.add.u32 [count], %r0;
    ret;
}}
"""
    )


def inputs_of(type_name, count):
    """Numbers of both signs between 1/2 and 2, with all bits of the significand in use."""
    random = np.random.default_rng(5)
    values = random.uniform(0.5, 2, (INPUTS, count)) * random.choice([-1, 1], (INPUTS, count))
    return np.array([exact.bits_of(row, type_name) for row in values])


def check(load, type_name, body, expressions):
    packed = type_name.endswith("x2")
    element = type_name.removesuffix("x2")
    given = inputs_of(element, LANES * (2 if packed else 1))
    made = np.zeros((len(expressions), given.shape[1]), given.dtype)
    module = load(text_of(body, type_name, len(expressions)))
    module.run("fuse", 1, LANES, [given, made, np.float32(12.5)])
    arithmetic = exact.Arithmetic(element)
    fields = [exact.fractions_of(row, element) for row in given]
    pi = exact.fractions_of(np.array([np.pi], np.float32).view(np.uint32), "f32")[0]
    names = [
        {f"a{n}": column[lane] for n, column in enumerate(fields)} | {"k": exact.Fraction(25, 2)}
        for lane in range(given.shape[1])
    ]
    for got, expression in zip(made, expressions, strict=True):
        known = [{**row, "pi": pi, "min": min, "max": max, "abs": abs} for row in names]
        expected = [arithmetic.value(expression, row) for row in known]
        assert (got == exact.bits_of(expected, element)).all(), expression
        if "fma(" in expression and ".rn" not in body:
            apart = [arithmetic.value(expression, row, fused=False) for row in known]
            assert apart != expected, "the inputs do not tell"


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("type_name", SIZE)
def test_rules(load, type_name, name):
    body, *expressions = CASES[name]
    check(load, type_name, body, expressions)


@pytest.mark.parametrize("name", PACKED_DIFFER)
@pytest.mark.parametrize("type_name", SIZE)
def test_several_uses_of_packed_numbers(load, type_name, name):
    body, scalar, packed = PACKED_DIFFER[name]
    check(load, type_name, body, packed if type_name.endswith("x2") else scalar)


@pytest.mark.parametrize("type_name", SIZE)
def test_a_sign_between_product_and_sum(load, type_name):
    body, fused, apart = NEGATION
    check(load, type_name, body, apart if type_name == "bf16x2" else fused)


@pytest.mark.parametrize("type_name", UNITS)
def test_one_is_no_factor_of_short_numbers(load, type_name):
    body = f"mov.B %t5, {UNITS[type_name]}; mul.T %t0, %a0, %t5; mul.T %t1, %a1, %a2; "
    packed = type_name.endswith("x2")
    result = "add(a0, mul(a1, a2))" if packed else "fma(a1, a2, a0)"
    apart = "add.T %o1, %t1, %a3; "  # tells whether the other product is fused
    body += "add.T %o0, %t0, %t1; " + ("" if packed else apart)
    check(load, type_name, body, [result] if packed else [result, "fma(a1, a2, a3)"])


@pytest.mark.parametrize("name", SINGLES)
def test_rules_of_f32(load, name):
    body, *expressions = SINGLES[name]
    check(load, "f32", body, expressions)


# The names of switches end the text, so that each text has a recording of its own.
SWITCH = "mul.f32 %t0, %a0, %a1; add.f32 %o0, %t0, %a2; // "
APART, FUSED = "add(mul(a0, a1), a2)", "fma(a0, a1, a2)"
OPTIMIZATION_LEVEL, GENERATE_DEBUG_INFO, FMA = 7, 11, 24  # CU_JIT_...
LTO_ALONE = "NVIDIA's driver reads CU_JIT_FMA with LTO-IR alone"


def results(module):
    """The expression, of the two, that a kernel computes."""
    given = inputs_of("f32", LANES)
    made = np.zeros((1, LANES), given.dtype)
    module.run("fuse", 1, LANES, [given, made, np.float32(12.5)])
    arithmetic = exact.Arithmetic("f32")
    fields = [exact.fractions_of(row, "f32") for row in given]
    rows = [{f"a{n}": column[lane] for n, column in enumerate(fields)} for lane in range(LANES)]
    for expression in (APART, FUSED):
        if (made[0] == exact.bits_of([arithmetic.value(expression, r) for r in rows], "f32")).all():
            return expression
    return None


def jit(options):
    """The arguments of JIT options: how many, which, their values."""
    keys = (c_int * len(options))(*options)
    return c_uint(len(options)), keys, (c_void_p * len(options))(*options.values())


@pytest.mark.parametrize(
    "options, expression",
    [
        ({}, FUSED),
        ({FMA: 1}, FUSED),
        ({FMA: 0}, APART),
        ({OPTIMIZATION_LEVEL: 0}, APART),
        ({OPTIMIZATION_LEVEL: 1}, FUSED),
        ({GENERATE_DEBUG_INFO: 1}, APART),
        ({GENERATE_DEBUG_INFO: 0, FMA: 1}, FUSED),
    ],
    ids=str,
)
def test_options_of_a_module(driver, options, expression):
    if FMA in options:
        driver.skip_on_hardware(LTO_ALONE)
    text = text_of(SWITCH + str(options) + "\n", "f32", 1)
    handle = c_void_p()
    driver.cuModuleLoadDataEx(byref(handle), text.encode() + b"\0", *jit(options))
    module = Module(driver, handle, text)
    assert results(module) == expression
    module.unload()


@pytest.mark.parametrize("fma, expression", [(0, APART), (1, FUSED)])
def test_options_of_a_library(driver, fma, expression):
    driver.skip_on_hardware(LTO_ALONE)
    text = text_of(SWITCH + f"library {fma}\n", "f32", 1)
    library, module = c_void_p(), c_void_p()
    count, keys, values = jit({FMA: fma})
    driver.cuLibraryLoadData(
        byref(library), text.encode() + b"\0", keys, values, count, None, None, c_uint(0)
    )
    driver.cuLibraryGetModule(byref(module), library)
    assert results(Module(driver, module, text)) == expression
    driver.cuLibraryUnload(library)


@pytest.mark.parametrize(
    "of_link, of_input, expression", [(1, 1, FUSED), (0, 1, APART), (1, 0, APART)]
)
def test_options_of_a_link(driver, of_link, of_input, expression):
    driver.skip_on_hardware("machine code that is linked is no PTX to record")
    text = text_of(SWITCH + f"link {of_link} {of_input}\n", "f32", 1)
    state, image, size, handle = c_void_p(), c_void_p(), ctypes.c_size_t(), c_void_p()
    count, *options = jit({FMA: of_link})
    driver.cuLinkCreate_v2(count, *options, byref(state))
    count, *input_options = jit({FMA: of_input})
    data = text.encode() + b"\0"
    driver.cuLinkAddData_v2(
        state, c_int(1), data, ctypes.c_size_t(len(data)), b"text", count, *input_options
    )
    driver.cuLinkComplete(state, byref(image), byref(size))
    driver.cuModuleLoadData(byref(handle), image)
    driver.cuLinkDestroy(state)
    module = Module(driver, handle, text)
    assert results(module) == expression
    module.unload()


def test_code_to_debug(load, driver):
    """nvcc -G writes such a target."""
    driver.skip_on_hardware("it takes such a target without optimization alone")
    lines = '.file 1 "fuse.cu"\n.section .debug_str { .b8 0 }\n'
    text = text_of(SWITCH + "debug\n", "f32", 1, "sm_90, debug") + lines
    assert results(load(text)) == APART


SCRIPT = """
import sys
from ptx import test_contract_fma as test
from ptx.driver import Driver
driver = Driver()
text = test.text_of(test.SWITCH + "variable\\n", "f32", 1)
print(test.results(driver.load(text)))
"""


@pytest.mark.parametrize("value, expression", [("0", APART), ("1", FUSED), ("", FUSED)])
def test_variable(driver, value, expression):
    driver.skip_on_hardware("a variable of the CPU device")
    tests = os.path.dirname(os.path.dirname(__file__))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "CUPOLA_CPU_FMA": value, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tests,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == expression, done.stderr


# Texts that would take long, were the time not linear.
COUNT = 20000
END = "mul.f32 %a0, %a1, %a0; add.f32 %o0, %a0, %a1;"
BACK = "L{}: @%p0 bra L{}; add.f32 %o0, %a0, %a1; mul.f32 %a0, %o0, 0f41480000; "
MIXED = "mul.f32 %a{}, %a{}, %a{}; add.f32 %a{}, %a{}, %a1; "
LONG = {
    "sums": "mul.f32 %t0, %a0, %a1; " + "add.f32 %o0, %t0, %a2; " * COUNT,
    "pairs": PRODUCTS.replace(".T", ".f32") + "add.f32 %o0, %t0, %t1; " * COUNT,
    "copies": "mul.f32 %t0, %a0, %a1; " + "mov.f32 %t0, %t0; " * COUNT + "add.f32 %o0, %t0, %a2;",
    "signs": "mul.f32 %t0, %a0, %a1; " + "neg.f32 %t0, %t0; " * COUNT + "add.f32 %o0, %t0, %a2;",
    "blocks": "".join(BACK.format(n, (n * 7919 + 1) % COUNT) for n in range(COUNT)),
    "branches": "".join(f"bra L{n}; L{n}: " for n in range(COUNT)) + END,
    "tables": "T: .branchtargets "
    + ", ".join(f"L{n}" for n in range(1000))
    + "; "
    + "".join(f"L{n}: brx.idx %r1, T; " for n in range(1000))
    + END,
    "registers": "".join(MIXED.format(*(n * k % 8 for k in (1, 3, 5, 7, 1))) for n in range(COUNT)),
}


@pytest.mark.parametrize("name", LONG)
def test_long_texts_load_soon(load, driver, name):
    driver.skip_on_hardware("NVIDIA's assembler takes minutes")
    text = text_of(LONG[name], "f32", 1)
    begin = time.perf_counter()
    load(text).function("fuse")
    assert time.perf_counter() - begin < 5
