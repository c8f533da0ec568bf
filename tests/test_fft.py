"""cupola.fft against NumPy.

On the CPU device a library with cuFFT's functions computes, by the formula of the transform in host
memory. On a GPU it is cuFFT itself, where it is installed.
"""

import ctypes
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from working import refused

import cupola
from cupola.fft import cufft
from cupola.toolkit import libraries

STUB = Path(__file__).with_name("cufft_stub.c")
TYPES = ["?", "i1", "u8", "f2", "f4", "f8", "c8", "c16"]
REALS = ["i4", "f2", "f4", "f8"]
quickly = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def formulas(tmp_path_factory):
    path = tmp_path_factory.mktemp("cufft") / "libcufft.so.12"
    include = [f"-I{folder}" for folder in libraries.load("nvrtc").headers()]
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-Wall", "-Werror", *include]
    subprocess.run([*command, "-fsyntax-only", "-DCONSTANTS", STUB], check=True)
    subprocess.run([*command, "-o", path, STUB, "-lm"], check=True)
    return Waiting(libraries.Library(str(path), "the test", ctypes.CDLL(str(path))))


class Waiting(cufft.Cufft):
    """The library computes at once, not in the order of a stream."""

    def call(self, name, *arguments):
        cupola.Stream.current().synchronize()
        super().call(name, *arguments)


@pytest.fixture
def library(request, driver, monkeypatch):
    if driver == "cuda":
        try:
            return cufft.library("fft.fft", cupola.Device().index)
        except cupola.MissingFileError:
            pytest.skip("cuFFT is not installed")
    made = request.getfixturevalue("formulas")
    monkeypatch.setattr(cufft, "_installed", lambda: made)
    monkeypatch.setattr(cufft, "is_cpu", lambda device: False)
    return made


def numbers(shape, dtype, seed=1):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "biu":
        return rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)
    made = rng.standard_normal(shape)
    return (made + 1j * rng.standard_normal(shape) if dtype.kind == "c" else made).astype(dtype)


def check(name, x, *arguments, **keywords):
    """Equal to NumPy's within the rounding of a transform, by NumPy's name and by cupola's."""
    expected = getattr(np.fft, name)(x, *arguments, **keywords)
    there = cupola.to_device(x)
    for module in (np.fft, cupola.fft):
        found = getattr(module, name)(there, *arguments, **keywords)
        assert type(found) is cupola.Array and found.flags.c_contiguous
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        # NumPy's factor for float16 is a float16.
        close(found.get(), expected, x.dtype if x.dtype == np.float16 else found.dtype)
    assert there.get().tobytes() == x.tobytes()


def close(found, expected, precision=None):
    eps = np.finfo(precision or found.dtype).eps
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    most = np.sqrt((abs(expected.astype(wide)) ** 2).sum()) if expected.size else 0
    assert abs(found.astype(wide) - expected).max(initial=0) <= 30 * eps * most


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "hfft", "fft2", "ifftn", "irfft2"])
def test_each_type(library, name, dtype):
    check(name, numbers((4, 5), dtype))


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", ["rfft", "ihfft", "rfft2", "rfftn"])
def test_each_real_type(library, name, dtype):
    check(name, numbers((3, 6), dtype))
    with refused(cupola.ArgumentTypeError, saying=("real numbers", "complex64")):
        getattr(cupola.fft, name)(cupola.zeros((2, 2), np.complex64))


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("n", [None, 1, 2, 5, 8])
def test_norms_axes_and_lengths(library, n, axis, norm):
    for name in ("fft", "ifft", "irfft", "hfft"):
        check(name, numbers((4, 3, 5), "c16"), n, axis, norm)
    for name in ("rfft", "ihfft"):
        check(name, numbers((4, 3, 5), "f4"), n, axis, norm)


shapes = st.lists(st.integers(1, 5), min_size=1, max_size=5)


@quickly
@given(shapes, st.data())
def test_several_axes(library, shape, data):
    axes = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, max_size=4))
    s = data.draw(st.one_of(st.none(), st.just(list(range(2, len(axes) + 2)))))
    norm = data.draw(st.sampled_from([None, "ortho", "forward"]))
    x = numbers(shape, "c16")
    check("fftn", x, s, axes, norm)
    check("ifftn", x, s, axes, norm)
    check("rfftn", x.real.copy(), s, axes, norm)
    whole = s or [max(shape[axis], 2) for axis in axes]
    check("irfftn", x, whole, axes, norm)


