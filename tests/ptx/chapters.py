# ruff: noqa: E501 - tables are wide
"""The sections of the PTX ISA manual, version 9.0, that are not of one instruction, and a form for each.

A form is put into a kernel that has %r1 = %tid.x and stores %r2 of each thread of a warp.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

SECTIONS = """
5.1.1 Register State Space | 5.1.2 Special Register State Space | 5.1.3 Constant State Space
5.1.3.1 Banked Constant State Space (deprecated) | 5.1.4 Global State Space | 5.1.5 Local State Space
5.1.6 Parameter State Space | 5.1.6.1 Kernel Function Parameters | 5.1.6.2 Kernel Function Parameter Attributes
5.1.6.3 Kernel Parameter Attribute: .ptr | 5.1.6.4 Device Function Parameters | 5.1.7 Shared State Space
5.1.8 Texture State Space (deprecated)
5.2.1 Fundamental Types | 5.2.2 Restricted Use of Sub-Word Sizes | 5.2.3 Alternate Floating-Point Data Formats
5.2.4 Packed Data Types | 5.2.4.1 Packed Floating Point Data Types | 5.2.4.2 Packed Integer Data Types
5.3 Texture Sampler and Surface Types | 5.3.1 Texture and Surface Properties | 5.3.2 Sampler Properties
5.3.3 Channel Data Type and Channel Order Fields
5.4.1 Variable Declarations | 5.4.2 Vectors | 5.4.3 Array Declarations | 5.4.4 Initializers | 5.4.5 Alignment
5.4.6 Parameterized Variable Names | 5.4.7 Variable Attributes | 5.4.8 Variable and Function Attribute Directive: .attribute
5.5.1 Tensor Dimension, size and format | 5.5.2 Tensor Access Modes | 5.5.3 Tiled Mode | 5.5.4 Im2col mode
5.5.5 Im2col::w and Im2col::w::128 modes | 5.5.6 Interleave layout | 5.5.7 Swizzling Modes | 5.5.8 Tensor-map
6.1 Operand Type Information | 6.2 Source Operands | 6.3 Destination Operands
6.4.1 Addresses as Operands | 6.4.1.1 Generic Addressing | 6.4.2 Arrays as Operands | 6.4.3 Vectors as Operands
6.4.4 Labels and Function Names as Operands | 6.5 Type Conversion | 6.5.1 Scalar Conversions | 6.5.2 Rounding Modifiers
6.6 Operand Costs
7.1 Function Declarations and Definitions | 7.1.1 Changes from PTX ISA Version 1.x | 7.2 Variadic Functions | 7.3 Alloca
11.1.1 .version | 11.1.2 .target | 11.1.3 .address_size | 11.2.1 .entry | 11.2.2 .func | 11.2.3 .alias
11.3.1 .branchtargets | 11.3.2 .calltargets | 11.3.3 .callprototype
11.4.1 .maxnreg | 11.4.2 .maxntid | 11.4.3 .reqntid | 11.4.4 .minnctapersm | 11.4.5 .maxnctapersm (deprecated)
11.4.6 .noreturn | 11.4.7 .pragma | 11.4.8 .abi_preserve | 11.4.9 .abi_preserve_control
11.5.1 @@dwarf | 11.5.2 .section | 11.5.3 .file | 11.5.4 .loc
11.6.1 .extern | 11.6.2 .visible | 11.6.3 .weak | 11.6.4 .common
11.7.1 .reqnctapercluster | 11.7.2 .explicitcluster | 11.7.3 .maxclusterrank | 11.8.1 .blocksareclusters
12.1 "nounroll" | 12.2 "used_bytes_mask" | 12.3 "enable_smem_spilling" | 12.4 "frequency"
"""

# Sections that describe and have nothing to write.
WITHOUT = {
    "6.6": "what operands cost in time; it has no syntax",
    "7.1.1": "what PTX 1.x did otherwise; it has no syntax of its own",
}

TOP = ".version 9.0\n.target sm_90\n.address_size 64\n"
LANE = np.arange(32, dtype=np.uint32)


@dataclass
class Form:
    body: str = ""  # instructions of the kernel
    value: Any = None  # %r2 of each thread; a form without one is loaded alone
    before: str = ""  # the kernel
    directive: str = ""  # directives of the kernel
    top: str = TOP
    refused: str = ""  # a part of the CPU device's message
    reason: str = ""  # why we refuse what ptxas takes; "": ptxas refuses it too
    only_cpu: str = ""  # why the CPU device takes what ptxas refuses

    def text(self) -> str:
        return f"""{self.top}{self.before}
