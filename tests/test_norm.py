# tests/test_norm.py
"""examples/norm, built beside its sources, and its own tests over each driver."""

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
# The package and its operations import no framework, and the driver is not loaded.
IMPORTED = """
import sys, time
import cupola
begin = time.perf_counter()
import norm.ops

print("seconds", time.perf_counter() - begin)
assert not {"torch", "jax", "cupy"} & set(sys.modules)
assert "rms_norm" in dir(norm.ops) and norm.ops.rms_norm.__name__ == "rms_norm"
assert not {"torch", "jax", "cupy"} & set(sys.modules) and not cupola.driver.loaded()
try:
    norm.ops.rmsnorm
except AttributeError as error:
    assert "did you mean rms_norm" in str(error)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the example with its kernels in place."""
    images.nvcc()
    folder = tmp_path_factory.mktemp("norm") / "norm"
    unwanted = shutil.ignore_patterns("build", "kernels.*", "ops.py*", "*.egg-info")
    shutil.copytree(ROOT / "examples/norm", folder, ignore=unwanted)
    hooks.install(folder / "hooks")
    build = "from setuptools import setup; setup()"
    called(folder, "-c", build, "--quiet", "build_kernels", "--inplace")
    return folder


def called(folder, *arguments, driver="cpu"):
    paths = hooks.search_path(folder, folder / "hooks")
    environment = {**os.environ, "CUPOLA_DRIVER": driver, "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
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


def test_importing_it_imports_no_framework(built):
    seconds = min(float(called(built, "-c", IMPORTED).split()[1]) for _ in range(5))
    assert seconds < 0.025  # a few milliseconds, on a machine that does other work too


def test_the_files(built):
    stub = (built / "norm" / "ops.pyi").read_text()
    assert "def rms_norm(\n    x: _Any,\n    w: _Any,\n    eps: float = 1e-06," in stub
    manifest = (built / "norm" / "kernels.json").read_text()
    assert '"operations": [{"name": "norm.rms_norm"' in manifest


@pytest.mark.parametrize("name", ["rms_norm", "rms_norm_backward"])
def test_the_judge_finds_its_operations_right(built, name):
    told = called(built, "-m", "cupola", "judge", f"norm:{name}", "--seconds", "1")
    assert f"norm:{name}: right (" in told
    assert "the kernel for" not in told and "gradients" not in told  # nothing was left out
