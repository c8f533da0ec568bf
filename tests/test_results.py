"""The page of results is what the records give, and a record is what a command wrote."""

import dataclasses
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path += [str(ROOT / "benchmarks"), str(ROOT / "tools")]
records = importlib.import_module("records")
results = importlib.import_module("results")


def row(what, value, goal=None, ratio=None):
    return records.Row(what, value, "ms", ratio=ratio, goal=goal)


def record(*rows, measures=("setup.py",), **changed):
    made = records.Record(
        name="launch", title="A launch", command="python benchmarks/bench_launch.py",
        device="a GPU", host={"cores": 2}, revision="0123456", date="2026-01-02",
        measures=list(measures), digest=records.digest(measures), rows=list(rows),
    )  # fmt: skip
    return dataclasses.replace(made, **changed)


def test_the_page_is_what_the_records_give():
    found = records.all_records()
    advice = "run `make results`"
    assert without_age(results.PAGE.read_text()) == without_age(results.page(found)), advice
    for path, block in (
        (results.README, results.pictures(found)),
        (results.SAMPLES, results.samples(found)),
        (results.OPERATIONS, results.comparison(found)),
        (results.PYCUDA, results.suite(found, "pycuda_suite")),
        (results.ARRAY_API, results.suite(found, "array_api_suite")),
    ):
        made = results.filled(path, block)
        assert without_age(path.read_text()) == without_age(made), advice


def without_age(text):
    """Without the marks of stale records: a change of a source alone need not renew the page."""
    return text.replace(", stale |", " |").replace(results.STALE, "").replace(results.THEY, "")


def test_each_record_was_written_by_a_command():
    for path in sorted((ROOT / "benchmarks" / "results").glob("*")):
        written_by_a_command(path)


def written_by_a_command(path):
    found = records.read(path)  # which also checks that `met` is what goal and figure say
    assert path.read_text() == found.text()
    words = found.command.split()
    assert words[0] == "python" and "--quick" not in words
    script = (
        Path("tests", *words[2].split(".")).with_suffix(".py") if words[1] == "-m" else words[1]
    )
    script = ROOT / script
    assert script.is_file() and "record" in script.read_text()
    name = script.stem.removeprefix("bench_")
    assert found.name == name and path.stem.startswith(name.replace("_", "-"))
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", found.date)
    assert found.device and found.rows and found.measures
    assert re.fullmatch(r"[0-9a-f]{7,40}(-dirty)?", found.revision)
    for each in found.measures:
        assert (ROOT / each).exists(), f"{path.name} measures {each}, which is not there"
    names = [each.what for each in found.rows]
    assert len(set(names)) == len(names)
    for each in found.rows:
        assert np.isfinite(each.value)
        assert (each.floor is None) == (each.floor_value is None)


def test_the_comparison_of_projects():
    def counted(project, lines, note):
        return [
            records.Row(f"{project}: lines", lines, "lines", note=note),
            records.Row(f"{project}: binaries", 2, "files"),
        ]

    projects = ("cupola", "tvm-ffi", "huggingface/kernels")
    rows = [one for index, name in enumerate(projects) for one in counted(name, index, "run")]
    assert "no record" in results.comparison([])
    authoring = record(*rows, name="authoring")
    assert "| tvm-ffi | 1 | 2 | not measured | run |" in results.comparison([authoring])
    call = records.Row("torch, tvm-ffi: op(x, y, a)", 4, "us", "f", 8, ratio=0.5)
    text = results.comparison([authoring, record(call, name="ops")])
    assert "| cupola | 0 | 2 | 1 | run |" in text and "| tvm-ffi | 1 | 2 | 2.00 | run |" in text
    assert "| huggingface/kernels | 2 | 2 | not measured | run |" in text


def test_goals_and_verdicts():
    assert row("no goal", 3).met() is None
    assert row("at most", 3, "value <= 3").met() is True
    assert row("at most", 3.1, "value <= 3").met() is False
    assert row("at least", 3, "value >= 3.5").met() is False
    assert row("a ratio", 9, "ratio <= 1.05", ratio=1.06).met() is False
    assert row("none", 0, "value <= 0").met() is True
    assert row("some", 1, "value <= 0").met() is False
    assert results.verdict(row("twice", 6, "value <= 3")) == "missed by 2.00 x"
    with pytest.raises(ValueError, match="is no goal"):
        row("not understood", 3, "soon").met()


def test_the_worst_comes_first():
    rows = [
        row("no goal", 1),
        row("no goal, slower", 1, ratio=3.0),
        row("met", 1, "value <= 2"),
        row("missed by a little", 3, "value <= 2"),
        row("missed by much", 9, "value <= 2"),
    ]
    good, bad = record(row("fine", 1, "value <= 2")), record(*rows, title="B", device="another")
    page = results.page([good, bad])
    section = page[page.index("## B: another") :]
    places = [section.index(f"| {each.what} |") for each in reversed(rows)]
    # Without a goal the larger ratio is first, too.
    assert places == sorted(places)
    assert page.index("## B: another") < page.index("## A launch: a GPU")
    head = page[page.index("## Missed goals") : page.index("## B: another")]
    assert head.index("B: missed by much") < head.index("B: missed by a little")
    assert "| 2026-01-02 |" in head and "fine" not in head
    assert "6 figures: 2 goals are missed, 2 are met, 2 figures have no goal." in page


