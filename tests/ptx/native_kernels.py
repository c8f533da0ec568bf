# ruff: noqa: E501 - PTX text is wide
"""Kernels that run interpreted and as machine code: run as a program, prints what each gives.

``python -m ptx.native_kernels NUMBER`` prints a line for each kernel: how it ran, and a hash of its
results. The environment says how: CUPOLA_CPU_MODE. The number chooses spellings of the table's rows.
For another compute capability than 9.0, the kernels are those of rows for newer devices.
"""

import ctypes
import hashlib
import itertools
import os
import random
import re

import numpy as np
from driver_abi import DriverError

from . import test_rows
from .device_process import VARIABLE
from .driver import Driver

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"

# Each has an array in, an array out, and a number; the blocks are of 96 threads.
ENTRY = """.visible .entry {name}(.param .u64 pin, .param .u64 pout, .param .u32 pn) {{
.reg .b64 %rd<16>; .reg .b32 %r<40>; .reg .f32 %f<16>; .reg .pred %p<16>;
ld.param.u64 %rd1, [pin]; ld.param.u64 %rd2, [pout]; ld.param.u32 %r0, [pn];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
mul.wide.u32 %rd3, %r4, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
"""
BODIES = {
    "structure": """mov.b64 %rd6, pin; add.u64 %rd7, %rd6, 24; ld.param.u32 %r5, [%rd7+-8]; ld.global.u32 %r6, [%rd4]; mad.lo.u32 %r6, %r6, %r5, %r4; st.global.u32 [%rd5], %r6;""",
    "same_in_all_lanes": """setp.lt.u32 %p1|%p2, %r0, 7; selp.u32 %r5, 11, 22, %p1; selp.u32 %r6, 33, 44, %p2;
    add.cc.u32 %r7, %r0, 0xffffffff; addc.u32 %r8, %r0, %r7; setp.eq.and.u32 %p3|%p4, %r8, 6, %p1; selp.u32 %r9, 55, 66, %p4;
    add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r8; add.u32 %r5, %r5, %r9; add.u32 %r5, %r5, %r3; st.global.u32 [%rd5], %r5;""",
    "signs_of_nan": """ld.global.u32 %r5, [%rd4]; or.b32 %r5, %r5, 0xff800000; mov.b32 %f0, %r5;
    min.ftz.xorsign.abs.f32 %f1, 0fBF800000, %f0; st.global.f32 [%rd5], %f1;""",
    "divergent": """ld.global.u32 %r5, [%rd4]; and.b32 %r5, %r5, 63; mov.u32 %r6, 0; mov.u32 %r7, 0;
    OUTER: setp.ge.u32 %p0, %r7, %r5; @%p0 bra DONE; mov.u32 %r8, 0;
    INNER: setp.gt.u32 %p1, %r8, %r7; @%p1 bra NEXT; mad.lo.u32 %r6, %r8, %r7, %r6; add.u32 %r8, %r8, 1; bra INNER;
    NEXT: add.u32 %r7, %r7, 1; bra.uni OUTER;
    DONE: activemask.b32 %r9; add.u32 %r6, %r6, %r9; st.global.u32 [%rd5], %r6;""",
    "overlapping": """ld.global.u32 %r5, [%rd4]; and.b32 %r5, %r5, 7; mov.u32 %r6, 0; mov.u32 %r7, 0;
    FIRST: add.u32 %r7, %r7, 1; add.u32 %r6, %r6, %r7; SECOND: mad.lo.u32 %r6, %r6, 3, %r1; add.u32 %r7, %r7, 1; and.b32 %r8, %r7, 3; setp.gt.u32 %p0, %r8, 1; @%p0 bra SECOND;
    add.u32 %r9, %r7, %r5; setp.lt.u32 %p1, %r9, 12; @%p1 bra FIRST; setp.lt.u32 %p2, %r9, 25; @%p2 bra SECOND; st.global.u32 [%rd5], %r6;""",
    "predicated": """ld.global.f32 %f1, [%rd4]; and.b32 %r5, %r1, 5; setp.eq.u32 %p0, %r5, 1; mov.f32 %f2, 0f3F800000;
    @%p0 add.f32 %f2, %f2, %f1; @!%p0 mul.f32 %f2, %f2, 0f40490FDB; @%p0 ld.global.f32 %f3, [%rd4+4];
    @!%p0 mov.f32 %f3, 0f40000000; fma.rn.f32 %f2, %f2, %f3, %f1; @!%p0 st.global.f32 [%rd5], %f2;
    @%p0 st.global.u32 [%rd5], %r4;""",
    "halves": """ld.global.u32 %r5, [%rd4]; and.b32 %r6, %r5, 1; setp.eq.u32 %p0, %r6, 0; @%p0 bra EVEN;
    mul.lo.u32 %r7, %r5, 3; add.u32 %r7, %r7, 1; setp.gt.u32 %p1, %r1, 40; @%p1 bra LATE; bra MEET;
    EVEN: shr.u32 %r7, %r5, 1; bra MEET; LATE: xor.b32 %r7, %r7, 0x55; MEET: shfl.sync.bfly.b32 %r8, %r7, 3, 31, -1;
    vote.sync.ballot.b32 %r9, %p0, -1; add.u32 %r8, %r8, %r9; st.global.u32 [%rd5], %r8;""",
    "tiles": """.shared .align 4 .b8 tile[384]; mov.u32 %r5, tile; shl.b32 %r6, %r1, 2; add.u32 %r6, %r5, %r6; mov.u32 %r7, 0; mov.u32 %r8, 0;
    TILE: ld.global.u32 %r9, [%rd4]; add.u32 %r9, %r9, %r8; st.shared.u32 [%r6], %r9; bar.sync 0; mov.u32 %r10, 0; mov.u32 %r11, %r5;
    SUM: ld.shared.u32 %r12, [%r11]; mad.lo.u32 %r7, %r12, %r10, %r7; add.u32 %r11, %r11, 4; add.u32 %r10, %r10, 1; setp.lt.u32 %p0, %r10, 96; @%p0 bra SUM;
    bar.sync 0; add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, %r0; @%p1 bra TILE; bar.red.popc.u32 %r13, 0, %p0; add.u32 %r7, %r7, %r13; st.global.u32 [%rd5], %r7;""",
    "halving": """.shared .align 4 .b8 part[512]; mov.u32 %r5, part; shl.b32 %r6, %r1, 2; add.u32 %r6, %r5, %r6; ld.global.u32 %r7, [%rd4]; st.shared.u32 [%r6], %r7;
    mov.u32 %r8, 64; bar.sync 0; STEP: setp.ge.u32 %p0, %r1, %r8; add.u32 %r9, %r1, %r8; setp.ge.u32 %p1, %r9, 96; or.pred %p0, %p0, %p1; @%p0 bra SKIP;
    shl.b32 %r10, %r8, 2; add.u32 %r10, %r10, %r6; ld.shared.u32 %r11, [%r10]; ld.shared.u32 %r12, [%r6]; add.u32 %r12, %r12, %r11; st.shared.u32 [%r6], %r12;
    SKIP: bar.sync 0; shr.u32 %r8, %r8, 1; setp.ne.u32 %p2, %r8, 0; @%p2 bra STEP; ld.shared.u32 %r13, [%r5]; st.global.u32 [%rd5], %r13;""",
    "meeting": """.shared .align 4 .b8 tile[1024]; mov.u32 %r5, tile; mov.u32 %r7, 0; mov.u32 %r8, 0; shl.b32 %r6, %r1, 2; add.u32 %r6, %r5, %r6;
    ROUND: add.u32 %r9, %r4, %r8; st.shared.u32 [%r6], %r9; bar.sync 0; add.u32 %r10, %r1, 8; add.u32 %r10, %r10, %r8; rem.u32 %r10, %r10, %r3;
    shl.b32 %r10, %r10, 2; add.u32 %r10, %r5, %r10; ld.shared.u32 %r11, [%r10]; mad.lo.u32 %r7, %r7, 3, %r11; bar.sync 3;
    and.b32 %r12, %r1, 1; setp.eq.u32 %p1, %r12, 0; @%p1 bra EVEN; add.u32 %r7, %r7, 5; barrier.sync 1; bra BOTH; EVEN: barrier.sync 1;
    BOTH: st.global.u32 [%rd5], %r7; setp.ge.u32 %p2, %r1, 70; setp.eq.and.u32 %p2, %r8, 1, %p2; @%p2 bra LEFT;
    add.u32 %r8, %r8, 1; setp.lt.u32 %p3, %r8, 4; @%p3 bra ROUND; LEFT:""",
    "lasting": """.shared .align 4 .b8 tile[1024]; mov.u32 %r5, tile; shl.b32 %r6, %r1, 2; add.u32 %r6, %r5, %r6; mov.u32 %r7, 0; mov.u32 %r8, 0;
    ROUND: shr.u32 %r9, %r1, 3; setp.gt.u32 %p1|%p2, %r9, 4; cvt.rn.f32.u32 %f1, %r9; setp.lt.f32 %p3, %f1, 0f40A00000; xor.pred %p4, %p1, %p3; mul.wide.u32 %rd6, %r9, 3; cvt.u32.u64 %r10, %rd6;
    add.u32 %r11, %r4, %r8; st.shared.u32 [%r6], %r11; bar.sync 0; selp.u32 %r12, %r10, %r11, %p4; selp.u32 %r13, 7, %r12, %p2; ld.global.u32 %r15, [%rd4]; and.b32 %r15, %r15, 3; setp.eq.u32 %p6, %r15, %r8; @%p6 bra SKIP;
    not.b32 %r16, %r1; shl.b32 %r17, %r16, 2; setp.ge.s32 %p7, %r17, -80; @%p7 add.u32 %r7, %r7, %r17; SKIP: xor.b32 %r18, %r1, 5; rem.u32 %r19, %r18, %r3; shl.b32 %r20, %r19, 2; add.u32 %r21, %r5, %r20; ld.shared.u32 %r22, [%r21];
    mad.lo.u32 %r7, %r7, 3, %r22; xor.b32 %r7, %r7, %r13; bar.sync 0; add.u32 %r8, %r8, 1; setp.lt.u32 %p8, %r8, 4; @%p8 bra ROUND; st.global.u32 [%rd5], %r7;""",
    "counting": """ld.global.u32 %r5, [%rd4]; and.b32 %r6, %r5, 15; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd2, %rd6;
    red.global.add.u32 [%rd6], 1; and.b32 %r7, %r5, 3; setp.eq.u32 %p0, %r7, 2; @%p0 atom.global.max.u32 %r8, [%rd6+64], %r5;""",
    "lock": """and.b32 %r6, %r1, 3; mul.wide.u32 %rd6, %r6, 8; add.u64 %rd6, %rd2, %rd6;
    AGAIN: atom.global.cas.b32 %r5, [%rd6], 0, 1; setp.ne.u32 %p0, %r5, 0; @%p0 bra AGAIN;
    ld.volatile.global.u32 %r7, [%rd6+4]; add.u32 %r7, %r7, %r1; st.volatile.global.u32 [%rd6+4], %r7; membar.gl;
    atom.global.exch.b32 %r5, [%rd6], 0;""",
    "calling": """ld.global.u32 %r5, [%rd4]; and.b32 %r5, %r5, 7;
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %r5; call (r), fib, (a); ld.param.b32 %r6, [r]; }
    st.global.u32 [%rd5], %r6;""",
    "choosing": """ld.global.u32 %r5, [%rd4]; and.b32 %r6, %r5, 3; mov.u32 %r9, 0; LOOP: T: .branchtargets A, B, C, A; brx.idx %r6, T;
    A: add.u32 %r7, %r5, 10; bra E; B: mul.lo.u32 %r7, %r5, 20; bra E; C: not.b32 %r7, %r5; E: add.u32 %r6, %r6, 1; and.b32 %r6, %r6, 3; add.u32 %r5, %r7, %r9;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p0, %r9, %r0; @%p0 bra LOOP; st.global.u32 [%rd5], %r5;""",
    "leaving": """ld.global.u32 %r5, [%rd4]; setp.gt.u32 %p0, %r5, 0x60000000; @%p0 exit; rem.u32 %r6, %r5, 1000; div.u32 %r7, %r5, 7;
    add.u32 %r6, %r6, %r7; cvt.rn.f32.u32 %f1, %r6; sqrt.rn.f32 %f1, %f1; add.rz.f32 %f1, %f1, 0f3F9D70A4; st.global.f32 [%rd5], %f1;""",
    "vectors": """and.b32 %r9, %r4, 31; mul.wide.u32 %rd6, %r9, 16; add.u64 %rd6, %rd1, %rd6; ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd6]; add.u32 %r5, %r5, %r7;
    mov.b64 %rd7, {%r5, %r6}; mul.lo.u64 %rd7, %rd7, 0x100000001b3; mov.b64 {%r5, %r6}, %rd7; xor.b32 %r5, %r5, %r6; st.global.u32 [%rd5], %r5;""",
    "local": """.local .align 4 .b8 own[64]; and.b32 %r5, %r1, 15; shl.b32 %r5, %r5, 2; mov.u32 %r6, own; add.u32 %r6, %r6, %r5; st.local.u32 [%r6], %r4;
    ld.local.u32 %r7, [own+4]; ld.local.u32 %r8, [%r6]; add.u32 %r7, %r7, %r8; st.global.u32 [%rd5], %r7;""",
    "lines": """mov.u32 %r5, 95; sub.u32 %r6, %r5, %r1; mad.lo.u32 %r6, %r2, 96, %r6; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r7, [%rd6];
    mul.wide.u32 %rd7, %r4, 8; add.u64 %rd7, %rd1, %rd7; ld.global.v2.u32 {%r8, %r9}, [%rd7]; ld.global.u32 %r10, [%rd1+64]; cvt.u64.u32 %rd8, %r4; add.u64 %rd8, %rd1, %rd8;
    ld.global.u8 %r11, [%rd8+3]; mul.wide.u32 %rd9, %r4, 16; add.u64 %rd9, %rd1, %rd9; ld.global.u32 %r12, [%rd9+4]; mov.u32 %r13, %tid.y; shl.b32 %r14, %r13, 6; add.u32 %r14, %r14, %r1;
    mul.wide.u32 %rd10, %r14, 4; add.u64 %rd10, %rd10, %rd1; ld.global.u32 %r15, [%rd10+256]; ld.global.u32 %r16, [%rd10+260]; xor.b32 %r7, %r7, %r8; add.u32 %r7, %r7, %r9;
    mad.lo.u32 %r7, %r7, 3, %r10; add.u32 %r7, %r7, %r11; xor.b32 %r7, %r7, %r12; add.u32 %r7, %r7, %r15; mad.lo.u32 %r7, %r7, 5, %r16; st.global.u32 [%rd5], %r7;""",
    "around_the_end": """.shared .align 4 .b8 tile[384]; mov.u32 %r5, tile; mov.u32 %r9, 0; shl.b32 %r6, %r1, 2; sub.u32 %r6, %r6, 64; add.u32 %r6, %r5, %r6; st.shared.u32 [%r6+64], %r4; bar.sync 0;
    setp.lt.u32 %p0, %r1, 40; @%p0 bra SKIP; sub.u32 %r7, %r1, 40; mul.wide.u32 %rd6, %r7, 4; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r9, [%rd6];
    SKIP: sub.u32 %r8, %r1, 72; cvt.u64.u32 %rd7, %r8; setp.ge.u32 %p1, %r1, 72; @!%p1 mov.u64 %rd7, 5; shl.b64 %rd7, %rd7, 2; add.u64 %rd7, %rd7, %rd1; ld.global.u32 %r10, [%rd7];
    ld.shared.u32 %r11, [%r6+64]; add.u32 %r9, %r9, %r10; xor.b32 %r9, %r9, %r11; st.global.u32 [%rd5], %r9;""",
    "regions": """.shared .align 4 .b8 sums[512]; mov.u32 %r5, sums; shl.b32 %r6, %r1, 2; and.b32 %r6, %r6, 124; add.u32 %r6, %r5, %r6; mov.u32 %r8, 0; cvt.rn.f32.u32 %f1, %r4; mul.f32 %f1, %f1, 0f3E4CCCCD; st.shared.u32 [%r6], %r8; st.shared.u32 [%r6+128], %r8;
    REGION: bar.sync 0; red.shared.add.f32 [%r5+4], %f1; mul.f32 %f1, %f1, 0f40C90FDB; red.shared.add.f32 [%r6+128], %f1; bar.sync 0; ld.shared.f32 %f2, [%r5+4]; ld.shared.f32 %f3, [%r6+128]; fma.rn.f32 %f1, %f3, 0f3DCCCCCD, %f2;
    add.u32 %r8, %r8, 1; setp.lt.u32 %p0, %r8, 9; @%p0 bra REGION; st.global.f32 [%rd5], %f1;""",
    "regions_that_differ": """.shared .align 4 .b8 sums[1280]; mov.u32 %r5, sums; shl.b32 %r6, %r1, 2; add.u32 %r6, %r5, %r6; mov.u32 %r8, 0; shr.u32 %r9, %r1, 5; st.shared.u32 [%r6], %r4; bar.sync 0; mov.u32 %r12, 0; setp.eq.u32 %p3, %r2, 3; setp.eq.u32 %p4, %r9, 0; and.pred %p3, %p3, %p4; @%p3 bra GONE;
    REGION: add.u32 %r10, %r9, %r8; rem.u32 %r10, %r10, 5; setp.eq.u32 %p0, %r10, 2; add.u32 %r11, %r8, %r1; and.b32 %r11, %r11, 63; shl.b32 %r11, %r11, 2; add.u32 %r11, %r5, %r11; @%p0 bra OTHER; ld.shared.u32 %r13, [%r11]; mad.lo.u32 %r12, %r12, 3, %r13; bar.sync 0; bra BOTH;
    OTHER: ld.shared.u32 %r13, [%r11]; mad.lo.u32 %r12, %r12, 5, %r13; bar.sync 0; add.u32 %r12, %r12, 1;
    BOTH: setp.eq.u32 %p1, %r8, 6; setp.eq.u32 %p2, %r9, 1; and.pred %p1, %p1, %p2; setp.gt.u32 %p5, %r2, 1; and.pred %p1, %p1, %p5; @%p1 bra GONE; add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 11; @%p1 bra REGION;
    setp.gt.u32 %p2, %r1, 70; @%p2 bra GONE; bar.sync 0; st.shared.u32 [%r6], %r12; bar.sync 0; xor.b32 %r13, %r6, 60; ld.shared.u32 %r14, [%r13]; add.u32 %r12, %r12, %r14; GONE: add.u32 %r12, %r12, %r8; st.global.u32 [%rd5], %r12;""",
    "strided_in_shared": """.shared .align 16 .b8 tile[6528]; mov.u32 %r5, tile; mov.u32 %r21, %r1; ZERO: shl.b32 %r22, %r21, 2; add.u32 %r22, %r5, %r22; st.shared.u32 [%r22], %r21; add.u32 %r21, %r21, %r3; setp.lt.u32 %p1, %r21, 1632; @%p1 bra ZERO; bar.sync 0; mad.lo.u32 %r6, %r1, 68, %r5; ld.global.u32 %r7, [%rd4]; st.shared.u32 [%r6], %r7; add.u32 %r7, %r7, %r4; st.shared.u32 [%r6+64], %r7; mad.lo.u32 %r8, %r1, 24, %r5; bar.sync 0;
    ld.shared.u32 %r9, [%r6]; ld.shared.v2.u32 {%r10, %r11}, [%r8]; ld.shared.u32 %r14, [%r6+64]; setp.gt.u32 %p0, %r1, 37; @%p0 bra SOME; ld.shared.u32 %r12, [%r6]; add.u32 %r9, %r9, %r12; add.u32 %r14, %r14, 1; mul.lo.u32 %r15, %r1, %r1; and.b32 %r15, %r15, 120; add.u32 %r15, %r5, %r15; ld.shared.v2.u32 {%r16, %r17}, [%r15]; mad.lo.u32 %r9, %r16, 3, %r9; xor.b32 %r9, %r9, %r17;
    SOME: bar.sync 0; st.shared.v2.u32 [%r8], {%r9, %r14}; add.u32 %r13, %r9, %r10; xor.b32 %r13, %r13, %r11; bar.sync 0; xor.b32 %r18, %r1, 5; mad.lo.u32 %r18, %r18, 24, %r5; ld.shared.v2.u32 {%r19, %r20}, [%r18]; mad.lo.u32 %r13, %r19, 7, %r13; xor.b32 %r13, %r13, %r20; st.shared.v2.u32 [%r18], {%r13, %r20}; bar.sync 0; ld.shared.v2.u32 {%r19, %r20}, [%r8]; add.u32 %r13, %r13, %r19; st.global.u32 [%rd5], %r13;""",
    "partly": """.shared .align 4 .b8 tile[1024]; mov.u32 %r5, tile; shl.b32 %r6, %r1, 2; add.u32 %r6, %r5, %r6; st.shared.u32 [%r6], %r1; mov.u32 %r13, 0; st.shared.u32 [%r6+512], %r13; bar.sync 0; mov.u32 %r13, 7;
    mul.lo.u32 %r7, %r0, 17; setp.ge.u32 %p0, %r1, %r7; @%p0 bra BEHIND; ld.global.u32 %r8, [%rd4]; and.b32 %r9, %r8, 92; add.u32 %r9, %r5, %r9; atom.shared.add.u32 %r13, [%r9], 1; red.shared.max.u32 [%r6+512], %r8;
    BEHIND: bar.sync 0; @%p0 bra AFTER; and.b32 %r10, %r6, 380; add.u32 %r10, %r5, %r10; ld.shared.u32 %r10, [%r10]; and.b32 %r10, %r10, 124; add.u32 %r10, %r5, %r10; ld.shared.u32 %r10, [%r10]; add.u32 %r13, %r13, %r10;
    AFTER: vote.sync.ballot.b32 %r11, %p0, -1; add.u32 %r13, %r13, %r11; ld.shared.u32 %r12, [%r6+512]; xor.b32 %r13, %r13, %r12; ld.shared.u32 %r14, [%r6]; xor.b32 %r13, %r13, %r14; st.global.u32 [%rd5], %r13;""",
    "guarded_within": """ld.global.u32 %r5, [%rd4]; and.b32 %r6, %r5, 1; setp.eq.u32 %p0, %r6, 0; and.b32 %r7, %r5, 2; setp.eq.u32 %p1, %r7, 0; mov.u32 %r9, 3; @%p0 bra PAST;
    add.u32 %r9, %r5, 7; @%p1 red.global.add.u32 [%rd2+8192], %r5; xor.b32 %r9, %r9, %r4; PAST: add.u32 %r9, %r9, %r1; st.global.u32 [%rd5], %r9;""",
    "bins": """.shared .align 8 .b8 bins[512]; mov.u32 %r5, bins; shl.b32 %r6, %r1, 2; add.u32 %r6, %r5, %r6; st.shared.u32 [%r6], %r1; bar.sync 0; ld.global.u32 %r7, [%rd4]; and.b32 %r8, %r7, 60; add.u32 %r8, %r5, %r8;
    atom.shared.add.u32 %r9, [%r8], 1; atom.shared.cas.b32 %r10, [%r8+64], 7, %r4; atom.shared.exch.b32 %r10, [%r8+128], %r10; and.b32 %r11, %r1, 3; setp.eq.u32 %p0, %r11, 1; @%p0 atom.shared.inc.u32 %r10, [%r8], 5;
    mov.f32 %f1, 0f3F800000; atom.shared.add.f32 %f2, [%r8+192], %f1; bar.sync 0; ld.shared.u32 %r12, [%r6]; add.u32 %r12, %r12, %r10; setp.eq.u32 %p1, %r4, %r1; @%p1 st.global.u32 [%rd5], %r12;
    atom.global.add.u64 %rd6, [%rd2+8192], 3; st.shared.u64 [%r5], %rd6; popc.b64 %r13, %rd6; setp.gt.u32 %p2, %r1, 90; @%p2 st.global.u32 [%rd5], %r12;""",
    "nans": """ld.global.f32 %f1, [%rd4]; ld.global.f32 %f2, [%rd4+4]; shl.b32 %r5, %r4, 20; or.b32 %r5, %r5, 0x7f800001; mov.b32 %f3, %r5; mul.f32 %f4, %f1, %f3; fma.rn.f32 %f5, %f4, %f2, %f4; setp.lt.f32 %p0, %f4, %f5;
    sub.f32 %f6, %f5, %f5; div.rn.f32 %f7, %f6, %f4; sqrt.rn.f32 %f8, %f7; add.f32 %f9, %f1, %f3; mov.b32 %r6, %f9; add.f32 %f10, %f9, %f8; abs.f32 %f11, %f10; selp.f32 %f12, %f11, %f8, %p0; mov.b32 %r7, %f12;
    xor.b32 %r6, %r6, %r7; st.global.u32 [%rd5], %r6;""",
    "going_on": """mov.u32 %r5, 0; mov.u32 %r6, %r4; mov.u32 %r9, 3000; FAR: mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r7, [%rd6]; mov.u32 %r10, 0;
    NEAR: add.u32 %r5, %r5, %r7; add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 40; @%p1 bra NEAR; add.u32 %r6, %r6, 480; rem.u32 %r6, %r6, 4096; sub.u32 %r9, %r9, 1; setp.gt.u32 %p0, %r9, %r1; @%p0 bra FAR; st.global.u32 [%rd5], %r5;""",
    "sweeping": """mul.lo.u32 %r5, %r0, 100; setp.ge.u32 %p0, %r4, %r5; @%p0 bra OUT; ld.global.u32 %r6, [%rd4]; ld.global.u32 %r7, [%rd4+4]; ld.global.u32 %r8, [%rd1+64];
    mul.wide.u32 %rd6, %r4, 8; add.u64 %rd7, %rd1, %rd6; ld.global.v2.u32 {%r9, %r10}, [%rd7]; cvt.rn.f32.u32 %f1, %r4; mov.b32 %r12, %f1; setp.eq.u32 %p1, %r1, 40; selp.b32 %r13, %r4, %r6, %p1;
    setp.lt.u32 %p2, %r6, %r7; or.pred %p3, %p1, %p2; not.pred %p4, %p0; and.pred %p5, %p3, %p4; selp.b32 %r14, %r9, %r10, %p5; mad.lo.u32 %r15, %r13, 3, %r8; xor.b32 %r16, %r15, %r12; add.u32 %r17, %r16, %r14;
    st.global.u32 [%rd5], %r17; st.global.u32 [%rd5+2048], %r4; OUT:""",
    "sweeping_between": """sub.s32 %r6, %r4, 50; setp.ge.s32 %p0, %r6, 0; setp.lt.s32 %p1, %r6, 330; and.pred %p2, %p0, %p1; @%p2 bra BODY; ret;
    BODY: mul.wide.s32 %rd6, %r6, 4; add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r7, [%rd7]; mul.wide.s32 %rd8, %r6, 16; add.u64 %rd9, %rd2, %rd8; mov.u32 %r8, %ctaid.x; mov.u32 %r9, %nctaid.x; st.global.v4.u32 [%rd9], {%r7, %r6, %r8, %r9};""",
    "sweeping_around": """sub.u32 %r6, %r4, 100; setp.ge.u32 %p0, %r6, 0x80000000; @%p0 bra OUT; add.u32 %r7, %r4, 0x7ffffe70; setp.lt.s32 %p1, %r7, 0; @%p1 bra OUT;
    mul.wide.u32 %rd6, %r6, 4; add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r8, [%rd7]; xor.b32 %r9, %r8, %r7; st.global.u32 [%rd5], %r9; OUT:""",
    "sweeping_beyond": """add.u32 %r6, %r4, 0xffffff38; cvt.u64.u32 %rd6, %r6; shl.b64 %rd7, %rd6, 2; shl.b64 %rd8, %rd7, 32; shr.u64 %rd9, %rd8, 32; and.b64 %rd10, %rd9, 4092; add.u64 %rd11, %rd1, %rd7; sub.u64 %rd12, %rd11, %rd7;
    ld.global.u32 %r8, [%rd12]; cvt.u32.u64 %r9, %rd7; xor.b32 %r10, %r9, %r8; cvt.u32.u64 %r11, %rd10; add.u32 %r12, %r10, %r11; st.global.u32 [%rd5], %r12;""",
    "sweeping_in_turn": """mad.lo.u32 %r6, %r2, 192, %r1; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r7, [%rd7]; ld.global.u32 %r8, [%rd7+64]; mad.lo.u32 %r9, %r7, 5, %r8; st.global.u32 [%rd7+128], %r9; ld.global.u32 %r10, [%rd7]; add.u32 %r11, %r10, %r9; st.global.u32 [%rd5], %r11;""",
    "sweeping_rows": """mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z; mov.u32 %r7, %nctaid.x; mov.u32 %r8, %nctaid.y; mad.lo.u32 %r9, %r6, %r8, %r5; mad.lo.u32 %r10, %r9, %r7, %r2; mad.lo.u32 %r11, %r10, %r3, %r1;
    mul.lo.u32 %r12, %r0, 500; setp.ge.u32 %p0, %r11, %r12; @%p0 bra OUT; sub.u32 %r13, %r11, 450; setp.lt.u32 %p1, %r13, 10; @%p1 bra OUT;
    mul.wide.u32 %rd6, %r11, 4; add.u64 %rd7, %rd1, %rd6; add.u64 %rd8, %rd2, %rd6; ld.global.u32 %r14, [%rd7]; mad.lo.u32 %r15, %r14, 3, %r9; xor.b32 %r16, %r15, %r2; st.global.u32 [%rd8], %r16; OUT:""",
    "rounds": """mov.u32 %r5, %r4; mov.u32 %r6, 0; mul.lo.u32 %r7, %r3, %r0;
    GO: mul.wide.u32 %rd6, %r5, 4; add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r8, [%rd7]; mad.lo.u32 %r6, %r6, 5, %r8; add.u32 %r5, %r5, %r7; setp.lt.u32 %p0, %r5, 4000; @%p0 bra GO; st.global.u32 [%rd5], %r6;""",
    "rounds_down": """add.u32 %r5, %r4, 3000; mov.u32 %r6, 0; DOWN: mul.wide.s32 %rd6, %r5, 4; add.u64 %rd7, %rd1, %rd6; add.u64 %rd8, %rd2, %rd6; ld.global.u32 %r8, [%rd7]; xor.b32 %r9, %r8, %r5; st.global.u32 [%rd8+8], %r9;
    setp.le.s32 %p0, %r5, 70; add.s32 %r5, %r5, -7; @!%p0 bra DOWN;""",
    "rounds_around": """add.u32 %r5, %r1, 0xffffff00; add.u32 %r6, %r1, 0x7fffff00; mov.u64 %rd6, %rd4; mov.u32 %r7, 1;
    ONE: ld.global.u32 %r8, [%rd6]; mad.lo.u32 %r7, %r7, 3, %r8; add.u64 %rd6, %rd6, 28; add.u32 %r5, %r5, 3; setp.ge.u32 %p0, %r5, 0xfffff000; @%p0 bra ONE;
    TWO: ld.global.u32 %r8, [%rd6]; mad.lo.u32 %r7, %r7, 5, %r8; sub.u64 %rd6, %rd6, 8; add.u64 %rd6, %rd6, 4; add.s32 %r6, %r6, 3; setp.gt.s32 %p1, %r6, 0; @%p1 bra TWO; st.global.u32 [%rd5], %r7;""",
    "rounds_in_shared": """.shared .align 4 .b8 tile[768]; mov.u32 %r5, tile; shl.b32 %r6, %r1, 2; add.u32 %r7, %r5, %r6; ld.global.u32 %r8, [%rd4]; st.shared.u32 [%r7], %r8; st.shared.u32 [%r7+384], %r4; bar.sync 0;
    mov.u32 %r9, 0; OUTER: mov.u32 %r10, 0; mov.u32 %r11, %r7; INNER: ld.shared.u32 %r12, [%r11]; mad.lo.u32 %r8, %r8, 7, %r12; setp.eq.u32 %p2, %r10, 5; @%p2 add.u32 %r8, %r8, %r9; add.u32 %r11, %r11, 4; add.u32 %r10, %r10, 1;
    setp.lt.u32 %p0, %r10, 33; @%p0 bra INNER; add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, %r0; @%p1 bra OUTER; st.global.u32 [%rd5], %r8;""",
    "rounds_of_atomics": """.shared .align 4 .b8 bins[256]; mov.u32 %r5, bins; and.b32 %r6, %r1, 63; shl.b32 %r7, %r6, 2; add.u32 %r8, %r5, %r7; mov.u32 %r9, 0; st.shared.u32 [%r8], %r9; bar.sync 0; mov.u32 %r10, %r4;
    ADD: mul.wide.u32 %rd6, %r10, 4; add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r11, [%rd7]; shl.b32 %r12, %r11, 2; and.b32 %r13, %r12, 252; add.u32 %r14, %r5, %r13; atom.shared.add.u32 %r15, [%r14], %r11; add.u32 %r10, %r10, 96; setp.lt.u32 %p0, %r10, 4096; @%p0 bra ADD;
    bar.sync 0; ld.shared.u32 %r16, [%r8]; st.global.u32 [%rd5], %r16;""",
    "rounds_in_turn": """.shared .align 4 .b8 bins[256]; mov.u32 %r5, bins; and.b32 %r6, %r1, 63; shl.b32 %r7, %r6, 2; add.u32 %r8, %r5, %r7; mov.u32 %r9, 0; st.shared.u32 [%r8], %r9; bar.sync 0; mov.u32 %r20, 0; mov.u32 %r17, 0;
    OVER: mov.u32 %r10, %r4;
    FAR: mul.wide.u32 %rd6, %r10, 4; add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r11, [%rd7]; shl.b32 %r12, %r11, 2; and.b32 %r13, %r12, 252; add.u32 %r14, %r5, %r13; red.shared.add.u32 [%r14], 1; mad.lo.u32 %r17, %r17, 3, %r11; add.u32 %r10, %r10, 512; setp.lt.u32 %p0, %r10, 16000; @%p0 bra FAR;
    mov.u32 %r18, %r4; BACK: mul.wide.u32 %rd8, %r18, 4; add.u64 %rd9, %rd2, %rd8; ld.global.u32 %r19, [%rd9]; add.u32 %r19, %r19, %r17; st.global.u32 [%rd9], %r19; add.u32 %r18, %r18, 1300; setp.lt.u32 %p1, %r18, 65000; @%p1 bra BACK;
    add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, %r0; @%p2 bra OVER; bar.sync 0; ld.shared.u32 %r16, [%r8]; mul.wide.u32 %rd10, %r4, 4; add.u64 %rd10, %rd10, %rd2; st.global.u32 [%rd10], %r16;""",
    "rounds_of_steps": """mov.u32 %r5, %r1; mov.u32 %r6, 1; mov.u32 %r7, 0; and.b32 %r20, %r2, 1; add.u32 %r21, %r20, 1; NEXT: mul.wide.u32 %rd6, %r5, 4; add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r8, [%rd7]; add.u32 %r7, %r7, %r8; add.u32 %r5, %r5, %r6; add.u32 %r6, %r6, %r21;
    setp.lt.u32 %p0, %r5, 3000; @%p0 bra NEXT; st.global.u32 [%rd5], %r7;""",
    "quotients": """mul.lo.u32 %r5, %r0, 13; mul.lo.u32 %r6, %r0, 32; sub.s32 %r7, %r4, 200; div.s32 %r8, %r7, %r5; rem.s32 %r9, %r7, %r5; div.u32 %r10, %r4, %r6; rem.u32 %r11, %r4, %r6; mov.u32 %r12, 0; mov.u32 %r13, 0;
    add.s32 %r14, %r8, 16; mad.lo.s32 %r14, %r14, %r5, %r9; mul.wide.s32 %rd6, %r14, 4; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r15, [%rd6]; mad.lo.u32 %r16, %r10, 128, %r11; mul.wide.u32 %rd7, %r16, 4; add.u64 %rd7, %rd1, %rd7;
    ld.global.u32 %r17, [%rd7+4]; mad.lo.u32 %r12, %r15, 3, %r17; cvt.s64.s32 %rd8, %r7; cvt.s64.s32 %rd9, %r6; div.s64 %rd10, %rd8, %rd9; rem.s64 %rd11, %rd8, %rd9; shl.b64 %rd10, %rd10, 7; add.s64 %rd10, %rd10, %rd11; shl.b64 %rd10, %rd10, 2;
    add.s64 %rd10, %rd10, %rd1; ld.global.u32 %r18, [%rd10+2048]; mad.lo.u32 %r12, %r12, 3, %r18; sub.u32 %r19, %r3, %r3; div.u32 %r20, %r4, %r19; rem.u32 %r21, %r4, %r19; xor.b32 %r12, %r12, %r20; mad.lo.u32 %r12, %r12, 3, %r21; neg.s32 %r22, %r0;
    div.s32 %r23, %r7, %r22; rem.s32 %r24, %r7, %r22; mad.lo.u32 %r12, %r12, 3, %r23; mad.lo.u32 %r12, %r12, 3, %r24; and.b32 %r25, %r4, 1; setp.eq.u32 %p0, %r25, 0; @%p0 bra EVEN; rem.u32 %r26, %r4, %r5; div.u32 %r27, %r4, %r0; mad.lo.u32 %r12, %r26, 7, %r27;
    EVEN: add.u32 %r28, %r4, %r13; rem.u32 %r29, %r28, %r6; div.u32 %r30, %r28, %r6; mad.lo.u32 %r31, %r30, 100, %r29; mul.wide.u32 %rd12, %r31, 4; add.u64 %rd12, %rd1, %rd12; ld.global.u32 %r32, [%rd12]; mad.lo.u32 %r12, %r12, 3, %r32;
    add.u32 %r13, %r13, 7; setp.lt.u32 %p1, %r13, 90; @%p1 bra EVEN; st.global.u32 [%rd5], %r12;""",
    "quotients_around": """add.u32 %r5, %r4, 0x7fffff00; div.s32 %r6, %r5, 0x7fffff80; div.u32 %r7, %r5, 0x7fffff80; add.u32 %r8, %r4, 0xffffff40; mul.lo.u32 %r9, %r0, 85; shl.b32 %r9, %r9, 24; div.u32 %r10, %r8, %r9; rem.u32 %r11, %r8, %r9; shr.u32 %r12, %r11, 24;
    add.s32 %r13, %r6, 4; add.s32 %r13, %r13, %r7; mad.lo.u32 %r13, %r10, 32, %r13; mad.lo.u32 %r13, %r12, 64, %r13; mul.wide.s32 %rd6, %r13, 4; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r14, [%rd6]; shr.s32 %r15, %r5, 26; add.s32 %r15, %r15, 40; mul.wide.s32 %rd7, %r15, 4;
    add.u64 %rd7, %rd1, %rd7; ld.global.u32 %r16, [%rd7]; mul.hi.u32 %r17, %r8, 33; mul.wide.u32 %rd8, %r17, 4; add.u64 %rd8, %rd1, %rd8; ld.global.u32 %r18, [%rd8]; mad.lo.u32 %r14, %r14, 3, %r16; xor.b32 %r14, %r14, %r18; st.global.u32 [%rd5], %r14;""",
    "bits_of_lanes": """and.b32 %r5, %r4, 31; shr.u32 %r6, %r4, 5; mul.lo.u32 %r7, %r0, 21; and.b32 %r8, %r4, %r7; mad.lo.u32 %r9, %r0, 16, 1; and.b32 %r10, %r9, %r4; shl.b32 %r11, %r1, 2; or.b32 %r12, %r11, 3; xor.b32 %r13, %r11, 1; and.b32 %r14, %r11, -4; and.b32 %r15, %r1, -4; or.b32 %r16, %r1, 1;
    mov.u32 %r20, 0; mul.wide.u32 %rd6, %r5, 4; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r21, [%rd6]; mad.lo.u32 %r20, %r20, 3, %r21; mul.wide.u32 %rd7, %r6, 4; add.u64 %rd7, %rd1, %rd7; ld.global.u32 %r21, [%rd7]; mad.lo.u32 %r20, %r20, 3, %r21;
    mul.wide.u32 %rd8, %r8, 4; add.u64 %rd8, %rd1, %rd8; ld.global.u32 %r21, [%rd8]; mad.lo.u32 %r20, %r20, 3, %r21; mul.wide.u32 %rd9, %r10, 4; add.u64 %rd9, %rd1, %rd9; ld.global.u32 %r21, [%rd9]; mad.lo.u32 %r20, %r20, 3, %r21; cvt.u64.u32 %rd10, %r12; add.u64 %rd10, %rd1, %rd10; ld.global.u32 %r21, [%rd10+1];
    mad.lo.u32 %r20, %r20, 3, %r21; cvt.u64.u32 %rd11, %r13; add.u64 %rd11, %rd1, %rd11; ld.global.u32 %r21, [%rd11+3]; mad.lo.u32 %r20, %r20, 3, %r21; cvt.u64.u32 %rd12, %r14; add.u64 %rd12, %rd1, %rd12; ld.global.u32 %r21, [%rd12]; mad.lo.u32 %r20, %r20, 3, %r21; mul.wide.u32 %rd13, %r15, 4; add.u64 %rd13, %rd1, %rd13;
    ld.global.u32 %r21, [%rd13]; mad.lo.u32 %r20, %r20, 3, %r21; mul.wide.u32 %rd14, %r16, 4; add.u64 %rd14, %rd1, %rd14; ld.global.u32 %r21, [%rd14]; mad.lo.u32 %r20, %r20, 3, %r21; st.global.u32 [%rd5], %r20;""",
    "clamps": """sub.s32 %r5, %r4, 50; max.s32 %r6, %r5, 0; min.s32 %r7, %r6, 300; mul.wide.s32 %rd6, %r7, 4; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r8, [%rd6]; min.u32 %r9, %r5, 0xfffffff0; max.s32 %r10, %r5, %r0; mul.wide.s32 %rd7, %r10, 4; add.u64 %rd7, %rd1, %rd7; ld.global.u32 %r11, [%rd7];
    min.u32 %r12, %r4, %r3; mul.wide.u32 %rd8, %r12, 4; add.u64 %rd8, %rd1, %rd8; ld.global.u32 %r13, [%rd8]; mad.lo.u32 %r8, %r8, 3, %r11; mad.lo.u32 %r8, %r8, 3, %r13; xor.b32 %r8, %r8, %r9; st.global.u32 [%rd5], %r8;""",
    "uniform_halves": """.reg .b16 %rs<8>; mov.u32 %r5, 0; mov.u32 %r6, 0; AGAIN: cvt.u16.u32 %rs1, %r5; and.b16 %rs2, %rs1, 255; mul.wide.u16 %r7, %rs2, -13107; shr.u32 %r8, %r7, 18; cvt.u16.u32 %rs3, %r8; mul.lo.s16 %rs4, %rs3, 5; sub.s16 %rs5, %rs1, %rs4; cvt.u32.u16 %r9, %rs5; and.b32 %r10, %r9, 255;
    mad.lo.u32 %r11, %r8, 100, %r4; add.u32 %r11, %r11, %r10; mul.wide.u32 %rd6, %r11, 4; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r12, [%rd6]; mad.lo.u32 %r6, %r6, 3, %r12; cvt.u16.u32 %rs6, %r1; shr.u16 %rs7, %rs6, 1; cvt.u32.u16 %r13, %rs7; mul.wide.u32 %rd7, %r13, 4; add.u64 %rd7, %rd1, %rd7; ld.global.u32 %r14, [%rd7];
    xor.b32 %r6, %r6, %r14; add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, 25; @%p0 bra AGAIN; st.global.u32 [%rd5], %r6;""",
    "some_lanes": """setp.lt.u32 %p0, %r1, 5; @%p0 bra OUT; setp.gt.u32 %p1, %r1, 90; @%p1 bra OUT; mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r12, 0; mov.u64 %rd6, %rd4; mov.u64 %rd7, %rd1;
    LOOP: ld.global.u32 %r7, [%rd6]; ld.global.u32 %r8, [%rd7]; and.b32 %r8, %r8, 7; mad.lo.u32 %r6, %r7, %r8, %r6; add.u32 %r9, %r5, %r8; mul.wide.u32 %rd8, %r9, 4; add.u64 %rd9, %rd8, %rd4; ld.global.u32 %r12, [%rd9];
    add.u32 %r6, %r6, %r12; st.global.u32 [%rd5], %r6; add.u64 %rd6, %rd6, 4; add.u64 %rd7, %rd7, 4; add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r0; @%p2 bra LOOP; xor.b32 %r6, %r6, %r12; st.global.u32 [%rd5], %r6; OUT:""",
    "fewer_lanes": """and.b32 %r10, %r1, 31; mov.u32 %r5, 31; mov.u32 %r6, 0; mov.u64 %rd6, %rd4; FEWER: div.u32 %r7, %r5, 3; mul.wide.u32 %rd7, %r7, 4; add.u64 %rd8, %rd6, %rd7; ld.global.u32 %r8, [%rd8]; mad.lo.u32 %r6, %r6, 3, %r8; ld.global.u32 %r9, [%rd6]; xor.b32 %r6, %r6, %r9;
    mul.wide.u32 %rd9, %r5, 1920; add.u64 %rd10, %rd5, %rd9; st.global.u32 [%rd10], %r6; add.u64 %rd6, %rd6, 4; add.u32 %r11, %r10, %r5; setp.lt.u32 %p0, %r11, 33; @%p0 bra LEFT; sub.u32 %r5, %r5, 1; bra FEWER; LEFT: add.u32 %r6, %r6, %r5; st.global.u32 [%rd5], %r6;""",
    "one_address": """shr.u32 %r5, %r1, 5; mad.lo.u32 %r5, %r2, 32, %r5; mul.wide.u32 %rd6, %r5, 64; add.u64 %rd6, %rd6, %rd2; and.b32 %r6, %r1, 31; setp.lt.u32 %p0, %r6, 3; cvt.rn.f32.u32 %f1, %r1; mul.f32 %f1, %f1, 0f3DCCCCCD; mov.f32 %f2, 0f00000000; mov.u32 %r20, 0; @%p0 bra OUT;
    atom.global.add.u32 %r7, [%rd6+16384], %r1; atom.global.inc.u32 %r8, [%rd6+16388], 20; red.global.add.f32 [%rd6+16392], %f1; atom.global.cas.b32 %r9, [%rd6+16396], 0, %r1; red.global.max.s32 [%rd6+16400], %r1; atom.global.exch.b32 %r10, [%rd6+16404], %r1; atom.global.add.f32 %f2, [%rd6+16408], %f1;
    atom.global.xor.b32 %r11, [%rd6+16412], %r1; red.global.add.u32 [%rd6+16416], 3; atom.global.add.u64 %rd7, [%rd6+16424], %rd3; mad.lo.u32 %r20, %r7, 3, %r8; mad.lo.u32 %r20, %r20, 5, %r9; mad.lo.u32 %r20, %r20, 7, %r10; xor.b32 %r20, %r20, %r11; OUT: mov.b32 %r21, %f2; xor.b32 %r20, %r20, %r21; st.global.u32 [%rd5], %r20;""",
    "strides": """.shared .align 8 .b8 tile[2048]; mov.u32 %r5, tile; mul.wide.u32 %rd6, %r4, 12; add.u64 %rd7, %rd1, %rd6; add.u64 %rd8, %rd2, %rd6; ld.global.u32 %r6, [%rd7]; ld.global.u32 %r7, [%rd7+8]; mul.wide.u32 %rd9, %r4, 16; add.u64 %rd10, %rd1, %rd9; ld.global.v2.u32 {%r8, %r9}, [%rd10+8];
    shl.b32 %r10, %r1, 3; and.b32 %r10, %r10, 2040; add.u32 %r11, %r5, %r10; st.shared.u32 [%r11], %r6; bar.sync 0; ld.shared.u32 %r12, [%r11]; xor.b32 %r13, %r12, %r8; add.u32 %r14, %r7, %r9; st.global.u32 [%rd8+4], %r13; setp.gt.u32 %p0, %r1, 3; @%p0 bra SOME; mov.u32 %r14, 5; bra SOME_DONE; SOME: ld.global.u32 %r15, [%rd7+4]; add.u32 %r14, %r14, %r15; SOME_DONE: st.global.u32 [%rd8+8], %r14;""",
    "signed_remainders": """.shared .align 4 .b8 tile[8192]; mov.u32 %r5, tile; sub.s32 %r6, %r1, 20; shr.s32 %r7, %r6, 31; shr.u32 %r8, %r7, 28; add.s32 %r9, %r6, %r8; and.b32 %r10, %r9, -16; sub.s32 %r11, %r6, %r10; shr.s32 %r12, %r9, 4; mad.lo.s32 %r13, %r12, 68, 256; mad.lo.s32 %r14, %r11, 4, %r13; add.s32 %r15, %r5, %r14; st.shared.u32 [%r15], %r4; bar.sync 0;
    and.b32 %r16, %r6, -8; and.b32 %r17, %r6, -32; mul.wide.s32 %rd6, %r16, 4; add.s64 %rd7, %rd4, %rd6; ld.global.u32 %r18, [%rd7+512]; ld.shared.u32 %r19, [%r15]; mul.wide.s32 %rd8, %r17, 4; add.s64 %rd9, %rd4, %rd8; ld.global.u32 %r20, [%rd9+512]; mad.lo.u32 %r21, %r18, 3, %r19; xor.b32 %r21, %r21, %r20; st.global.u32 [%rd5], %r21;""",
    "groups_of_lanes": """ld.global.u32 %r5, [%rd4]; mov.u32 %r6, %laneid; and.b32 %r7, %r6, 16; mov.u32 %r8, 65535; shl.b32 %r9, %r8, %r7; shfl.sync.down.b32 %r10|%p0, %r5, 8, 0x100f, %r9; add.u32 %r11, %r5, %r10; shfl.sync.bfly.b32 %r12, %r11, 4, 0x101f, %r9; add.u32 %r12, %r12, %r11; activemask.b32 %r13; shfl.sync.up.b32 %r14|%p1, %r12, 1, 0, %r13; selp.u32 %r15, 7, %r14, %p0; selp.u32 %r16, 11, 13, %p1; mad.lo.u32 %r15, %r15, %r16, %r12; st.global.u32 [%rd5], %r15;""",
    "halves_of_floats": """.reg .b16 %h<12>; .reg .f32 %g<8>; ld.global.u32 %r5, [%rd4]; ld.global.u32 %r6, [%rd4+4]; mul.lo.u32 %r6, %r6, 77777; mov.b32 {%h1, %h2}, %r5; mov.b32 {%h3, %h4}, %r6; fma.rn.f16 %h5, %h1, %h2, %h3; add.rn.f16 %h6, %h4, %h1; mul.rn.f16 %h7, %h3, %h2; fma.rn.bf16 %h8, %h1, %h3, %h4; mov.b32 %f1, %r6; cvt.rn.f16.f32 %h9, %f1; cvt.rn.bf16.f32 %h10, %f1; mov.b32 %r7, {%h5, %h6}; mov.b32 %r8, {%h7, %h8}; mov.b32 %r9, {%h9, %h10};
    fma.rn.f16x2 %r10, %r5, %r6, %r7; mul.lo.u32 %r7, %r7, 31; add.u32 %r8, %r8, %r7; mad.lo.u32 %r8, %r9, 17, %r8; xor.b32 %r8, %r8, %r10; st.global.u32 [%rd5], %r8;""",
    "shuffles": """ld.global.u32 %r5, [%rd4]; mov.u32 %r6, 0; and.b32 %r7, %r5, 31; shfl.sync.up.b32 %r8|%p0, %r5, 3, 0, -1; selp.u32 %r9, %r8, 7, %p0; shfl.sync.down.b32 %r10|%p1, %r5, 5, 0x1f, -1; selp.u32 %r11, %r10, 9, %p1; shfl.sync.bfly.b32 %r12, %r5, 16, 0x1f, -1; shfl.sync.idx.b32 %r13|%p2, %r5, %r7, 0x1f, -1;
    shfl.sync.idx.b32 %r14|%p3, %r5, 9, 0x181f, -1; shfl.sync.down.b32 %r15, %r5, %r0, 0x1807, -1; selp.u32 %r16, %r15, %r14, %p3; mad.lo.u32 %r6, %r9, 3, %r11; mad.lo.u32 %r6, %r6, 3, %r12; mad.lo.u32 %r6, %r6, 3, %r13; mad.lo.u32 %r6, %r6, 3, %r16; mov.u32 %r17, 16; AGAIN: shfl.sync.down.b32 %r18, %r6, %r17, 0x1f, -1; add.u32 %r6, %r6, %r18; shr.u32 %r17, %r17, 1; setp.ne.u32 %p4, %r17, 0; @%p4 bra AGAIN;
    setp.lt.u32 %p5, %r1, 40; @%p5 bra SKIP; activemask.b32 %r19; shfl.sync.idx.b32 %r20, %r6, 9, 0x1f, %r19; add.u32 %r6, %r6, %r20; SKIP: mov.u32 %r21, -1; shfl.sync.bfly.b32 %r21, %r6, 1, 0x1f, %r21; shfl.sync.idx.b32 %r21, %r21, %r21, %r21, -1; xor.b32 %r6, %r6, %r21; st.global.u32 [%rd5], %r6;""",
    "shuffles_in_segments": """ld.global.u32 %r5, [%rd4]; mov.u32 %r6, 0; mov.u32 %r8, 1; AGAIN: shfl.sync.down.b32 %r9|%p0, %r5, %r8, 0x101f, -1; @%p0 add.u32 %r6, %r6, %r9; shfl.sync.up.b32 %r9|%p1, %r5, %r8, 0x1800, -1; @!%p1 xor.b32 %r6, %r6, 9; mad.lo.u32 %r6, %r6, 3, %r9; shfl.sync.bfly.b32 %r9|%p2, %r5, %r8, 0x101f, -1;
    @%p2 xor.b32 %r6, %r6, %r9; shfl.sync.bfly.b32 %r9|%p3, %r5, %r8, 0x081f, -1; @!%p3 add.u32 %r6, %r6, 5; mad.lo.u32 %r6, %r6, 5, %r9; shfl.sync.idx.b32 %r9, %r5, %r8, 0x181f, -1; xor.b32 %r6, %r6, %r9; shfl.sync.down.b32 %r9|%p4, %r5, %r8, 0x1f1f, -1; @%p4 mad.lo.u32 %r6, %r6, 7, %r9; shfl.sync.up.b32 %r9, %r5, %r8, 0x0800, -1; add.u32 %r6, %r6, %r9;
    add.u32 %r8, %r8, 1; setp.lt.u32 %p5, %r8, 34; @%p5 bra AGAIN; st.global.u32 [%rd5], %r6;""",
    "inserted_lanes": """and.b32 %r5, %r4, 15; shr.u32 %r6, %r4, 4; bfi.b32 %r7, %r6, %r5, 6, 26; bfi.b32 %r8, %r6, %r4, 3, 29; and.b32 %r8, %r8, 1023; bfi.b32 %r9, %r0, %r4, 2, 7; bfi.b32 %r10, %r4, %r0, 4, 28; mov.u32 %r11, 0; mov.u32 %r12, 0;
    AGAIN: mul.wide.u32 %rd6, %r7, 4; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r13, [%rd6]; mad.lo.u32 %r12, %r12, 3, %r13; add.u32 %r7, %r7, 16; add.u32 %r11, %r11, 16; setp.lt.u32 %p0, %r11, 64; @%p0 bra AGAIN; mul.wide.u32 %rd7, %r8, 4; add.u64 %rd7, %rd1, %rd7; ld.global.u32 %r14, [%rd7]; mul.wide.u32 %rd8, %r9, 4; add.u64 %rd8, %rd1, %rd8; ld.global.u32 %r15, [%rd8];
    mad.lo.u32 %r12, %r12, 3, %r14; mad.lo.u32 %r12, %r12, 3, %r15; mad.lo.u32 %r12, %r12, 3, %r10; st.global.u32 [%rd5], %r12;""",
    "butterflies": """ld.global.u32 %r5, [%rd4]; shfl.sync.bfly.b32 %r6, %r5, 1, 0x1f, -1; shfl.sync.bfly.b32 %r7, %r6, 2, 0x1f, -1; xor.b32 %r6, %r6, %r7; shfl.sync.bfly.b32 %r7, %r6, 4, 0x1f, -1; mad.lo.u32 %r6, %r6, 3, %r7;
    shfl.sync.bfly.b32 %r7, %r6, 8, 0x1f, -1; mad.lo.u32 %r6, %r6, 5, %r7; mov.u32 %r8, 1; AGAIN: shfl.sync.bfly.b32 %r9|%p0, %r6, %r8, 0x1f, -1; mad.lo.u32 %r6, %r6, 3, %r9; @!%p0 add.u32 %r6, %r6, 1; shfl.sync.up.b32 %r10|%p1, %r6, %r8, 0, -1; @%p1 xor.b32 %r6, %r6, %r10;
    shfl.sync.down.b32 %r11|%p2, %r6, %r8, 0x1f, -1; @!%p2 add.u32 %r6, %r6, 7; xor.b32 %r6, %r6, %r11; shfl.sync.idx.b32 %r12, %r6, %r8, 0x1f, -1; mad.lo.u32 %r6, %r12, 9, %r6; add.u32 %r8, %r8, 3; setp.lt.u32 %p3, %r8, 33; @%p3 bra AGAIN; st.global.u32 [%rd5], %r6;""",
    "nested_exits": """.shared .align 4 .b8 count[4]; mov.u32 %r5, count; mov.u32 %r6, 0; setp.eq.u32 %p0, %r1, 0; @%p0 st.shared.u32 [%r5], %r6; bar.sync 0; ld.global.u32 %r7, [%rd4]; and.b32 %r8, %r7, 7; bfe.u32 %r9, %r7, 3, 3; mov.u32 %r10, 0; mov.u32 %r11, 0;
    OUTER: mov.u32 %r12, 0; INNER: add.u32 %r13, %r11, %r12; setp.eq.u32 %p1, %r13, 9; @%p1 bra DONE; xor.b32 %r14, %r13, %r7; and.b32 %r14, %r14, 3; setp.eq.u32 %p2, %r14, 0; @%p2 bra NEXT; setp.eq.u32 %p3, %r14, 1; @%p3 bra ODD; mad.lo.u32 %r10, %r10, 3, %r13; bra BOTH;
    ODD: atom.shared.add.u32 %r15, [%r5], 1; mad.lo.u32 %r10, %r10, 5, %r15; setp.gt.u32 %p4, %r15, 900; @%p4 bra LEFT; BOTH: xor.b32 %r10, %r10, %r12; NEXT: add.u32 %r12, %r12, 1; setp.le.u32 %p5, %r12, %r8; @%p5 bra INNER;
    LEFT: add.u32 %r11, %r11, 1; setp.le.u32 %p6, %r11, %r9; @%p6 bra OUTER; atom.shared.add.u32 %r15, [%r5], 1; xor.b32 %r10, %r10, %r15; DONE: bar.sync 0; ld.shared.u32 %r16, [%r5]; add.u32 %r10, %r10, %r16; st.global.u32 [%rd5], %r10;""",
    "rows_by_lane": """ld.global.u32 %r5, [%rd4]; and.b32 %r6, %r5, 255; shr.u32 %r5, %r5, 8; and.b32 %r5, %r5, 31; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd6, %rd1, %rd6; mov.u32 %r7, 0; mov.u32 %r10, 0; mov.u32 %r13, 5; mov.f32 %f2, 0f00000000;
    ROW: ld.global.u32 %r8, [%rd6+4]; ld.global.u32 %r11, [%rd6]; and.b32 %r9, %r8, 255; mul.wide.u32 %rd7, %r9, 4; add.u64 %rd7, %rd1, %rd7; ld.global.u32 %r12, [%rd7]; mad.lo.u32 %r7, %r11, 3, %r7; setp.gt.u32 %p1|%p2, %r12, 0x40000000;
    @%p1 ld.global.u32 %r13, [%rd6+8]; @!%p1 xor.b32 %r7, %r7, %r12; add.u32 %r7, %r7, %r13; mov.b32 %f1, %r12; fma.rn.f32 %f2, %f1, %f1, %f2; add.u64 %rd6, %rd6, 4; add.u32 %r10, %r10, 1; setp.lt.u32 %p0, %r10, %r5; @%p0 bra ROW;
    selp.u32 %r14, 3, 4, %p2; mad.lo.u32 %r7, %r7, %r14, %r13; mov.b32 %r14, %f2; xor.b32 %r7, %r7, %r14; st.global.u32 [%rd5], %r7;""",
    "long_rows_by_lane": """ld.global.u32 %r5, [%rd4]; and.b32 %r6, %r5, 255; shr.u32 %r5, %r5, 17; mov.u32 %r7, 0; mov.u32 %r10, 0; setp.gt.u32 %p1, %r1, 70; @%p1 bra OUT;
    LONG: mad.lo.u32 %r8, %r10, 7, %r6; and.b32 %r8, %r8, 255; mul.wide.u32 %rd6, %r8, 4; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r11, [%rd6]; ld.global.u32 %r12, [%rd6+4]; xor.b32 %r11, %r11, %r12; mad.lo.u32 %r7, %r7, 5, %r11;
    setp.ge.u32 %p0, %r10, %r5; add.u32 %r10, %r10, 1; @!%p0 bra LONG; OUT: st.global.u32 [%rd5], %r7;""",
    "sums_of_nans": """ld.global.u32 %r5, [%rd4]; and.b32 %r6, %r5, 15; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f3F800000; mov.u32 %r7, 0; mov.u64 %rd6, %rd4;
    SUM: ld.global.u32 %r8, [%rd6]; or.b32 %r9, %r8, 0x7f800001; and.b32 %r10, %r8, 7; setp.eq.u32 %p1, %r10, 5; selp.b32 %r8, %r9, %r8, %p1; mov.b32 %f3, %r8; add.f32 %f1, %f1, %f3; @!%p1 fma.rn.f32 %f2, %f3, %f1, %f2; add.u64 %rd6, %rd6, 4; add.u32 %r7, %r7, 1; setp.le.u32 %p0, %r7, %r6; @%p0 bra SUM;
    mov.b32 %r8, %f1; mov.b32 %r9, %f2; mad.lo.u32 %r8, %r8, 3, %r9; st.global.u32 [%rd5], %r8;""",
    "shared_rows_by_lane": """.shared .align 4 .b8 tile[512]; mov.u32 %r5, tile; shl.b32 %r6, %r1, 2; add.u32 %r6, %r5, %r6; ld.global.u32 %r7, [%rd4]; st.shared.u32 [%r6], %r7; bar.sync 0;
    and.b32 %r8, %r7, 63; shl.b32 %r8, %r8, 2; add.u32 %r8, %r5, %r8; shr.u32 %r9, %r7, 27; mov.u32 %r10, 0; ROW: ld.shared.u32 %r11, [%r8]; mad.lo.u32 %r7, %r7, 3, %r11; add.u32 %r8, %r8, 4; add.u32 %r10, %r10, 1; setp.lt.u32 %p0, %r10, %r9; @%p0 bra ROW; st.global.u32 [%rd5], %r7;""",
    "sweeping_quotients": """mul.lo.u32 %r5, %r0, 32; div.u32 %r6, %r4, %r5; rem.u32 %r7, %r4, %r5; setp.gt.u32 %p0, %r6, 3; @%p0 bra OUT; mad.lo.u32 %r8, %r6, 1000, %r7; mul.wide.u32 %rd6, %r8, 4; add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r9, [%rd7]; and.b32 %r10, %r4, 127; mul.wide.u32 %rd8, %r10, 4; add.u64 %rd9, %rd1, %rd8;
    ld.global.u32 %r11, [%rd9]; max.u32 %r12, %r4, 96; mul.wide.u32 %rd10, %r12, 4; add.u64 %rd11, %rd1, %rd10; ld.global.u32 %r13, [%rd11]; mad.lo.u32 %r14, %r9, 3, %r11; mad.lo.u32 %r15, %r14, 3, %r13; st.global.u32 [%rd5], %r15; OUT:""",
    "sweeping_pieces": """mad.lo.u32 %r5, %r0, 12, 1; rem.u32 %r6, %r4, %r5; div.u32 %r7, %r4, %r5; setp.eq.u32 %p0, %r6, 0; @%p0 bra OUT; setp.ne.u32 %p1, %r6, 9; @!%p1 bra OUT; add.u32 %r8, %r6, 1; min.u32 %r18, %r8, 20; mad.lo.u32 %r9, %r7, %r5, %r18; mul.wide.u32 %rd6, %r9, 4; add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r10, [%rd7];
    ld.global.v2.u32 {%r11, %r12}, [%rd1]; ld.global.u32 %r13, [%rd5]; ld.global.u8 %r14, [%rd1]; sub.u32 %r15, 900, %r4; rem.u32 %r16, %r15, %r5; setp.lt.u32 %p2, %r16, 30; selp.u32 %r17, %r10, %r12, %p2; mad.lo.u32 %r13, %r17, 3, %r13; mad.lo.u32 %r13, %r13, 5, %r16; add.u32 %r13, %r13, %r14; st.global.u32 [%rd5], %r13; OUT:""",
    "sweeping_pairs": """mul.wide.u32 %rd6, %r4, 8; add.u64 %rd7, %rd1, %rd6; add.u64 %rd8, %rd2, %rd6; add.u32 %r5, %r4, 3; and.b32 %r6, %r5, 15; setp.gt.u32 %p0, %r6, 12; @%p0 bra OUT; ld.global.v2.u32 {%r7, %r8}, [%rd7]; mad.lo.u32 %r7, %r7, 3, %r6; xor.b32 %r8, %r8, %r4; st.global.v2.u32 [%rd8], {%r8, %r7}; OUT:""",
    "sweeping_bytes": """cvt.u64.u32 %rd6, %r4; add.u64 %rd7, %rd1, %rd6; add.u64 %rd8, %rd2, %rd6; setp.lt.u32 %p0, %r1, 1; @%p0 bra OUT; setp.eq.u32 %p1, %r4, 77; @%p1 bra OUT; ld.global.u8 %r5, [%rd7+-1]; ld.global.u8 %r6, [%rd7+1]; add.u32 %r5, %r5, %r6; st.global.u8 [%rd8], %r5; OUT:""",
    "sweeping_counts": """ld.global.u32 %r5, [%rd4]; and.b32 %r5, %r5, 7; mul.wide.u32 %rd6, %r5, 4; add.u64 %rd7, %rd2, %rd6; setp.ge.u32 %p0, %r1, 50; @%p0 bra OUT; red.global.add.u32 [%rd7], %r4; OUT:""",
    "sweeping_planes": """mov.u32 %r5, %tid.y; mov.u32 %r6, %ntid.y; mov.u32 %r7, %ctaid.y; mad.lo.u32 %r8, %r7, %r6, %r5; mov.u32 %r9, %tid.z; mad.lo.u32 %r10, %r9, 7, %r8; setp.lt.u32 %p0, %r4, 1; setp.lt.u32 %p1, %r10, 1; or.pred %p2, %p0, %p1; setp.gt.u32 %p3, %r10, 12; or.pred %p4, %p2, %p3; @%p4 bra OUT;
    mad.lo.u32 %r11, %r10, 480, %r4; mul.wide.u32 %rd6, %r11, 4; add.u64 %rd7, %rd1, %rd6; add.u64 %rd8, %rd2, %rd6; ld.global.u32 %r12, [%rd7+-4]; ld.global.u32 %r13, [%rd7+1920]; ld.global.u32 %r14, [%rd8]; mad.lo.u32 %r15, %r12, 3, %r13; mad.lo.u32 %r16, %r14, 5, %r15; add.u32 %r17, %r16, %r9; st.global.u32 [%rd8], %r17; OUT:""",
    "sweeping_search": """setp.eq.u32 %p3, %r4, 77; @%p3 bra OUT; setp.lt.u32 %p4, %r1, 3; @%p4 bra OUT; cvt.u64.u32 %rd6, %r4; mov.u32 %r5, 0; mul.lo.u32 %r10, %r0, 13;
    NEXT: cvt.s64.s32 %rd7, %r5; add.s64 %rd8, %rd6, %rd7; add.s64 %rd9, %rd1, %rd8; add.s64 %rd10, %rd1, %rd7; ld.global.u8 %r6, [%rd10]; ld.global.u8 %r7, [%rd9]; xor.b32 %r8, %r6, %r7; and.b32 %r8, %r8, 3;
    setp.ne.u32 %p0, %r8, 0; @%p0 bra FOUND; add.s32 %r5, %r5, 1; setp.lt.s32 %p1, %r5, %r10; @%p1 bra NEXT; FOUND: setp.eq.s32 %p2, %r5, %r10; selp.u32 %r9, 77, %r5, %p2; st.global.u32 [%rd5], %r9; OUT:""",
    "sweeping_searches": """mov.u32 %r9, 0; mov.u32 %r10, %r4; mov.u32 %r13, 1; MORE: mul.wide.u32 %rd7, %r9, 20; add.u64 %rd6, %rd4, %rd7; mov.u32 %r5, 0;
    NEXT: ld.global.u32 %r6, [%rd6]; ld.global.v2.u32 {%r11, %r12}, [%rd1]; mad.lo.u32 %r10, %r10, 3, %r6; add.u32 %r13, %r13, %r12; add.u64 %rd6, %rd6, 4; add.u32 %r5, %r5, 1; xor.b32 %r7, %r6, %r11; and.b32 %r7, %r7, 7;
    setp.eq.u32 %p0, %r7, 5; @%p0 bra FOUND; ld.global.u32 %r14, [%rd6]; xor.b32 %r10, %r10, %r14; setp.lt.u32 %p1, %r5, 6; @%p1 bra NEXT; FOUND: mad.lo.u32 %r10, %r10, 5, %r5; setp.gt.u32 %p3, %r10, 0xd0000000; @%p3 bra DONE;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, %r0; @%p2 bra MORE; DONE: mad.lo.u32 %r10, %r10, 7, %r9; xor.b32 %r10, %r10, %r13; st.global.u32 [%rd5], %r10;""",
    "sweeping_sums": """mov.f32 %f1, 0f00000000; mov.u64 %rd6, %rd4; mov.u32 %r7, 0; SUM: ld.global.u32 %r8, [%rd6]; or.b32 %r9, %r8, 0x7f800001; and.b32 %r10, %r8, 7; setp.eq.u32 %p1, %r10, 5; selp.b32 %r9, %r9, %r8, %p1; mov.b32 %f3, %r9;
    add.f32 %f1, %f1, %f3; add.u64 %rd6, %rd6, 4; add.u32 %r7, %r7, %r10; setp.lt.u32 %p0, %r7, 20; @%p0 bra SUM; mov.b32 %r8, %f1; st.global.u32 [%rd5], %r8; cvt.u32.u64 %r9, %rd6; cvt.u32.u64 %r11, %rd4; sub.u32 %r9, %r9, %r11; st.global.u32 [%rd5+16384], %r9;""",
    "searching_for_long": """mov.u32 %r5, 0; mov.u64 %rd6, %rd4; NEXT: ld.global.u32 %r6, [%rd6]; shr.u32 %r6, %r6, 31; add.u32 %r5, %r5, 1; setp.ne.u32 %p0, %r6, 0; @%p0 bra FOUND; setp.lt.u32 %p1, %r5, 40000; @%p1 bra NEXT; FOUND: st.global.u32 [%rd5], %r5;""",
}  # fmt: skip
# Kernels whose loops run several iterations with one check.
ROUNDS = ["rounds", "rounds_down", "rounds_around", "rounds_in_shared", "rounds_of_atomics", "rounds_in_turn"]  # fmt: skip
# Kernels with a loop that the lanes execute one after another.
BY_LANE = [name for name in BODIES if name.endswith("_by_lane")]
# Kernels whose blocks may run as a batch, where all threads of a block do the same.
SWEEPING = [name for name in BODIES if name.startswith("sweeping")]
# Blocks of other shapes than one of 96 threads, by threads of x, y and z.
SHAPES = {
    "lines": [(16, 6), (24, 4), (8, 4, 3), (40,)],
    "quotients": [(16, 6), (24, 4), (40,), (256,)],
    "shuffles": [(64,), (32, 3)],
    "shuffles_in_segments": [(64,), (128,)],  # threads that a block lacks have no values to read
    "inserted_lanes": [(64,), (40,), (256,)],
    "one_address": [(40,), (256,)],
    "strides": [(40,), (128,)],
    "signed_remainders": [(40,), (64,)],
    "groups_of_lanes": [(64,), (128,)],
    "some_lanes": [(40,), (16, 6), (24, 4)],
    "fewer_lanes": [(40,), (16, 6)],
    "bits_of_lanes": [(16, 6), (40,), (512,)],
    "sweeping_pieces": [(32,), (32, 3), (80,), (128,), (256,)],
    "sweeping_pairs": [(32, 3), (256,)],
    "sweeping_bytes": [(32, 3), (256,)],
    "sweeping_counts": [(32, 3), (256,)],
    "sweeping_quotients": [(32,), (64,), (80,), (48, 2)],
    "sweeping_search": [(32, 3), (80,), (256,)],
    "sweeping_searches": [(32, 3), (256,)],
    "sweeping_sums": [(32, 3), (256,)],
    "sweeping_planes": [(32, 4), (96, 2, 3), (64, 5), (16, 6), (32, 1, 5)],
    "sweeping": [(32, 3), (80,), (128,), (1024,)],
    "rounds": [(40,), (16, 4), (480,)],
    "rounds_in_turn": [(32,), (40,), (160,), (256,)],
    "sweeping_in_turn": [(48, 2), (32,)],
    "regions": [(32,), (40,), (256,)],
    "regions_that_differ": [(32,), (33, 2), (256,)],
    "meeting": [(1,), (31,), (48,), (33, 2), (256,)],
    "lasting": [(1,), (40,), (33, 2), (256,)],
}
# And grids of other shapes than one of five blocks.
GRIDS = {"sweeping_planes": [(5, 3)], "sweeping_rows": [(3, 4, 2), (40,), (2, 9), (1, 2, 7)]}
FIB = """.func (.param .b32 out) fib(.param .b32 n) {
.reg .b32 %r<8>; .reg .pred %p; ld.param.u32 %r1, [n]; setp.lt.u32 %p, %r1, 2; mov.u32 %r4, %r1;
@%p bra DONE;
{ .param .b32 a; .param .b32 r; sub.u32 %r2, %r1, 1; st.param.b32 [a], %r2; call (r), fib, (a); ld.param.b32 %r3, [r]; }
{ .param .b32 a; .param .b32 r; sub.u32 %r2, %r1, 2; st.param.b32 [a], %r2; call (r), fib, (a); ld.param.b32 %r4, [r]; }
add.u32 %r4, %r3, %r4; DONE: st.param.b32 [out], %r4; ret; }
"""  # fmt: skip

