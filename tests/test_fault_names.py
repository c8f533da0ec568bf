"""Faults and findings name kernels as C++ does, and count launches that are alike."""

import os
import subprocess
import sys

import pytest

import cupola

SOURCE = """
namespace ns {
template <class T, int N, int M> __global__ void step(T* x, long long n) {
    x[threadIdx.x + n] = N + M;
}
}
"""
NAME = "ns::step<unsigned int, 16, 8>"
PROGRAM = f"""
import cupola
kernel = cupola.compile({SOURCE!r}, name_expressions=[{NAME!r}])[{NAME!r}]
x = cupola.zeros(32, "u4")
cupola.Stream().synchronize()
for _ in range(20):
    kernel[1, 32](x, 0)
kernel[1, 16](x, 0)
kernel[1, 32](x, 1 << 40)
kernel[1, 16](x, 0)
try:
    int(x[0])
except cupola.Error as error:
    print(error)
"""


@pytest.mark.cpu_only("the text of the fault is the CPU device's")
@pytest.mark.parametrize("check", ["", "memory"])
def test_one_report_with_the_name_and_the_counts(check):
    environment = {**os.environ, "CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_CHECK": check}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "_Z" not in done.stdout + done.stderr
    assert done.stdout.count(f"kernel {NAME}, block (0,0,0)") == 1
    assert done.stderr.count(f"kernel {NAME}, PTX line") == bool(check)
    listed = [line.strip() for line in done.stdout.splitlines() if ", grid " in line]
    assert listed == [
        f"{NAME}, grid (1, 1, 1), block (32, 1, 1), 21 times",
        f"{NAME}, grid (1, 1, 1), block (16, 1, 1), 2 times",
    ]


AFTER = (
    PROGRAM
    + """
first = error
for call in (x.get, lambda: kernel[1, 32](x, 0), lambda: x + 1, cupola.Stream, lambda: x.fill(3)):
    try:
        call()
    except cupola.DriverError as error:
        print("later:", error)
        assert error.log == str(first) and error.code == first.code, error.log
"""
)


def test_calls_after_a_fault_refer_to_its_report(driver):
    program = AFTER.replace("as error:\n    print(error)", "as caught:\n    error = caught")
    environment = {**os.environ, "CUPOLA_DRIVER": driver}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 5 and all(line.startswith("later: cu") for line in lines), done.stdout
    for line in lines:
        assert "(the context has ended: the error of cu" in line
        assert f" reported the fault, of kernel {NAME}; start a new process" in line


@pytest.mark.parametrize(
    "name",
    [
        NAME,
        "ns::step<unsigned int,16,8>",
        " ns::step< unsigned int , 16 , 8 >",
        "step",
        "void ns::step<unsigned int, 16, 8>(unsigned int*,long long)",
    ],
)
def test_spaces_do_not_matter(driver, name):
    module = cupola.compile(SOURCE, name_expressions=[NAME])
    assert module[name] is module[NAME]


@pytest.mark.parametrize(
    "name", ["ns::step<unsignedint,16,8>", "ns::step<unsigned int,168>", "st ep"]
)
def test_spaces_between_words_do(driver, name):
    module = cupola.compile(SOURCE, name_expressions=[NAME])
    with pytest.raises(cupola.UnknownNameError, match="step<unsigned int, 16, 8>"):
        module[name]


@pytest.mark.cpu_only("only the CPU device needs a C++ compiler")
def test_a_missing_compiler_is_named():
    program = (
        "import cupola\n"
        "module = cupola.compile('extern \"C\" __global__ void f(float* x) { *x = 1; }')\n"
        "try:\n    module['f']\n"
        "except cupola.ImageError as error:\n    print(error, error.log, sep='\\n--\\n')\n"
    )
    environment = {
        **os.environ,
        "CUPOLA_DRIVER": "cpu",
        "CUPOLA_CPU_MODE": "compile",
        "CXX": "nope",
    }
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    text, _, log = done.stdout.partition("--\n")
    wanted = "kernel f is not compiled: there is no C++ compiler CXX=nope"
    assert wanted in text and wanted in log, done.stderr
