"""The C ABI by itself: from a C program, from C++ through the inline headers, and from ctypes."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cupola
from cupola import paths

HERE = Path(__file__).parent
CC = os.environ.get("CC", "cc")
CXX = os.environ.get("CXX", "c++")


def compiled(tmp_path, source, *flags):
    program = tmp_path / "program"
    command = [*flags, f"-I{paths.include()}", str(source), "-o", str(program), "-ldl"]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return program


def test_c_program_by_dlopen(tmp_path, driver):
    program = compiled(tmp_path, HERE / "capi.c", CC, "-std=gnu11", "-Wall", "-Wextra", "-Werror")
    answer = subprocess.run(
        [program, paths.library(), HERE / "scale.ptx"], capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert lines[0] == "1"
    assert lines[1].split() == ["12", "24", "36", "48", "60"]
    # rows: imaginary part 2, 0, -2; columns: real part -2, 0, 2
    assert lines[2].split() == ["0", "0", "0", "1", "1", "0", "0", "0", "0"]
    assert lines[3].split() == ["2", "3", "0", "5", "6", "0", "8", "9", "0"]
    assert lines[4].startswith("3 3 convolve: the filter is 2 x 3; its sizes must be odd")
    assert lines[5].split() == ["1.5", "3", "4.5", "6"]
    assert lines[6].startswith("3 scale: argument 2: expected a 32-bit integer, got the integer 10")
    assert lines[7].startswith("3 scale: block (0, 1, 1) has a zero dimension")


HEADERS = sorted((HERE.parent / "csrc/include/cupola").glob("*.h*"))


@pytest.mark.parametrize(
    "standard, header",
    [
        (standard, header)
        for standard in ("c99", "c++17", "c++20")
        for header in HEADERS
        if standard != "c99" or header.suffix == ".h"
    ],
)
def test_each_header_compiles_alone(tmp_path, header, standard):
    installed = Path(paths.include()) / "cupola" / header.name
    assert installed.read_bytes() == header.read_bytes()
    compiler = CC if standard == "c99" else CXX
    source = tmp_path / ("alone.c" if standard == "c99" else "alone.cpp")
    source.write_text(f'#include "cupola/{header.name}"\n')
    flags = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
    command = [compiler, f"-std={standard}", *flags, f"-I{paths.include()}", str(source)]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr


CPP = r"""
#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>
#include "cupola/kernel.hpp"

int main(int, char** argv) {
    std::stringstream text;
    text << std::ifstream(argv[1]).rdbuf();
    float values[4] = {1, 2, 3, 4};
    cupola::stream stream;
    cupola::kernel kernel = [&] { return cupola::kernel(cupola::module(text.str()), "scale"); }();
    cupola::memory memory(sizeof values, stream.get());
    memory.set(values, sizeof values, stream.get());
    cupola::event start, stop;
    start.record(stream.get());
    kernel.launch({{1, 1, 1}, {4, 1, 1}, 0}, stream.get(), memory, 2.0, 4);
    stop.record(stream.get());
    memory.get(values, sizeof values, stream.get());
    cupola::memory moved = std::move(memory), copied = moved;
    stream.synchronize();
    std::printf("%g %g %g %g %d\n", values[0], values[1], values[2], values[3],
                stop.elapsed_since(start) >= 0);
    try {
        cupola::kernel missing(cupola::module::shipped(), "saxpi");
    } catch (const cupola::error& error) {
        std::printf("%d %s\n", error.status() == CUPOLA_ERROR_NOT_FOUND, error.what());
    }
    try {
        kernel.launch({{1, 1, 1}, {4, 1, 1}, 0}, stream.get(), copied, 2.0);
    } catch (const cupola::error& error) {
        std::printf("%s\n", error.what());
    }
}
"""


def test_cpp_program_by_inline_headers(tmp_path, driver):
    source = tmp_path / "program.cpp"
    source.write_text(CPP)
    library = Path(paths.library())
    link = [f"-L{library.parent}", "-lcupola", f"-Wl,-rpath,{library.parent}"]
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{paths.include()}"]
    program = tmp_path / "program"
    command = [CXX, *flags, str(source), "-o", str(program), *link]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    answer = subprocess.run([program, HERE / "scale.ptx"], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    first, second, third = answer.stdout.splitlines()
    assert first == "2 4 6 8 1"
    assert second.startswith("1 the module has no kernel saxpi") and "saxpy" in second
    assert third.startswith("scale: takes 3 arguments (0: a pointer") and third.endswith("got 2")


CTYPES = """
import ctypes, sys
import numpy as np
library = ctypes.CDLL(sys.argv[1])
pointer = np.ctypeslib.ndpointer(np.float32, flags="C_CONTIGUOUS")
library.cupola_saxpy.argtypes = [ctypes.c_float, pointer, pointer, pointer, ctypes.c_size_t]
x = np.arange(1000, dtype=np.float32)
out = np.empty_like(x)
assert library.cupola_saxpy(3.0, x, x, out, x.size) == 0
np.testing.assert_array_equal(out, 4 * x)
assert "cupola" not in sys.modules
library.cupola_last_error.restype = ctypes.c_char_p
assert library.cupola_hello(0, 1) == 3
print(library.cupola_last_error().decode())
"""


def test_ctypes_without_the_package(driver):
    answer = subprocess.run(
        [sys.executable, "-c", CTYPES, paths.library()], capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("hello: grid (0, 1, 1) has a zero dimension")


def test_hello_prints_once_a_thread(driver):
    program = f"import ctypes; assert ctypes.CDLL({paths.library()!r}).cupola_hello(2, 3) == 0"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "Hello World From GPU!\n" * 6


def test_null_pointers_are_errors(driver):
    library = ctypes.CDLL(paths.library())
    library.cupola_last_error.restype = ctypes.c_char_p
    assert library.cupola_saxpy(ctypes.c_float(1), None, None, None, ctypes.c_size_t(4)) == 3
    assert library.cupola_last_error() == b"x is NULL"
    assert library.cupola_module_load(0, None, ctypes.c_size_t(0), None) == 3
    out = ctypes.c_void_p()
    assert library.cupola_module_load(0, b"", ctypes.c_size_t(0), ctypes.byref(out)) == 5
    assert library.cupola_last_error() == b"the image is empty"


def test_a_graph_knows_its_device(driver):
    library = ctypes.CDLL(paths.library())
    for device in cupola.devices():
        graph = ctypes.c_void_p()
        assert library.cupola_graph_create(device.index, ctypes.byref(graph)) == 0
        assert library.cupola_graph_device(graph) == device.index
        library.cupola_graph_release(graph)
    assert library.cupola_graph_device(None) == -1


def test_saxpy_of_any_alignment(driver):
    library = ctypes.CDLL(paths.library())
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 4, 5, 31, 1000, 4099):
        x, y = rng.standard_normal((2, n)).astype(np.float32)
        out = np.empty_like(x)
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, y, out)]
        assert library.cupola_saxpy(ctypes.c_float(0.3), *pointers, ctypes.c_size_t(n)) == 0
        np.testing.assert_array_equal(out, np.float32(0.3) * x + y)
