"""The handling of skips in tests/conftest.py, by a pytest of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TESTS = """
import pytest

def test_named():
    pytest.skip("as listed")

def test_other():
    pytest.skip("for no good reason")

@pytest.mark.xfail
def test_expected():
    assert False

@pytest.mark.cuda_only(reason="it is of a GPU")
def test_gpu():
    assert False

@pytest.mark.cpu_only(reason="it is of the CPU device")
def test_cpu():
    pass
"""


@pytest.fixture
def outcome(tmp_path):
    """The lines that report each test, and the exit status."""
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(HERE / "conftest.py", tests)
    (tests / "skips.txt").write_text("# why\n\ntests/test_few.py::test_na*d  it is listed\n")
    (tests / "test_few.py").write_text(TESTS)
    (tests / "test_whole.py").write_text("import pytest\npytest.importorskip('no.such.module')\n")

    def run(*arguments):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--driver=cpu", "-rA"]
        done = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(HERE)},  # for the plugin that conftest.py loads
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.stdout, done.returncode

    return run


def test_a_skip_is_a_failure_where_none_is_wanted(outcome):
    text, status = outcome("--no-skips")
    assert status == 2  # a skip of a whole file
    assert "ERROR tests/test_whole.py" in text and "skips.txt does not name it" in text
    text, status = outcome("--no-skips", "tests/test_few.py")
    assert status == 1
    assert "1 failed, 1 passed, 1 skipped, 1 deselected, 1 xfailed" in text
    assert "for no good reason; skips.txt does not name it" in text


def test_a_skip_is_a_skip_everywhere_else(outcome):
    text, status = outcome()
    assert status == 0
    assert "1 passed, 3 skipped, 1 deselected, 1 xfailed" in text


def test_each_line_of_the_list_names_a_test_that_is_there():
    for line in (HERE / "skips.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            path, _, name = line.split()[0].partition("::")
            text = (HERE.parent / path).read_text()
            assert f"def {name.partition('[')[0]}(" in text, line