def test_a_record_is_stale_when_what_it_measures_has_changed(tmp_path):
    (tmp_path / "csrc").mkdir()
    source, other = tmp_path / "csrc/a.cpp", tmp_path / "csrc/notes.txt"
    source.write_text("int a;")
    other.write_text("no source")
    before = records.digest(["csrc"], tmp_path)
    other.write_text("changed")
    assert records.digest(["csrc"], tmp_path) == before
    source.write_text("int b;")
    assert records.digest(["csrc"], tmp_path) != before
    assert records.digest(["csrc/a.cpp"], tmp_path) != records.digest(["csrc/b.cpp"], tmp_path)

    fresh = record(row("a", 1, "value <= 0.5"))
    assert not fresh.stale() and "stale," not in results.missed([fresh])
    stale = dataclasses.replace(fresh, digest="0" * 16)
    assert stale.stale() and "a GPU, stale" in results.missed([stale])
    assert "**Stale**" in results.page([stale]) and "**Stale**" not in results.page([fresh])


def test_a_record_that_says_what_its_figures_do_not(tmp_path):
    path = tmp_path / "launch.json"
    path.write_text(record(row("a", 3, "value <= 2")).text())
    assert records.read(path).rows == [row("a", 3, "value <= 2")]
    fields = json.loads(path.read_text())
    assert fields["rows"] == [
        {"what": "a", "value": 3, "unit": "ms", "goal": "value <= 2", "met": False}
    ]
    fields["rows"][0]["met"] = True
    path.write_text(json.dumps(fields))
    with pytest.raises(ValueError, match="met is not what"):
        records.read(path)


def test_a_command_writes_its_record(driver, tmp_path):
    command = [sys.executable, ROOT / "benchmarks/bench_graph.py", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.iterdir()
    found = records.read(path)
    assert found.command == "python benchmarks/bench_graph.py"
    assert (found.name, found.stale()) == ("graph", False)
    names = {f"{what}, nodes: {n}" for n in (1, 10) for what in ("run()",)}
    assert names <= {each.what for each in found.rows if each.goal and each.ratio > 0}
    for each in found.rows:
        assert f"{each.what} " in done.stdout


def test_kernels_that_the_cpu_device_is_measured_by(tmp_path, monkeypatch):
    """Small ones, interpreted: each gives what its loop gives; one wrong element is found."""
    bench = importlib.import_module("bench_cpu_device")
    cases = importlib.import_module("cpu_cases").cases(8)
    monkeypatch.setattr(bench, "RUNS", 1)
    monkeypatch.setenv("CUPOLA_DRIVER", "cpu")
    bench.build(tmp_path)
    threads = min(2, len(os.sched_getaffinity(0)))
    loops = bench.Loops(tmp_path, cases, threads)
    device = bench.device(tmp_path, 8, "interpret", threads)
    assert device.names == list(cases) and len(cases) >= 46
    for name, case in cases.items():
        seconds = bench.in_turns(name, case, {bench.FLOOR: loops, "default": device}, 1)
        assert all(each > 0 for values in seconds.values() for each in values)
        _, expected = loops.turn(name)
        assert np.any(expected != (case.initial if case.loop_initial is None else 0)), name
        wrong = device.turn(name)[1]
        middle = wrong.size // 2
        if wrong.dtype.kind in "iu":
            wrong.flat[middle] ^= 1 << case.tolerance[0]
        else:
            wrong.flat[middle] = 1 + 2 * wrong.max()
        assert case.differing(wrong, expected) == 1, name
    device.close()


def test_what_was_fuzzed_adds_up(tmp_path, monkeypatch):
    fuzz_record = importlib.import_module("fuzz_record")
    monkeypatch.setattr(fuzz_record, "RECORD", tmp_path / "fuzz.json")
    for name, inputs, edges in (("ptx_fuzz", 7, 3), ("image_fuzz", 5, 2), ("ptx_fuzz", 1, 4)):
        fuzz_record.add(name, inputs, edges)
    rows = {each.what: each for each in records.read(tmp_path / "fuzz.json").rows}
    values = {what: each.value for what, each in rows.items()}
    assert values == {
        "ptx_fuzz": 8,
        "ptx_fuzz, coverage of the last run": 4,
        "image_fuzz": 5,
        "image_fuzz, coverage of the last run": 2,
        "PTX, all fuzzers": 8,
    }
    assert rows["PTX, all fuzzers"].met() is False
