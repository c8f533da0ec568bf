"""Programs of others, unchanged, on the CPU device: an environment of their own from PyPI.

It lies in build/programs, made when it is first needed and whenever the list below changes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = ROOT / "build" / "programs"
# Numba's newest asks for no limit, and fails with NumPy 2.5.
PACKAGES = ("cuda-bindings==13.*", "cuda-core==1.*", "numba-cuda[cu13]==0.30.*", "numpy<2.5")

pytestmark = pytest.mark.cpu_only(reason="programs of others are tested on the CPU device")


def pip(python, *arguments):
    """Skips the test where packages can't be had, with what pip says."""
    command = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        pytest.skip(f"from PyPI could not be had: {(told or [done.stderr[-200:]])[-1]}")


@pytest.fixture(scope="module")
def python():
    """The environment's interpreter."""
    packages = "\n".join([sys.version, *PACKAGES])
    home = FOLDER / hashlib.sha256(packages.encode()).hexdigest()[:16]
    made, ready = home / "bin" / "python", home / "ready"
    if not ready.exists():
        shutil.rmtree(FOLDER, ignore_errors=True)  # those of other lists
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        pip(made, "install", *PACKAGES)
        ready.touch()
    return made


def run(python, *program, **variables):
    """What `python -m cupola run --cpu` says; the program has to end well."""
    done = subprocess.run(
        [python, "-m", "cupola", "run", "--cpu", *program],
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "package"), **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_a_script_that_binds_the_first_names():
    output = run(sys.executable, "first_names.py")
    assert output.startswith("cupola CPU device") and output.endswith("well\n")


@pytest.mark.parametrize("program", ["bindings.py", "core.py", "numba_kernels.py"])
def test_programs(python, program):
    output = run(python, program)
    assert output.startswith("cupola CPU device") and output.endswith("well\n")


@pytest.mark.skipif(os.environ.get("CUPOLA_SOAK") != "full", reason="pycuda takes minutes to build")
def test_pycuda(python):
    """From its source: make sweep."""
    if shutil.which("nvcc") is None:
        pytest.skip("pycuda asks for nvcc in the PATH")
    toolkit = Path(shutil.which("nvcc")).resolve().parents[1]
    if not list(toolkit.glob("lib64/libcurand.so*")):
        pytest.skip("pycuda is linked with cuRAND, which is not in the toolkit here")
    environment = os.environ["CUDA_ROOT"] = str(toolkit)
    pip(python, "install", "pycuda")
    output = run(python, "pycuda_kernels.py", CUDA_ROOT=environment)
    assert output.startswith("cupola CPU device") and output.endswith("well\n")
