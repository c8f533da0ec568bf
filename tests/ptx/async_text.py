# ruff: noqa: E501 - PTX text and tables of it are wide
"""The kernel's head that tests of asynchronous copies share."""

import numpy as np

TOP = ".version 8.6\n.target sm_90\n.address_size 64\n"
HEAD = """
.visible .entry k(.param .u64 pa, .param .u64 pb) {head} {
.shared .align 16 .b64 bar[4]; .shared .align 128 .b8 cells[4096];
.reg .b64 %rd<32>; .reg .b32 %r<32>; .reg .b16 %h<8>; .reg .pred %p<8>;
ld.param.u64 %rd0, [pa]; ld.param.u64 %rd1, [pb]; cvta.to.global.u64 %rd0, %rd0; cvta.to.global.u64 %rd1, %rd1;
mov.u32 %r0, %tid.x; mov.u32 %r1, bar; mov.u32 %r2, cells; setp.eq.u32 %p7, %r0, 0;
"""


def text_of(body, head=""):
    return TOP + HEAD.replace("{head}", head) + body + "\nret; }\n"


# -- bulk copies -------------------------------------------------------------------------------

WAIT = "WAIT: mbarrier.try_wait.parity.shared.b64 %p0, [bar], 0; @!%p0 bra WAIT;"
REDUCTIONS = {
    "add": lambda old, x: old + x, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
    "inc": lambda old, x: np.where(old >= x, 0, old + 1),
    "dec": lambda old, x: np.where((old == 0) | (old > x), x, old - 1),
}  # fmt: skip
