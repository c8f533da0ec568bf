"""The judge's parts: sizes and values, comparison, findings of reports, occupancy, codes."""

from pathlib import Path

import numpy as np
import pytest

from cupola.judging import CODES
from cupola.judging.advice import occupancy, of_traffic
from cupola.judging.candidate import Run
from cupola.judging.comparison import wrong_elements
from cupola.judging.inputs import KINDS, Cases, of_kind
from cupola.judging.process import Ended
from cupola.judging.reports import findings_of
from cupola.judging.task import TaskError, task_of


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
    """The answer of a reference's process: a task of sums of rows."""
    operation = {
        "kernels": "row_sums", "inputs": {"x": "float32[rows, columns]"},
        "outputs": {"sums": "float32[rows]"}, "arguments": ["x", "sums", "rows", "columns"],
        "grid": ["ceildiv(rows, 32)"], "block": [32],
    }  # fmt: skip
    sizes = {"rows": [0, 70], "columns": [1, 9]}
    return {"operation": operation, "sizes": sizes, "has_reference": True, **more}


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
    assert some.min() < 1e-43 and some.max() > 1e-39  # of all magnitudes
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


def test_traffic_becomes_advice():
    text = (
        "access\tf\tglobal\tload\t10\t320\t1280\t320\t40\t/tmp/candidate.cu:7\n"
        "access\tf\tglobal\tstore\t10\t320\t1280\t40\t40\t/tmp/candidate.cu:8\n"
        "access\tf\tglobal\tatomic\t1\t32\t128\t32\t4\t/tmp/candidate.cu:9\n"
        "access\tf\tshared\tload\t5\t160\t640\t10\t5\tPTX line 4\n"
        "footprint\tf\t40\t44\n"
    )
    about, found = of_traffic(text, 1280)
    assert about["moved_bytes"] == 392 * 32 and about["distinct_bytes"] == 84 * 32
    assert about["moved_per_output_byte"] == 9.8 and len(about["accesses"]) == 4
    assert [(one.code, one.line) for one in found] == [("uncoalesced", 7), ("bank-conflicts", 0)]
    assert found[0].text.startswith("loads of global memory take 32.0 sectors a warp, and their")


def test_codes_have_a_text_and_a_remedy():
    for name, code in CODES.items():
        assert name == name.lower() and code.verdict in ("wrong", "refused", "")
        assert code.text and code.remedy and "." not in code.text[-1]


def test_the_document_lists_all_codes():
    text = (Path(__file__).parents[1] / "docs/reference/judging.md").read_text()
    for name, code in CODES.items():
        assert f"| `{name}` | {code.text} |\n" in text
