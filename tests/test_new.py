"""`python -m cupola new`: a package that builds, installs and passes its tests."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import hooks
import pytest

import cupola
from cupola.tools.command import new
from cupola.tools.command.template import FILES

pytestmark = pytest.mark.campaign("builds of packages in new environments")

# The name of a package, its module's, and the options.
PACKAGES = [("Heat-Tools", "heat_tools", ()), ("Soft-Sign", "soft_sign", ("--op",))]


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


def test_it_needs_no_setuptools(tmp_path):
    """Environments of Python 3.12 and newer have none, until the printed commands install it."""
    program = (
        "import sys; sys.modules['setuptools'] = sys.modules['_distutils_hack'] = None\n"
        "from cupola.__main__ import main; sys.exit(main(['new', 'heat']))"
    )
    text = call(sys.executable, "-W", "error", "-c", program, folder=tmp_path)
    assert "pip install 'setuptools>=77'" in text


@pytest.fixture
def environment(tmp_path):
    """An environment where cupola is installed, and all that its builds and tests need, so that pip
    needs no index; its variables.
    """
    folder = tmp_path / "environment"
    call(sys.executable, "-m", "venv", "--without-pip", folder, folder=tmp_path)
    (site,) = folder.glob("lib/python*/site-packages")
    # A path file, unlike PYTHONPATH, brings in the path files of that folder: editable installs.
    about = hooks.install(tmp_path / "hooks", cupola.__version__)
    places = [about, Path(cupola.__file__).parents[1]]
    places += map(Path, dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")))
    lines = [f"import site; site.addsitedir({str(place)!r})" for place in places]
    (site / "cupola_of_the_tests.pth").write_text("\n".join(lines) + "\n")
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "PIP_NO_INDEX": "1", "PYTHONPATH": "", "CUPOLA_ARCHITECTURES": "75"}


def run_printed(text, folder, environment):
    """Run the commands that `new` printed, each as it stands."""
    steps = text.partition("\n\n")[2]
    return call("bash", "-e", "-c", steps, folder=folder, **environment)


@pytest.mark.parametrize(("name", "package", "op"), PACKAGES)
def test_the_printed_commands_build_and_test_it(driver, environment, tmp_path, name, package, op):
    import images

    images.nvcc()
    pytest.importorskip("Cython")
    text = call("python", "-m", "cupola", "new", name, *op, folder=tmp_path, **environment)
    told = run_printed(text, tmp_path, environment)
    assert "failed" not in told and (" passed" if op else "21 passed") in told, told
    (made,) = (tmp_path / "environment").glob(f"lib/python*/site-packages/{package}")
    names = {path.name for path in made.iterdir()}
    assert {"__init__.py", "kernels.fatbin", "kernels.json", "kernels.py", "kernels.pyi"} <= names
    assert {"ops.py", "ops.pyi"} <= names if op else any("_smooth.cpython" in n for n in names)
    (about,) = made.parent.glob(f"{package}-*.dist-info")
    # The wheel of an operation is for every framework and platform.
    assert ("py3-none-any" in (about / "WHEEL").read_text()) is bool(op)
    linted = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E,F,I,W"]
    linted += ["--config", f'lint.isort.known-first-party=["{package}"]', "--line-length", "100"]
    if subprocess.run([*linted[:3], "--version"], capture_output=True).returncode == 0:
        call(*linted, ".", folder=tmp_path / name)


@pytest.mark.parametrize(("name", "package", "op"), PACKAGES)
def test_the_commands_of_its_readme(driver, environment, tmp_path, name, package, op):
    import images

    images.nvcc()
    pytest.importorskip("Cython")
    call("python", "-m", "cupola", "new", name, *op, folder=tmp_path, **environment)
    text = (tmp_path / name / "README.md").read_text()
    blocks = [part for part in text.split("\n\n") if part.startswith("    python ")]
    assert len(blocks) == 2 and "-e ." in blocks[1], text
    for block in (*blocks, "python -m pytest"):
        told = call("bash", "-e", "-c", block, folder=tmp_path / name, **environment)
        assert "failed" not in told, told
    assert " passed" in told
    assert list((tmp_path / name / "src" / package).glob("kernels.fatbin"))


@pytest.mark.cpu_only(reason="the CPU device counts lines")
def test_its_coverage_has_the_kernels(driver, environment, tmp_path):
    import images

    images.nvcc()
    pytest.importorskip("pytest_cov")
    environment = {**environment, "CUPOLA_COVERAGE": "exact"}
    text = call("python", "-m", "cupola", "new", "soft", "--op", folder=tmp_path, **environment)
    text = text.replace("-m pytest", "-m pytest -p no:cacheprovider --cov")
    told = run_printed(text, tmp_path, environment)
    assert re.search(r"^csrc/softsign.cu .* 100%$", told, re.MULTILINE), told
