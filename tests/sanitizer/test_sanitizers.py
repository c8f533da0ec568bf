"""A slice of `make sanitize`: the driver ABI and the shipped kernels under ASan and UBSan."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Leaves out tests whose kernels run for long: they read no more memory than short kernels.
TESTS = [
    "tests/cpu",
    "tests/test_shipped.py",
    "tests/test_convolve.py",
    "tests/test_schedule.py",
    # This test runs tests/cpu again, under the checks of the CPU device: `make sanitize` does so.
    "--deselect=tests/cpu/test_check.py::test_nothing_is_reported_of_the_tests_own_kernels",
    "-k",
    "not borders and not never_leave",
]

RUNTIME = "--thread --runtime"

pytestmark = [
    pytest.mark.cpu_only(reason="NVIDIA's driver has no build under sanitizers"),
]


def sanitized(*arguments, how="--slice", **environment):
    command = [sys.executable, ROOT / "tools" / "sanitize.py", *how.split(), "--", "-q", *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_the_driver_and_the_runtime_are_clean():
    answer = sanitized(*TESTS)
    assert answer.returncode == 0, answer.stdout[-6000:]
    assert "sanitizers: 0 processes reported" in answer.stdout
    assert int(re.search(r"(\d+) passed", answer.stdout)[1]) > 300


def test_the_runtimes_threads_are_clean():
    """Of libcupola.so; more of them are in `make sanitize`."""
    answer = sanitized("-n0", "tests/test_threads.py", "tests/test_callback.py", how=RUNTIME)
    assert answer.returncode == 0, answer.stdout[-6000:]
    assert "sanitizers: 0 processes reported" in answer.stdout
    assert int(re.search(r"(\d+) passed", answer.stdout)[1]) > 15


long = pytest.mark.skipif(
    os.environ.get("CUPOLA_SOAK") != "full", reason="another build, and minutes: make sweep"
)


@long
def test_the_drivers_threads_are_clean():
    """Checks concurrent streams, events, graphs and memory, but not the work of kernels."""
    graphs = ("graph", "graph_capture", "capture_dependencies", "graph_nodes", "graph_memory")
    names = ("stream", "event", "memory_operation", "more_calls", "virtual_memory", "launch")
    more = ("copy", "synchronous_copy", "cluster", "cooperative", "context")
    tests = [f"tests/cpu/test_{name}.py" for name in (*graphs, *names, *more)]
    answer = sanitized(*tests, how="--thread")
    assert answer.returncode == 0, answer.stdout[-6000:]
    assert "sanitizers: 0 processes reported" in answer.stdout
    assert int(re.search(r"(\d+) passed", answer.stdout)[1]) > 200


@long
def test_all_of_the_runtimes_threads_are_clean():
    names = ("threads", "pipeline", "pipeline_arrays", "stream", "event", "callback")
    graphs = ("graph", "graph_capture", "graph_update", "graph_threads", "graph_holds")
    tests = [f"tests/test_{name}.py" for name in (*names, *graphs)]
    answer = sanitized("-n0", *tests, how=RUNTIME)
    assert answer.returncode == 0, answer.stdout[-6000:]
    assert "sanitizers: 0 processes reported" in answer.stdout
    assert int(re.search(r"(\d+) passed", answer.stdout)[1]) > 200


@long
def test_a_race_is_reported(tmp_path):
    library, source = tmp_path / "race.so", Path(__file__).with_name("race.cpp")
    compiler = os.environ.get("CXX", "c++").split()
    flags = ["-shared", "-fPIC", "-pthread", "-fsanitize=thread"]
    subprocess.run([*compiler, *flags, source, "-o", library], check=True)
    answer = sanitized(
        "tests/sanitizer/mistakes.py", how="--thread", CUPOLA_TEST_MISTAKE=f"{library},race,5"
    )
    assert "data race" in answer.stdout and "sanitizers: 1 processes reported" in answer.stdout


def mistakes(folder):
    library, source = folder / "mistakes.so", Path(__file__).with_name("overflow.cpp")
    compiler = os.environ.get("CXX", "c++").split()
    flags = ["-shared", "-fPIC", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run([*compiler, *flags, source, "-o", library], check=True)
    return library


@pytest.mark.parametrize(
    ("call", "report"),
    [
        ("read_behind,4", "heap-buffer-overflow"),
        ("shift,40", "shift exponent 40 is too large"),
        ("leak,25", "Direct leak of 100 byte(s) in 1 object(s)"),
        ("leak_cycle,96", "Indirect leak of 96 byte(s) in 1 object(s)"),
    ],
)
def test_a_mistake_is_reported(tmp_path, call, report):
    answer = sanitized(
        "tests/sanitizer/mistakes.py", CUPOLA_TEST_MISTAKE=f"{mistakes(tmp_path)},{call}"
    )
    assert answer.returncode != 0
    assert report in answer.stdout and "sanitizers: 1 processes reported" in answer.stdout


def test_what_a_leaked_python_object_points_to_is_not_reported(tmp_path):
    """The interpreter does not free every object at exit, so its resources are not counted."""
    answer = sanitized(
        "tests/sanitizer/mistakes.py", CUPOLA_TEST_MISTAKE=f"{mistakes(tmp_path)},keep,100"
    )
    assert answer.returncode == 0, answer.stdout[-6000:]
    assert "1 passed" in answer.stdout and "sanitizers: 0 processes reported" in answer.stdout


def test_modules_are_for_an_interpreter_under_the_sanitizer():
    """Without one, accesses of the interpreter would be unseen, and locks of it unknown."""
    command = [sys.executable, "tools/sanitize.py", "--thread", "--modules"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 1 and "--with-thread-sanitizer" in answer.stderr


def test_leaks_of_this_projects_libraries_are_not_suppressed():
    lines = Path(__file__).with_name("leaks.txt").read_text().splitlines()
    patterns = [line.removeprefix("leak:") for line in lines if line and line[0] != "#"]
    assert patterns and all(re.fullmatch(r"[\w./]{6,}", pattern) for pattern in patterns)
    for name in ("libcupola.so", "libcupola_cpu.so.1", "libnvidia-ml.so.1"):
        assert not any(pattern in f"/python3.11/site-packages/{name}" for pattern in patterns)


def test_races_of_this_project_are_not_suppressed():
    lines = Path(__file__).with_name("races.txt").read_text().splitlines()
    functions = [line.removeprefix("race_top:") for line in lines if line and line[0] != "#"]
    assert functions and all(re.fullmatch(r"\w{6,}", function) for function in functions)
    for path in (*ROOT.glob("csrc/**/*.[ch]pp"), *ROOT.glob("pyx/**/*.p[yx][xd]")):
        assert not any(function in path.read_text() for function in functions), path
