"""Shared arrays of functions in kernels that NVRTC compiled with -G."""

import sys

import pytest
import sessions

from cupola.tools.debug import shared_arrays

SOURCE = """\
extern "C" __global__ void left(float* x) {
    __shared__ float tile[64];
    __shared__ int counts[2][4];
    __shared__ double one;
    int i = threadIdx.x;
    tile[i] = x[i];
    if (i < 8) counts[i / 4][i % 4] = -i;
    if (i == 0) one = 2.5;
    __syncthreads();
    x[i] = tile[63 - i] + counts[1][i % 4] + one;  // all
}
"""
PROGRAM = """
import sys, cupola, numpy as np
module = cupola.compile(open(sys.argv[1]).read(), name=sys.argv[1], options=["-G"])
x = cupola.to_device(np.arange(64, dtype="f4"))
module["left"][1, 64](x)
print(float(x[0]))
"""


def test_their_values(tmp_path):
    (tmp_path / "left.cu").write_text(SOURCE)
    (tmp_path / "program.py").write_text(PROGRAM)
    number = SOURCE.splitlines().index(next(t for t in SOURCE.splitlines() if "// all" in t)) + 1
    program = [tmp_path / "program.py", tmp_path / "left.cu"]
    done = sessions.run(
        [sys.executable, "-m", "cupola", "debug", *program],
        [
            f"tbreak {tmp_path}/left.cu:{number}", "c", "p tile[:3]", "whatis tile", "p counts",
            "p one", "p tile[3] + one", "locals", "c",
        ],
    )  # fmt: skip
    output = done.stdout.replace("(cupola) ", "")
    assert "array([0., 1., 2.], dtype=float32)\nfloat[64], array, dtype float32" in output
    assert "array([ 0, -1, -2, -3, -4, -5, -6, -7], dtype=int32)\n2.5\n5.5\n" in output
    assert "\ntile = array(" in output and "\none = 2.5\n" in output
    assert output.endswith("61.5\n[the program has ended with status 0]\n"), output


def test_what_nvcc_describes_stays():
    output = sessions.debug(
        "full", ["reverse", "wait"], ["tbreak reverse", "c", "whatis tile", "c"]
    )
    assert output.count("float[") == 1, output


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZZ4leftE4tile", "tile"),
        ("_ZZ4stepILi16EEvPfE4tile_0", "tile"),
        ("_ZZ4stepILi16EEvPfE4tile__12_", "tile"),
        ("_ZZN2E44leftEvE2E4", "E4"),
        ("_ZZ4leftE5tile", ""),
        ("_ZZ4leftE99999999999tile", ""),
        ("tile", ""),
        ("_ZN1a4tileE", ""),
        ("_ZZ", ""),
    ],
)
def test_names(symbol, name):
    assert shared_arrays.name_of(symbol) == name


@pytest.mark.parametrize(
    ("statements", "kind"),
    [
        (["st.shared.f32 [t], %f1;"], "f4"),
        (["mov.u64 %rd1, t;", "add.s64 %rd2, %rd1, %rd9;", "ld.u16 %rs1, [%rd2+4];"], "i2"),
        (["mov.u64 %rd1, t;", "st.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};"], "f4"),
        (["st.shared.u64 [t], %rd1;", "ld.shared.f64 %fd1, [t];"], "f8"),
        (["st.shared.u32 [t], %r1;", "ld.shared.f64 %fd1, [t];"], "i1"),
        ([".reg .f32 %f<4>;", "st.shared.b32 [t], %f1;"], "f4"),
        ([".reg .b32 %r<4>;", "st.shared.b32 [t], %r1;"], "i4"),
        (["mov.u64 %rd1, t;", "mov.u64 %rd1, %rd2;", "ld.f32 %f1, [%rd1];"], "i1"),
        (["mov.u64 %rd1, t;", ".func f() {", "ld.f32 %f1, [%rd1];"], "i1"),
        (["ld.f32", "st.f32 ];", "ld.f32 %f1, [", "@", ";;"], "i1"),
    ],
)
def test_types_of_elements(statements, kind):
    assert shared_arrays.element_types(["t"], statements) == {"t": kind}
