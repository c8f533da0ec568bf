"""Pages of figures are what the records give, and a record is what a command wrote."""

import dataclasses
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path += [str(ROOT / "benchmarks"), str(ROOT / "tools")]
records = importlib.import_module("records")
charts, compatibility, performance, results, shipping, tables = map(
    importlib.import_module,
    ("charts", "compatibility", "performance", "results", "shipping", "tables"),
)
variants = importlib.import_module("bench_variants")


def row(what, value, goal=None, ratio=None):
    return records.Row(what, value, "ms", ratio=ratio, goal=goal)


def record(*rows, **changed):
    made = records.Record(
        name="launch", title="A launch", command="python benchmarks/bench_launch.py",
        device="a GPU", host={"processor": "a CPU", "cores": 2, "load at the start": "0.1"},
        revision="0123456", date="2026-01-02", rows=list(rows),
    )  # fmt: skip
    return dataclasses.replace(made, **changed)


def test_documents_are_what_the_records_give():
    for path, text in results.documents().items():
        assert path.read_text() == text, f"{path.name}: run `make results`"


def test_each_record_was_written_by_a_command():
    for path in sorted((ROOT / "benchmarks" / "results").glob("*")):
        written_by_a_command(path)


def written_by_a_command(path):
    found = records.read(path)  # also checks that `met` agrees with goal and figure
    assert path.read_text() == found.text()
    words = found.command.split()
    assert words[0] == "python" and "--quick" not in words
    script = (
        Path("tests", *words[2].split(".")).with_suffix(".py") if words[1] == "-m" else words[1]
    )
    script = ROOT / script
    assert script.is_file() and "record" in script.read_text()
    name = script.stem.removeprefix("bench_")
    named = (name, f"{name}_{found.host.get('threads')}_threads")
    assert found.name in named and path.stem.startswith(found.name.replace("_", "-"))
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", found.date)
    assert found.device and found.rows and found.host
    assert re.fullmatch(r"[0-9a-f]{7,40}(-dirty)?", found.revision)
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


def test_sizes_of_what_is_shipped():
    assert shipping.sizes([]).count(shipping.MISSING) == 3
    examples = [row(f"examples/{name}: files of the package", 1500) for name in shipping.EXAMPLES]
    text = shipping.sizes([record(*examples, name="packages")])
    assert "| kernels of Triton | examples/rows | 1.5 |" in text
    measured = {"cpp_extension": 40_000, "kernel-builder": 20_000}
    rows = [
        one for name in shipping.COLLECTIONS for one in variants.rows_of(name, 20_000, measured)
    ]
    text = shipping.sizes([record(*rows, name="variants")])
    assert "| 20.0 | cpp\\_extension | 40.0 | 2,240.0 | 1/112, goal <= 0.05 met |" in text
    assert "| 20.0 | kernel-builder | 20.0 | 240.0 | 1/12, goal <= 0.05 missed by 1.67 x |" in text
    assert text.count("blob/") == 2


def test_published_variants():
    counts = {peer: one.count for peer, one in variants.PUBLISHED.items()}
    assert counts == {"cpp_extension": 56, "kernel-builder": 12}


def test_goals_and_verdicts():
    assert row("no goal", 3).met() is None
    assert row("at most", 3, "value <= 3").met() is True
    assert row("at most", 3.1, "value <= 3").met() is False
    assert row("at least", 3, "value >= 3.5").met() is False
    assert row("a ratio", 9, "ratio <= 1.05", ratio=1.06).met() is False
    assert row("none", 0, "value <= 0").met() is True
    assert row("some", 1, "value <= 0").met() is False
    assert tables.verdict(row("twice", 6, "value <= 3")) == "missed by 2.00 x"
    with pytest.raises(ValueError, match="is no goal"):
        row("not understood", 3, "soon").met()


def figures(*names):
    return [performance.Figure("a part", "launch", name, f"the {name}") for name in names]


def test_missed_goals_come_first():
    rows = [
        row("fast", 1, "value <= 2"),
        row("plain", 1),
        row("missed by a little", 3, "value <= 2"),
        row("missed by much", 9, "value <= 2"),
    ]
    files = {"launch": record(*rows), "others": record(row("another", 9, "value <= 1"))}
    page = performance.page(files, figures(*(each.what for each in rows)))
    order = [
        "## Missed goals", "the missed by much", "the missed by a little",
        "## Goals that are met", "the fast", "## Figures without a goal", "the plain",
    ]  # fmt: skip
    places = [page.index(words) for words in order]
    assert places == sorted(places)
    assert "another" not in page
    assert "4 figures: 2 goals are missed, 1 are met, figures without a goal: 1." in page
    line = next(each for each in page.splitlines() if "the missed by much" in each)
    assert line == (
        "| a part: the missed by much | 9 ms |  | <= 2 ms | missed by 4.50 x "
        "| a GPU, 2026-01-02, revision 0123456 |"
    )


def test_a_figure_names_its_floor():
    floor = "title: the floor"
    made = records.Row("title: fast", 3, "ms", floor, 2, 1.5, "ratio <= 1.05")
    page = performance.page({"launch": record(made)}, figures("title: fast"))
    assert "| 3 ms, 1.500 x | 2 ms, the floor | <= 1.05 x |" in page


@pytest.mark.parametrize(("name", "lacking"), [("fast", "record"), ("slow", "row")])
def test_a_listed_figure_that_the_records_lack_is_an_error(name, lacking):
    files = {"launch": record(row("fast", 1))} if lacking == "row" else {}
    with pytest.raises(SystemExit, match=f"the {name}: no {lacking} launch.json: {name}"):
        performance.page(files, figures(name))


def test_a_suite_without_a_record_is_an_error():
    found = [each for each in records.all_records() if each.name != "pycuda_suite"]
    with pytest.raises(SystemExit, match="no record of pycuda_suite: run"):
        compatibility.page(found)


def test_the_list_of_figures():
    words = [each.words for each in performance.FIGURES]
    assert len(set(words)) == len(words) and set(performance.HEADLINES) <= set(words)
    parts = list(dict.fromkeys(each.part for each in performance.FIGURES))
    expected = ["launch", "operations", "arrays", "algorithms", "tuning", "start", "build"]
    assert sorted(parts) == sorted([*expected, "CPU device", "scaling"])


def test_pictures_are_svg():
    for name, text in performance.pictures(records.by_file()).items():
        root = ElementTree.fromstring(text)
        width, height = map(float, root.attrib["viewBox"].split()[2:])
        tag = "{http://www.w3.org/2000/svg}"
        bars = [each.attrib for each in root.iter(f"{tag}rect") if each.attrib["height"] != "10"]
        labels = [each.text for each in root.iter(f"{tag}text")]
        assert len(bars) >= 15 and len(labels) > len(bars), name
        for bar in bars:
            assert float(bar["x"]) > 0 and float(bar["x"]) + float(bar["width"]) < width
            assert 0 < float(bar["y"]) < height


def test_bars_are_as_long_as_their_logarithms():
    text = charts.bars("a title", "times", [charts.Bar("a", 4.0), charts.Bar("<b>", 0.25)])
    places = re.findall(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)" height="14"', text)
    (a, long), (b, wide) = [[float(number) for number in pair] for pair in places]
    assert long == wide > 0 and b + wide == pytest.approx(a, abs=0.2)
    assert "&lt;b&gt;" in text


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
    assert found.name == "graph"
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
