"""PyCUDA's programs, which change no line: cupola run --pycuda."""

import os
import subprocess
import sys
from pathlib import Path

import images
import pytest

import cupola
from cupola import pycuda

PROGRAMS = Path(__file__).with_name("pycuda_programs")


@pytest.fixture(autouse=True)
def _nvrtc():
    images.nvrtc()


def run(*arguments, **variables):
    return subprocess.run(
        [sys.executable, "-m", "cupola", "run", "--pycuda", *map(str, arguments)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )


@pytest.mark.cpu_only("the checks are the CPU device's")
def test_no_check_finds_fault_with_the_kernels_of_scans():
    done = run(PROGRAMS / "scans.py", CUPOLA_CPU_CHECK="memory,race,init,sync")
    assert done.returncode == 0 and "cupola: " not in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["doubling", "structs", "convolution", "mandelbrot"])
def test_a_program(name, tmp_path):
    arguments = []
    if name == "mandelbrot":
        arguments = [tmp_path / "mandelbrot.ptx"]
        arguments[0].write_bytes(
            cupola.compile(PROGRAMS / "mandelbrot.cu", arch="compute_75").image
        )
    done = run(PROGRAMS / f"{name}.py", *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout and not done.stderr


def test_both_names_are_one_module():
    code = (
        "import pycuda, pycuda.driver, pycuda.gpuarray as g, cupola.pycuda.gpuarray as h; "
        "import cupola.pycuda; from pycuda import tools; "
        "assert g is h and pycuda is cupola.pycuda and g.__spec__.name == g.__name__; "
        "print(pycuda.VERSION_TEXT)"
    )
    done = run("--", "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == pycuda.VERSION_TEXT


def test_absent_modules_and_an_absent_context():
    done = run("--", "-c", "import pycuda.gl")
    assert done.returncode and "cupola.pycuda, which stands for pycuda here" in done.stderr
    done = run("--", "-c", "import pycuda.driver as d; d.init(); d.mem_alloc(5)")
    assert done.returncode and "pycuda.autoinit" in done.stderr
    done = run("--", "-c", "import pycuda.driver as d; d.Device(0)")
    assert done.returncode and "init()" in done.stderr


def test_another_sitecustomize_runs_too(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.found = 7")
    code = "import pycuda.driver; print(found)"
    searched = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = run("--", "-c", code, PYTHONPATH=os.pathsep.join(searched))
    assert (done.returncode, done.stdout.strip()) == (0, "7"), done.stderr
