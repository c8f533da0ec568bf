# tests/build/test_ahead.py - machine code for the CPU device, made when a package is built.
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from project import Project

from cupola.build import BuildError, ahead, processors
from cupola.build.architectures import hosts

pytestmark = pytest.mark.campaign("builds of packages with machine code for the CPU device")

FIRST = """
__constant__ float table[4] = {1, 2, 3, 4};
extern "C" __global__ void wander(float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i, y = 0;
    for (int k = 0; k < i % 37; ++k) {
        y += sqrtf(x * x + 1) * table[k & 3];
        x = x * 0.75f + y;
    }
    if (i < n) out[i] = x / (1 + y * y);
}
"""
SECOND = 'extern "C" __global__ void alone(int* x) { *x = 1; }\n'
USE = """
import ctypes, hashlib, json, warnings
import numpy as np, cupola
from slope import kernels

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    kernel = kernels.wander
out = cupola.zeros(1000, np.float32)
kernel[8, 128](out, 1000)
execution = ctypes.CDLL(cupola.driver.info().path).cupola_cpu_execution
execution.restype = ctypes.c_char_p
print(json.dumps([hashlib.sha256(out.get().tobytes()).hexdigest(),
                  execution(ctypes.c_void_p(kernel.handle)).decode(),
                  [str(one.message) for one in caught]]))
"""
LEVELS = processors.levels("all")
OWN = processors.levels("native")
# Instruction set levels that this machine runs: its own and lower levels.
RUNS = LEVELS[: LEVELS.index(OWN[0]) + 1]


def make(folder, **environment):
    folder.mkdir(exist_ok=True)
    project = Project(folder)
    project.environment |= environment
    project.write("csrc/first.cu", FIRST)
    project.write("csrc/second.cu", SECOND)
    return project


# After 2 ms of interpretation the default mode looks for a compiler and reports that there is none.
AHEAD = {"CUPOLA_CPU_MODE": "ahead"}


def use(project, **environment):
    """Bits, how the kernel ran, warnings; where there is no compiler."""
    before = dict(project.environment)
    for name in ("CXX", "CUPOLA_CPU_MODE", "CUPOLA_CPU_CHECK"):
        project.environment.pop(name, None)
    project.environment |= {"PATH": "/nowhere", **environment}
    try:
        return json.loads(project.python("-c", USE).splitlines()[-1])
    finally:
        project.environment = before


def library(project, level):
    return project.built() / f"kernels.{level}.so"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    project = make(tmp_path_factory.mktemp("ahead"), CUPOLA_ARCHITECTURES="cpu")
    project.setup("build_kernels", "--inplace")
    return project


@pytest.fixture
def project(built, tmp_path):
    """A copy of the project as it was built."""
    copied = make(tmp_path / "copy")
    shutil.copytree(built.built(), copied.built(), dirs_exist_ok=True)
    return copied


@pytest.fixture(scope="module")
def interpreted(built):
    bits, how, warned = use(built, CUPOLA_CPU_MODE="interpret")
    assert how == "interpreted" and not warned
    return bits


def test_each_level_is_there_and_gives_the_interpreters_bits(built, project, interpreted):
    assert {file.name for file in built.built().glob("*.so")} == {
        f"kernels.{level}.so" for level in LEVELS
    }
    for level in RUNS:
        for other in LEVELS:
            library(project, other).unlink(missing_ok=True)
        shutil.copy2(library(built, level), library(project, level))
        assert use(project) == [interpreted, "compiled", []], level
        assert use(project, CUPOLA_CPU_MODE="auto") == [interpreted, "compiled", []], level


@pytest.mark.skipif(len(LEVELS) < 2, reason="one level alone")
def test_the_best_level_is_taken_and_no_newer(built, project):
    # A level's library that is in a better one's place has another key.
    shutil.copy2(library(built, LEVELS[0]), library(project, OWN[0]))
    expected = "compiled" if OWN[0] == LEVELS[0] else "interpreted"
    assert use(project, **AHEAD)[1] == expected
    shutil.copy2(library(built, OWN[0]), library(project, OWN[0]))
    for level in LEVELS:
        if level not in OWN:
            library(project, level).write_bytes(b"no library")
    assert use(project)[1:] == ["compiled", []]


def test_code_of_another_source_is_not_run(built, project):
    project.write("csrc/first.cu", FIRST.replace("0.75f", "0.5f"))
    project.setup("build_kernels", "--inplace")
    now = use(project)
    assert now[1] == "compiled"  # the rebuild is for this machine's level
    shutil.copy2(library(built, OWN[0]), library(project, OWN[0]))
    assert use(project, **AHEAD) == [now[0], "interpreted", []]


