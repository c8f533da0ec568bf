"""python -m cupola run: third-party programs on the driver that cupola chooses."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import images
import pytest

from cupola import library
from cupola.toolkit import libraries

PROGRAMS = Path(__file__).with_name("programs")

NAME = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
name = ctypes.create_string_buffer(64)
assert driver.cuInit(0) == driver.cuDeviceGetName(name, 64, 0) == 0
print(name.value.decode())
"""

LINKED = r"""
#include <stddef.h>
#include <stdio.h>
#include <string.h>
int nvrtcCreateProgram(void**, const char*, const char*, int, const char**, const char**);
int nvrtcCompileProgram(void*, int, const char**);
int nvrtcGetCUBINSize(void*, size_t*);
int nvrtcGetCUBIN(void*, char*);
int main(void) {
    static char cubin[1 << 20];
    const char* options[] = {"-arch=sm_80"};
    void* program;
    size_t size;
    int code = nvrtcCreateProgram(&program, "__global__ void k() {}", "k.cu", 0, NULL, NULL);
    code += nvrtcCompileProgram(program, 1, options) + nvrtcGetCUBINSize(program, &size);
    if (size > sizeof cubin) return 1;
    code += nvrtcGetCUBIN(program, cubin);
    const char* version = strstr(cubin, ".version");
    printf("%.8s %d\n", version ? version : cubin, code);
    return 0;
}
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
    assert "no program to run" in run("--cpu").stderr


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
    assert answer.stdout.splitlines() == ["nvJitLink True", "nvrtc True"], answer.stderr


def nvrtc():
    """NVIDIA's library, as a program without `cupola run` finds it."""
    return Path(libraries.load("nvrtc").path)


def test_nvrtc_gives_ptx_for_a_cubin_by_each_of_its_names():
    for name in (nvrtc().name, "libnvrtc.so"):
        answer = run("--cpu", PROGRAMS / "nvrtc_cubin.py", name)
        assert answer.stdout == "well\n", answer.stderr


def test_pathfinder_and_the_loader_find_one_nvrtc():
    text = f"""
import ctypes
from cuda.pathfinder import load_nvidia_dynamic_lib
found = load_nvidia_dynamic_lib("nvrtc")
by_name = ctypes.CDLL({nvrtc().name!r})
print(found.abs_path, found._handle_uint == by_name._handle)
"""
    path, same = run("--cpu", "--", "-c", text).stdout.split()
    assert same == "True" and Path(path).name == nvrtc().name and Path(path) != nvrtc()


def test_a_program_linked_to_nvrtc_gets_ptx(tmp_path):
    """The loader prints no warning: the symbols have the versions of NVIDIA's."""
    (tmp_path / "program.c").write_text(LINKED)
    command = ["cc", "program.c", "-o", "program", str(nvrtc())]
    subprocess.run(command, cwd=tmp_path, check=True)
    text = f"import subprocess; subprocess.run([{str(tmp_path / 'program')!r}], check=True)"
    answer = run("--cpu", "--", "-c", text)
    assert (answer.stdout, answer.stderr) == (".version 0\n", "")
    # Beside NVIDIA's, it is a cubin.
    path = f"{nvrtc().parent}{os.pathsep}{os.environ.get('LD_LIBRARY_PATH', '')}"
    plain = subprocess.run(
        [tmp_path / "program"],
        env={**os.environ, "LD_LIBRARY_PATH": path},
        capture_output=True,
    )
    assert plain.stdout.startswith(b"\x7fELF")


def test_each_call_of_nvrtc_is_forwarded():
    """With the version that NVIDIA's has, and with what it returns for no program."""
    found = Path(library.FOLDER, "run", nvrtc().name.rpartition(".")[2], nvrtc().name)
    assert symbols(nvrtc()) <= symbols(found)
    text = f"""
import ctypes
ours, nvidias = ctypes.CDLL({nvrtc().name!r}), ctypes.CDLL({str(nvrtc())!r})
assert ours._handle != nvidias._handle
for name in {sorted(symbols(nvrtc()))!r}:
    name = name.partition("@")[0]
    if name != "nvrtcGetErrorString":
        calls = [getattr(library, name) for library in (ours, nvidias)]
        print(name, *[call(None, None, None, 0, None, None) for call in calls])
"""
    answer = run("--cpu", "--", "-c", text)
    rows = [line.split() for line in answer.stdout.splitlines()]
    assert len(rows) > 20, answer.stderr
    assert [row for row in rows if row[1] != row[2]] == []


