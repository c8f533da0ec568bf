"""The judge: verdicts on kernels, and its answers to hostile candidates and broken references."""

import json
import os
import socket
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import images
import numpy as np
import pytest
from command_line import cli

import cupola
from cupola.judging import CODES, Limits
from cupola.judging.advice import occupancy
from cupola.judging.candidate import Run
from cupola.judging.comparison import wrong_elements
from cupola.judging.inputs import KINDS, Cases, of_kind
from cupola.judging.messages import MessageError, receive, send
from cupola.judging.process import Ended, Process
from cupola.judging.reports import findings_of
from cupola.judging.task import TaskError, task_of

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
    (one,) = found.findings
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


def test_the_limits_of_a_process(tmp_path):
    program = (
        "import os, resource, socket, sys\n"
        "print(os.getcwd(), resource.getrlimit(resource.RLIMIT_CORE), os.environ)\n"
        "for attempt in sys.argv[1:]:\n"
        "    try: exec(attempt)\n"
        "    except OSError as error: print('refused', error)\n"
        "    else: print('done')\n"
    )
    from cupola.judging import confine

    told = {"folder": str(tmp_path), "CORE": 0, "FSIZE": 1000, "AS": 1 << 30, "CPU": 5}
    outside = Path(os.environ.get("HOME", "/")) / "cupola-judge-was-here"
    done = subprocess.run(
        [sys.executable, "-I", "-S", confine.__file__, json.dumps(told), sys.executable, "-c",
         program, "open('inside', 'w')", f"open({str(outside)!r}, 'w')",
         "socket.create_connection(('127.0.0.1', 1), 1)",
         "file = open('more', 'wb', 0); file.write(b'1' * 2000); file.write(b'1')"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    where, inside, out, network, more = done.stdout.splitlines()
    assert where.startswith(f"{tmp_path} (0, 0)") and inside == "done"
    assert network.startswith("refused") and more.startswith("refused")
    if "'CUPOLA_JUDGE_WRITES': 'cut'" in where:
        assert out.startswith("refused") and not outside.exists()


def test_a_process_that_does_not_answer():
    with Process("reference_process", replace(FAST, seconds=30.0)) as one:
        start = time.monotonic()
        with pytest.raises(Ended) as error:
            one.answer(0.2)
        assert error.value.code == "timeout" and time.monotonic() - start < 5
        folder = one.folder
    assert not os.path.exists(folder)


@pytest.mark.parametrize("content", [
    b"", b"123", struct.pack("<QQ", 1 << 60, 0), struct.pack("<QQ", 2, 1 << 60) + b"{}",
    struct.pack("<QQ", 2, 0) + b"[]", struct.pack("<QQ", 2, 0) + b"{}",
    struct.pack("<QQ", 14, 3) + b'{"pieces":[4]}abc', struct.pack("<QQ", 3, 0) + b"\xff{}",
    struct.pack("<QQ", 40000, 0) + b"[" * 40000, struct.pack("<QQ", 16, 0) + b'{"pieces":"abc"}',
])  # fmt: skip
def test_a_hostile_message_is_refused(content):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(content)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(MessageError):
            receive(ours, 1 << 20, 2)


def test_messages():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(theirs, {"a": [1]}, [b"12", np.arange(3, dtype=np.uint8), b""])
        assert receive(ours, 100) == ({"a": [1]}, [b"12", b"\0\1\2", b""])


@pytest.mark.parametrize(("kind", "expected", "found", "wrong"), [
    ("random", [1, 0, 2], [1 + 1e-6, 1e-7, 2.1], [0, 0, 1]),
    ("nan", [np.nan, 1, np.inf], [1, np.nan, np.inf], [1, 1, 0]),
    ("random", [np.inf, -np.inf], [-np.inf, np.nan], [1, 1]),
    ("infinite", [np.inf, np.nan, 1], [np.nan, np.inf, np.inf], [0, 0, 1]),
    ("large", [1000, 0], [1000, 0.005], [0, 0]),
])  # fmt: skip
def test_comparison(kind, expected, found, wrong):
    arrays = [np.array(one, np.float32) for one in (expected, found)]
    assert list(wrong_elements(*arrays, 1e-5, 1e-6, kind)) == [bool(one) for one in wrong]


def test_comparison_of_integers_and_complex_numbers():
    one = np.array([1, 2], np.int64)
    assert list(wrong_elements(one, one + [0, 1], 1, 1, "random")) == [False, True]
    one = np.array([1 + 1j, 2], np.complex64)
    other = one + np.array([0, 1e-2j], np.complex64)
    assert list(wrong_elements(one, other, 1e-5, 0, "random")) == [False, True]


def told_of(**more):
    namespace = {}
    exec(REFERENCE, namespace)
    keys = "operation", "sizes"
    told = json.loads(json.dumps({key: namespace[key] for key in keys}))
    return {**told, "has_reference": True, **more}


def test_sizes_are_around_the_edges_of_the_launch():
    cases = Cases(task_of(told_of(), ""), "const int tile = 45;", None)
    rows = {one["rows"] for one in cases.sizes()}
    assert {0, 1, 31, 32, 33, 44, 45, 46, 64, 65, 70} <= rows and max(rows) == 70
    assert {1, 9} <= {one["columns"] for one in cases.sizes()} <= set(range(1, 10))


def test_values_of_each_kind():
    rng = np.random.default_rng(0)
    for dtype in map(np.dtype, ("f2", "f4", "f8", "c8", "i1", "u4", "i8", "?")):
        for kind in ("random", *KINDS):
            made = of_kind(kind, dtype, (3, 40), rng)
            assert made.dtype == dtype and made.shape == (3, 40)
            assert not of_kind(kind, dtype, (0, 3), rng).size
    assert np.isnan(of_kind("nan", np.dtype("f4"), (50,), rng)).any()
    assert np.isinf(of_kind("infinite", np.dtype("f4"), (50,), rng)).any()
    some = np.abs(of_kind("denormal", np.dtype("f4"), (50,), rng))
    assert some.max() > 0 and some.max() < np.finfo(np.float32).tiny
    assert {-128, 127} <= set(of_kind("extreme", np.dtype("i1"), (200,), rng))


def test_ranges_hold_for_all_kinds():
    task = task_of(told_of(ranges={"x": ["1", "columns"]}), "")
    cases = Cases(task, "", None)
    for kind in ("random", *KINDS):
        one = cases.case({"rows": 9, "columns": 7}, kind, 1, ()).arrays["x"]
        assert one.min() >= 1 and one.max() < 7


def test_choices_of_a_candidate():
    source = '// cupola: sizes = { tiles = "ceildiv(rows, 8)" }\n//cupola:grid=["tiles"]\n'
    task = task_of(told_of(), source)
    assert task.chosen == {"sizes": {"tiles": "ceildiv(rows, 8)"}, "grid": ["tiles"]}
    for text in ("block = [", "inputs = {}", "block = [1]\n// cupola: block = [1]",
                 "block = " + "[" * 5000):  # fmt: skip
        with pytest.raises(TaskError) as error:
            task_of(told_of(), f"\n// cupola: {text}\n")
        assert error.value.code == "declaration"


def test_reports_become_findings():
    text = (
        "========= cupola: race: read-write in shared memory, 4 bytes at 0x56290e7d8080\n"
        "=========     kernel f\n=========     block (0,0,0), PTX line 36 (/tmp/a/candidate.cu:3)\n"
        "========= cupola: 1 finding, met 1 time\n"
    )
    (one,) = findings_of(Run(findings=text))
    assert (one.code, one.line, one.text) == ("race", 3, "read-write in shared memory, 4 bytes")
    assert "/tmp/a" not in one.check
    (one,) = findings_of(Run(ended=Ended("exit", "signal 11")))
    assert one.code == "exit"


@pytest.mark.parametrize(("registers", "shared", "threads", "part"), [
    (32, 0, 256, 1.0), (64, 0, 256, 0.5), (255, 0, 1024, 0.0), (32, 100_000, 256, 0.25),
])  # fmt: skip
def test_occupancy(registers, shared, threads, part):
    assert occupancy("sm_90", registers, shared, threads) == part


def test_codes_have_a_text_and_a_remedy():
    for name, code in CODES.items():
        assert name == name.lower() and code.verdict in ("wrong", "refused", "")
        assert code.text and code.remedy and "." not in code.text[-1]


def test_the_document_lists_all_codes():
    text = (Path(__file__).parents[1] / "docs/reference/judging.md").read_text()
    for name, code in CODES.items():
        assert f"| `{name}` | {code.text} |\n" in text