FAULTS = {
    "beyond": "setp.eq.u32 %p0, %r4, 37; @%p0 add.u64 %rd4, %rd4, 0x7000000000; ld.global.u32 %r5, [%rd4]; st.global.u32 [%rd5], %r5;",
    "misaligned": "add.u64 %rd4, %rd4, 2; ld.global.u32 %r5, [%rd4]; st.global.u32 [%rd5], %r5;",
    "trapping": "setp.eq.u32 %p0, %r4, 40; @!%p0 bra ON; trap; ON: st.global.u32 [%rd5], %r4;",
    "beyond_the_end": ".shared .align 4 .b8 tile[64]; mov.u32 %r5, tile; shl.b32 %r6, %r1, 2; add.u32 %r6, %r5, %r6; st.shared.u32 [%r6], %r4; ret;",
    "a_hole": "mul.wide.u32 %rd6, %r4, 1073741824; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r5, [%rd6]; st.global.u32 [%rd5], %r5;",
    "a_gap": "cvt.u64.u32 %rd6, %r4; mul.lo.u64 %rd6, %rd6, 0x100000004; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r5, [%rd6]; st.global.u32 [%rd5], %r5;",
    "running_out": "add.u64 %rd6, %rd4, 14784; ld.global.u32 %r5, [%rd6]; st.global.u32 [%rd5], %r5;",
    "pieces_out": "rem.u32 %r6, %r4, 25; setp.eq.u32 %p0, %r6, 24; @%p0 bra OUT; add.u64 %rd6, %rd4, 14784; ld.global.u32 %r5, [%rd6]; st.global.u32 [%rd5], %r5; OUT:",
    "going_out": "mov.u32 %r5, %r4; GO: mul.wide.u32 %rd6, %r5, 4; add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r8, [%rd7]; add.u32 %r9, %r9, %r8; add.u32 %r5, %r5, 501; setp.lt.u32 %p0, %r5, 100000; @%p0 bra GO; st.global.u32 [%rd5], %r9;",
    "row_beyond": "ld.global.u32 %r5, [%rd4]; and.b32 %r5, %r5, 7; mul.wide.u32 %rd6, %r5, 4; add.u64 %rd6, %rd1, %rd6; mov.u32 %r10, 0; ROW: ld.global.u32 %r8, [%rd6]; add.u32 %r9, %r9, %r8; add.u64 %rd6, %rd6, %rd3; add.u32 %r10, %r10, 1; setp.lt.u32 %p0, %r10, 10000; @%p0 bra ROW; st.global.u32 [%rd5], %r9;",
    "search_beyond": "add.u64 %rd6, %rd4, 14776; mov.u32 %r5, 0; NEXT: ld.global.u32 %r6, [%rd6]; add.u64 %rd6, %rd6, 4; add.u32 %r5, %r5, 1; and.b32 %r7, %r6, 0x70000000; setp.eq.u32 %p0, %r7, 0; @%p0 bra FOUND; setp.lt.u32 %p1, %r5, 3; @%p1 bra NEXT; FOUND: st.global.u32 [%rd5], %r5;",
    "search_for_ever": "mov.u32 %r5, 0; NEXT: ld.global.u32 %r6, [%rd4]; shr.u32 %r6, %r6, 31; setp.ne.u32 %p0, %r6, 0; @%p0 bra FOUND; add.u32 %r5, %r5, 1; bra NEXT; FOUND: st.global.u32 [%rd5], %r5;",
    "meeting_for_ever": "ON: bar.sync 0; bra ON;",
    "endless": "ON: add.u32 %r5, %r5, 1; setp.ne.u32 %p0, %r5, %r4; bra ON;",
}  # fmt: skip


