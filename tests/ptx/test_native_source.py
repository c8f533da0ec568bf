"""The C++ source that kernels become: its size, its operands, and the machine code of masks."""

import re

import pytest

from . import test_native
from .compiler_process import real_compiler, run, script

pytestmark = test_native.COMPILED


def test_the_source_of_many_calls_stays_small(tmp_path):
    count = 3000
    calls = "".join(
        f"call f{n % 3}; add.u32 %r{n}, %r{n}, %r{(n * 7) % count};" for n in range(count)
    )
    functions = "".join(f".func f{n}() {{ bar.warp.sync -1; ret; }}\n" for n in range(3))
    sums = "".join(f"add.u32 %r0, %r0, %r{n};" for n in range(count))
    text = f"""
        .version 8.0\n.target sm_90\n.address_size 64\n{functions}
        .visible .entry many(.param .u64 out) {{
        .reg .b32 %r<{count}>; .reg .b64 %rd; .reg .pred %p;
        AGAIN: {calls} setp.ne.u32 %p, %r1, 0; @%p bra AGAIN; {sums}
        ld.param.u64 %rd, [out]; st.global.u32 [%rd], %r0; ret; }}
    """
    (tmp_path / "many.ptx").write_text(text)
    program = """
        module = driver.load(open(os.environ["CUPOLA_CACHE_DIR"] + "/many.ptx").read())
        driver.library.cupola_cpu_printed.restype = ctypes.c_char_p
        began = time.monotonic()
        printed = driver.library.cupola_cpu_printed(module.function("many")).decode()
        print(time.monotonic() - began)
        print(len(printed), printed[:100])
    """
    took, printed = run(program, "interpret", tmp_path)[:2]
    assert float(took) < 20
    # One function would need a multiple of 16 MiB: all registers are live after each call.
    assert int(printed.split()[0]) < 1 << 22, printed


def test_lanes_that_leave_a_loop_wait_in_a_mask(tmp_path):
    """But not where others may wait for them: before a barrier they are in the lane queue."""
    program = """
        import re
        driver.library.cupola_cpu_printed.restype = ctypes.c_char_p
        for body in (
            "AGAIN: add.u32 %r5, %r5, %r1; setp.gt.u32 %p0, %r5, 99; @%p0 bra OUT;"
            "setp.lt.u32 %p1, %r5, 200; @%p1 bra AGAIN; OUT: st.global.u32 [%rd5], %r5;",
            "setp.gt.u32 %p0, %r1, 9; @%p0 bra OUT; bar.sync 0; OUT: bar.sync 0;",
        ):
            module = driver.load(text_of({"endure": body}))
            printed = driver.library.cupola_cpu_printed(module.function("endure")).decode()
            waits = re.search(r"waiting.\\d+. .= taken;", printed)
            print(waits is not None, "enqueue_waiting(w, mask" in printed)
    """
    assert run(program, "interpret", tmp_path) == ["True True", "False False"]


def test_groups_of_copies_cost_nothing(tmp_path):
    """Commits and waits are operations for the race check; machine code omits them."""
    program = """
        driver.library.cupola_cpu_printed.restype = ctypes.c_char_p
        steps = "cp.async.commit_group; cp.async.wait_group 1; cp.async.wait_all;"
        head = "AGAIN: add.u32 %r5, %r5, %r1;"
        tail = "setp.lt.u32 %p0, %r5, 99; @%p0 bra AGAIN; st.global.u32 [%rd5], %r5;"
        for middle in ("", steps, "@%p0 " + steps):
            text = text_of({"endure": head + middle + tail})
            module = driver.load(text.replace("sm_75", "sm_80"))
            printed = driver.library.cupola_cpu_printed(module.function("endure")).decode()
            print(printed.count("s.handlers["), printed.count("run_handlers("))
    """
    without, plain, guarded = run(program, "interpret", tmp_path)
    assert without == plain == guarded


