"""The judge: verdicts on kernels, and its answers to hostile candidates and broken references."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import images
import pytest
from command_line import cli

import cupola
from cupola.judging import CODES, Limits
from cupola.judging.inputs import KINDS

REFERENCE = """
operation = dict(
    kernels="row_sums", inputs={"x": "float32[rows, columns]"}, outputs={"sums": "float32[rows]"},
    arguments=["x", "sums", "rows", "columns"], grid=["ceildiv(rows, 32)"], block=[32],
)
sizes = {"rows": (0, 70), "columns": (1, 9)}

def reference(x):
    return x.sum(axis=1)
"""
SIGNATURE = (
    'extern "C" __global__ void row_sums(const float* x, float* sums, int rows, int columns) '
)
BODY = """{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0;
    for (int c = 0; c < columns; c++) sum += x[(size_t)r * columns + c];
    sums[r] = sum;
}
"""
FAST = replace(Limits(), launch_seconds=1.0, seconds=20.0, output=100_000)


@pytest.fixture(scope="module", autouse=True)
def compiler():
    images.nvrtc()


@pytest.fixture
def judge(tmp_path):
    def run(source, reference=REFERENCE, **more):
        path = tmp_path / "reference.py"
        path.write_text(reference)
        limits = more.pop("limits", FAST)
        return cupola.judge(source, against=path, seconds=1, limits=limits, **more)

    return run


def test_a_right_kernel(judge):
    found = judge(SIGNATURE + BODY)
    assert (found.verdict, found.status, found.codes) == ("right", 0, ()), str(found)
    told = json.loads(found.json())
    assert told["coverage"]["lines_missed"] == [] and told["runs"] > 50
    assert set(told["cases"]["values"]) == {"random", *KINDS}
    assert ElementTree.fromstring(found.junit()).get("failures") == "0"


WRONG = {
    "memory": (BODY.replace("if (r >= rows) return;", ""), 5),
    "wrong-result-at-edge": (BODY.replace("r * columns", "r * rows % (rows * columns)"), 0),
    "race": (BODY.replace("float sum = 0;", "__shared__ float sum; sum = 0;"), 5),
    "uninitialised": (BODY.replace("sums[r] = sum", "sums[r] += sum"), 6),
    "output-not-written": (BODY.replace("sums[r] = sum", "if (r % 32 < 31) sums[r] = sum"), 0),
    "writes-input": (BODY.replace("sums[r] = sum", "sums[r] = sum; ((float*)x)[r] = 1"), 0),
    "nan-swallowed": (BODY.replace("sums[r] = sum", "sums[r] = sum == sum ? sum : 0"), 0),
    "state": ("{ static __device__ int count; if (count > 9) return; if (!blockIdx.x && "
              "!threadIdx.x) count++; " + BODY.lstrip("{"), 0),
    "barrier": (BODY.replace("float sum = 0;", "float sum = 0; if (r % 2) __syncthreads();")
                .replace("sum;\n", "sum; __syncthreads();\n"), 0),
    "timeout": (BODY.replace("float sum = 0;", "float sum = 0; while (*(volatile float*)sums != 3);"
                             ), 0),
    "output-limit": (BODY.replace("float sum = 0;", 'for (int i = 0; i < 9999; i++) '
                     'printf("%d candidate", r); float sum = 0;'), 0),
    "launch-error": (BODY.replace("sums[r] = sum", "__trap()"), 6),
    "memory-limit": (BODY.replace("float sum = 0;", "static __device__ float big[1u << 31]; "
                     "float sum = big[r];"), 0),
}  # fmt: skip
QUICK = "memory", "output-not-written", "output-limit"


@pytest.mark.parametrize("code", [
    one if one in QUICK else pytest.param(one, marks=pytest.mark.campaign("a verdict each"))
    for one in WRONG
])  # fmt: skip
def test_a_wrong_kernel(judge, code):
    body, line = WRONG[code]
    found = judge("#include <cstdio>\n"[: 0 if line else None] + SIGNATURE + body)
    assert found.verdict == "wrong" and code in found.codes, str(found)
    (one,) = [one for one in found.findings if one.code == code][:1]
    assert line in (0, one.line) and one.remedy == CODES[code].remedy and not one.advice
    assert f"finding {code}: " in str(found)
    report = ElementTree.fromstring(found.junit())
    assert code in [one.get("name") for one in report.findall("testcase")]


HALVED = """
#include <cuda_bf16.h>
#include <cuda_fp8.h>
extern "C" __global__ void halved(const TYPE* x, TYPE* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = TYPE(float(x[i]) * 0.5f);
}
"""
OF_HALVED = """
import numpy as np
operation = dict(
    kernels="halved", inputs={"x": "ELEMENT[n]"}, outputs={"y": "ELEMENT[n]"},
    arguments=["x", "y", "n"], grid=["ceildiv(n, 32)"], block=[32],
)

