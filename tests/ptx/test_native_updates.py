"""Atomics without a result, whose updates machine code combines for several blocks."""

import pytest

from . import test_native
from .compiler_process import run

pytestmark = test_native.COMPILED

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def kernel(name, body):
    """A kernel of one thread for each element: %rd2 is the address of a cell, %rd4 of a result."""
    return f"""
        .visible .entry {name}(.param .u64 in, .param .u64 cells, .param .u64 out,
                               .param .u32 count, .param .u32 apart) {{
        .reg .b32 %r<9>; .reg .b64 %rd<6>; .reg .pred %p, %q;
        ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [cells]; ld.param.u64 %rd3, [out];
        ld.param.u32 %r0, [count]; ld.param.u32 %r6, [apart];
        mov.u32 %r1, %ntid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x;
        mad.lo.u32 %r3, %r2, %r1, %r3; setp.ge.u32 %p, %r3, %r0; @%p bra DONE;
        mul.wide.u32 %rd4, %r3, 4; add.u64 %rd2, %rd0, %rd4; ld.global.u32 %r4, [%rd2];
        rem.u32 %r5, %r4, %r6; mul.wide.u32 %rd2, %r5, 4; add.u64 %rd2, %rd1, %rd2;
        add.u64 %rd4, %rd3, %rd4;
        {body}
        DONE: ret; }}
    """


def test_updates_of_many_blocks_are_made(tmp_path):
    """Of few cells, of more cells than a worker keeps, by some lanes, and in a loop."""
    text = HEAD + kernel("all", "red.global.add.u32 [%rd2], %r4;")
    text += kernel("some", "setp.lt.u32 %q, %r4, 999; @%q red.global.max.u32 [%rd2], %r4;")
    text += kernel(
        "loop",
        """mov.u32 %r7, 3;
        AGAIN: ld.global.u32 %r8, [%rd4]; red.global.xor.b32 [%rd2], %r8; sub.u32 %r7, %r7, 1;
        setp.ne.u32 %q, %r7, 0; @%q bra AGAIN;""",
    )
    (tmp_path / "updates.ptx").write_text(text)
    program = """
        module = driver.load(open(os.environ["CUPOLA_CACHE_DIR"] + "/updates.ptx").read())
        rng = np.random.default_rng(4)
        n = 20000
        numbers = rng.integers(0, 1 << 32, n, np.uint32)
        other = rng.integers(0, 1 << 32, n, np.uint32)
        for apart in 7, 5000:
            for name, function, chosen, operand in (
                ("all", np.add, numbers >= 0, numbers),
                ("some", np.maximum, numbers < 999, numbers),
                ("loop", np.bitwise_xor, numbers >= 0, other),
            ):
                cells = rng.integers(0, 1 << 32, apart, np.uint32)
                expected = cells.copy()
                function.at(expected, numbers[chosen] % apart, operand[chosen])
                module.run(name, -(-n // 256), 256,
                           [numbers, cells, other, np.uint32(n), np.uint32(apart)])
                print((cells == expected).all())
    """
    assert run(program, "compile", tmp_path) == ["True"] * 6


def test_a_thread_sees_its_own_update(tmp_path):
    """Where the load is of the same memory as the update, or becomes so in a later iteration."""
    text = HEAD + kernel(
        "reads",
        "red.global.add.u32 [%rd2], 5; ld.global.u32 %r8, [%rd2]; st.global.u32 [%rd4], %r8;",
    )
    text += kernel(
        "moves",
        """mov.u32 %r7, 0; mov.u64 %rd5, %rd4;
        AGAIN: ld.global.u32 %r8, [%rd5]; red.global.add.u32 [%rd2], 5; mov.u64 %rd5, %rd2;
        add.u32 %r7, %r7, 1; setp.ne.u32 %q, %r7, 3; @%q bra AGAIN;
        st.global.u32 [%rd4], %r8;""",
    )
    (tmp_path / "own.ptx").write_text(text)
    program = """
        module = driver.load(open(os.environ["CUPOLA_CACHE_DIR"] + "/own.ptx").read())
        n = 3000
        numbers = np.random.default_rng(4).permutation(n).astype(np.uint32)
        for name, before, all_of_them in ("reads", 5, 5), ("moves", 10, 15):
            cells = np.arange(n, dtype=np.uint32)
            out = np.zeros(n, np.uint32)
            module.run(name, -(-n // 256), 256, [numbers, cells, out, np.uint32(n), np.uint32(n)])
            print((cells == np.arange(n) + all_of_them).all(), (out == numbers + before).all())
    """
    assert run(program, "compile", tmp_path) == ["True True"] * 2


@pytest.mark.parametrize(
    ("body", "deferred"),
    [
        ("red.global.add.u32 [%rd2], %r4;", True),
        ("red.global.add.u32 [%rd2], %r4; red.global.add.u32 [%rd4], %r4;", True),
        ("red.global.add.u32 [%rd2], %r4; red.global.max.u32 [%rd4], %r4;", False),
        ("red.global.sys.add.u32 [%rd2], %r4;", False),
        ("red.global.inc.u32 [%rd2], %r4;", False),
        ("red.global.add.f32 [%rd2], %r4;", False),
        ("red.global.add.u32 [%rd2], %r4; membar.gl;", False),
        ("red.global.add.u32 [%rd2], %r4; ld.volatile.global.u32 %r5, [%rd4];", False),
        (
            """red.global.add.u32 [%rd2], %r4; atom.global.add.u32 %r5, [%rd4], 1;
            st.global.u32 [%rd4], %r5;""",
            False,
        ),
    ],
)
def test_which_updates_are_deferred(tmp_path, body, deferred):
    (tmp_path / "which.ptx").write_text(HEAD + kernel("which", body))
    program = """
        module = driver.load(open(os.environ["CUPOLA_CACHE_DIR"] + "/which.ptx").read())
        driver.library.cupola_cpu_printed.restype = ctypes.c_char_p
        printed = driver.library.cupola_cpu_printed(module.function("which")).decode()
        print("deferred_atomic<" in printed)
    """
    assert run(program, "interpret", tmp_path) == [str(deferred)]
