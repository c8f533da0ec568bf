"""Which tests belong to a folder, and which of all tests a run takes."""

import subprocess
import sys

import areas
import pytest
import rotation

FOLDERS = sorted(
    path.relative_to(areas.ROOT).as_posix()
    for top in ("csrc", "package/cupola", "csrc/cpu", "csrc/runtime", "csrc/kernels")
    for path in (areas.ROOT / top).iterdir()
    if path.is_dir() and path.name not in ("__pycache__", "lib", "include", "bin")
)


@pytest.mark.parametrize("folder", [*FOLDERS, "csrc/include", "pyx", "docs", "examples"])
def test_each_folder_has_tests(folder):
    assert areas.tests_of(folder)


@pytest.mark.parametrize("start", areas.rows())
def test_each_row_names_files(start):
    assert list(areas.ROOT.glob(start + "*"))
    assert all(areas.expanded([pattern]) for pattern in areas.rows()[start])


def test_the_longest_beginning_counts():
    found = areas.tests_of("csrc/runtime/texture/")
    assert found == ["tests/test_tensor_map.py", "tests/test_texture.py"]
    assert areas.tests_of("tests/test_room.py") == ["tests/test_room.py"]


@pytest.mark.parametrize("path", ["csrc/no_such", "benchmarks"])
def test_paths_without_tests_are_refused(path):
    with pytest.raises(SystemExit, match=path):
        areas.tests_of(path)


def test_the_number_follows_from_the_sources(monkeypatch, tmp_path):
    monkeypatch.delenv("CUPOLA_TEST_ROTATION")
    monkeypatch.setattr(rotation, "ROOT", tmp_path)
    numbers = []
    for text in ("a", "b", "a"):
        (tmp_path / "tests").mkdir(exist_ok=True)
        (tmp_path / "tests" / "test_x.py").write_text(text)
        rotation.number.cache_clear()
        numbers.append(rotation.number())
    rotation.number.cache_clear()
    assert numbers[0] == numbers[2] != numbers[1]


CASES = """
import pytest

@pytest.mark.campaign("long")
def test_campaign(): pass

def test_quick(): pass
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "4 passed"),
        (("--campaigns=none",), "2 passed, 2 deselected"),
        (("--campaigns=only",), "2 passed, 2 deselected"),
        (("--campaigns=only", "--campaign-slice=1/2"), "1 passed, 3 deselected"),
    ],
)
def test_campaigns(tmp_path, options, expected):
    for name in ("test_one.py", "test_two.py"):
        (tmp_path / name).write_text(CASES)
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider"]
    command += ["-p", "conftest", "--rootdir", str(tmp_path), *options, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=areas.TESTS)
    assert expected in done.stdout, done.stdout + done.stderr


def test_the_tests_by_emulation_exist():
    """`make aarch64` runs those of aarch64.txt."""
    for line in (areas.ROOT / "tests" / "aarch64.txt").read_text().split():
        path, _, name = line.partition("::")
        assert f"def {name}" in (areas.ROOT / path).read_text(), line