# Instructions that never execute make a kernel large, so that it is split into functions. An
# instruction without effect behind each label splits its blocks, too.
IDLE = "xor.pred %p14, %p14, %p13;"
LARGE = "setp.eq.u32 %p15, %r3, 0; @!%p15 bra SMALL;" + IDLE * 250 + "SMALL: "


def text_of(bodies):
    entries = (ENTRY.format(name=name) + body + "\nret; }\n" for name, body in bodies.items())
    return HEAD + FIB + "".join(entries)


def in_parts():
    """The same kernels, but large ones: those whose blocks lanes go through by other ways."""
    cut = {
        name: re.sub(r"\b[A-Z]+:(?! \.)", rf"\g<0> {IDLE * 25}", body)
        for name, body in BODIES.items()
    }
    # Blocks do at once what is written once: 250 registers.
    chain = "".join(f"xor.b32 %w{n + 1}, %w{n}, %r3;" for n in range(250))
    straight = ".reg .b32 %w<251>; mov.u32 %w0, 5;" + chain
    return {
        f"{name}_in_parts": straight + BODIES[name]
        if name in SWEEPING + BY_LANE
        else LARGE + cut[name]
        for name in BODIES
    }


BATCH = 40  # rows a module
SHARES = 3  # shares of the rows: a compiler takes minutes for all rows


