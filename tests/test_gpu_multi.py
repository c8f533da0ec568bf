"""benchmarks/gpu_multi.py: parts that fail, hang or cannot run, and the figures of NCCL."""

import importlib
import os
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "benchmarks"))
gpu_multi = importlib.import_module("gpu_multi")
records = importlib.import_module("records")


def python_part(what, code, seconds=60):
    return gpu_multi.Part(what, gpu_multi.python("-c", code), seconds)


def test_each_part_runs(tmp_path, capsys):
    """A part that fails or hangs is a failure, and does not stop the others."""
    hangs = (
        "import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', "
        "'import time; time.sleep(60)']); print(p.pid, flush=True); time.sleep(60)"
    )
    wanted = {
        "fails": python_part("one that fails", "raise SystemExit('no such file')"),
        "hangs": python_part("one that hangs", hangs, 3),
        "not-run": python_part("one of GPUs", "print('not run: no GPU'); raise SystemExit(77)"),
        "passes": python_part("one that passes", "print('3 passed')"),
    }
    written = []
    start = time.monotonic()
    rows = gpu_multi.run_parts(wanted, 60, tmp_path, lambda rows: written.append(len(rows)))
    assert time.monotonic() - start < 30
    assert [row.met() for row in rows] == [False, False, None, True]
    assert written == [1, 2, 3, 4]
    assert "status 1: no such file" in rows[0].note and "no end within 3 seconds" in rows[1].note
    assert rows[2].what == "one of GPUs: not run" and "no GPU" in rows[2].note
    child = int((tmp_path / "hangs.txt").read_text())
    assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text()
    gpu_multi.summary(rows, [])
    said = capsys.readouterr().out
    for line in ("FAILED   one that fails", "not run  one of GPUs", "passed   one that passes"):
        assert line in said


def test_a_part_without_time_is_a_failure(tmp_path):
    (row,) = gpu_multi.run_parts({"late": python_part("late", "")}, 0, tmp_path, lambda rows: None)
    assert row.met() is False and "no time left" in row.note


def test_the_files_of_the_marker():
    found = {os.fspath(path) for path in gpu_multi.marked()}
    assert {"tests/test_devices.py", "tests/test_nccl_devices.py"} <= found
    for name, one in gpu_multi.parts("cpu", Path("records")).items():
        assert one.command[0] == sys.executable and one.seconds > 0, name


@pytest.mark.parametrize("module", ["blocks", "ranks"])
def test_an_example_without_its_module(tmp_path, module):
    """A copy of the commands, beside an example that has neither."""
    (tmp_path / "benchmarks").mkdir()
    for path in (ROOT / "benchmarks").glob("*.py"):
        (tmp_path / "benchmarks" / path.name).write_text(path.read_text())
    words = gpu_multi.python(tmp_path / f"benchmarks/bench_heat_{module}.py")
    paths = [os.fspath(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    status, last = gpu_multi.run(words, tmp_path / "out.txt", 60, **environment)
    assert status == 1 and last == f"heat.{module} does not exist: examples/heat has no {module}.py"


@pytest.mark.cpu_only("the number of devices is set")
def test_one_device_is_refused(tmp_path, driver):
    code = "import sys; sys.argv[0] = 'x'; import gpu_multi; gpu_multi.main()"
    environment = {"PYTHONPATH": str(ROOT / "benchmarks"), "CUPOLA_CPU_DEVICES": "1"}
    command = gpu_multi.python("-c", code, "--installed", "--out", tmp_path)
    status, last = gpu_multi.run(command, tmp_path / "out.txt", 60, **environment)
    assert status == 1 and "two devices are needed, and this machine has 1" in last


def test_the_figures_of_all_reduce():
    """The slower rank counts; a goal is for large sizes beside PyTorch."""
    bench = importlib.import_module("bench_nccl")

    def answer(ours, torch):
        seconds = {
            str(size): {bench.FLOOR: [torch] * 3, bench.OURS: [ours] * 3} for size in bench.SIZES
        }
        return {"nccl": "2.28.9", "seconds": seconds}

    rows = {row.what: row for row in bench.rows_of([answer(0.2, 0.1), answer(0.1, 0.3)])}
    large = rows["all-reduce of 1 GiB of float32: cupola.nccl"]
    assert large.ratio == pytest.approx(2 / 3) and large.met() is True
    assert large.value == pytest.approx(0.2e6) and large.note == "5.4 GB/s"
    assert rows["all-reduce of 1 KiB of float32: cupola.nccl"].goal is None
    alone = [{"nccl": "", "seconds": {str(size): {bench.OURS: [1.0]} for size in bench.SIZES}}]
    assert all(row.goal is None for row in bench.rows_of(alone))