def reference(x):
    assert x.dtype == np.float32
    return x * 0.5
"""


@pytest.mark.parametrize("element, c_type", [
    ("bfloat16", "__nv_bfloat16"),
    ("float8_e4m3fn", "__nv_fp8_e4m3"),
    pytest.param("float8_e5m2", "__nv_fp8_e5m2", marks=pytest.mark.campaign("two verdicts each")),
])  # fmt: skip
def test_elements_that_numpy_lacks(judge, element, c_type):
    """The reference gets float32, and the result is rounded to the type."""
    source, reference = HALVED.replace("TYPE", c_type), OF_HALVED.replace("ELEMENT", element)
    found = judge(source, reference)
    assert found.verdict == "right", str(found)
    assert set(json.loads(found.json())["cases"]["values"]) == {"random", *KINDS}
    found = judge(source.replace("0.5f", "(i % 40 ? 0.5f : 0.8f)"), reference)
    assert found.codes and all(one.startswith("wrong-result") for one in found.codes), str(found)


@pytest.mark.campaign("a verdict")
def test_scales_that_are_powers_of_two(judge):
    """Elements without sign and zero get values that they have."""
    source = HALVED.replace("float(x[i]) * 0.5f", "x[i]").replace("TYPE(x[i])", "x[i]")
    reference = OF_HALVED.replace("ELEMENT", "float8_e8m0fnu").replace("x * 0.5", "x")
    found = judge(source.replace("TYPE", "unsigned char"), reference)
    assert found.verdict == "right", str(found)
    assert set(json.loads(found.json())["cases"]["values"]) == {"random", *KINDS}


def test_elements_that_numpy_lacks_without_ml_dtypes(judge, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    found = judge(HALVED.replace("TYPE", "__nv_bfloat16"), OF_HALVED.replace("ELEMENT", "bfloat16"))
    assert found.codes == ("task",) and "x: arrays of bfloat16 need ml_dtypes" in str(found)


COPIED = """
#include <cuda_pipeline.h>
extern "C" __global__ void row_sums(const float* x, float* sums, int rows, int columns) {
    __shared__ float row[9];
    const int r = blockIdx.x, c = threadIdx.x;
    if (c < columns) __pipeline_memcpy_async(row + c, x + (size_t)r * columns + c, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    float sum = 0;
    for (int i = 0; c == 0 && i < columns; i++) sum += row[i];
    if (c == 0) sums[r] = sum;
}
"""


def test_a_missing_wait_for_a_copy(judge):
    launch = '// cupola: grid = ["rows"]\n// cupola: block = [32]'
    assert judge(launch + COPIED).verdict == "right"
    found = judge(launch + COPIED.replace("wait_prior(0)", "wait_prior(1)"))
    assert found.codes == ("missing-wait",), str(found)
    one = found.findings[0]
    assert one.text.startswith("read before an asynchronous copy is complete in shared memory")
    assert one.line == 12 and "wrote by an asynchronous copy" in one.check, str(found)
    assert one.remedy == CODES["missing-wait"].remedy


def test_a_finding_has_a_case_that_replays(judge, tmp_path):
    found = judge(SIGNATURE + WRONG["memory"][0], cases=tmp_path / "cases")
    (one,) = [one for one in found.findings if one.code == "memory"]
    assert one.sizes["rows"] < 32
    done = cli("replay", one.case, "--check", "all")
    assert done.returncode == 1 and "illegal address" in done.stderr


def test_an_overflow_at_large_sizes(judge):
    large = REFERENCE.replace("(0, 70)", "(0, 2**31 - 1)")
    found = judge(SIGNATURE + BODY.replace("(size_t)", ""), large)
    assert found.codes == ("overflow",), str(found)
    one = found.findings[0]  # advice follows
    assert one.line == 5 and one.sizes["rows"] * one.sizes["columns"] > 2**31
    assert judge(SIGNATURE + BODY, large).verdict == "right"


@pytest.mark.campaign("a verdict each")
def test_a_launch_of_its_own_and_other_launches(judge):
    fixed = SIGNATURE + BODY.replace("blockDim.x", "32")
    launches = REFERENCE + '\nlaunches = [dict(block=[16], grid=["ceildiv(rows, 16)"])]\n'
    assert "block-size" in judge(fixed, launches).codes
    own = '// cupola: block = [8]\n// cupola: grid = ["ceildiv(rows, 8)"]\n'
    assert judge(own + SIGNATURE + BODY, launches).verdict == "right"


@pytest.mark.campaign("a verdict each")
def test_an_input_may_be_the_output_where_the_task_says_so(judge):
    reference = """
operation = dict(
    kernels="reverse<float>", inputs={"x": "float32[n]"}, outputs={"y": "float32[n]"},
    arguments=["x", "y", "n"], grid=["ceildiv(n, 32)"], block=[32],
)
sizes = {"n": (0, 100)}
aliases = {"y": "x"}

def reference(x):
    return x[::-1]
"""
    source = """template <class T> __global__ void reverse(const T* x, T* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[n - 1 - i];
}
"""
    found = judge(source, reference)
    assert "aliasing" in found.codes, str(found)
    assert judge(source, reference.replace('aliases = {"y": "x"}', "")).verdict == "right"


@pytest.mark.campaign("a verdict each")
def test_inputs_with_other_ranges_are_not_one_array(judge):
    """A divisor may be no 0, and the dividend may."""
    reference = """
operation = dict(
    kernels="divide", inputs={"a": "int32[n]", "b": "int32[n]"}, outputs={"c": "int32[n]"},
    arguments=["a", "b", "c", "n"], grid=["ceildiv(n, 32)"], block=[32],
)
sizes = {"n": (0, 100)}
ranges = {"b": (1, 50), "a": (-5, 100)}

def reference(a, b):
    return (a / b).astype("i4")
"""
    source = """extern "C" __global__ void divide(const int* a, const int* b, int* c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] / b[i];
}
"""
    found = judge(source, reference)
    assert found.verdict == "right", str(found)
    alike = reference.replace('"a": (-5, 100)', '"a": (1, 50)')
    assert judge(source.replace("c[i] =", "c[i] = a == b ? 2 :"), alike).codes == ("aliasing",)


@pytest.mark.campaign("a verdict each")
def test_an_input_may_be_a_view_where_the_kernel_takes_strides(judge):
    reference = """
