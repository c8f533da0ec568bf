# tests/install/test_shipping.py - examples/heat, a package with kernels of its own, by each way.
import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from processes import ROOT, TOOLKIT_VARIABLES, call, empty_environment


class Fresh:
    """An empty environment, a copy of the example, and nothing of this checkout's."""

    def __init__(self, folder, wheel):
        self.source, self.elsewhere = folder / "heat", folder / "elsewhere"
        unwanted = shutil.ignore_patterns("build", "*.so", "*.cpp", "kernels.*", "*.egg-info")
        shutil.copytree(ROOT / "examples/heat", self.source, ignore=unwanted)
        # Its tests far from the sources, so that what is installed is what they import.
        shutil.copytree(self.source / "tests", self.elsewhere)
        self.environment, self.bin = empty_environment(folder, wheel)

    def pip(self, command, *arguments):
        pip = [sys.executable, "-m", "pip", "--python", self.bin / "python", command]
        folder = self.source if self.source.is_dir() else self.elsewhere
        return call([*pip, *arguments], folder, self.environment)

    def hide(self, *names):
        """Take programs away from everything that is called after this."""
        for variable in TOOLKIT_VARIABLES if "nvcc" in names else ():
            self.environment.pop(variable, None)
        folders = self.environment["PATH"].split(os.pathsep)
        kept = [f for f in folders if not any((Path(f) / name).exists() for name in names)]
        self.environment["PATH"] = os.pathsep.join(kept)

    def tested(self, inside):
        """Its own tests pass, with the package that lies there."""
        code = "import heat, heat.kernels; print(heat.__file__); print(heat.kernels.load().name)"
        printed = call([self.bin / "python", "-c", code], self.elsewhere, self.environment)
        for place in printed.split():
            assert Path(place).is_relative_to(inside), printed
        self.pip("install", "pytest", "pillow")
        # Leaves out tests of frameworks, MPI and Dask, which are not installed: tests/test_heat.py
        # runs those of JAX, MPI and Dask, and make example-wheels all of frameworks.
        without = "not jax and not torch and not cupy and not ranks"
        command = [self.bin / "python", "-m", "pytest", "-q", "-k", without]
        command += ["--ignore-glob=*test_blocks.py", "."]
        tests = call(command, self.elsewhere, self.environment)
        assert " passed" in tests and "skipped" not in tests
        picture = [self.bin / "heat", "-o", "heat.gif", "--size", "32", "--steps", "5"]
        call(picture, self.elsewhere, self.environment)
        assert (self.elsewhere / "heat.gif").read_bytes()[:4] == b"GIF8"


@pytest.fixture
def fresh(tmp_path, wheel):
    return Fresh(tmp_path, wheel)


def test_pip_install(fresh):
    """With the compiler of PyPI's wheels, which the backend brings in where there is none."""
    fresh.hide("nvcc")
    assert shutil.which("nvcc", path=fresh.environment["PATH"]) is None
    output = fresh.pip("install", "--verbose", ".")
    (line,) = [line for line in output.splitlines() if "heat.kernels: PTX" in line]
    assert "PTX compute_75 compute_90, sm_90, by nvcc 13.0." in line
    assert "from wheel nvidia-cuda-nvcc 13.0." in line
    fresh.tested(fresh.bin.parent)


def test_pip_install_editable(fresh):
    fresh.pip("install", "--editable", ".")
    fresh.tested(fresh.source)


def test_setup_py_install(fresh):
    fresh.pip("install", "Cython>=3.1", "cupola[build]")
    # setup.py brings no compiler in: where the machine has none, the remedy which its error names.
    backend = [fresh.bin / "python", "-m", "cupola.build.backend"]
    compiler = call(backend, fresh.elsewhere, fresh.environment).split()
    if compiler:
        fresh.pip("install", *compiler)
    call([fresh.bin / "python", "setup.py", "install"], fresh.source, fresh.environment)
    fresh.tested(fresh.bin.parent)


def test_a_wheel_that_was_built_elsewhere(fresh, tmp_path):
    """Neither nvcc nor any compiler is there when it is installed and run."""
    fresh.pip("wheel", "--no-deps", "--wheel-dir", tmp_path, ".")
    (made,) = tmp_path.glob("heat-1.0-*.whl")
    shutil.rmtree(fresh.source)
    fresh.hide("nvcc", "gcc", "cc", "c++", "g++", "clang", "clang++")
    for name in ("nvcc", "cc", "c++", "g++", "clang++"):
        assert shutil.which(name, path=fresh.environment["PATH"]) is None
    fresh.pip("install", made)
    fresh.tested(fresh.bin.parent)


def test_a_wheel_of_cupola_has_the_modules_of_the_source(wheel):
    package = ROOT / "package"
    sources = {path.relative_to(package).as_posix() for path in package.rglob("*.py")}
    assert {"_cupola_setuptools.py", "cupola/toolkit/nvrtc.py"} <= sources
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if name.endswith(".py")} == sources
