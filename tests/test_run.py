"""python -m cupola run: programs of anybody's on the driver that cupola takes."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import images
import pytest

NAME = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
name = ctypes.create_string_buffer(64)
assert driver.cuInit(0) == driver.cuDeviceGetName(name, 64, 0) == 0
print(name.value.decode())
"""


def run(*arguments, **variables):
    return subprocess.run(
        [sys.executable, "-m", "cupola", "run", *map(str, arguments)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )


def test_it_finds_the_cpu_device(tmp_path):
    program = tmp_path / "name.py"
    program.write_text(NAME)
    answer = run("--cpu", program)
    assert answer.stdout.startswith("cupola CPU device"), answer.stderr
    assert run("--cpu", "--", "-c", NAME).stdout == answer.stdout


def test_processes_of_the_program_find_it(tmp_path):
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {NAME!r}], check=True)"
    assert run("--cpu", "--", "-c", inner).stdout.startswith("cupola CPU device")


def test_arguments_and_status_are_the_programs(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import sys; print(sys.argv[1:]); sys.exit(3)")
    answer = run("--cpu", program, "--cpu", "-c", "x y")
    assert (answer.returncode, answer.stdout) == (3, "['--cpu', '-c', 'x y']\n")
    killed = run("--cpu", "--", "-c", "import os; os.kill(os.getpid(), 15)")
    assert killed.returncode == 128 + signal.SIGTERM
    assert "run what?" in run("--cpu").stderr


def test_nothing_is_left_behind(tmp_path):
    assert run("--cpu", "--", "-c", "", TMPDIR=str(tmp_path)).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_nvjitlink_is_not_found_and_other_libraries_are():
    answer = run(
        "--cpu",
        "--",
        "-c",
        """
from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib
for name in ("nvJitLink", "nvrtc"):
    try:
        print(name, bool(load_nvidia_dynamic_lib(name).abs_path))
    except DynamicLibNotFoundError as error:
        print(name, "cupola run" in str(error))
""",
    )
    lines = answer.stdout.splitlines()
    assert lines[0] == "nvJitLink True" and lines[1].startswith("nvrtc "), answer.stderr


def test_another_sitecustomize_goes_on(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.there = 5")
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    answer = run("--cpu", "--", "-c", "print(there)", PYTHONPATH=path)
    assert answer.stdout == "5\n", answer.stderr
    assert run("--cpu", "--", "-c", "import sitecustomize").returncode == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--cubin", "-arch", "sm_80"],
        ["-cubin", "-arch=sm_80"],
        ["--cubin", "--gpu-architecture=sm_80", "-o", "kernel.cubin"],
    ],
)
def test_nvcc_makes_ptx_of_what_would_be_a_cubin(tmp_path, options):
    nvcc = Path(images.nvcc().nvcc)
    (tmp_path / "kernel.cu").write_text('extern "C" __global__ void k() {}')
    text = f"import subprocess; subprocess.run(['nvcc', 'kernel.cu', *{options!r}], check=True)"
    answer = subprocess.run(
        [sys.executable, "-m", "cupola", "run", "--cpu", "--", "-c", text],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{nvcc.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    made = (tmp_path / "kernel.cubin").read_text()
    assert ".target sm_80" in made and ".entry k" in made


def test_nvcc_does_everything_else_itself():
    nvcc = images.nvcc().nvcc
    path = f"{Path(nvcc).parent}{os.pathsep}{os.environ['PATH']}"
    plain = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    text = "import subprocess; subprocess.run(['nvcc', '--version'], check=True)"
    assert run("--cpu", "--", "-c", text, PATH=path).stdout == plain
    assert shutil.which("nvcc", path=path)


@pytest.mark.cuda_only(reason="where there is no GPU it is the CPU device anyway")
def test_on_a_gpu_the_program_is_left_alone():
    answer = run("--", "-c", "import os; print(os.environ.get('CUPOLA_RUN_NVCC'))")
    assert answer.stdout == "None\n"