@pytest.mark.parametrize("guard", ["", "@%p "])
def test_an_operand_may_be_an_index_of_blocks(tmp_path, guard):
    """Here it is the size of a copy; machine code has the index in no variable."""
    text = f"""
        .version 8.0\n.target sm_90\n.address_size 64
        .visible .entry copies(.param .u64 in, .param .u64 out) {{
        .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .pred %p; .shared .align 4 .b8 word[4];
        ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, word;
        mov.u32 %r2, %nctaid.x; setp.ne.u32 %p, %r2, 0;
        {guard}cp.async.ca.shared.global [%r1], [%rd1], 4, %ctaid.x; cp.async.wait_all;
        ld.shared.u32 %r3, [%r1]; red.global.add.u32 [%rd2], %r3; ret; }}
    """
    (tmp_path / "copies.ptx").write_text(text)
    program = """
        module = driver.load(open(os.environ["CUPOLA_CACHE_DIR"] + "/copies.ptx").read())
        out = np.zeros(1, np.uint32)
        module.run("copies", 4, 1, [np.array([0x01010101], np.uint32), out])
        print(hex(out[0]))
    """
    # A block copies as many bytes as it has blocks before it.
    for mode in ("interpret", "compile"):
        assert run(program, mode, tmp_path) == [hex(0x1 + 0x101 + 0x10101)], mode


def wider_reads(assembly):
    """Reads of more bytes than anything writes there: of places of the stack that masks have."""
    narrow = {"kmovb", "kmovw"}
    moves = re.findall(r"^\t(\w+)\t(.*?\)|[^,\n]+), (.*)$", assembly, re.MULTILINE)
    written, read = {}, {}
    for name, source, target in moves:
        for place, uses in (target, written), (source, read):
            if place.endswith(("(%rsp)", "(%rbp)")):
                uses.setdefault(place, set()).add(name)
    masks = [place for place, names in written.items() if names <= narrow]
    return {p: read[p] for p in masks if read.get(p, set()) & {"movl", "movq", "kmovd", "kmovq"}}


def test_masks_come_back_from_the_stack_as_they_went(tmp_path):
    """GCC 12 and 13 kept 16 bits of a comparison and fetched 32 (isa/intrinsics.hpp)."""
    real = real_compiler()
    keeping = script(
        tmp_path / "c++",
        f"""case "$*" in *c++-header*) exec {real} "$@" ;; esac
        for each; do [ "$last" = -o ] && made=$each; last=$each; done
        {real} "$@" -S && mv "$made" {tmp_path}/$$.s
        exec {real} "$@"
        """,
    )
    program = """
        from ptx.native_kernels import BODIES
        names = "same_in_all_lanes", "divergent", "overlapping", "lasting", "meeting"
        TEXT = text_of({"endure": "", **{name: BODIES[name] for name in names}})
        print(refusal())
    """
    settings = {"CUPOLA_CPU_THREADS": 1, "CXX": keeping}
    assert run(program, "compile", tmp_path / "cache", **settings) == ["compiled"]
    (assembly,) = (file.read_text() for file in tmp_path.glob("*.s"))
    if "\tkmov" not in assembly:
        pytest.skip("this CPU has no mask registers")
    assert not wider_reads(assembly)


