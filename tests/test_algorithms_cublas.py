"""Products of matrices by cuBLAS: the arguments of its calls, by a library with its functions.

The library computes by cuBLAS' formulas in host memory, so it runs on the CPU device alone. On a
GPU with cuBLAS, test_algorithms_products.py multiplies by cuBLAS itself.
"""

import ctypes
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from test_algorithms_products import STACKS, check, layouts, numbers

import cupola
from cupola.arrays import cublas
from cupola.toolkit import libraries

pytestmark = pytest.mark.cpu_only(reason="the library reads host memory")
STUB = Path(__file__).with_name("cublas_stub.c")


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    path = tmp_path_factory.mktemp("cublas") / "libcublas.so.13"
    include = [f"-I{folder}" for folder in libraries.load("nvrtc").headers()]
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-Wall", "-Werror", *include]
    subprocess.run([*command, "-fsyntax-only", "-DCONSTANTS", STUB], check=True)
    subprocess.run([*command, "-o", path, STUB], check=True)
    return libraries.Library(str(path), "the test", ctypes.CDLL(str(path)))


class Waiting:
    """A lock for a library that computes at once, not in the order of a stream."""

    def __enter__(self):
        cupola.Stream.current().synchronize()

    def __exit__(self, *exception):
        pass


@pytest.fixture
def library(stub, driver, monkeypatch):
    made = cublas.Cublas(stub)
    made.lock = Waiting()
    monkeypatch.setattr(cublas, "_installed", lambda: made)
    monkeypatch.setattr(cublas, "is_cpu", lambda device: False)
    monkeypatch.setattr(cublas, "LEAST_WORK", 0)
    return stub.library


def calls(library):
    return ctypes.c_longlong.in_dll(library, "calls").value


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_each_type_and_layout(library, dtype):
    a, b = numbers((7, 5), dtype, 1), numbers((5, 9), dtype, 2)
    before = calls(library)
    for first in ("plain", "transposed", "part", "apart"):
        for second in ("plain", "transposed", "part", "apart"):
            check(layouts(a, first) @ layouts(b, second), a, b)
    assert calls(library) == before + 16


@pytest.mark.parametrize(("first", "second"), STACKS)
def test_stacks(library, first, second):
    a, b = numbers(first, "f4", 3), numbers(second, "f4", 4)
    before = calls(library)
    check(cupola.to_device(a) @ cupola.to_device(b), a, b)
    check(layouts(a, "transposed") @ layouts(b, "part"), a, b)
    empty = 0 in (*first, *second)
    assert calls(library) == before + (0 if empty else 2)


@pytest.mark.parametrize(
    "shape", [(1, 5, 4), (4, 1, 5), (4, 5, 1), (1, 1, 4), (1, 4, 1), (1, 1, 1)]
)
def test_axes_of_one_element(library, shape):
    rows, inner, columns = shape
    a, b = numbers((rows, inner), "f8", 5), numbers((inner, columns), "f8", 6)
    for first in ("plain", "transposed", "part", "backwards"):
        for second in ("plain", "transposed", "part"):
            check(layouts(a, first) @ layouts(b, second), a, b)


def test_the_stream_and_the_handle(library):
    x = cupola.ones((3, 3))
    stream = cupola.Stream(non_blocking=True)
    library.last_stream.restype = ctypes.c_void_p
    before = library.handles()
    with stream:
        x @ x
    assert library.last_stream() == stream.handle
    x @ x
    assert library.last_stream() == (cupola.Stream.current().handle or None)
    assert library.handles() == before + 1


def test_repeated_products_have_their_own_operands(library):
    before = calls(library)
    stream = cupola.Stream(non_blocking=True)
    for seed in range(4):
        for dtype in ("f4", "f8", "c8"):
            a, b = numbers((2, 6, 4), dtype, seed), numbers((4, 6), dtype, seed + 9)
            for first in ("plain", "transposed", "apart"):
                check(layouts(a, first) @ cupola.to_device(b), a, b)
                check(cupola.dot(layouts(a[0], first), cupola.to_device(b)), a[0], b)
            check(cupola.to_device(a) @ cupola.to_device(b.astype("c16")), a, b.astype("c16"))
    assert calls(library) == before + 4 * 3 * 7
    x, y = cupola.to_device(a), cupola.to_device(b)
    cupola.Device().synchronize()
    with stream:
        got = x @ y
    library.last_stream.restype = ctypes.c_void_p
    assert library.last_stream() == stream.handle
    stream.synchronize()
    check(got, a, b)
    with stream, stream.capture() as graph:
        got = x @ y
    graph.instantiate().launch(stream)
    stream.synchronize()
    check(got, a, b)
    assert calls(library) == before + 4 * 3 * 7 + 1


def test_a_repeated_product_runs_no_code_of_the_function(library, monkeypatch):
    a, b = numbers((6, 4), "f4", 1), numbers((4, 5), "f4", 2)
    x, y = cupola.to_device(a), cupola.to_device(b)
    for _ in range(2):
        check(x @ y, a, b)
        check(cupola.matmul(x, y), a, b)
        check(cupola.dot(x, y), a, b)
    monkeypatch.setattr(cublas, "usable", None)
    before = calls(library)
    check(x @ cupola.to_device(2 * b), a, 2 * b)
    check(cupola.matmul(cupola.to_device(3 * a), y), 3 * a, b)
    check(cupola.dot(x, y), a, b)
    assert calls(library) == before + 3


def test_own_kernels_do_the_rest(library):
    """Integers, overlapping rows, rows in backward order, sums of nothing, and captures."""
    before = calls(library)
    a, b = numbers((4, 5), "i4", 7), numbers((5, 6), "i4", 8)
    check(cupola.to_device(a) @ cupola.to_device(b), a, b)
    a, b = numbers((4, 5), "f4", 7), numbers((5, 6), "f4", 8)
    check(layouts(a, "backwards") @ cupola.to_device(b), a, b)
    stream = cupola.Stream(non_blocking=True)
    x, y, out = cupola.to_device(a), cupola.to_device(b), cupola.zeros((4, 6), np.float32)
    with stream, stream.capture() as graph:
        cupola.matmul(x, y, out=out)
    cupola.Device().synchronize()  # the stream does not wait for the arrays' own
    graph.instantiate().launch(stream)
    stream.synchronize()
    check(out, a, b)
    assert calls(library) == before


def test_a_failed_call_says_so(library, monkeypatch):
    monkeypatch.setattr(cublas, "_DEFAULT", 99)
    with pytest.raises(cupola.DriverError, match="GemmStridedBatchedEx failed with the status 7"):
        cupola.ones((2, 2)) @ cupola.ones((2, 2))


def test_the_paths_name_cublas(driver):
    assert "cuBLAS, for products of matrices on a GPU: " in cupola.paths.report()


def test_the_cpu_device_has_its_own_kernels(driver):
    assert cublas.usable(cupola.Device().index) is None
