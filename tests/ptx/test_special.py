# ruff: noqa: E501 - PTX text is wide
"""Special registers: where a thread is, what its block and grid are, and clocks."""

import time

import numpy as np
import pytest

HEAD = """.version 8.6
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 room[];
.visible .entry k(.param .u64 pa) {
.reg .b64 %d<9>; .reg .b32 %r<9>; .shared .align 4 .b8 own[12];
ld.param.u64 %d0, [pa]; mov.u64 %d8, own; mov.u64 %d8, room;
mov.u32 %r0, %tid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.y; mad.lo.u32 %r0, %r2, %r1, %r0;
mov.u32 %r2, %ntid.y; mul.lo.u32 %r1, %r1, %r2; mov.u32 %r2, %tid.z; mad.lo.u32 %r0, %r2, %r1, %r0;
mov.u32 %r2, %ntid.z; mul.lo.u32 %r1, %r1, %r2;
mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %ctaid.y; mad.lo.u32 %r2, %r4, %r3, %r2;
mov.u32 %r4, %nctaid.y; mul.lo.u32 %r3, %r3, %r4; mov.u32 %r4, %ctaid.z; mad.lo.u32 %r2, %r4, %r3, %r2;
mad.lo.u32 %r0, %r2, %r1, %r0; mul.wide.u32 %d1, %r0, 8; add.u64 %d0, %d0, %d1;
"""
GRID, BLOCK = (3, 2, 2), (5, 4, 3)
THREADS, BLOCKS = 60, 12


def read(load, register, wide=False, shared=0, grid=GRID, block=BLOCK):
    """A register as each thread has it: (blocks, threads)."""
    to = "%d2" if wide else "%r5"
    body = f"mov.u{64 if wide else 32} {to}, %{register};" + (
        "" if wide else "cvt.u64.u32 %d2, %r5;"
    )
    threads, blocks = int(np.prod(block)), int(np.prod(grid))
    out = np.zeros((blocks, threads), np.uint64)
    load(HEAD + body + "st.global.u64 [%d0], %d2; ret; }").run("k", grid, block, [out], shared)
    return out


@pytest.mark.parametrize("axis", range(3))
def test_where_a_thread_is(axis, load):
    name = "xyz"[axis]
    threads, blocks = np.arange(THREADS), np.arange(BLOCKS)
    thread = np.unravel_index(threads, BLOCK[::-1])[2 - axis]
    block = np.unravel_index(blocks, GRID[::-1])[2 - axis]
    assert (read(load, f"tid.{name}") == thread[None, :]).all()
    assert (read(load, f"ctaid.{name}") == block[:, None]).all()
    assert (read(load, f"ntid.{name}") == BLOCK[axis]).all()
    assert (read(load, f"nctaid.{name}") == GRID[axis]).all()


def test_lanes(load):
    lane = np.arange(THREADS) % 32
    masks = {
        "eq": 1 << lane,
        "lt": (1 << lane) - 1,
        "le": (2 << lane) - 1,
        "ge": (1 << 32) - (1 << lane),
        "gt": (1 << 32) - (2 << lane),
    }
    assert (read(load, "laneid") == lane).all()
    for name, mask in masks.items():
        assert (read(load, f"lanemask_{name}") == mask.astype(np.uint64)).all()


def test_warps_and_multiprocessors(load, driver):
    warps, room = read(load, "warpid"), read(load, "nwarpid")
    assert (warps < room).all()
    for block in warps:  # lanes of a warp agree, warps differ
        assert len({int(w) for w in block[:32]}) == len({int(w) for w in block[32:]}) == 1
        assert block[0] != block[32]
    assert (read(load, "smid") < read(load, "nsmid")).all()


def test_grids_have_numbers_of_their_own(load):
    first, second = read(load, "gridid", wide=True), read(load, "gridid", wide=True)
    assert (first == first[0, 0]).all() and (second == second[0, 0]).all()
    assert first[0, 0] != second[0, 0]


@pytest.mark.parametrize("dynamic", [0, 1000])
def test_shared_memory(dynamic, load):
    assert (read(load, "dynamic_smem_size", shared=dynamic) == dynamic).all()
    total = read(load, "total_smem_size", shared=dynamic)
    assert (total == total[0, 0]).all() and total[0, 0] >= dynamic + 12


def test_environment_registers_of_a_plain_launch(load, driver):
    driver.skip_on_hardware("what a driver keeps in them is its own")
    assert (read(load, "envreg0") == 0).all() and (read(load, "envreg31") == 0).all()


CLOCKS = """mov.u64 %d2, %TIMER; mov.u64 %d3, %TIMER; bar.sync 0; mov.u64 %d4, %TIMER;
setp.le.u64 %p0, %d2, %d3; setp.le.and.u64 %p0, %d3, %d4, %p0; sub.u64 %d5, %d4, %d2;
mov.u32 %r5, 0; LOOP: add.u32 %r5, %r5, 1; mov.u64 %d6, %TIMER; setp.lt.u64 %p1, %d6, %d4;
@%p1 bra GONE_BACK; mov.u64 %d4, %d6; setp.lt.u32 %p1, %r5, 1000; @%p1 bra LOOP; bra KEPT;
GONE_BACK: mov.pred %p0, 0; KEPT:
sub.u64 %d5, %d4, %d2; selp.u64 %d2, %d5, 0, %p0; st.global.u64 [%d0], %d2; ret; }"""


@pytest.mark.parametrize("timer", ["clock64", "globaltimer"])
def test_clocks_do_not_go_back(timer, load):
    out = np.zeros((BLOCKS, THREADS), np.uint64)
    text = HEAD + ".reg .pred %p<2>; " + CLOCKS.replace("%TIMER", f"%{timer}")
    load(text).run("k", GRID, BLOCK, [out])
    if timer == "clock64":  # clocks advance while a loop runs
        assert (out >= 1000).all()
    else:
        assert (out < 10**10).all()


def test_halves_of_clocks(load):
    low, high = (
        read(load, "globaltimer_lo", grid=1, block=1),
        read(load, "globaltimer_hi", grid=1, block=1),
    )
    whole = read(load, "globaltimer", wide=True, grid=1, block=1)
    assert 0 <= int(whole[0, 0]) - (int(high[0, 0]) << 32 | int(low[0, 0])) < 10**11
    assert (read(load, "clock") < 2**32).all() and (read(load, "clock_hi") < 2**32).all()


def test_the_global_timer_counts_nanoseconds(load):
    first, since = read(load, "globaltimer", wide=True, grid=1, block=1), time.monotonic()
    time.sleep(0.2)
    second, until = read(load, "globaltimer", wide=True, grid=1, block=1), time.monotonic()
    counted = int(second[0, 0]) - int(first[0, 0])
    assert 0.15e9 < counted < (until - since + 1) * 1e9
