# tests/test_host_code.py - sources with host code and host headers, which nvcc compiles.
"""The compiler is chosen by what a source needs."""

import os
from inspect import signature
from types import SimpleNamespace

import images
import numpy as np
import pytest
from working import refused

import cupola
from cupola.compiler import front_end, options
from cupola.toolkit import libraries, nvcc
from cupola.toolkit.nvrtc import Nvrtc, nvrtc
from cupola.toolkit.program import Compiler, Program

PROGRAM = """
#include <cstdio>
#include <vector>
#include "factor.h"
template <class T> __global__ void axpy(T a, const T* x, T* y) {
    y[threadIdx.x] += FACTOR * a * x[threadIdx.x];
}
template <class T> __device__ T offset = 3;
extern "C" __global__ void fill(float* out, int n) { out[threadIdx.x] = n + offset<int>; }
int main() {
    std::vector<double> y(4);
    axpy<double><<<1, 4>>>(1., y.data(), y.data());
    printf("%g\\n", y[0]);
}
"""


@pytest.fixture
def compiler():
    images.nvcc()
    found, _ = nvcc.find(nvrtc().found)
    return found


def run(module):
    x, y = cupola.array(np.arange(4.0)), cupola.array(np.ones(4))
    module["axpy<double>"][1, 4](2.0, x, y)
    out = cupola.zeros(4, np.float32)
    module["fill"][1, 4](out, 5)
    return y.get().tolist(), out.get().tolist()


def test_a_program(driver, compiler):
    module = cupola.compile(
        PROGRAM,
        headers={"factor.h": "#define FACTOR 2\n"},
        name_expressions=["axpy<float>", "&offset<int>"],
    )
    assert run(module) == ([1, 5, 9, 13], [8, 8, 8, 8])
    assert "fill(float* out, int n)" in repr(module["fill"])
    assert "axpy<float>" in repr(module["axpy<float>"])
    assert module.globals["&offset<int>"].get() == np.int32(3).tobytes()
    assert "cupola_name" not in str(list(module.globals)) + str(list(module))


def test_a_file_and_its_folder(driver, compiler, tmp_path):
    (tmp_path / "factor.h").write_text("#define FACTOR 2\n")
    path = tmp_path / "program.cu"
    path.write_text(PROGRAM)
    assert run(cupola.load(path)) == ([1, 5, 9, 13], [8, 8, 8, 8])
    (tmp_path / "factor.h").write_text("#define FACTOR 3\n")  # the cached image is another
    assert run(cupola.load(str(path)))[0] == [1, 7, 13, 19]


@pytest.mark.parametrize(
    "source",
    [
        "int helper(int x) { return x + 1; }",
        "#include <vector>\nstatic std::vector<int> kept;",
        "#include <algorithm>\n__device__ int larger(int a, int b) { return std::max(a, b); }",
        "__constant__ ulong mask = 5;",
        "template <class T> __global__ void k() {}\nvoid start() { k<int><<<1, 1>>>(); }",
    ],
    ids=lambda source: source.splitlines()[-1][:24],
)
def test_what_nvcc_takes_is_taken(driver, compiler, source):
    module = cupola.compile(f'{source}\nextern "C" __global__ void f(int* out) {{ *out = 7; }}')
    out = cupola.zeros((), np.int32)
    module["f"][1, 1](out)
    assert out.get() == 7


def test_one_of_several_sources(driver, compiler):
    called = "#include <vector>\n__device__ int twice(int x) { return 2 * x; }\nint main() {}"
    caller = "__device__ int twice(int); __global__ void f(int* out) { *out = twice(4); }"
    out = cupola.zeros((), np.int32)
    cupola.compile([caller, called])["f"][1, 1](out)
    assert out.get() == 8


def test_what_nvrtc_takes_is_not_given_to_nvcc(driver, monkeypatch):
    monkeypatch.setattr(nvcc.Nvcc, "compile", lambda *_: pytest.fail("nvcc has run"))
    source = '#include <cstdio>\n#include <cmath>\nextern "C" __global__ void f(int* out) {}'
    cupola.compile(source, cache=False)
    with refused(cupola.CompileError, saying=("kernel.cu(1): error", "NVRTC")):
        cupola.compile("__global__ void f() { int x = ; }", cache=False)
    with refused(cupola.CompileError, saying="nowhere"):
        cupola.compile(source, name_expressions=["nowhere<int>"], cache=False)


def test_errors_of_host_code(driver, compiler):
    with refused(cupola.CompileError, saying=("kernel.cu(2): error", "unknown_type", "nvcc")):
        cupola.compile("#include <vector>\nint main() { unknown_type x; }")
    with refused(cupola.CompileError, saying=("kernel.cu(1): catastrophic error", "none.h")):
        cupola.compile('#include "none.h"\n')


def test_without_nvcc(driver, monkeypatch, tmp_path):
    monkeypatch.setattr(nvcc, "_places", lambda _: [("CUDA_HOME", ""), ("PATH", "/none/nvcc")])
    saying = ("kernel.cu(", "needs nvcc", "CUDA_HOME: none", "no /none/nvcc", "CUDA_HOME", "g++")
    with refused(cupola.CompileError, saying=[*saying, "host code"]):
        cupola.compile("int main() { return 0; }")
    with refused(cupola.CompileError, saying=[*saying, "includes vector"]):
        cupola.compile("#include <vector>\n")
    with refused(cupola.CompileError, saying=["kernel.cu(1): error", "NVRTC"]) as caught:
        cupola.compile("__device__ int f() { return nothing; }")
    assert "needs nvcc" not in str(caught.value)