def test_a_large_block_has_one_version_and_outlined_accesses(tmp_path):
    """It runs for whole warps, with inactive lanes, and where rows end between lanes."""
    sums = "".join(
        f"ld.global.u32 %r7, [%rd1+{4 * k}]; mad.lo.u32 %r6, %r6, 3, %r7;" for k in range(40)
    )
    text = f"""
        .version 8.0\n.target sm_90\n.address_size 64
        .visible .entry sums(.param .u64 in, .param .u64 out, .param .u32 n, .param .u32 width) {{
        .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p;
        ld.param.u64 %rd0, [in]; ld.param.u64 %rd2, [out]; ld.param.u32 %r0, [n];
        ld.param.u32 %r1, [width]; mov.u32 %r2, %tid.x; mov.u32 %r6, 0;
        setp.ge.u32 %p, %r2, %r0; @%p bra END;
        rem.u32 %r3, %r2, %r1; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd1, %rd0, %rd3;
        {sums} mul.wide.u32 %rd3, %r2, 4; add.u64 %rd2, %rd2, %rd3; st.global.u32 [%rd2], %r6;
        END: ret; }}
    """
    (tmp_path / "sums.ptx").write_text(text)
    program = """
        module = driver.load(open(os.environ["CUPOLA_CACHE_DIR"] + "/sums.ptx").read())
        driver.library.cupola_cpu_printed.restype = ctypes.c_char_p
        printed = driver.library.cupola_cpu_printed(module.function("sums")).decode()
        print(printed.count("load_outlined<"), printed.count("load_affine_masked<"))
        numbers = np.arange(200, dtype=np.uint32) ** 2
        for n, width in ((128, 1000), (77, 1000), (128, 7), (45, 7)):
            out, expected = np.zeros(128, np.uint32), np.zeros(128, np.uint32)
            module.run("sums", 1, 128, [numbers, out, np.uint32(n), np.uint32(width)])
            for k in range(40):
                expected[:n] = expected[:n] * 3 + numbers[np.arange(n) % width + k]
            print((out == expected).all())
    """
    counts, *equal = run(program, "compile", tmp_path)
    assert counts == "40 0"
    assert equal == ["True"] * 4


def test_atomics_of_lanes_at_one_address_are_combined(tmp_path):
    """Of cells side by side, and of cells that share the entries of a small table."""
    functions = {
        "add.u32": "np.add", "min.s32": "np.minimum", "max.u32": "np.maximum",
        "and.b32": "np.bitwise_and", "or.b32": "np.bitwise_or", "xor.b64": "np.bitwise_xor",
    }  # fmt: skip
    text = ".version 8.0\n.target sm_90\n.address_size 64\n"
    for op in functions:
        bits = int(op[-2:])
        register = "%rd2" if bits == 64 else "%r0"
        text += f"""
            .visible .entry {op.replace(".", "_")}(.param .u64 in, .param .u64 out,
                                                   .param .u32 stride) {{
            .reg .b32 %r<5>; .reg .b64 %rd<5>; .reg .pred %p;
            ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [stride];
            mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, {bits // 8}; add.u64 %rd3, %rd0, %rd3;
            ld.global.b{bits} {register}, [%rd3];
            mul.lo.u32 %r3, %r2, %r2; rem.u32 %r3, %r3, 5; mul.lo.u32 %r3, %r3, %r1;
            mul.wide.u32 %rd4, %r3, {bits // 8}; add.u64 %rd4, %rd1, %rd4;
            rem.u32 %r4, %r2, 3; setp.ne.u32 %p, %r4, 1;
            @%p red.global.{op} [%rd4], {register}; red.global.{op} [%rd4], {register}; ret; }}
        """
    (tmp_path / "share.ptx").write_text(text)
    program = f"""
        module = driver.load(open(os.environ["CUPOLA_CACHE_DIR"] + "/share.ptx").read())
        rng = np.random.default_rng(4)
        threads = np.arange(256)
        for op, function in {functions}.items():
            dtype = np.dtype(("i" if "s" in op else "u") + str(int(op[-2:]) // 8))
            for stride in 1, 32:
                values = rng.integers(-1 << 31, 1 << 31, 256).astype(dtype)
                cells = rng.integers(-1 << 31, 1 << 31, 5 * stride).astype(dtype)
                expected, which = cells.copy(), threads**2 % 5 * stride
                for lanes in threads % 3 != 1, threads >= 0:
                    eval(function).at(expected, which[lanes], values[lanes])
                module.run(op.replace(".", "_"), 1, 256, [values, cells, np.uint32(stride)])
                print((cells == expected).all())
    """
    assert run(program, "compile", tmp_path) == ["True"] * 12
