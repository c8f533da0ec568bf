"""Without its parts (cupola.core.parts), cupola loads and launches kernels, and builds packages."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cupola
from cupola.core import array_without_numpy
from cupola.core.parts import PARTS

TESTS = Path(__file__).parent
PACKAGE = Path(cupola.__file__).parent
# The images of cupola.arrays.
IMAGES = "lib/algorithms"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a copy of the package without its parts."""
    left_out = {IMAGES, *(member.replace(".", "/") for part in PARTS.values() for member in part)}

    def ignore(place, names):
        inside = Path(place).relative_to(PACKAGE)
        return [
            name
            for name in names
            if name == "__pycache__" or str((inside / name).with_suffix("")) in left_out
        ]

    made = tmp_path_factory.mktemp("core")
    shutil.copytree(PACKAGE, made / "cupola", ignore=ignore)
    return made


def run(folder, *command):
    """Run Python with the copy in the place of the package."""
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        cwd=TESTS.parent,
    )


def test_the_copy_lacks_the_parts(folder):
    for part in PARTS.values():
        for member in part:
            here, there = [
                root / "cupola" / member.replace(".", "/") for root in (PACKAGE.parent, folder)
            ]
            assert here.is_dir() or here.with_suffix(".py").exists(), member
            assert not there.exists() and not there.with_suffix(".py").exists(), member
    assert not (folder / "cupola" / IMAGES).exists()


NAMES = """
import pickle, numpy as np, cupola
x = cupola.to_device(np.arange(4.0))
print([kind.__name__ for kind in type(x).__mro__], type(x) is cupola.Array is cupola.array.Array)
x[1:3] = 7.0
print(x[::-1].reshape(2, 2).T.get().tolist(), cupola.asarray(x.view("u1")).size)
print(hasattr(x, "unknown"), type(pickle.loads(pickle.dumps(x))) is cupola.Array)
for use in (
    "cupola.cumsum", "cupola.fft", "cupola.random", "x[[1, 2]]", "x.astype(np.float32)",
    "x.__setitem__([1], 0)", "x + x", "np.float64(2.0) * x", "-x", "x == x", "bool(x)", "7.0 in x",
    "x.sum()", "np.sum(x)", "np.add(x, 1)", "cupola.set_trace", "cupola.coverage",
    "cupola.pipeline(lambda *a: 0, [np.ones(4)], [np.ones(4)], client=object())",
):
    try:
        eval(use)
    except cupola.MissingFileError as error:
        print(f"{use}: {error}")
for use in ("linalg", "mpi", "pycuda"):
    try:
        exec(f"from cupola import {use}")
    except cupola.MissingFileError as error:
        print(f"import: {error}")
"""


def test_a_name_of_a_missing_part_is_refused(folder):
    answer = run(folder, "-c", NAMES)
    assert answer.returncode == 0, answer.stderr
    first, second, third, *refused = answer.stdout.splitlines()
    assert first == "['Array', 'Array', 'ArrayData', 'object'] True"
    assert second == "[[3.0, 7.0], [7.0, 0.0]] 32"
    assert third == "False True"
    parts = [line.split("needs the part '")[1].split("'")[0] for line in refused]
    assert parts == ["arrays"] * 15 + ["tools"] * 2 + ["cluster", "arrays", "cluster", "pycuda"], (
        answer.stdout
    )
    assert refused[0].startswith("cupola.cumsum: cupola.cumsum needs the part 'arrays' of cupola (")
    assert refused[6].startswith("x + x: the operator + of arrays needs the part 'arrays'")
    assert refused[12].startswith("x.sum(): cupola.Array.sum needs the part 'arrays'")
    assert all("install cupola with all of its parts" in line for line in refused)


def test_the_core_refuses_what_the_part_adds_to_arrays():
    """In-place operators need no entry: Python falls back to the operators."""
    own = next(kind for kind in cupola.Array.__mro__[::-1] if kind.__name__ == "Array")
    added = {name for name in dir(cupola.Array) if not hasattr(own, name)}
    added |= {name for name in array_without_numpy.OPERATORS if hasattr(object, name)}
    inplace = {f"__i{name}__" for name in array_without_numpy.BINARY}
    protocols = {"__array_function__", "__array_namespace__", "__array_priority__"}
    refused = {"__array_ufunc__", *array_without_numpy.OPERATORS, *array_without_numpy.ATTRIBUTES}
    assert added - inplace - protocols == refused


@pytest.mark.parametrize(
    "command", [("debug", "true"), ("env", "--cpu"), ("run", "--cpu", "true")], ids=" ".join
)
def test_a_command_of_a_missing_part_is_refused(folder, command):
    answer = run(folder, "-m", "cupola", *command)
    assert answer.returncode == 1, answer.stdout
    assert answer.stderr.startswith("cupola: the command needs the part 'tools' of cupola (")


# Tests of launches, memory, modules, graphs, operations and builds.
FILES = [
    *("arguments", "event", "graph", "graph_capture", "kernel", "kernel_library", "launch", "link"),
    *("memory", "module", "module_travel", "op", "op_native", "shipped", "signatures", "stream"),
    *("variable",),
]
BUILDS = ["command", "kernels", "manifest", "operations"]
# Tests of these files that compute with operators and conversions of arrays.
COMPUTING = [
    "tests/test_graph_capture.py::test_memory_in_another_librarys_graph_is_not_reused",
    "tests/test_op.py::test_bad_calls[cupola]",
]


@pytest.mark.campaign("a nested run of a thousand tests")
def test_the_core_passes_its_tests(folder):
    files = [f"tests/test_{name}.py" for name in FILES]
    files += [f"tests/build/test_{name}.py" for name in BUILDS]
    (folder / "of_the_core.py").write_text(
        "import cupola\n\n\ndef pytest_terminal_summary(terminalreporter):\n"
        "    terminalreporter.write_line(f'core: {cupola.__file__}')\n"
    )
    options = ["-n0", "-q", "-p", "no:cacheprovider", "-p", "of_the_core", "--campaigns=none"]
    options += [f"--driver={os.environ['CUPOLA_DRIVER']}", "--tb=short"]
    left_out = [f"--deselect={test}" for test in COMPUTING]
    answer = run(folder, "-m", "pytest", *options, *files, *left_out)
    assert f"core: {folder / 'cupola' / '__init__.py'}" in answer.stdout, answer.stdout[-2000:]
    assert answer.returncode == 0, answer.stdout[-6000:]
    assert int(re.search(r"(\d+) passed", answer.stdout)[1]) > 800
