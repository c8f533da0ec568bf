# ruff: noqa: E501 - PTX text and tables of it are wide
"""Functions of CUDA's device runtime that cooperative groups call in -rdc code."""

import ctypes
from ctypes import c_uint, c_uint64, c_void_p

import numpy as np
import pytest

TEXT = """.version 8.8\n.target sm_90\n.address_size 64
.extern .func (.param .b64 func_retval0) cudaCGGetIntrinsicHandle(.param .b32 p0);
.extern .func (.param .b32 func_retval0) cudaCGSynchronize(.param .b64 p0, .param .b32 p1);
.extern .func (.param .b32 func_retval0) cudaCGSynchronizeGrid(.param .b64 p0, .param .b32 p1);
.extern .func (.param .b32 func_retval0) cudaCGGetSize(.param .b64 p0, .param .b64 p1, .param .b64 p2);
.extern .func (.param .b32 func_retval0) cudaCGGetRank(.param .b64 p0, .param .b64 p1, .param .b64 p2);
.visible .entry k(.param .u64 pc, .param .u64 po) {
.reg .b64 h, c, o, x; .reg .b32 r, s, n, t; .local .align 8 .b8 at[16];
ld.param.u64 c, [pc]; ld.param.u64 o, [po];
call (h), cudaCGGetIntrinsicHandle, (1);
cvta.local.u64 x, at; add.u64 o, o, 0; .reg .b64 y; add.u64 y, x, 4;
call (t), cudaCGGetSize, (x, y, h); ld.local.u32 s, [at]; ld.local.u32 n, [at+4]; add.u32 s, s, n;
call (t), cudaCGGetRank, (x, y, h); ld.local.u32 r, [at]; ld.local.u32 n, [at+4]; add.u32 s, s, n;
mul.wide.u32 y, r, 16; add.u64 o, o, y;
red.global.add.u32 [c], 1; CALL (t), SYNC, (h, 0); ld.volatile.global.u32 n, [c]; st.global.v4.u32 [o], {s, n, t, r};
CALL (t), SYNC, (h, 0); red.global.add.u32 [c], 1; CALL (t), SYNC, (h, 0); ld.volatile.global.u32 n, [c]; st.global.u32 [o+8], n; ret; }
.visible .entry plain(.param .u64 po) { .reg .b64 h, o; .reg .pred p, q; .reg .b32 r; ld.param.u64 o, [po];
call (h), cudaCGGetIntrinsicHandle, (1); setp.eq.u64 p, h, 0; call (h), cudaCGGetIntrinsicHandle, (0); setp.eq.and.u64 p, h, 0, p; selp.u32 r, 1, 0, p; st.global.u32 [o], r; ret; }
"""


@pytest.mark.parametrize("sync", ["cudaCGSynchronize", "cudaCGSynchronizeGrid"])
def test_a_grid_synchronises(sync, driver, load, memory):
    if driver.on_hardware:
        pytest.skip("there a linker adds the functions, from a library of machine code")
    module = load(TEXT.replace("SYNC", sync).replace("CALL", "call"))
    grid, block = (3, 2, 2), (4, 3, 2)
    threads = int(np.prod(grid) * np.prod(block))
    count, _ = memory(np.zeros(1, np.uint32))
    out, read = memory(np.zeros((threads, 4), np.uint32))
    values = [c_uint64(count), c_uint64(out)]
    pointers = (c_void_p * 2)(*(ctypes.addressof(v) for v in values))
    driver.cuLaunchCooperativeKernel(module.function("k"), *map(c_uint, (*grid, *block, 0)), c_void_p(), pointers)  # fmt: skip
    driver.cuCtxSynchronize()
    expected = [[threads + 1, threads, 2 * threads, n] for n in range(threads)]
    assert read().tolist() == expected


def test_only_a_cooperative_grid_has_a_handle(driver, load):
    if driver.on_hardware:
        pytest.skip("there a linker adds the functions, from a library of machine code")
    out = np.zeros(1, np.uint32)
    load(TEXT.replace("SYNC", "cudaCGSynchronize").replace("CALL", "call")).run(
        "plain", 1, 1, [out]
    )
    assert out[0] == 1
