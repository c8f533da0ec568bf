# tests/install/test_parts.py - a package whose code for one target an extra installs.
import sys

import pytest
from processes import call, empty_environment

PYPROJECT = """
[build-system]
requires = ["setuptools>=77", "cupola"]
build-backend = "cupola.build.backend"
[project]
name = "my-kernels"
version = "1.0"
dependencies = ["cupola"]
[project.optional-dependencies]
sm90a = ["my-kernels-sm90a==1.0"]
[tool.setuptools]
packages = ["mykernels"]
[[tool.cupola.kernels]]
library = "mykernels.kernels"
sources = ["fill.cu"]
architectures = ["80", "90a"]
ptx = 75
"""
SOURCE = 'extern "C" __global__ void fill(float* out) { out[threadIdx.x] = 3; }\n'
USE = """
import cupola, numpy as np
from mykernels import kernels
out = cupola.zeros(4, np.float32)
kernels.fill[1, 4](out)
assert out.get().tolist() == [3] * 4
"""


@pytest.fixture
def environment(tmp_path, wheel):
    variables, programs = empty_environment(tmp_path, wheel)
    del variables["CUPOLA_ARCHITECTURES"]
    folder = tmp_path / "project"
    (folder / "mykernels").mkdir(parents=True)
    (folder / "mykernels" / "__init__.py").write_text("")
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "fill.cu").write_text(SOURCE)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def run(*command, folder=elsewhere):
        return call([programs / "python", *command], folder, variables)

    def pip(*command, folder=elsewhere):
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", programs / "python"]
        return call([*pip, *command], folder, variables)

    pip("wheel", "--no-deps", "--wheel-dir", tmp_path / "whole", ".", folder=folder)
    pip("install", "cupola")
    return run, pip


def test_both_wheels_in_an_empty_environment(tmp_path, environment):
    run, pip = environment
    (whole,) = (tmp_path / "whole").iterdir()
    dist = tmp_path / "dist"
    run("-m", "cupola", "split", whole, "--part", "sm90a=90a", "-o", dist)
    names = sorted(path.name for path in dist.iterdir())
    assert names == ["my_kernels-1.0-py3-none-any.whl", "my_kernels_sm90a-1.0-py3-none-any.whl"]
    pip("install", "--find-links", dist, "my-kernels")
    shown = run("-m", "cupola", "inspect", "mykernels")
    assert "pip install 'my-kernels[sm90a]'" in shown and "sm_90a, of" not in shown
    run("-c", USE)
    pip("install", "--find-links", dist, "my-kernels[sm90a]")
    shown = run("-m", "cupola", "inspect", "mykernels")
    assert "sm_90a, of my-kernels-sm90a" in shown and "pip install" not in shown
    assert "kernels.sm90a.fatbin: as in the manifest" in run("-m", "cupola", "verify", "mykernels")
    run("-c", USE)
    pip("uninstall", "--yes", "my-kernels-sm90a")
    run("-c", USE)
