"""The comparison of two folders of records names what is worse, beyond noise."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))
records = importlib.import_module("records")

FLOOR = "C++ loop"


def folder(path, *rows, name="launch"):
    """A folder with a record of these rows."""
    made = records.Record(
        name=name, title="A launch", command="python benchmarks/bench_launch.py", device="a GPU",
        host={}, revision=path.name, date="2026-01-02", rows=list(rows),
    )  # fmt: skip
    records.write(path, made)
    return path


def ratio(value, ratio, what="a call", goal=None):
    return records.Row(what, value, "ns", FLOOR, value / ratio, ratio, goal)


def compare(old, new, *options):
    command = [sys.executable, BENCHMARKS / "compare.py", old, new, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (ratio(100, 1.1), ratio(130, 1.3), "a call: 100 ns (1.100 x) -> 130 ns (1.300 x), 1.18"),
        # With a floor, only the ratio counts: the records may be of different machines.
        (ratio(100, 1.1), ratio(200, 1.1), None),
        (ratio(100, 1.1), ratio(105, 1.15), None),
        (ratio(100, 1.1), ratio(50, 0.5), None),
        (records.Row("import", 5, "ms"), records.Row("import", 7, "ms"), "import: 5 ms -> 7 ms"),
        (records.Row("import", 7, "ms"), records.Row("import", 5, "ms"), None),
        (
            records.Row("speed", 1.9, "x", goal="value >= 1.8"),
            records.Row("speed", 1.2, "x", goal="value >= 1.8"),
            "speed: 1.900 x -> 1.200 x, 1.58 times worse",
        ),
        (
            records.Row("two", 0, "failures", goal="value <= 0"),
            records.Row("two", 1, "failures", goal="value <= 0"),
            "two: 0 failures -> 1 failures, inf times worse",
        ),
        # No goal says whether many edges are good.
        (records.Row("cover", 9, "edges"), records.Row("cover", 90, "edges"), None),
        (records.Row("gone", 9, "ms"), records.Row("come", 9, "ms"), "gone: missing"),
        (records.Row("gone", 9, "ms"), records.Row("gone", 9, "us"), "gone: missing"),
    ],
)
def test_a_regression_is_named(tmp_path, old, new, told):
    status, text = compare(folder(tmp_path / "old", old), folder(tmp_path / "new", new))
    assert status == (0 if told is None else 1), text
    if told is None:
        assert " 0 regressions" in text
    else:
        assert "launch-a-gpu: old -> new" in text and told in text and " 1 regressions" in text


def test_the_worst_comes_first_and_floors_do_not_count(tmp_path):
    old = [records.Row(FLOOR, 90, "ns"), ratio(100, 1.0, "one"), ratio(100, 1.0, "two")]
    new = [records.Row(FLOOR, 900, "ns"), ratio(150, 1.5, "one"), ratio(200, 2.0, "two")]
    status, text = compare(folder(tmp_path / "old", *old), folder(tmp_path / "new", *new))
    assert status == 1 and re.search(r"two: .*one: ", text, re.DOTALL)
    assert "2 figures of 1 records compared, 2 regressions" in text


def test_the_bound_for_noise(tmp_path):
    old, new = folder(tmp_path / "old", ratio(100, 1.0)), folder(tmp_path / "new", ratio(115, 1.15))
    assert compare(old, new)[0] == 1
    assert compare(old, new, "--noise", "20")[0] == 0


def test_only_the_share_of_a_suite_counts(tmp_path):
    def suite(share, *tests):
        rows = [records.Row(name, 9, "s", note="failed: a reason") for name in tests]
        return [records.Row("share", share, "of 1", goal="value >= 0.95"), *rows]

    old = folder(tmp_path / "old", *suite(0.96, "one"), name="pycuda_suite")
    mended = folder(tmp_path / "mended", *suite(1), name="pycuda_suite")
    assert compare(old, mended)[0] == 0
    assert compare(mended, folder(tmp_path / "bad", *suite(0.8), name="pycuda_suite"))[0] == 1


def test_records_that_cannot_be_compared(tmp_path):
    old = folder(tmp_path / "old", ratio(100, 1.0))
    new = folder(tmp_path / "new", ratio(100, 1.0), name="another")
    status, text = compare(old, new)
    assert status == 2 and "no record of the same name" in text
