"""The analysis of kernels, as `inspect --ir` prints it: values, effects and shapes of accesses."""

import ctypes
import re
import subprocess
import sys

import pytest

HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn) {
.reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .f32 %f<8>; .reg .pred %p<8>;
ld.param.u64 %rd1, [pin]; ld.param.u64 %rd2, [pout]; ld.param.u32 %r1, [pn];
mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r3, %r4, %r2;
"""


@pytest.fixture
def operations(load, driver):
    """The operations of a kernel with this body, without their lines in the text."""
    if driver.on_hardware:
        pytest.skip("the text is the CPU device's own")

    def analyse(body):
        module = load(HEAD + body + "\nret; }\n")
        driver.library.cupola_cpu_ir.restype = ctypes.c_char_p
        text = driver.library.cupola_cpu_ir(module.function("k")).decode()
        return [
            re.sub(r"(,|\s+;) line \d+$", "", re.sub(r"\s+;", " ;", line.strip()))
            for line in text.splitlines()
        ]

    return analyse


# Each statement reads %r5, the number of the thread, which is affine.
VALUES = {
    "add.u32 %r6, %r5, 7;": "%A{}(+1) = add.u32 %A7(+1), 7",
    "shl.b32 %r6, %r5, 3;": "%A{}(+8) = shl.b32 %A7(+1), 3",
    "mul.lo.u32 %r6, %r5, 12;": "%A{}(+12) = mul.lo.u32 %A7(+1), 12",
    "mul.lo.u32 %r6, %r5, %r1;": "%v{} = mul.lo.u32 %A7(+1), %U2",
    "mul.lo.u32 %r6, %r5, %r5;": "%v{} = mul.lo.u32 %A7(+1), %A7(+1)",
    "sub.u32 %r6, 9, %r5;": "%A{}(-1) = sub.u32 9, %A7(+1)",
    "div.u32 %r6, %r5, %r1;": "%A{}(+0) = div.u32 %A7(+1), %U2",
    "rem.u32 %r6, %r5, %r1;": "%A{}(+1) = rem.u32 %A7(+1), %U2",
    "shr.u32 %r6, %r5, 5;": "%A{}(+0) = shr.u32 %A7(+1), 5",
    "and.b32 %r6, %r5, 31;": "%A{}(+1) = and.b32 %A7(+1), 31",
    "max.s32 %r6, %r5, 0;": "%A{}(+1) = max.s32 %A7(+1), 0",
    "xor.b32 %r6, %r5, 1;": "%v{} = xor.b32 %A7(+1), 1",
    "xor.b32 %r6, %r1, 1;": "%U{} = xor.b32 %U2, 1",
    "popc.b32 %r6, %r5;": "%v{} = popc.b32 %A7(+1)",
    "popc.b32 %r6, %r1;": "%U{} = popc.b32 %U2",
}


@pytest.mark.parametrize("statement", VALUES)
def test_values(operations, statement):
    (line,) = operations(statement)[12:13]
    assert line == VALUES[statement].format(8)


ACCESSES = {
    "contiguous": ("mul.wide.u32 %rd3, %r5, 4; add.u64 %rd4, %rd1, %rd3;", "%A9(+4)"),
    "strided": ("mul.wide.u32 %rd3, %r5, 12; add.u64 %rd4, %rd1, %rd3;", "%A9(+12)"),
    "uniform": (
        "div.u32 %r6, %r1, 3; mul.wide.u32 %rd3, %r6, 4; add.u64 %rd4, %rd1, %rd3;",
        "%U10",
    ),
    "uniform in halves": (
        "div.u32 %r6, %r5, %r1; mul.wide.u32 %rd3, %r6, 4; add.u64 %rd4, %rd1, %rd3;",
        "%A10(+0)",
    ),
    "scattered": (
        "mul.lo.u32 %r6, %r5, %r5; mul.wide.u32 %rd3, %r6, 4; add.u64 %rd4, %rd1, %rd3;",
        "%v10",
    ),
}


@pytest.mark.parametrize("shape", ACCESSES)
def test_shapes_of_accesses(operations, shape):
    statements, address = ACCESSES[shape]
    lines = operations(statements + "ld.global.f32 %f1, [%rd4+8]; st.global.f32 [%rd4], %f1;")
    (load,) = (line for line in lines if "ld.global" in line)
    (store,) = (line for line in lines if "st.global" in line)
    assert load.endswith(f"ld.global.f32 [{address}+8] ; reads memory, may fault, {shape}")
    assert f"st.global.f32 [{address}], " in store or f"st.global.u32 [{address}], " in store
    assert store.endswith(f"; writes memory, may fault, {shape}")


def test_values_loaded_from_one_address_are_uniform(operations):
    lines = operations("ld.global.u32 %r6, [%rd1]; add.u32 %r6, %r6, 7; st.global.u32 [%rd2], %r6;")
    assert "%u8 = add.u32 %u8, 7" in lines


def test_loops_and_branches(operations):
    lines = operations(
        """mov.u32 %r6, 0; LOOP: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r1; @%p1 bra LOOP;
        bar.sync 0; @!%p1 add.u32 %r6, %r6, 2; st.global.u32 [%rd2], %r6;"""
    )
    assert "block 2, loop to block 2, entry" in lines
    assert [line for line in lines if line.startswith("branch")] == ["branch if %p9 -> block 2"]
    assert "%u8 = add.u32 %u8, 1" in lines
    assert any(line.startswith("barrier") for line in lines)
    assert any(line.startswith("guard not %p9") for line in lines)
    assert any(line.startswith("guarded ") and "add.u32" in line for line in lines)


REGIONS = "warps run region by region"


@pytest.mark.parametrize(
    "barriers",
    ["bar.sync 0;", "bar.sync 0; bar.sync 3;", "barrier.sync 1;", "@!%p1 bra ON; bar.sync 0; ON:"],
)
def test_warps_run_the_code_between_barriers_one_after_another(operations, barriers):
    assert REGIONS in operations("setp.lt.u32 %p1, %r1, 7;" + barriers)


@pytest.mark.parametrize(
    "barriers",
    ["", "bar.warp.sync -1;", "bar.sync %r1;", "bar.sync 0, 64;", "bar.sync 0; bar.arrive 1, 64;"]
    + ["bar.sync 0; bar.red.popc.u32 %r6, 0, %p1;", "bar.sync 0; barrier.cluster.arrive;"],
)
def test_other_ways_to_wait_for_warps_have_no_regions(operations, barriers):
    assert REGIONS not in operations("setp.lt.u32 %p1, %r1, 7;" + barriers)


def inspected(*arguments):
    command = [sys.executable, "-m", "cupola", "inspect", "--ir", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_register_of_a_loop_is_constant_before_the_loop(operations):
    lines = operations(
        "mov.u32 %r6, 32; div.u32 %r7, %r5, %r6; mov.u32 %r8, 0; AGAIN: add.u32 %r8, %r8, %r6;"
        "shr.u32 %r6, %r6, 1; setp.ne.u32 %p1, %r6, 0; @%p1 bra AGAIN; st.global.u32 [%rd2], %r8;"
    )
    assert [line for line in lines if re.fullmatch(r"%A\d+\(\+0\) = div.u32 %A7\(\+1\), 32", line)]
    # In the loop it has another value in each iteration.
    assert [line for line in lines if re.fullmatch(r"%u\d+ = add.u32 %u\d+, %u\d+", line)]
    assert [line for line in lines if re.fullmatch(r"%u\d+ = shr.u32 %u\d+, 1", line)]


def test_the_command(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(HEAD + "st.global.u32 [%rd2], %r5;\nret; }\n")
    done = inspected(path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("kernel k: ") and "mad.lo.u32" in done.stdout


def test_an_image_without_ptx_is_refused(tmp_path):
    from cupola import paths

    done = inspected(paths.library())
    assert done.returncode != 0 and "--ir reads .ptx and .fatbin files" in done.stderr