operation = dict(
    kernels="twice", inputs={"x": "float32[rows, columns]"}, strided=["x"],
    outputs={"y": "float32[rows, columns]"},
    arguments=["x", "y", "rows", "columns", "stride(x, 0)", "stride(x, 1)"],
    grid=["rows"], block=[32],
)
sizes = {"rows": (0, 20), "columns": (0, 70)}

def reference(x):
    return x * 2
"""
    source = """extern "C" __global__ void twice(float* x, float* y, int rows, int columns,
                                  int down, int right) {
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        y[blockIdx.x * columns + c] = 2 * x[blockIdx.x * down + c * right];
    }
}
"""
    found = judge(source, reference)
    assert found.verdict == "right", str(found)
    assert judge(source.replace(" * right", ""), reference).codes == ("view",)
    behind = "if (right == 2 && c + 1 < columns) x[blockIdx.x * down + c * right + 1] = 0;"
    found = judge(source.replace("    }\n}", f"    {behind}\n    }}\n}}"), reference)
    assert "writes-outside" in found.codes, str(found)


@pytest.mark.campaign("a verdict each")
def test_what_a_launch_moves(judge):
    reference = """
operation = dict(
    kernels="transpose", inputs={"x": "float32[rows, columns]"},
    outputs={"y": "float32[columns, rows]"}, arguments=["x", "y", "rows", "columns"],
    grid=["ceildiv(columns, 32)", "ceildiv(rows, 32)"], block=[32, 32],
)
sizes = {"rows": (0, 100), "columns": (0, 100)}