def test_all_axes_and_none(library):
    x = numbers((2, 3, 2, 2, 3), "c8")
    check("fftn", x)
    check("rfftn", x.real.copy())
    check("irfftn", x)
    check("fftn", x, axes=())
    check("fftn", x, s=(2, -1), axes=(1, 0))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_layouts(library, dtype):
    """Transposed, every other element, backwards, and not aligned to a complex number."""
    x = numbers((6, 8), dtype)
    there = cupola.to_device(x)
    views = [lambda a: a.T, lambda a: a[::2, ::2], lambda a: a[::-1], lambda a: a.reshape(-1)[1:]]
    names = ("fft", "fftn", "irfft") if x.dtype.kind == "c" else ("fft", "rfft", "rfftn")
    for view in views:
        for name in names:
            close(getattr(np.fft, name)(view(there)).get(), getattr(np.fft, name)(view(x)))
            close(
                getattr(np.fft, name)(view(there), axes=[0]).get()
                if name.endswith("n")
                else getattr(np.fft, name)(view(there), axis=0).get(),
                getattr(np.fft, name)(view(x), axes=[0])
                if name.endswith("n")
                else getattr(np.fft, name)(view(x), axis=0),
            )
    assert (there.get() == x).all()


def test_no_elements(library):
    x = np.zeros((0, 4), np.complex64)
    for name in ("fft", "ifft", "irfft", "hfft"):
        check(name, x)
        with refused(cupola.ArgumentValueError, saying=("at least 1", "got 0")):
            getattr(cupola.fft, name)(cupola.to_device(x), 0)
    check("rfft", x.real)
    with refused(cupola.ArgumentValueError, saying="got 0"):
        cupola.fft.fft(cupola.to_device(x), axis=0)


def test_out(library):
    x = numbers((3, 4), "f4")
    there = cupola.to_device(x)
    for name, n, dtype in (
        ("fft", 4, "c8"),
        ("rfft", 3, "c8"),
        ("fft", 4, "c16"),
        ("irfft", 6, "f4"),
    ):
        out = cupola.empty((3, n), dtype)
        assert getattr(np.fft, name)(there, out=out) is out
        close(out.get().astype(dtype), getattr(np.fft, name)(x).astype(dtype), "f4")
    part = cupola.zeros((3, 8), np.complex64)[:, ::2]
    assert cupola.fft.fft(there, out=part) is part
    close(part.get(), np.fft.fft(x))
    with refused(cupola.ArgumentValueError, saying=("out", "(3, 4)", "(4, 3)")):
        cupola.fft.fft(there, out=cupola.empty((4, 3), np.complex64))
    with refused(cupola.ArgumentTypeError, saying=("out", "float32")):
        cupola.fft.fft(there, out=cupola.empty((3, 4), np.float32))


def test_wrong_arguments(library):
    x = cupola.ones((2, 3))
    wrong = {
        "argument norm": lambda: cupola.fft.fft(x, norm="unit"),
        "argument n": lambda: cupola.fft.fft(x, 2.5),
        "argument axis": lambda: cupola.fft.fft(x, axis=2),
        "2 lengths in s and 1 axes": lambda: cupola.fft.fftn(x, (1, 2), (0,)),
        "argument s": lambda: cupola.fft.fftn(x, 2),
        "at least one axis": lambda: cupola.fft.rfftn(x, axes=()),
        "argument a: expected a cupola.Array": lambda: cupola.fft.fft([1.0]),
    }
    for text, call in wrong.items():
        with refused(cupola.ArgumentError, saying=text):
            call()


@pytest.mark.parametrize("shape", [(1 << 16,), (64, 1000), (3, 32, 33, 34)])
@pytest.mark.cuda_only(reason="cuFFT's own sizes; the formula takes too long")
def test_larger_ones(library, shape):
    x = numbers(shape, "c16")
    check("fftn", x)
    check("rfftn", x.real.copy())
    check("irfftn", x)
    check("fft", x.astype("c8"))


def test_plans_are_kept_and_released(library):
    device = cupola.Device().index
    for n in range(1, cufft.MAX_PLANS + 10):
        close(cupola.fft.fft(cupola.ones(n)).get(), np.fft.fft(np.ones(n)))
    assert library.plans(device) == cufft.MAX_PLANS
    if isinstance(library, Waiting):
        before = counted(library, "made")
        assert before - counted(library, "destroyed") == cufft.MAX_PLANS
        cupola.fft.fft(cupola.ones(cufft.MAX_PLANS + 9))
        assert counted(library, "made") == before


