"""Blocks of a grid, handed out to several threads: each runs once, and none waits forever."""

import pytest

from .compiler_process import run

THREADS = 5
# Each block counts its number in an array; some run longer, so that threads take others' ranges.
ONCE = """
work = "mad.lo.u32 %r5, %r5, %r5, %r4;" * 300
TEXT = text_of({"count": "mul.wide.u32 %rd6, %r2, 4; add.u64 %rd7, %rd2, %rd6; mov.u32 %r5, 1;"
                         "setp.gt.u32 %p0, %r2, %r0; @%p0 bra DONE;" + work +
                         "DONE: setp.ne.u32 %p1, %r1, 0; @%p1 bra END;"
                         "red.global.add.u32 [%rd7], 1; END: "})
module = driver.load(TEXT)
for blocks in 1, 2, 4, 5, 6, 7, 63, 1000, 20011:
    out = np.zeros(blocks, np.uint32)
    for launches in range(1, 4):
        module.run("count", blocks, 96, [out, out, np.uint32(blocks // 3)])
        assert (out == launches).all(), (blocks, launches, np.unique(out))
print("once")
"""
# Block n waits in a loop for block n - 1, as scans in one pass do.
CHAIN = """
TEXT = text_of({"chain": "mul.wide.u32 %rd6, %r2, 4; add.u64 %rd7, %rd2, %rd6;"
                         "setp.ne.u32 %p1, %r1, 0; @%p1 bra END; mov.u32 %r6, 0;"
                         "setp.eq.u32 %p0, %r2, 0; @%p0 bra FIRST;"
                         "WAIT: ld.volatile.global.u32 %r6, [%rd7+-4]; setp.eq.u32 %p2, %r6, 0;"
                         "@%p2 bra WAIT; FIRST: add.u32 %r6, %r6, 1;"
                         "st.volatile.global.u32 [%rd7], %r6; END: "})
out = np.zeros(3000, np.uint32)
driver.load(TEXT).run("chain", len(out), 96, [out, out, np.uint32(0)])
assert (out == np.arange(1, len(out) + 1)).all()
print("ended")
"""


@pytest.mark.parametrize(("program", "said"), [(ONCE, "once"), (CHAIN, "ended")])
def test_blocks_of_several_threads(tmp_path, program, said):
    settings = {"CUPOLA_CPU_THREADS": THREADS, "CUPOLA_CPU_TIMEOUT": 60}
    assert run(program, "interpret", tmp_path, **settings) == [said]