def reference(x):
    return x.T
"""
    source = """extern "C" __global__ void transpose(const float* x, float* y, int m, int n) {
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < m && c < n) tile[threadIdx.y][threadIdx.x] = x[r * n + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    if (r < n && c < m) y[r * m + c] = tile[threadIdx.x][threadIdx.y];
}
"""
    found = judge(source, reference)
    assert found.verdict == "right" and not found.findings, str(found)
    moved = found.about["memory"]
    rows, columns = (moved["sizes"][name] for name in ("rows", "columns"))
    assert moved["output_bytes"] == 4 * rows * columns
    assert 2 <= moved["moved_per_output_byte"] < 2.7
    (one,) = judge(source.replace("33", "32"), reference).findings
    assert (one.code, one.line, one.advice) == ("bank-conflicts", 7, True)
    plain = source.replace("tile[threadIdx.y][threadIdx.x]", "y[c * m + r]")
    plain = plain.partition("    __syncthreads")[0].replace(
        "    __shared__ float tile[32][33];\n", ""
    )
    (one,) = judge(plain + "}\n", reference).findings
    assert (one.code, one.line) == ("uncoalesced", 3)


@pytest.mark.campaign("a verdict each")
def test_a_grid_that_no_gpu_takes(judge):
    many = REFERENCE.replace("(0, 70)", "(0, 70_000)")
    rows = '// cupola: block = [32]\n// cupola: grid = [1, "rows"]\n'
    body = BODY.replace("blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.y")
    found = judge(rows + SIGNATURE + body.replace("sums[r] =", "if (!threadIdx.x) sums[r] ="), many)
    assert found.codes == ("launch-error",) and found.findings[0].sizes["rows"] == 70_000, str(
        found
    )
    found = judge(
        SIGNATURE + BODY, many.replace('"ceildiv(rows, 32)"', '"ceildiv(rows, 32)", "rows"')
    )
    assert found.verdict == "right", str(found)
    assert "not-judged" in [one.code for one in found.findings]


@pytest.mark.campaign("a verdict each")
def test_an_index_from_data_overflows(judge):
    reference = """
operation = dict(
    kernels="rows_of", inputs={"table": "uint8[words, width]", "ids": "int32[n]"},
    outputs={"rows": "uint8[n, width]"}, arguments=["table", "ids", "rows", "width"],
    grid=["n"], block=[32],
)
sizes = {"words": (1, 70000), "width": (1, 40000), "n": (0, 50)}
ranges = {"ids": (0, "words")}

def reference(table, ids):
    return table[ids]