def test_machine_code_and_relocatable_code(compiler):
    newest = nvrtc().architectures[-1]
    made = compiler.compile(
        Program(
            "__global__ void f() {}\nint main() {}", "/dev/null/f.cu", "f.cu",
            [f"--gpu-architecture=sm_{newest}", "--relocatable-device-code=true"],
        )
    )  # fmt: skip
    assert made.cubin.startswith(b"\x7fELF") and b".visible .entry _Z1fv" in made.ptx


@pytest.mark.parametrize("one", [Nvrtc, nvcc.Nvcc, front_end.FrontEnd])
def test_compilers_take_one_request(one):
    assert signature(one.compile) == signature(Compiler.compile)
    assert isinstance(one.identity, property)


@pytest.mark.parametrize("more", ["", "\nint main() {}"], ids=["NVRTC", "nvcc"])
def test_lines(driver, compiler, more):
    source = 'extern "C" __global__ void f(int* out) { *out = 1; }' + more
    for word in ("-lineinfo", "--generate-line-info", "-G"):
        made = cupola.compile(source, options=[word], arch="compute_75", name="a.cu")
        assert b".loc" in made.image and b"a.cu" in made.image, word


@pytest.mark.parametrize(
    ("given", "of_nvrtc", "of_nvcc"),
    [
        (["-I", "a b"], ["-Ia b"], ["-I", "a b"]),
        (["-Xcompiler", "-fopenmp", "-DX=1"], ["-DX=1"], ["-Xcompiler", "-fopenmp", "-DX=1"]),
        (["--expt-relaxed-constexpr"], [], ["--expt-relaxed-constexpr"]),
        (["-lineinfo"], ["--generate-line-info"], ["-lineinfo"]),
        (["-G", "-w"], ["--device-debug", "--disable-warnings"], ["-G", "-w"]),
        (["-std=c++20"], ["--std=c++20"], ["-std=c++20"]),
        (["-std", "c++20"], ["--std=c++20"], ["-std", "c++20"]),
        (["--pre-include=a.h"], ["--pre-include=a.h"], ["-include", "a.h"]),
        (["-include", "a.h"], ["--pre-include=a.h"], ["-include", "a.h"]),
        (["-fdevice-syntax-only"], ["-fdevice-syntax-only"], []),
        (["-O3", "-g", "-lcuda", "-L", "lib", "-cubin", "-m64", "--no-such"], ["--no-such"],
         ["--no-such"]),
    ],
)  # fmt: skip
def test_options_of_both(given, of_nvrtc, of_nvcc):
    assert options.for_nvrtc(given) == of_nvrtc
    assert options.for_nvcc(given) == of_nvcc


def test_the_architecture_among_the_options(driver):
    for words in (
        ["-arch=compute_80"],
        ["-arch", "compute_80"],
        ["-gencode", "arch=compute_80,code=sm_80"],
        ["--generate-code=arch=compute_80,code=[compute_80]", "-arch=compute_80"],
    ):
        assert options.architecture([*words, "-DX"]) == ("compute_80", ["-DX"])
    for words, saying in (
        (["-arch=compute_80", "-arch=compute_90"], "one architecture"),
        (["-arch"], "needs a value"),
        (["-gencode=code=sm_80"], "arch=compute_90"),
    ):
        with refused(cupola.ArgumentError, saying=("options", saying)):
            cupola.compile("", options=words)


def test_the_need_for_nvcc():
    assert front_end._need("a.cu(1): error: expected a ;", "int x") == ("", False)
    assert front_end._need("nvrtc: error: unrecognized option -x", "<<<") == ("", False)
    assert front_end._need('error: cannot open source file "vector"', "")[1]
    assert not front_end._need('error: cannot open source file "mine.h"', "")[1]
    refused = "a.cu(1): error: A function explicitly marked as a __host__ function is not allowed"
    assert front_end._need(refused, "") == ("has host code", True)
    log = "/cuda/include/a.h(3): error: something\na.cu(1): error: another"
    assert front_end._need(log, "", ["/cuda/include"]) == (
        "includes /cuda/include/a.h, which NVRTC refuses",
        False,
    )
    assert front_end._need(log, "", ["/cuda/incl"]) == ("", False)


@pytest.mark.parametrize("name", ["seven.cu", "./seven.cu", "sub/../seven.cu"])
def test_a_file_of_the_current_folder_finds_its_header(tmp_path, monkeypatch, name):
    """nvcc runs in another folder."""
    images.nvcc()
    (tmp_path / "sub").mkdir()
    (tmp_path / "seven.h").write_text("#define SEVEN 7\n")
    source = '#include "seven.h"\n#include <vector>\n'
    source += 'extern "C" __global__ void f(int* out) { *out = SEVEN; }\n'
    (tmp_path / "seven.cu").write_text(source)
    monkeypatch.chdir(tmp_path)
    out = cupola.zeros((), np.int32)
    cupola.load(name)["f"][1, 1](out)
    assert out.get() == 7


@pytest.mark.parametrize(
    ("machine", "system"),
    [("x86_64", "x86_64-linux"), ("aarch64", "sbsa-linux"), ("aarch64", "aarch64-linux")],
)
def test_a_toolkit_has_a_folder_for_each_system(tmp_path, monkeypatch, machine, system):
    library = tmp_path / "targets" / system / "lib" / "libnvrtc.so.13"
    library.parent.mkdir(parents=True)
    library.write_text("no library")
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine=machine))
    found = libraries._in_toolkit("nvrtc", str(tmp_path), "CUDA_HOME")
    assert found.startswith(f"{library} can't be loaded")
