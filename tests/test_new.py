"""`python -m cupola new`: a package that builds, installs and passes its tests."""

import os
import subprocess
import sys
import zipfile

import hooks
import pytest

import cupola
from cupola.command import new
from cupola.command.template import FILES


def call(*command, folder, fails=False, **variables):
    """The output of the command, of both streams."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, **{name: str(value) for name, value in variables.items()}},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert (done.returncode != 0) is fails, done.stdout[-6000:]
    return done.stdout


@pytest.mark.parametrize(
    ("name", "package"),
    [("heat", "heat"), ("Heat-Tools", "heat_tools"), ("a.b--c_d", "a_b_c_d"), ("x2", "x2")],
)
def test_names(name, package):
    assert new.package_of(name) == package


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-x",
        "x-",
        "a b",
        "a/b",
        "../a",
        "é",
        "2d",
        "class",
        "json",
        "numpy",
        "Cupola",
        "tests",
        "pip",
        "Wheel",
        "setuptools",
        "conftest",
        "Cython",
    ],
)
def test_names_that_are_refused(name, tmp_path):
    with pytest.raises(cupola.ArgumentValueError):
        new.create(name, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_nothing_is_written_over(tmp_path):
    folder = tmp_path / "heat"
    folder.mkdir()
    assert len(new.create("heat", folder)) == len(FILES)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    text = call(sys.executable, "-m", "cupola", "new", "heat", folder=tmp_path, fails=True)
    assert "heat exists already" in text and "Traceback" not in text
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_builds_and_passes_its_tests(driver, tmp_path):
    """As its README says, but into a folder, and with what is installed here already."""
    import images

    images.nvcc()
    pytest.importorskip("Cython")
    text = call(sys.executable, "-m", "cupola", "new", "Heat-Tools", folder=tmp_path)
    assert text.endswith("\ncd Heat-Tools\npip install '.[test]'\npython -m pytest\n")
    project, site = tmp_path / "Heat-Tools", tmp_path / "site"
    where = hooks.search_path(hooks.install(tmp_path / "hooks"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    call(
        *pip, "--no-build-isolation", "--no-deps", "--no-index", "--target", site, project,
        folder=tmp_path, PYTHONPATH=where,
    )  # fmt: skip
    made = {path.name for path in (site / "heat_tools").iterdir()}
    assert {"__init__.py", "kernels.fatbin", "kernels.json", "kernels.py", "kernels.pyi"} <= made
    assert any(name.startswith("_smooth.cpython") for name in made)
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    where = hooks.search_path(site)
    text = call(*tests, folder=project, PYTHONPATH=where)
    assert "21 passed" in text, text
    linted = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E,F,I,W"]
    linted += ["--config", 'lint.isort.known-first-party=["heat_tools"]', "--line-length", "100"]
    if subprocess.run([*linted[:3], "--version"], capture_output=True).returncode == 0:
        call(*linted, ".", folder=project)


def test_one_with_an_operation(driver, tmp_path):
    import images

    images.nvcc()
    text = call(sys.executable, "-m", "cupola", "new", "Soft-Sign", "--op", folder=tmp_path)
    assert text.endswith("\ncd Soft-Sign\npip install '.[test]'\npython -m pytest\n")
    project, site = tmp_path / "Soft-Sign", tmp_path / "site"
    where = hooks.search_path(hooks.install(tmp_path / "hooks"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    call(
        *pip, "--no-build-isolation", "--no-deps", "--no-index", "-w", tmp_path, project,
        folder=tmp_path, PYTHONPATH=where,
    )  # fmt: skip
    assert (tmp_path / "soft_sign-0.1.0-py3-none-any.whl").is_file()  # one for every framework
    with zipfile.ZipFile(tmp_path / "soft_sign-0.1.0-py3-none-any.whl") as wheel:
        wheel.extractall(site)
    made = {path.name for path in (site / "soft_sign").iterdir()}
    assert {"__init__.py", "kernels.fatbin", "kernels.json", "ops.py", "ops.pyi"} <= made
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    text = call(*tests, folder=project, PYTHONPATH=hooks.search_path(site))
    assert " passed" in text and "failed" not in text, text
    linted = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E,F,I,W"]
    linted += ["--config", 'lint.isort.known-first-party=["soft_sign"]', "--line-length", "100"]
    if subprocess.run([*linted[:3], "--version"], capture_output=True).returncode == 0:
        call(*linted, ".", folder=project)