def capability():
    """The compute capability of this process's device."""
    return os.environ.get(VARIABLE, "9.0")


def rows_of(share, capability):
    """The rows of a share for devices of a compute capability."""
    return [row for row in test_rows.COMPUTED[share::SHARES] if row.capability == capability]


def row_kernels(rotation):
    """A kernel for each third row of the table that computes on registers, in one spelling, where
    the row is for this process's device. The head of its module stands beside it.

    Successive values of `rotation` take the other rows, then the other spellings.
    """
    share, rotation = rotation % SHARES, rotation // SHARES
    kernels = []
    for row in rows_of(share, capability()):
        constants = (0x1B, 0xE8, 0x96) if "imm" in row.shapes else (None,)
        opcodes = [(opcode, t, t2) for opcode, _, t, t2 in row.opcodes() if t != "b128"]
        if opcodes:
            spelled = opcodes[rotation % len(opcodes)]
            constant = constants[rotation % len(constants)]
            made = test_rows.Kernel(len(kernels), row, *spelled, constant)
            kernels.append((row.header, made))
    return sorted(kernels, key=lambda one: one[0])


def batches(kernels):
    """The heads and the kernels of modules. Kernels of larger modules are compiled one by one, which
    takes three times as long.
    """
    for head, same in itertools.groupby(kernels, key=lambda one: one[0]):
        every = [kernel for _, kernel in same]
        for n in range(0, len(every), BATCH):
            yield head, every[n : n + BATCH]


def printed(module, name):
    text = module.driver.library.cupola_cpu_printed
    text.restype = ctypes.c_char_p
    return text(module.function(name)).decode()


def execution(module, name):
    report = module.driver.library.cupola_cpu_execution
    report.restype = ctypes.c_char_p
    return report(module.function(name)).decode()


def hashed(array):
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def run_bodies(module, bodies):
    given = np.random.default_rng(7).integers(0, 1 << 31, 1 << 16, np.uint32)
    for name in bodies:
        out = np.zeros(1 << 16, np.uint32)
        module.run(name, 5, 96, [given.copy(), out, np.uint32(3)])
        print(name, execution(module, name), hashed(out))
        for shape in SHAPES.get(name.replace("_in_parts", ""), ()):
            out = np.zeros(1 << 16, np.uint32)
            module.run(name, 3, shape, [given.copy(), out, np.uint32(3)])
            print(name, shape, execution(module, name), hashed(out))
        for grid in GRIDS.get(name.replace("_in_parts", ""), ()):
            out = np.zeros(1 << 16, np.uint32)
            module.run(name, grid, 96, [given.copy(), out, np.uint32(3)])
            print(name, grid, execution(module, name), hashed(out))


def main(rotation):
    driver = Driver()
    if capability() != "9.0":
        run_rows(driver, rotation)
        return
    for bodies in (BODIES, in_parts()):
        run_bodies(driver.load(text_of(bodies)), bodies)
    run_rows(driver, rotation)
    module = driver.load(text_of(FAULTS))
    given = np.random.default_rng(7).integers(0, 1 << 31, 4096, np.uint32)
    for name in FAULTS:
        try:
            module.run(name, 5, 96, [given.copy(), np.zeros(4096, np.uint32), np.uint32(3)])
            print(name, "no fault")
        except DriverError as error:
            print(name, error.code, last_fault(driver))
        driver.reset()
        module = driver.load(text_of(FAULTS))