.visible .entry k(.param .u64 p) {self.directive} {{
.reg .b32 %r<8>; .reg .b64 %d<8>; .reg .b16 %h<4>; .reg .f32 %f<4>; .reg .f64 %g<4>; .reg .pred %p<4>;
ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; mov.u32 %r2, 0;
{self.body}
st.global.u32 [%d1], %r2; ret; }}
"""


def old(version, target, more=""):
    return f".version {version}\n.target {target}{more}\n.address_size 64\n"


TWICE = ".func (.param .u32 r) twice(.param .u32 a) {0} {{ .reg .u32 %x; ld.param.u32 %x, [a]; add.u32 %x, %x, %x; st.param.u32 [r], %x; ret; }}\n"
CALL = "{{ .param .u32 a; .param .u32 r; st.param.u32 [a], %r1; call (r), {0}, (a){1}; ld.param.u32 %r2, [r]; }}"
MAP = ".global .align 64 .b8 map[128];"

FORMS = {
    "5.1.1": Form(".reg .u32 own; mov.u32 own, 7; add.u32 %r2, own, %r1;", LANE + 7),
    "5.1.2": Form("mov.u32 %r2, %laneid;", LANE),
    "5.1.3": Form("ld.const.u32 %r2, [c+4];", 9, ".const .u32 c[2] = {5, 9};"),
    "5.1.3.1": Form(before=".const[2] .u32 c;", refused="const[2]"),
    "5.1.4": Form("ld.global.u32 %r2, [g];", 5, ".global .u32 g = 5;"),
    "5.1.5": Form(".local .u32 l[2]; st.local.u32 [l+4], %r1; ld.local.u32 %r2, [l+4];", LANE),
    "5.1.6": Form(CALL.format("twice", ""), 2 * LANE, TWICE.format("")),
    "5.1.6.1": Form("ld.param::entry.u64 %d3, [p]; setp.ne.u64 %p1, %d3, 0; selp.u32 %r2, 1, 0, %p1;", 1),
    "5.1.6.2": Form("ld.param.u64 %d3, [p]; sub.u64 %d3, %d1, %d3; cvt.u32.u64 %r2, %d3;", 4 * LANE, ".visible .entry other(.param .u64 .ptr a, .param .align 8 .b8 s[16]) { ret; }"),
    "5.1.6.3": Form("", 0, ".visible .entry other(.param .u64 .ptr.global.align 16 a, .param .u64 .ptr.align 8 b) { ret; }"),
    "5.1.6.4": Form(CALL.format("twice", ""), 2 * LANE, TWICE.format("")),
    "5.1.7": Form("xor.b32 %r3, %r1, 1; shl.b32 %r4, %r1, 2; mov.u32 %r5, s; add.u32 %r4, %r4, %r5; st.shared::cta.u32 [%r4], %r3; bar.sync 0; ld.shared.u32 %r2, [%r4];", LANE ^ 1, ".shared .u32 s[32];"),
    "5.1.8": Form(before=".tex .u32 t;", refused="directive .tex is not supported"),
    "5.2.1": Form(".reg .b8 %b; .reg .b128 %q; .reg .f16 %x; .reg .s64 %s; cvt.s64.s32 %s, %r1; neg.s64 %s, %s; cvt.u32.s64 %r2, %s;", 0 - LANE),
    "5.2.2": Form(".reg .u8 %b; .local .u8 l; st.local.u8 [l], %r1; ld.local.u8 %b, [l]; cvt.u32.u8 %r2, %b;", LANE),
    "5.2.3": Form("cvt.rn.f32.u32 %f1, %r1; cvt.rn.bf16.f32 %h1, %f1; cvt.rn.satfinite.e4m3x2.f32 %h2, %f1, %f1; mov.b32 %r2, {%h1, %h2};", None),
    "5.2.4": Form("mov.u32 %r3, 0x00010002; add.u16x2 %r2, %r3, %r3;", 0x00020004),
    "5.2.4.1": Form("mov.b32 %r3, 0x3c004000; add.rn.f16x2 %r2, %r3, %r3;", 0x40004400),
    "5.2.4.2": Form("mov.u32 %r3, 0xfffe0003; mov.u32 %r4, 0x00010001; max.s16x2 %r2, %r3, %r4;", 0x00010003),
    "5.3": Form("", 0, ".global .texref t; .global .surfref s;"),
    "5.3.1": Form("txq.width.b32 %r2, [t]; suq.height.b32 %r2, [s]; txq.normalized_coords.b32 %r2, [t];", None, ".global .texref t; .global .surfref s;"),
    "5.3.2": Form("txq.filter_mode.b32 %r2, [m];", None, ".global .samplerref m = {addr_mode_0 = clamp_to_border, filter_mode = nearest};", top=old("9.0", "sm_90", ", texmode_independent"),
        refused="separate samplers (texmode_independent) are not supported", reason="the driver's interface binds no sampler by itself"),
    "5.3.3": Form("txq.channel_data_type.b32 %r2, [t]; txq.channel_order.b32 %r2, [t];", None, ".global .texref t;"),
    "5.4.1": Form("ld.global.f32 %f1, [x]; cvt.rzi.u32.f32 %r2, %f1;", 3, ".global .v4 .f32 v; .visible .global .f32 x = 3.5;"),
    "5.4.2": Form(".reg .v2 .u32 %v; ld.global.v2.u32 {%r3, %r2}, [v]; mov.v2.u32 %v, {%r2, %r3}; mov.u32 %r2, %v.x;", 8, ".global .v2 .u32 v = {4, 8};"),
    "5.4.3": Form("ld.global.u16 %h1, [m+6]; cvt.u32.u16 %r2, %h1;", 4, ".global .u16 m[][2] = {{1, 2}, {3, 4}}; .shared .u8 block[4][4];"),
    "5.4.4": Form("ld.global.u64 %d3, [at]; ld.global.u32 %r2, [%d3];", 6, ".global .u32 g[2] = {5, 6}; .global .u64 at = g+4;"),
    "5.4.5": Form("mov.u64 %d3, g; and.b64 %d3, %d3, 255; cvt.u32.u64 %r2, %d3;", 0, ".global .b8 one; .global .align 256 .b8 g[3];"),
    "5.4.6": Form(".reg .u32 %many<100>; mov.u32 %many99, 4; add.u32 %r2, %many99, %r1;", LANE + 4),
    "5.4.7": Form("ld.global.u32 %r2, [g];", 3, ".global .attribute(.managed) .u32 g = 3;"),
    "5.4.8": Form(before=".visible .global .attribute(.unified(19, 95)) .u32 g = 3;", refused="is not supported; expected .managed"),
    "5.5.1": Form("tensormap.replace.tile.rank.global.b1024.b32 [map], 3; tensormap.replace.tile.global_dim.global.b1024.b32 [map], 0, %r1;", None, MAP, top=old("9.0", "sm_90a")),
    "5.5.2": Form("mov.u64 %d3, map; cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%d3, {%r1}];", None, MAP),
    "5.5.3": Form("mov.u64 %d3, map; cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%d3, {%r1, %r1}];", None, MAP),
    "5.5.4": Form("mov.u64 %d3, map; cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%d3, {%r1, %r1, %r1}], {%h1};", None, MAP),
    "5.5.5": Form("mov.u64 %d3, map; cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w [%d3, {%r1, %r1, %r1}], {%h1, %h2};", None, MAP, refused="im2col::w"),
    "5.5.6": Form("tensormap.replace.tile.interleave_layout.global.b1024.b32 [map], 1;", None, MAP, top=old("9.0", "sm_90a")),
    "5.5.7": Form("tensormap.replace.tile.swizzle_mode.global.b1024.b32 [map], 3;", None, MAP, top=old("9.0", "sm_90a")),
    "5.5.8": Form("mov.u64 %d3, map; prefetch.tensormap [%d3];", None, MAP + " .visible .entry other(.param .align 64 .b8 m[128]) { .reg .b64 %d; mov.b64 %d, m; prefetch.param.tensormap [%d]; ret; }"),
    "6.1": Form("mov.b32 %f1, %r1; mov.b32 %r2, %f1;", LANE),
    "6.2": Form("setp.gt.u32 %p1, %r1, 0x0F; selp.u32 %r2, WARP_SZ, 7, %p1;", np.where(LANE > 15, 32, 7)),
    "6.3": Form("setp.lt.u32 %p1|%p2, %r1, 4; @%p2 add.u32 %r2, %r1, 1; shfl.sync.idx.b32 %r3|%p3, %r1, 0, 31, -1;", np.where(LANE < 4, 0, LANE + 1)),
    "6.4.1": Form("mov.u64 %d3, g; ld.global.u32 %r3, [%d3+4]; ld.global.u32 %r4, [g+8]; ld.global.u32 %r5, [g]; add.u32 %r2, %r3, %r4; add.u32 %r2, %r2, %r5;", 111, ".global .u32 g[3] = {1, 10, 100};"),
    "6.4.1.1": Form("mov.u64 %d3, g; cvta.global.u64 %d3, %d3; ld.u32 %r2, [%d3];", 8, ".global .u32 g = 8;"),
    "6.4.2": Form("ld.global.u32 %r2, g[1]; mov.u64 %d3, g[2]; ld.global.u32 %r3, [%d3]; add.u32 %r2, %r2, %r3;", 110, ".global .u32 g[3] = {1, 10, 100};"),
    "6.4.3": Form(".reg .v4 .u32 %v; ld.global.v4.u32 %v, [g]; add.u32 %r2, %v.y, %v.w;", 6, ".global .v4 .u32 g = {1, 2, 3, 4};"),
    "6.4.4": Form("mov.u64 %d3, twice; P: .callprototype (.param .u32 _) _ (.param .u32 _);" + CALL.format("%d3", ", P") + "bra.uni E; mov.u32 %r2, 0; E:", 2 * LANE, TWICE.format("")),
    "6.5": Form("mov.u16 %h1, 0xffff; cvt.s32.s16 %r2, %h1;", 0xFFFFFFFF),
    "6.5.1": Form("cvt.u8.u32 %r3, %r1; mov.u32 %r4, 0x180; cvt.sat.u8.u32 %r3, %r4; mov.u32 %r2, %r3;", 255),
    "6.5.2": Form("mov.f32 %f1, 0f40200000; cvt.rni.u32.f32 %r3, %f1; cvt.rpi.u32.f32 %r4, %f1; shl.b32 %r4, %r4, 4; or.b32 %r2, %r3, %r4;", 0x32),
    "7.1": Form(CALL.format("twice", ""), 2 * LANE, ".func (.param .u32 r) twice(.param .u32 a);\n" + TWICE.format("")),
    "7.2": Form("{ .param .u32 n; .param .align 4 .b8 v[8]; .param .u32 r; st.param.u32 [n], 2; st.param.u32 [v], 1; st.param.u32 [v+4], %r1; call (r), last, (n, v); ld.param.u32 %r2, [r]; }", LANE,
        ".func (.param .u32 r) last(.param .u32 n, .param .align 4 .b8 v[]) { .reg .u32 %x; ld.param.u32 %x, [v+4]; st.param.u32 [r], %x; ret; }"),
    "7.3": Form("alloca.u64 %d3, 16; st.local.u32 [%d3+4], %r1; ld.local.u32 %r2, [%d3+4];", LANE),
    "11.1.1": Form("", 0, top=old("3.1", "sm_35")),
    "11.1.2": Form("", 0, top=old("9.0", "sm_90, texmode_independent")),
    "11.1.3": Form("", 0, top=".version 9.0\n.target sm_90\n.address_size 64\n"),
    "11.2.1": Form("mov.u32 %r2, %ntid.x;", 32, ".entry bare { ret; } .visible .entry two(.param .u32 a, .param .align 8 .b8 b[12]) { ret; }"),
    "11.2.2": Form(".reg .u32 %t; call (%t), inc, (%r1); mov.u32 %r2, %t;", LANE + 1, ".func (.reg .u32 r) inc(.reg .u32 a) { add.u32 r, a, 1; ret; }"),
    "11.2.3": Form(CALL.format("double", ""), 2 * LANE, ".visible " + TWICE.format("") + ".visible .func (.param .u32 r) double(.param .u32 a); .alias double, twice;"),
    "11.3.1": Form("and.b32 %r3, %r1, 1; T: .branchtargets A, B; brx.idx %r3, T; A: mov.u32 %r2, 10; bra E; B: mov.u32 %r2, 20; E:", np.where(LANE % 2, 20, 10)),
    "11.3.2": Form("mov.u64 %d3, twice; T: .calltargets twice;" + CALL.format("%d3", ", T"), 2 * LANE, TWICE.format("")),
    "11.3.3": Form("mov.u64 %d3, twice; P: .callprototype (.param .u32 _) _ (.param .u32 _);" + CALL.format("%d3", ", P"), 2 * LANE, TWICE.format("")),
    "11.4.1": Form("", 0, directive=".maxnreg 32"),
    "11.4.2": Form("", 0, directive=".maxntid 16, 16, 4"),
    "11.4.3": Form("mov.u32 %r2, %ntid.x;", 32, directive=".reqntid 32"),
    "11.4.4": Form("", 0, directive=".maxntid 256 .minnctapersm 4"),
    "11.4.5": Form("", 0, directive=".maxntid 256 .maxnctapersm 4", only_cpu="of PTX before 2.1; it changes nothing"),
    "11.4.6": Form("", 0, ".func stop() .noreturn { trap; exit; }"),
    "11.4.7": Form("", 0, '.pragma "nounroll";', directive='.pragma "nounroll";'),
    "11.4.8": Form(CALL.format("twice", ""), 2 * LANE, TWICE.format(".abi_preserve 8")),
    "11.4.9": Form(CALL.format("twice", ""), 2 * LANE, TWICE.format(".abi_preserve_control 2")),
    "11.5.1": Form(before='@@DWARF .section .debug_pubnames, "", @progbits\n@@DWARF .byte 0x2b, 0x00\n', refused="@@DWARF"),
    "11.5.2": Form("", 0, ".section .debug_abbrev { .b8 1, 2 .b32 5 abbrev: .b8 0 }\n.section .debug_info { .b32 .debug_abbrev .b32 .debug_abbrev+4 .b64 k }\n"),
    "11.5.3": Form("", 0, '.file 1 "kernel.cu", 1339013327, 64118\n'),
    "11.5.4": Form(".loc 1 4 9\n.loc 1 10 5\n.loc 1 21 3, function_name names, inlined_at 1 10 5\n", 0, '.file 1 "kernel.cu"\n.section .debug_str { names: .b8 102, 0 }\n'),
    "11.6.1": Form("ld.global.u32 %r2, [g];", 4, ".extern .global .u32 g; .visible .global .u32 g = 4;"),
    "11.6.2": Form("ld.global.u32 %r2, [g];", 4, ".visible .global .u32 g = 4;"),
    "11.6.3": Form("ld.global.u32 %r2, [g];", 4, ".weak .global .u32 g = 4; .weak .func f() { ret; }"),
    "11.6.4": Form("ld.global.u32 %r2, [g];", 0, ".common .global .u32 g;"),
    "11.7.1": Form("mov.u32 %r2, %cluster_nctarank;", 1, directive=".explicitcluster .reqnctapercluster 1"),
    "11.7.2": Form("mov.u32 %r2, 5;", 5, ".visible .entry other() .explicitcluster { ret; }"),
    "11.7.3": Form("mov.u32 %r2, %cluster_nctarank;", 1, directive=".maxclusterrank 8"),
    "11.8.1": Form(directive=".blocksareclusters .reqntid 32 .reqnctapercluster 2",
        refused="directive .blocksareclusters is not supported", reason="a launch's grid would count clusters"),
    "12.1": Form('.pragma "nounroll"; L: add.u32 %r2, %r2, 2; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;', None),
    "12.2": Form('.pragma "used_bytes_mask 0xfff"; ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [g]; mov.u32 %r2, %r4;', 2, ".global .v4 .u32 g = {1, 2, 3, 4};"),
    "12.3": Form('.pragma "enable_smem_spilling"; add.u32 %r2, %r1, 3;', LANE + 3, directive=".maxntid 32"),
    "12.4": Form('L: .pragma "frequency 32"; add.u32 %r2, %r2, 1; setp.le.u32 %p1, %r2, %r1; @%p1 bra L;', LANE + 1),
}  # fmt: skip