def symbols(path):
    command = ["nm", "-D", "--defined-only", "--with-symbol-versions", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {word for word in text.split() if word.startswith("nvrtc")}


def test_an_nvrtc_that_is_gone_is_an_error_that_says_so(tmp_path):
    gone = tmp_path / nvrtc().name
    text = f"import ctypes; print(ctypes.CDLL({gone.name!r}).nvrtcVersion(None, None))"
    answer = run("--cpu", "--", "-c", text, CUPOLA_RUN_NVRTC=str(gone))
    assert answer.stdout == "11\n" and f"can't be loaded: {gone}" in answer.stderr


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


@pytest.fixture
def nvcc():
    """NVIDIA's compiler, in front of PATH."""
    found = Path(images.nvcc().nvcc)
    return {"PATH": f"{found.parent}{os.pathsep}{os.environ['PATH']}"}


RUNTIME_PROGRAM = r"""
#include <cstdio>
__global__ void square(int* x) { x[threadIdx.x] *= x[threadIdx.x]; }
int main() {
    int numbers[4] = {1, 2, 3, 4}, *there;
    cudaError_t error = cudaMalloc(&there, sizeof numbers);
    cudaMemcpy(there, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    square<<<1, 4>>>(there);
    cudaMemcpy(numbers, there, sizeof numbers, cudaMemcpyDeviceToHost);
    std::printf("%d %d %d %d %d\n", error, numbers[0], numbers[1], numbers[2], numbers[3]);
    return 7;
}
"""


@pytest.mark.parametrize("flags", ["", "-arch=sm_80", "-gencode arch=compute_80,code=sm_80"])
def test_programs_of_the_runtime_api_are_built_and_run(tmp_path, nvcc, flags):
    (tmp_path / "program.cu").write_text(RUNTIME_PROGRAM)
    text = f"cd {tmp_path} && nvcc {flags} program.cu -o program && ./program"
    answer = run("--cpu", "--", "sh", "-c", text, **nvcc)
    assert (answer.stdout, answer.returncode) == ("0 1 4 9 16\n", 7), answer.stderr
    again = run("--cpu", tmp_path / "program")
    assert (again.stdout, again.stderr, again.returncode) == ("0 1 4 9 16\n", "", 7)


def test_a_program_with_nvidias_static_runtime_gets_one_line(tmp_path, nvcc):
    (tmp_path / "program.cu").write_text(RUNTIME_PROGRAM)
    command = ["nvcc", "-cudart", "static", "program.cu", "-o", "program"]
    environment = {**os.environ, **nvcc}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    answer = run("--cpu", tmp_path / "program")
    assert answer.stdout.startswith("801 1 2 3 4")
    (line,) = answer.stderr.splitlines()
    assert "NVIDIA's CUDA runtime is linked into" in line and "-cudart shared" in line


def test_linkers_find_the_shared_runtime_in_place_of_the_static_one(tmp_path):
    """g++ ... -lcudart_static, as build systems write it that compile no CUDA."""
    source = """
extern "C" int cudaGetDeviceCount(int*);
int main() { int n = 0; return cudaGetDeviceCount(&n) + n; }
"""
    (tmp_path / "program.cpp").write_text(source)
    text = f"cd {tmp_path} && g++ program.cpp -o program -lcudart_static -ldl -lrt && ./program"
    assert run("--cpu", "--", "sh", "-c", text).returncode == 1


def test_a_command_that_does_not_exist_is_an_error_with_a_remedy():
    answer = run("--cpu", "no-such-program")
    assert answer.returncode == 1 and "neither a file nor a command" in answer.stderr


def environment_of(command, **variables):
    """The variables of a shell that has read `cupola env`."""
    values = {**os.environ, "CUPOLA_PYTHON": sys.executable, **variables}
    dump = "import os, json; print(json.dumps(dict(os.environ)))"
    text = f"{command}; '{sys.executable}' -S -c '{dump}'"
    done = subprocess.run(["bash", "-c", text], env=values, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_shell_gets_the_environment_of_run(nvcc):
    dump = "import os, json; print(json.dumps(dict(os.environ)))"
    given = json.loads(run("--cpu", "--", "-c", dump, **nvcc).stdout)
    text = "source <($CUPOLA_PYTHON -m cupola env --cpu)"
    found = environment_of(text, **nvcc)
    names = [name for name in given if given[name] != os.environ.get(name)]
    assert {name: found.get(name) for name in names} == {name: given[name] for name in names}
    twice = f"{text}; {text}"
    assert environment_of(twice, **nvcc)["LD_LIBRARY_PATH"] == given["LD_LIBRARY_PATH"]


@pytest.mark.parametrize(
    "shell, form",
    [
        ("sh", "export CUPOLA_DRIVER=cpu"),
        ("fish", "set -gx CUPOLA_DRIVER 'cpu';"),
        ("csh", "setenv CUPOLA_DRIVER cpu;"),
    ],
)
def test_each_shell_has_its_syntax(shell, form):
    command = [sys.executable, "-m", "cupola", "env", "--cpu", "--shell", shell]
    values = {name: value for name, value in os.environ.items() if name != "CUPOLA_DRIVER"}
    done = subprocess.run(command, env=values, capture_output=True, text=True, check=True)
    assert form in done.stdout.splitlines()
