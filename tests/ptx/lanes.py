# ruff: noqa: E501 - PTX text and tables of it are wide
"""Runs a kernel body on two arrays."""

TOP = ".version 8.6\n.target sm_90\n.address_size 64\n"
HEAD = """
.visible .entry k(.param .u64 pa, .param .u64 pb) {
.reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .b16 %h<8>; .reg .f32 %f<8>; .reg .pred %p<8>; .reg .b128 %q<4>;
ld.param.u64 %rd0, [pa]; ld.param.u64 %rd1, [pb];
mov.u32 %r0, %tid.x;
"""


def lanes(load, body, a, b, block=64, grid=1, shared=0, before=""):
    module = load(TOP + before + HEAD + body + "ret; }\n")
    module.run("k", grid, block, [a, b], shared)
    return b
