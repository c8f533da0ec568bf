"""tools/example_wheels.py: what its rows say of the tests of a package."""

import importlib
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "tools"))
example_wheels = importlib.import_module("example_wheels")

TESTS = """
import pytest, there
def test_wrong(): assert there.VALUE == 2
def test_right(): pass
def test_numpy(): assert there.VALUE == 1
@pytest.mark.parametrize("n", [1, 2])
def test_the_operation_under_jax(n): pass
def test_cupy(): pytest.skip("there  is none")
def test_torch(): pytest.importorskip("no_such.module")
"""


def test_a_row(tmp_path):
    """The package comes from the folder of the wheels, not from its sources."""
    tests = tmp_path / "source" / "there" / "tests"
    tests.mkdir(parents=True)
    (tests / "test_there.py").write_text(TESTS)
    (tests.parent / "there.py").write_text("VALUE = 0")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "there.py").write_text("VALUE = 1")
    row = example_wheels.row(sys.executable, {"numpy": "3.0", "jax": "1.0"}, "there", tmp_path)
    assert row.what == "there: numpy 3.0, jax 1.0"
    assert row.value == 1 and row.met() is False
    assert row.note == (
        "passed: cupola 1, jax 2, numpy 1; "
        "skipped: cupy (there is none), torch (no no_such.module); failed: test_wrong"
    )


def test_tests_that_do_not_run(tmp_path):
    with pytest.raises(SystemExit, match="did not run"):
        list(example_wheels.tested("false", "there", tmp_path))


@pytest.mark.parametrize(
    ("test", "framework"),
    [
        ("test_torch", "torch"),
        ("test_the_operation_of_cupy", "cupy"),
        ("test_it_is_what_numpy_computes[f4]", "cupola"),
        ("test_numpys", "cupola"),
    ],
)
def test_frameworks_by_name(test, framework):
    assert example_wheels.framework_of(test) == framework


def test_versions():
    assert "numpy" in example_wheels.versions(sys.executable)