def counted(library, name):
    return ctypes.c_longlong.in_dll(libraries_of(library), name).value


def libraries_of(library):
    return library.found.library


def test_the_stream(library):
    x = numbers(5, "c16")
    stream = cupola.Stream(non_blocking=True)
    there = cupola.to_device(x)
    cupola.Device().synchronize()
    with stream:
        found = cupola.fft.fft(there)
        stream.synchronize()
    close(found.get(), np.fft.fft(x))
    if isinstance(library, Waiting):
        last = libraries_of(library).last_stream
        last.restype = ctypes.c_void_p
        assert last() == stream.handle


def test_captures_are_refused(library):
    x = cupola.ones(4)
    stream = cupola.Stream(non_blocking=True)
    with stream, stream.capture(), pytest.raises(cupola.ArgumentValueError, match="captured"):
        cupola.fft.fft(x)


def test_a_failed_call_says_so(library, monkeypatch):
    monkeypatch.setitem(cufft._KINDS, ("D", "D"), (0x77, "cufftExecZ2Z"))
    with pytest.raises(cupola.DriverError, match="cuFFT: cufftMakePlanMany64 failed with the stat"):
        cupola.fft.fft(cupola.ones(7))


@pytest.mark.cpu_only(reason="on a GPU it computes")
def test_the_cpu_device_has_none(driver):
    with refused(cupola.Error, saying=("cuFFT", "CPU device", "numpy.fft.rfft(x.get())")):
        np.fft.rfft(cupola.ones(3))


def test_without_cufft(driver, monkeypatch):
    def missing(name):
        raise cupola.MissingFileError(f"no {name}")

    cufft._installed.cache_clear()
    monkeypatch.setattr(cufft, "is_cpu", lambda device: False)
    monkeypatch.setattr(libraries, "load", missing)
    with pytest.raises(cupola.MissingFileError, match="no cufft"):
        cupola.fft.fft(cupola.ones(3))


def test_the_error_names_the_wheel(driver, monkeypatch):
    monkeypatch.setattr(libraries, "_places", lambda name: iter([("here", "it is not")]))
    libraries._load.cache_clear()
    with pytest.raises(
        cupola.MissingFileError, match=r"here: it is not\n.*pip install nvidia-cufft,"
    ):
        libraries.load("cufft")
    libraries._load.cache_clear()
    assert "cuFFT, for cupola.fft on a GPU: " in cupola.paths.report()


def test_the_extension_of_the_array_api(library):
    x, xp = numbers((4, 6), "c16"), cupola.ones(1).__array_namespace__().fft
    assert set(xp.__all__) == set(cupola.fft.__all__) - {"fft2", "ifft2", "rfft2", "irfft2"}
    there = cupola.to_device(x)
    for name in ("fft", "ifft", "irfft", "hfft"):
        close(getattr(xp, name)(there, n=5, axis=0).get(), getattr(np.fft, name)(x, 5, 0))
    for name in ("fftn", "ifftn", "irfftn"):
        close(getattr(xp, name)(there, axes=(1, 0)).get(), getattr(np.fft, name)(x, axes=(1, 0)))
    for name in ("rfft", "rfftn", "ihfft"):
        close(
            getattr(xp, name)(there.real, norm="ortho").get(),
            getattr(np.fft, name)(x.real, norm="ortho"),
        )
    assert (xp.fftshift(there, axes=0).get() == np.fft.fftshift(x, 0)).all()
    assert (xp.ifftshift(there).get() == np.fft.ifftshift(x)).all()
    assert xp.fftfreq(4, d=2.0, dtype=np.float32).dtype == np.float32
    assert (xp.rfftfreq(5).get() == np.fft.rfftfreq(5)).all()


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies_and_shifts(driver, n):
    for name in ("fftfreq", "rfftfreq"):
        found = getattr(cupola.fft, name)(n, 0.5)
        assert found.get().tobytes() == getattr(np.fft, name)(n, 0.5).tobytes()
        with refused(cupola.ArgumentValueError, saying="at least 1"):
            getattr(cupola.fft, name)(0)
    x = np.arange(n * 3).reshape(n, 3)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 0, -1, (0, 1), ()):
            found = getattr(np.fft, name)(cupola.to_device(x), axes)
            np.testing.assert_array_equal(found.get(), getattr(np.fft, name)(x, axes))