def test_code_of_other_semantics_is_not_run(project, interpreted):
    # The key is a hash of them, too: others have another key.
    found = library(project, OWN[0])
    text = found.read_bytes()
    changed = re.sub(rb"\b[0-9a-f]{64}\0", lambda key: key[0][::-1][1:] + b"\0", text)
    assert changed != text
    found.write_bytes(changed)
    assert use(project, **AHEAD) == [interpreted, "interpreted", []]


@pytest.mark.parametrize("open_to", ["file", "folder"])
def test_code_that_others_could_write_is_not_loaded(project, interpreted, open_to):
    found = library(project, OWN[0])
    (found if open_to == "file" else found.parent).chmod(0o777)
    bits, how, (warned,) = use(project, **AHEAD)
    assert (bits, how) == (interpreted, "interpreted")
    written = f"write {found}" if open_to == "file" else f"files in {found.parent}"
    assert f"{found} is not loaded: other" in warned and written in warned


def test_what_is_no_library_is_told_of(project, interpreted):
    library(project, OWN[0]).write_bytes(b"no library")
    bits, how, (warned,) = use(project, **AHEAD)
    assert (bits, how) == (interpreted, "interpreted") and "is not loaded" in warned


@pytest.mark.parametrize("named", ["environment", "table"])
def test_a_list_without_cpu_makes_none(tmp_path, named):
    project = make(tmp_path)
    if named == "environment":
        project.environment["CUPOLA_ARCHITECTURES"] = "75"
    else:
        file = project.folder / "pyproject.toml"
        project.write("pyproject.toml", file.read_text() + 'architectures = ["75"]\n')
    project.setup("build_kernels", "--inplace")
    assert not list(project.built().glob("*.so"))


def test_a_wheel_has_every_level(tmp_path):
    project = make(tmp_path, CUPOLA_ARCHITECTURES="75,cpu")
    project.setup("bdist_wheel")
    (wheel,) = (project.folder / "dist").glob("*.whl")
    assert wheel.name.endswith("none-any.whl")  # other hosts ignore the code
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"slope/kernels.{level}.so" for level in LEVELS} <= set(names)


def test_what_takes_a_compiler_long_is_left_out_and_said(tmp_path):
    project = make(tmp_path, CUPOLA_ARCHITECTURES="cpu")
    steps = "".join(f"x = x / (x * x + {n + 2});\n" for n in range(3000))
    project.write("csrc/first.cu", FIRST.replace("x = x * 0.75f + y;", steps))
    output = project.setup("build_kernels", "--inplace")
    assert "not ahead of time for the CPU device: wander: it " in output
    assert use(project, CUPOLA_CPU_MODE="ahead")[1] == "interpreted"


SHIPPED = """
import ctypes, hashlib, json, cupola
picture = cupola.mandelbrot(512, iterations=100)
device = cupola.driver.info().path
library = ctypes.CDLL(device)
library.cupola_cpu_execution.restype = library.cupola_cpu_add_ahead.restype = ctypes.c_char_p
kernel = cupola.shipped_kernels()["mandelbrot_ker"]
print(json.dumps([hashlib.sha256(picture.tobytes()).hexdigest(),
                  library.cupola_cpu_execution(ctypes.c_void_p(kernel.handle)).decode(),
                  library.cupola_cpu_add_ahead(device.replace("libcuda.so.1", "kernels").encode())
                  .decode()]))
"""


def test_shipped_kernels_are_machine_code_from_the_start():
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CUPOLA_CPU_")}
    environment |= {"CUPOLA_DRIVER": "cpu", "PATH": "/nowhere"}

    def run(**more):
        command = [sys.executable, "-c", SHIPPED]
        done = subprocess.run(
            command, env=environment | more, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    bits, how, objection = run()
    assert (how, objection) == ("compiled", "")
    assert run(CUPOLA_CPU_MODE="interpret") == [bits, "interpreted", ""]


def test_hosts():
    assert hosts({}) == "native" and hosts({}, otherwise="all") == "all"
    assert hosts({}, otherwise="80,90") == "" and hosts({}, otherwise="80,cpu") == "cpu"
    assert hosts({"CUPOLA_ARCHITECTURES": "90"}, otherwise="all") == ""
    assert hosts({"CUPOLA_ARCHITECTURES": "cpu, 90"}) == "cpu"
    assert processors.levels("") == () and len(processors.levels("native")) == 1
    assert set(processors.levels("native")) <= set(processors.levels("all"))
    if platform.machine() == "x86_64":
        assert processors.levels("all") == ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def test_without_a_compiler(monkeypatch):
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.delenv("CXX", raising=False)
    assert not ahead.possible()
    with pytest.raises(BuildError, match="no C"):
        ahead.possible(asked=True)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BuildError, match="no-such-compiler"):
        ahead.possible()
