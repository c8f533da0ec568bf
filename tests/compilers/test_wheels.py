"""Wheels with kernels of other compilers than nvcc: equal builds, merges and splits."""

import json
import os
import subprocess
import sys
import zipfile

import hooks
import pytest
from command_line import cli
from compiled_project import COMPILERS, EXAMPLES, Project, interpreter

from cupola.build.error import BuildError
from cupola.build.wheel_merge import merge_wheels
from cupola.build.wheel_split import split_wheel

NAME = "rows-1.0-py3-none-any.whl"
EXTRAS, EXTRA = "[project.optional-dependencies]\n", 'last = ["rows-last==1.0"]\n'
# For each tree its targets, and the name of its folder, which must not be in the code.
TREES = {
    "first": ("75,80", "rows"),
    "second": ("90", "rows"),
    "all": ("75,80,90", "rows"),
    "again": ("75,80,90", "another-name"),
    "changed": ("90", "rows"),
}


@pytest.fixture(scope="module", params=COMPILERS)
def built(request, tmp_path_factory):
    """A folder with a wheel of each tree."""
    folder = tmp_path_factory.mktemp(request.param)
    compiler = interpreter(request.param)
    for tree, (architectures, name) in TREES.items():
        source = EXAMPLES / COMPILERS[request.param][0]
        project = Project(source, folder / f"{tree}-tree" / name, compiler)
        add_extra(project.folder / "pyproject.toml")
        if tree == "changed":
            source = kernels_of(project.folder)
            source.write_text(f"{source.read_text()}\nMORE = 1\n")
        project.wheel(folder / tree, architectures)
    return folder


def add_extra(pyproject):
    text = pyproject.read_text()
    if EXTRAS not in text:
        text = text.replace("[tool.setuptools]", f"{EXTRAS}\n[tool.setuptools]", 1)
    pyproject.write_text(text.replace(EXTRAS, EXTRAS + EXTRA))


def kernels_of(folder):
    """The source of a project's kernels."""
    (found,) = (folder / "rows").glob("*_kernels.py")
    return found


def targets(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return json.loads(archive.read("rows/kernels.json"))["architectures"]


def test_two_builds_in_two_folders_have_the_same_bytes(built):
    one, two = (zipfile.ZipFile(built / name / NAME) for name in ("all", "again"))
    names = one.namelist()
    assert {"fatbin", "json", "op", "pyi"} <= {name.rpartition(".")[2] for name in names}
    assert [name for name in names if one.read(name) != two.read(name)] == []
    assert (built / "all" / NAME).read_bytes() == (built / "again" / NAME).read_bytes()


def test_a_merge_is_the_wheel_of_one_build_for_all_targets(built, tmp_path):
    wheels = [built / name / NAME for name in ("first", "second")]
    assert all(targets(one) != targets(built / "all" / NAME) for one in wheels)
    answer = cli("merge", *wheels, "-o", tmp_path / "out/")
    assert answer.returncode == 0, answer.stderr
    assert targets(tmp_path / "out" / NAME) == targets(built / "all" / NAME)
    assert (tmp_path / "out" / NAME).read_bytes() == (built / "all" / NAME).read_bytes()


def test_a_merge_of_other_sources_names_them(built, tmp_path):
    words = f"differ in sources: rows/{kernels_of(built / 'changed-tree/rows').name}"
    with pytest.raises(BuildError, match=words):
        merge_wheels([built / name / NAME for name in ("first", "changed")], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_parts_of_a_split_run_without_the_compiler(built, tmp_path, driver):
    last = str(targets(built / "all" / NAME)["cubin"][-1])
    split_wheel(built / "all" / NAME, {"last": [last]}, tmp_path / "dist")
    wheels = sorted((tmp_path / "dist").iterdir())
    assert [one.name.partition("-")[0] for one in wheels] == ["rows", "rows_last"]
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*map(str, [*pip, "--target", site, *wheels])], check=True)
    paths = hooks.search_path(site)
    answer = cli("inspect", "rows", PYTHONPATH=paths)
    assert answer.returncode == 0 and f"sm_{last}, of rows-last" in answer.stdout
    answer = cli("verify", "rows", PYTHONPATH=paths)
    assert answer.returncode == 0, answer.stdout
    assert answer.stdout.count("as in the manifest") == 2
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*tests, built / "all-tree/rows/tests"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths, "CUPOLA_DRIVER": driver},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout
