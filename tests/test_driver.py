"""Which driver is taken, and what is said about it: each in a process of its own."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

from cupola import paths

INFO = "import cupola; i = cupola.driver.info(); print(i.kind, i.path, i.reason, sep='|')"


def run(code, cwd=None, **variables):
    """The finished process of a Python program with only the given CUPOLA_ variables."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CUPOLA_")}
    environment.update({k: str(v) for k, v in variables.items()})
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(
        command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=120
    )


def good(code, **variables):
    answer = run(code, **variables)
    assert answer.returncode == 0, answer.stderr
    return answer


def compile_library(folder, name, source, *flags):
    folder.mkdir(exist_ok=True)
    (folder / "source.c").write_text(source)
    compiler = os.environ.get("CC", "cc")
    command = [compiler, "-shared", "-fPIC", f"-Wl,-soname,{name}", *flags]
    subprocess.run([*command, folder / "source.c", "-o", folder / name], check=True)
    return folder / name


STUB = """
int cuInit(unsigned flags) { return 34; }
int cuGetProcAddress_v2(const char* n, void** p, int v, unsigned long f, void* s) { return 34; }
"""
# Answers for every symbol with one function: what a driver without a device says.
NO_DEVICE = """
#include <string.h>
static int version(int* v) { *v = 13000; return 0; }
static int count(int* n) { *n = 0; return 0; }
static int any() { return 100; }
static int name(int c, const char** t) { *t = c == 100 ? "CUDA_ERROR_NO_DEVICE" : 0; return 0; }
int cuInit(unsigned flags) { return 100; }
int cuGetProcAddress_v2(const char* n, void** p, int v, unsigned long long f, void* s) {
    *p = !strcmp(n, "cuDriverGetVersion") ? (void*)version
       : !strcmp(n, "cuDeviceGetCount") ? (void*)count
       : !strcmp(n, "cuGetErrorName") ? (void*)name : (void*)any;
    return 0;
}
"""
# Replacements of drivers that a test machine lacks: a toolkit's stub, a driver without a device, an
# old one, another library. A test below uses the real stub where there is a toolkit.
OLD = "int cuInit(unsigned flags) { return 0; }"
OTHER = "int something(void) { return 0; }"


@pytest.mark.cpu_only("the variables are of the CPU device")
@pytest.mark.parametrize("choice", ["", "cpu"])
@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("CUPOLA_CPU_DEVICES", "two", "a whole number from 1 to 64"),
        ("CUPOLA_CPU_THREADS", "0", "a whole number from 1 to 1024"),
        ("CUPOLA_CPU_MODE", "fast", "interpret, ahead, quick, compile or auto"),
        ("CUPOLA_CPU_COMPUTE_CAPABILITY", "9.9", "one of 5.0 "),
        ("CUPOLA_CPU_LEVEL", "x86-64-v1", "and the processor runs: "),
        ("CUPOLA_CPU_CHECK", "rase", "memory, race, init, sync"),
        ("CUPOLA_CPU_SEED", "x", "a whole number from 0"),
        ("CUPOLA_CPU_FMA", "2", "a whole number from 0 to 1"),
        ("CUPOLA_CPU_TIMEOUT", "soon", "a number of seconds"),
        ("CUPOLA_CPU_COVERAGE", "/no/such/file", ""),
        ("CUPOLA_CPU_DEBUG", "/no/such/socket", ""),
    ],
)
def test_the_error_names_an_invalid_variable(choice, name, value, expected):
    code = """
    import cupola
    for _ in range(2):
        try:
            cupola.zeros(1)
        except cupola.DriverError as error:
            print(repr(str(error)))
    """
    told = good(textwrap.dedent(code), CUPOLA_DRIVER=choice, **{name: value}).stdout
    assert len(told.splitlines()) == 2
    for line in told.splitlines():
        assert name in line and value in line and expected in line, told


def test_cpu_is_taken_when_asked_for():
    kind, path, reason = good(INFO, CUPOLA_DRIVER="cpu").stdout.strip().split("|")
    assert kind == "cpu"
    assert path == paths.cpu_driver()
    assert reason == "CUPOLA_DRIVER=cpu asks for it"


def test_a_path_is_taken():
    kind, path, reason = good(INFO, CUPOLA_DRIVER=paths.cpu_driver()).stdout.strip().split("|")
    assert (kind, path, reason) == ("cpu", paths.cpu_driver(), "CUPOLA_DRIVER names this file")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (STUB, "it is a toolkit's stub"),
        (NO_DEVICE, "cuInit answered CUDA_ERROR_NO_DEVICE"),
        (OLD, "it has no cuGetProcAddress"),
        (OTHER, "it is not a CUDA driver library"),
    ],
    ids=["stub", "no device", "old", "other"],
)
def test_an_unusable_driver(tmp_path, source, why):
    compile_library(tmp_path, "libcuda.so.1", source)
    answer = good(INFO, LD_LIBRARY_PATH=tmp_path, CUPOLA_DRIVER="auto")
    assert answer.stdout.startswith("cpu|")
    assert answer.stderr.count("RuntimeWarning") == 1
    assert why in answer.stderr and str(tmp_path) in answer.stderr
    # asked for, it is an error, which says what was tried
    answer = run(INFO, LD_LIBRARY_PATH=tmp_path, CUPOLA_DRIVER="cuda")
    assert answer.returncode == 1
    assert "DriverError: CUPOLA_DRIVER=cuda, and NVIDIA's driver is not usable" in answer.stderr
    assert "(CUPOLA_DRIVER=auto or cpu computes without it)" in answer.stderr
    assert f"libcuda.so.1 -> {tmp_path}/libcuda.so.1: passed over: {why}" in answer.stderr
    # by its path, likewise
    answer = run(INFO, CUPOLA_DRIVER=tmp_path / "libcuda.so.1")
    assert answer.returncode == 1 and why in answer.stderr


def test_the_toolkits_own_stub(tmp_path):
    from cupola.build import toolkit

    found = toolkit.find()
    stubs = list(found.nvcc.resolve().parents[1].rglob("stubs/libcuda.so"))
    if not stubs:
        pytest.skip("this toolkit comes without its stub libraries")
    shutil.copy(stubs[0], tmp_path / "libcuda.so.1")
    answer = good(INFO, LD_LIBRARY_PATH=tmp_path, CUPOLA_DRIVER="auto")
    assert answer.stdout.startswith("cpu|") and "it is a toolkit's stub" in answer.stderr


def test_no_nvidia_driver_is_no_warning(tmp_path):
    if (
        subprocess.run(
            [sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"],
            capture_output=True,
        ).returncode
        == 0
    ):
        pytest.skip("this machine has NVIDIA's driver library")
    answer = good(INFO)
    assert answer.stdout.strip().endswith("|this machine has no NVIDIA driver")
    assert answer.stderr == ""


def test_cuda_does_not_take_the_cpu_device_for_nvidias():
    folder = os.path.dirname(paths.cpu_driver())
    answer = run(INFO, LD_LIBRARY_PATH=folder, CUPOLA_DRIVER="cuda")
    assert answer.returncode == 1
    assert "it is cupola's CPU device, which the loader's path leads to" in answer.stderr
    answer = good(INFO, LD_LIBRARY_PATH=folder, CUPOLA_DRIVER="auto")
    assert answer.stdout.startswith("cpu|") and answer.stderr == ""


def test_the_current_folder_is_not_searched(tmp_path):
    marker = tmp_path / "loaded"
    source = f"""
    #include <stdio.h>
    __attribute__((constructor)) static void f(void) {{ fclose(fopen("{marker}", "w")); }}
    """
    for name in ("libcuda.so.1", "libcuda.so", "libcupola.so"):
        compile_library(tmp_path, name, source)
    answer = run(INFO, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert not marker.exists()


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ("gpu", "CUPOLA_DRIVER=gpu is none of auto, cuda, cpu or a path"),
        ("/nowhere/libcuda.so.1", "CUPOLA_DRIVER=/nowhere/libcuda.so.1 cannot be used"),
    ],
)
def test_a_wrong_choice_is_an_error(choice, text):
    answer = run(INFO, CUPOLA_DRIVER=choice)
    assert answer.returncode == 1
    assert "cupola.DriverError" in answer.stderr and text in answer.stderr


def test_a_failed_choice_can_be_corrected():
    code = """
    import os, cupola
    try:
        cupola.driver.info()
    except cupola.DriverError:
        os.environ["CUPOLA_DRIVER"] = "cpu"
    print(cupola.driver.info().kind)
    """
    assert good(code, CUPOLA_DRIVER="gpu").stdout.strip() == "cpu"


def test_import_initialises_no_driver():
    code = """
    import sys, cupola
    maps = open("/proc/self/maps").read()
    assert "libcupola.so" in maps
    assert "libcuda.so" not in maps
    """
    good(code, CUPOLA_DRIVER="auto")
    good(code, CUPOLA_DRIVER="cuda")  # would fail if it were looked for


def test_select_comes_before_the_environment(tmp_path):
    answer = good(
        "import cupola; cupola.driver.select('cpu'); i = cupola.driver.info(); print(i.kind)",
        CUPOLA_DRIVER=tmp_path / "nothing.so",
    )
    assert answer.stdout == "cpu\n"
    refused = run(
        f"import cupola; cupola.driver.select({str(tmp_path / 'no.so')!r}); {INFO}",
        CUPOLA_DRIVER="cpu",
    )
    assert refused.returncode == 1 and f"{tmp_path / 'no.so'}" in refused.stderr


def test_select_is_refused_once_a_driver_is_loaded():
    code = """
import cupola
before = cupola.driver.info().path
try:
    cupola.driver.select("cuda")
except cupola.Error as error:
    print(error)
assert cupola.driver.info().path == before
"""
    assert "loaded" in good(code, CUPOLA_DRIVER="cpu").stdout


def test_report_names_each_place():
    code = "import cupola; cupola.driver.info(); print(cupola.paths.report())"
    text = good(code, CUPOLA_DRIVER="auto").stdout
    assert paths.library() in text
    assert (
        "driver: auto (CUPOLA_DRIVER is set" in text
        and "libcuda.so.1" in text
        and ": taken (" in text
    )


def test_two_devices():
    code = "import cupola; print(len(cupola.devices()), cupola.Device(1).name)"
    assert good(code, CUPOLA_DRIVER="cpu", CUPOLA_CPU_DEVICES=2).stdout.startswith("2 ")
    answer = run("import cupola; cupola.Device(7).name", CUPOLA_DRIVER="cpu")
    assert answer.returncode == 1 and "there is no device 7" in answer.stderr
    assert "with CUPOLA_CPU_DEVICES=8 in the environment there are 8" in answer.stderr
    answer = run("import cupola; cupola.Device(70).name", CUPOLA_DRIVER="cpu")
    assert "there is no device 70" in answer.stderr and "DEVICES" not in answer.stderr


def test_malformed_variables_of_the_cpu_device_are_refused():
    answer = run(INFO, CUPOLA_DRIVER="cpu", CUPOLA_CPU_THREADS="many")
    assert answer.returncode == 1
    assert "CUPOLA_CPU_THREADS" in answer.stderr and "DriverError" in answer.stderr


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("CUPOLA_STAGING_BYTES", value, "a number of bytes, as in 1000000, 64K, 512MiB or 2G")
        for value in ("abc", "4MB", "-1", "1.5M", " 1", "0x10", "1MiBs", "9" * 20, "9" * 19 + "K")
    ]
    + [
        ("CUPOLA_STAGING_THREADS", value, "a whole number from 1 to 16")
        for value in ("two", "0", "17", "3x", "+3", "4294967297")
    ]
    + [
        ("CUPOLA_CPU_THREADS", value, "a whole number from 1 to 1024")
        for value in ("many", "0", "1025", "4 ", "4294967297")
    ]
    + [
        ("CUPOLA_CPU_TIMEOUT", value, "a number of seconds, 0 or more")
        for value in ("soon", "-1", "inf", "1s", " 1", "1,5")
    ],
)
def test_numbers_that_are_none_are_refused(name, value, expected):
    answer = run(INFO, CUPOLA_DRIVER="cpu", **{name: value})
    assert answer.returncode == 1
    assert f'{name} is "{value}"; expected {expected}' in answer.stderr
