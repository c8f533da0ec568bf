# ruff: noqa: E501 - PTX text and tables of it are wide
"""Memory that a thread takes as it runs: alloca, stacksave, stackrestore; and registers given up."""

import driver_abi
import numpy as np
import pytest

COVERED = """alloca.u32 stacksave.u32 stackrestore.u32 setmaxnreg.inc.sync.aligned.u32
setmaxnreg.dec.sync.aligned.u32"""

TOP = ".version 8.6\n.target sm_90a\n.address_size 64\n"
HEAD = """.visible .entry k(.param .u64 pb) { .reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .pred %p<8>;
ld.param.u64 %rd1, [pb]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 8; add.u64 %rd1, %rd1, %rd2;
"""
FUNCTION = """
.func (.param .u32 out) sum(.param .u32 count) { .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .pred %p<4>;
ld.param.u32 %r0, [count]; mul.wide.u32 %rd0, %r0, 4; alloca.u64 %rd1, %rd0; mov.u32 %r1, 0;
FILL: mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; add.u32 %r2, %r1, %r0; st.local.u32 [%rd3], %r2;
add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, %r0; @%p0 bra FILL; mov.u32 %r1, 0; mov.u32 %r3, 0;
ADD: mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; ld.local.u32 %r2, [%rd3]; add.u32 %r3, %r3, %r2;
add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, %r0; @%p0 bra ADD; st.param.u32 [out], %r3; ret; }
"""


def test_arrays_of_a_size_that_is_known_late(load):
    """Each thread takes as much as it needs, in a function that is called again and again."""
    body = """mov.u32 %r5, 0; mov.u32 %r6, 0; add.u32 %r7, %r0, 1;
    AGAIN: { .param .u32 p; .param .u32 q; st.param.u32 [p], %r7; call (q), sum, (p); ld.param.u32 %r8, [q]; }
    add.u32 %r6, %r6, %r8; add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, 500; @%p0 bra AGAIN;
    cvt.u64.u32 %rd5, %r6; st.global.u64 [%rd1], %rd5; ret; }"""
    b = np.zeros(64, np.uint64)
    load(TOP + FUNCTION + HEAD + body).run("k", 1, 64, [b])
    n = np.arange(1, 65)
    assert (b == 500 * (n * (n - 1) // 2 + n * n)).all()


def test_alignment_saving_and_restoring(load):
    body = """
    .local .align 16 .b8 frame[64]; mov.u64 %rd9, frame; st.local.u32 [%rd9], 77;
    stacksave.u64 %rd3; alloca.u64 %rd4, 12, 256; and.b64 %rd5, %rd4, 255; st.local.u32 [%rd4+8], 5; alloca.u64 %rd6, 40;
    and.b64 %rd7, %rd6, 7; or.b64 %rd5, %rd5, %rd7; sub.u64 %rd7, %rd6, %rd4; setp.lt.s64 %p0, %rd7, 12; setp.gt.s64 %p1, %rd7, -40;
    and.pred %p0, %p0, %p1; selp.u64 %rd8, 1, 0, %p0; or.b64 %rd5, %rd5, %rd8; st.local.u64 [%rd6], 9; st.local.u64 [%rd6+32], 9; stackrestore.u64 %rd3;
    stacksave.u32 %r3; alloca.u32 %r4, 16; st.local.u64 [%r4], 3; cvta.local.u64 %rd10, %rd9; ld.u32 %r5, [%rd10]; stackrestore.u32 %r3;
    setmaxnreg.dec.sync.aligned.u32 40; setmaxnreg.inc.sync.aligned.u32 64;
    cvt.u64.u32 %rd11, %r5; add.u64 %rd5, %rd5, %rd11; st.global.u64 [%rd1], %rd5; ret; }"""
    b = np.zeros(128, np.uint64)
    load(TOP + HEAD + body).run("k", 1, 128, [b])
    assert (b == 77).all()


def test_restoring_makes_room_again(load):
    body = """mov.u32 %r1, 0;
    AGAIN: stacksave.u64 %rd3; alloca.u64 %rd4, 1024; st.local.u32 [%rd4+1020], %r1; ld.local.u32 %r2, [%rd4+1020]; stackrestore.u64 %rd3;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 1000; @%p0 bra AGAIN; cvt.u64.u32 %rd5, %r2; st.global.u64 [%rd1], %rd5; ret; }"""
    b = np.zeros(32, np.uint64)
    load(TOP + HEAD + body).run("k", 1, 32, [b])
    assert (b == 999).all()


def test_too_much_is_an_error(driver, load):
    driver.skip_on_hardware("what lies behind a thread's stack depends on the device")
    module = load(TOP + HEAD + "alloca.u64 %rd4, 100000000; st.global.u64 [%rd1], %rd4; ret; }")
    with pytest.raises(driver_abi.DriverError):
        module.run("k", 1, 32, [np.zeros(32)])
    driver.reset()


def test_in_a_function_that_calls_itself_it_is_refused(driver):
    driver.skip_on_hardware("it is taken there")
    text = (
        TOP
        + """.func f(.param .u32 n) { .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p<2>; ld.param.u32 %r0, [n]; alloca.u64 %rd0, 16;
    setp.eq.u32 %p0, %r0, 0; @%p0 ret; sub.u32 %r1, %r0, 1; { .param .u32 p; st.param.u32 [p], %r1; call f, (p); } ret; }
    .visible .entry k() { { .param .u32 p; st.param.u32 [p], 3; call f, (p); } ret; }"""
    )
    with pytest.raises(driver_abi.DriverError) as error:
        driver.load(text)
    assert error.value.code == driver_abi.INVALID_PTX and "alloca" in error.value.log