"""
    source = """extern "C" __global__ void rows_of(const unsigned char* table, const int* ids,
                                    unsigned char* rows, int width) {
    for (int c = threadIdx.x; c < width; c += blockDim.x)
        rows[blockIdx.x * width + c] = table[(size_t)ids[blockIdx.x] * width + c];
}
"""
    found = judge(source, reference)
    assert found.verdict == "right", str(found)
    assert judge(source.replace("(size_t)", ""), reference).codes == ("overflow",)


REFUSED = {
    "include-refused": '#include "/etc/hostname"\n',
    "declaration": "// cupola: threads = [3]\n",
}


@pytest.mark.parametrize("code", REFUSED)
def test_a_refused_candidate(judge, code):
    found = judge(REFUSED[code] + SIGNATURE + BODY)
    assert (found.verdict, found.status, found.codes) == ("refused", 2, (code,)), str(found)


@pytest.mark.campaign("a verdict each")
@pytest.mark.parametrize("text", [
    '#define FILE "/etc/hostname"\n#include FILE\n',
    "#ifdef __CUDA_ARCH__\n#include </etc/hostname>\n#endif\n",
    '#inc\\\nlude "/etc/hostname"\n',
])  # fmt: skip
def test_a_hidden_include(judge, text):
    found = judge(text + SIGNATURE + BODY)
    assert found.codes == ("include-refused",), str(found)
    assert Path("/etc/hostname").read_text().strip() not in found.json()


@pytest.mark.campaign("a verdict each")
def test_a_given_folder_may_be_included(judge, tmp_path):
    (tmp_path / "include").mkdir()
    (tmp_path / "include/mine.h").write_text("#define MINE 0\n")
    source = '#include "mine.h"\n' + SIGNATURE + BODY.replace("sum = 0", "sum = MINE")
    assert judge(source, include=[tmp_path / "include"]).verdict == "right"
    assert judge(source).codes == ("compile-error",)


def test_a_compile_error_has_its_line(judge):
    (one,) = judge("\n" + SIGNATURE + "{ x = ; }").findings
    assert (one.code, one.line) == ("compile-error", 2)
    (one,) = judge("").findings
    assert one.code == "compile-error" and "there is no kernel row_sums" in one.text


def test_host_code_does_not_run(judge, tmp_path):
    made = tmp_path / "made"
    host = f'#include <cstdlib>\nstatic int ran = system("touch {made}");\n'
    assert judge(host + SIGNATURE + BODY).verdict in ("right", "wrong")
    assert not made.exists()


BROKEN = {
    "reference-raises": "    raise ValueError('never')",
    "reference-random": "    import random\n    return x.sum(axis=1) + random.random()",
    "reference-mutates": "    x += 1\n    return x.sum(axis=1)",
    "reference-shape": "    return x.sum(axis=0)",
}


@pytest.mark.campaign("a verdict each")
@pytest.mark.parametrize("code", BROKEN)
def test_a_broken_reference(judge, code):
    found = judge(SIGNATURE + BODY, REFERENCE.replace("    return x.sum(axis=1)", BROKEN[code]))
    assert (found.verdict, found.codes) == ("refused", (code,)), str(found)


@pytest.mark.campaign("a verdict each")
@pytest.mark.parametrize("text", [
    "raise SystemExit(3)", "import os; os._exit(0)", "operation = 3", "while True: pass",
    "x = bytearray(1 << 40)", "operation = dict(kernels=object())", "print('x' * 10**7)",
    REFERENCE.replace("rows, 32", "rows, "), REFERENCE + "sizes = {'rows': (3, 1)}",
    REFERENCE + "ranges = {'y': (0, 1)}", REFERENCE + "launches = 3",
])  # fmt: skip
def test_a_broken_task(judge, text):
    found = judge(SIGNATURE + BODY, text, limits=replace(FAST, seconds=3.0))
    assert (found.verdict, found.codes) == ("refused", ("task",)), str(found)


def test_the_command(tmp_path):
    (tmp_path / "reference.py").write_text(REFERENCE)
    (tmp_path / "candidate.cu").write_text(SIGNATURE + WRONG["nan-swallowed"][0])
    options = ["--against", tmp_path / "reference.py", "--seconds", "1"]
    done = cli("judge", tmp_path / "candidate.cu", *options, "--json", tmp_path / "verdict.json",
               "--junit", tmp_path / "verdict.xml", )  # fmt: skip
    assert done.returncode == 1 and "finding nan-swallowed: " in done.stdout
    told = json.loads((tmp_path / "verdict.json").read_text())
    assert told["verdict"] == "wrong" and told["findings"][0]["code"] == "nan-swallowed"
    assert ElementTree.parse(tmp_path / "verdict.xml").getroot().get("failures") != "0"
    done = cli("judge", tmp_path / "none.cu", *options)
    assert done.returncode == 1 and "there is no candidate" in done.stderr


@pytest.mark.parametrize("wrong", [
    dict(against="nowhere.py"), dict(include=["nowhere"]), dict(seconds=0),
])  # fmt: skip
def test_invalid_arguments(tmp_path, wrong):
    (tmp_path / "reference.py").write_text(REFERENCE)
    with pytest.raises(cupola.Error):
        cupola.judge("", **{"against": tmp_path / "reference.py", **wrong})
    with pytest.raises(cupola.ArgumentTypeError):
        cupola.judge(3, against=tmp_path / "reference.py")


# ---- the parts
