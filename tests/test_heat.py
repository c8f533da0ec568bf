"""examples/heat, built beside its sources, and its own tests over each driver."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import hooks
import images
import pytest

pytestmark = pytest.mark.campaign("builds of an example")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the example with its kernels and its extension in place."""
    images.nvcc()
    folder = tmp_path_factory.mktemp("heat") / "heat"
    unwanted = shutil.ignore_patterns("build", "*.so", "*.cpp", "kernels.*", "*.egg-info")
    shutil.copytree(ROOT / "examples/heat", folder, ignore=unwanted)
    hooks.install(folder / "hooks")
    called(folder, "setup.py", "--quiet", "build_kernels", "--inplace")
    # Builds like `cythonize -i`, also the modules that setup.py names.
    called(folder, "-m", "Cython.Build.Cythonize", "-3", "-i", "heat/_steps.pyx")
    return folder


def called(folder, *arguments, driver="cpu"):
    paths = hooks.search_path(folder, folder / "hooks")
    environment = {**os.environ, "CUPOLA_DRIVER": driver, "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_its_own_tests(built, driver):
    output = called(built, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", driver=driver)
    assert " passed" in output and "failed" not in output