def run_rows(driver, rotation):
    rng = random.Random(5)
    for head, batch in batches(row_kernels(rotation)):
        module = driver.load(head + "".join(kernel.text for kernel in batch))
        for kernel in batch:
            run_row(module, kernel, rng)


def run_row(module, kernel, rng):
    data = [
        test_rows.sources_of("b32" if k == "cc" else k, rng) & (1 if k == "cc" else -1)
        for k in kernel.sources
        for _ in range(test_rows.COUNT)
    ]
    out = np.zeros(test_rows.COUNT * len(kernel.results), np.uint64)
    module.run(kernel.name, 4, test_rows.COUNT // 4, [np.array(data, np.uint64), out])
    for kind, result in zip(kernel.results, np.split(out, len(kernel.results)), strict=True):
        if kind == "f64":  # PTX leaves the sign and payload of a NaN open
            result[np.isnan(result.view(np.float64))] = 0x7FF8 << 48
    print(kernel.name, execution(module, kernel.name), hashed(out))


def last_fault(driver):
    driver.library.cupola_cpu_last_fault.restype = ctypes.c_char_p
    text = driver.library.cupola_cpu_last_fault().decode()
    return text.split(": 0x")[0]  # addresses differ from process to process


if __name__ == "__main__":
    import sys

    main(int(sys.argv[1]))
