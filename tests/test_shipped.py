"""The shipped kernels against NumPy, on host and on device arrays."""

import numpy as np
import pytest

import cupola
from cupola import kernels

rng = np.random.default_rng(20)


def mandelbrot(lattice, iterations, bound):
    """The definition, each operation rounded to float32."""
    c_real = lattice[np.newaxis, :]
    c_imag = lattice[::-1, np.newaxis]
    real, imag, real2, imag2 = np.zeros((4, lattice.size, lattice.size), np.float32)
    inside = np.ones(real.shape, bool)
    limit = np.float32(bound) * np.float32(bound)
    with np.errstate(all="ignore"):
        for _ in range(iterations):
            imag = (real + real) * imag + c_imag
            real = (real2 - imag2) + c_real
            real2, imag2 = real * real, imag * imag
            inside &= real2 + imag2 <= limit
    return inside.astype(np.float32)


LATTICES = {
    "even": np.linspace(-2, 2, 64, dtype=np.float32),
    "odd": np.linspace(-2, 2, 33, dtype=np.float32),
    "one": np.array([0.25], np.float32),
    "asymmetric": np.linspace(-1.5, 0.3, 50, dtype=np.float32),
    "unsorted": rng.permutation(np.linspace(-2, 1, 40, dtype=np.float32)),
    "special": np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e38, 1e-45, -1], np.float32),
}


@pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES.keys())
@pytest.mark.parametrize(
    ("iterations", "bound"), [(0, 2), (1, 2), (7, 2), (100, 2), (50, 0.5), (50, 40)]
)
def test_mandelbrot_of_any_lattice(driver, lattice, iterations, bound):
    picture = cupola.mandelbrot(lattice=lattice, iterations=iterations, bound=bound)
    assert picture.dtype == np.float32 and picture.shape == (lattice.size, lattice.size)
    np.testing.assert_array_equal(picture, mandelbrot(lattice, iterations, bound))


@pytest.mark.parametrize(
    ("low", "high", "size"),
    [
        (-2, 0.5, 90),
        (-0.8, 0.4, 61),
        (-1.4, 0.2, 50),
        (0.2, 0.3, 40),
        (-2, -1.99, 33),
        (-1e-3, 0, 9),
    ],
)
@pytest.mark.parametrize("bound", [2, 3])
def test_mandelbrot_of_orbits_that_never_leave(driver, low, high, size, bound):
    lattice = np.linspace(low, high, size, dtype=np.float32)
    picture = cupola.mandelbrot(lattice=lattice, iterations=1500, bound=bound)
    np.testing.assert_array_equal(picture, mandelbrot(lattice, 1500, bound))


def turns():
    """Angles on a border, in turns: some anywhere, and some where other parts of the set touch."""
    touching = np.array([0, 1 / 2, 1 / 3, 1 / 4, 2 / 5, 1 / 7])
    return np.concatenate([touching, touching + 1e-3, rng.random(12)])


@pytest.mark.parametrize("iterations", [256, 1500])
@pytest.mark.parametrize("part", ["cardioid", "disk"])
@pytest.mark.parametrize("sample", range(3))
def test_mandelbrot_along_the_borders_of_what_is_known_to_stay(driver, part, sample, iterations):
    w = np.exp(2j * np.pi * turns())
    border, outward = (w / 2 - w**2 / 4, w - w**2) if part == "cardioid" else (-1 + w / 4, w)
    distances = np.array([1e-2, 5e-3, 4e-3, 3e-3, 2e-3, 1e-3, 1e-4, 1e-5, 1e-6, 3e-7, 1e-7])
    values, inner, at = [], [], 0
    for c, out in zip(border, outward, strict=True):  # across the border, along the nearer axis
        wide = abs(out.real) >= abs(out.imag)
        start, fixed, sign = (c.real, c.imag, out.real) if wide else (c.imag, c.real, out.imag)
        moves = np.copysign(distances, sign if abs(out) > 1e-12 else 1)
        values += [fixed, *(start - moves), *(start + moves)]
        along = at + 1 + np.flatnonzero(distances >= 1e-6)
        inner += [(at, k) if wide else (k, at) for k in along]  # imaginary part, real part
        at = len(values)
    lattice = np.array(values, np.float32)
    expected = mandelbrot(lattice, iterations, 2)
    imag, real = np.transpose(inner)
    assert expected[lattice.size - 1 - imag, real].all()  # roundings alone drive no orbit out
    assert 0.01 < expected.mean() < 0.9
    picture = cupola.mandelbrot(lattice=lattice, iterations=iterations)
    np.testing.assert_array_equal(picture, expected)


@pytest.mark.parametrize("iterations", [*range(30), 99])
def test_mandelbrot_after_each_number_of_steps(driver, iterations):
    lattice = np.linspace(-2, 2, 70, dtype=np.float32)
    picture = cupola.mandelbrot(lattice=lattice, iterations=iterations)
    np.testing.assert_array_equal(picture, mandelbrot(lattice, iterations, 2))


def test_mandelbrot_by_region(driver):
    picture = cupola.mandelbrot(128, -2, 2, 256, 2)
    expected = mandelbrot(np.linspace(-2, 2, 128, dtype=np.float32), 256, 2)
    np.testing.assert_array_equal(picture, expected)
    assert 0.05 < picture.mean() < 0.15  # the set's area is about 1.5 of 16


@pytest.mark.parametrize("grid", [1, 3, (2, 2), (1, 1, 3), 1000])
@pytest.mark.parametrize("block", [1, 32, 33, (16, 16), (4, 4, 4), 256])
def test_mandelbrot_of_any_launch(driver, grid, block):
    lattice = LATTICES["odd"]
    graph = cupola.empty((33, 33), np.float32)
    kernel = cupola.shipped_kernels()["mandelbrot_ker"]
    kernel[grid, block](cupola.to_device(lattice), graph, 40, 4.0, 33)
    np.testing.assert_array_equal(graph.get(), mandelbrot(lattice, 40, 2))


def test_mandelbrot_on_the_device(driver):
    lattice = cupola.to_device(LATTICES["even"])
    picture = cupola.mandelbrot(lattice=lattice, iterations=30)
    assert isinstance(picture, cupola.Array)
    np.testing.assert_array_equal(picture.get(), mandelbrot(LATTICES["even"], 30, 2))


@pytest.mark.parametrize(
    "arguments",
    [dict(size=-1), dict(iterations=-1), dict(bound=-2), dict(bound=float("nan")), dict(size=2.5)],
    ids=str,
)
def test_mandelbrot_refuses_wrong_arguments(driver, arguments):
    with pytest.raises(cupola.ArgumentError):
        cupola.mandelbrot(**arguments)


def escape(real, imag, iterations):
    """Steps after which |z| is above 256, 0 where it never is, and |z|^2 then; in float32."""
    c_real, c_imag = np.broadcast_arrays(real, imag[:, np.newaxis])
    real, imag, real2, imag2, norm = np.zeros((5, *c_real.shape), np.float32)
    count = np.zeros(c_real.shape, int)
    with np.errstate(all="ignore"):
        for step in range(1, iterations + 1):
            imag = (real + real) * imag + c_imag
            real = (real2 - imag2) + c_real
            real2, imag2 = real * real, imag * imag
            left = (count == 0) & ~(real2 + imag2 <= 2**16)
            count[left], norm[left] = step, (real2 + imag2)[left]
    return count, norm


def colours(count, norm):
    """Light of red, green and blue; of a count of 0 none."""
    with np.errstate(all="ignore"):
        time = np.maximum(count + 1 - np.log2(np.log2(norm.astype(float)) / 16), 1)
    hue = 0.385 * np.log2(time)[..., np.newaxis] - 0.766 - np.array([0.10, 0.02, -0.09])
    return np.where(count[..., np.newaxis] == 0, 0, np.sin(np.pi * hue) ** 4)


def picture_points(width, height, center, span, samples):
    """The float32 coordinates of a picture's points: of its columns, and of its rows."""
    half = np.float32(0.5 * float(np.float32(span)) / (width * samples))
    across, down = (
        half * np.arange(1 - size * samples, size * samples, 2, dtype=np.float32)
        for size in (width, height)
    )
    return np.float32(center[0]) + across, np.float32(center[1]) - down


VIEWS = {
    "whole": dict(width=61, height=40, center=(-0.65, 0), span=3.6, iterations=60, samples=1),
    "sampled": dict(width=24, height=16, center=(-0.65, 0), span=3.6, iterations=60, samples=3),
    "valley": dict(
        width=30, height=50, center=(-0.7436, 0.1318), span=0.012, iterations=300, samples=2
    ),
    "far": dict(width=9, height=9, center=(1e30, -3e5), span=1e31, iterations=20, samples=1),
    "one": dict(width=1, height=1, center=(0.3, 0.5), span=1e-3, iterations=40, samples=16),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_mandelbrot_image_has_the_colours_of_numpy(driver, view):
    """At most one of 255 levels differs: counts are exact, logarithms and sines are rounded."""
    picture = kernels.mandelbrot_image(**view)
    assert picture.dtype == np.uint8 and picture.shape == (view["height"], view["width"], 3)
    points = {name: view[name] for name in ("width", "height", "center", "span", "samples")}
    count, norm = escape(*picture_points(**points), view["iterations"])
    n = view["samples"]
    light = colours(count, norm).reshape(view["height"], n, view["width"], n, 3).mean((1, 3))
    assert np.abs(picture - 255 * np.sqrt(light)).max() <= 1.01
    inside = (count == 0).reshape(view["height"], n, view["width"], n).all((1, 3))
    assert not picture[inside].any()


@pytest.mark.parametrize("iterations", [*range(20), 50, 101])
def test_mandelbrot_image_counts_exactly(driver, iterations):
    """Black points have not left the bound, so each number of steps shows the counts."""
    view = dict(width=48, height=32, center=(-0.7, 0.1), span=3, samples=1)
    picture = kernels.mandelbrot_image(iterations=iterations, **view)
    count, norm = escape(*picture_points(**view), iterations)
    shown = (255 * np.sqrt(colours(count, norm))).max(-1) > 2  # a colour that rounding leaves
    assert np.array_equal(picture.any(-1) & shown, shown)
    assert not picture[count == 0].any()


@pytest.mark.parametrize(("grid", "block"), [(1, 1), (3, 33), ((2, 2), (16, 4)), (1000, 128)])
def test_mandelbrot_image_of_any_launch(driver, grid, block):
    expected = kernels.mandelbrot_image(20, 13, samples=2)
    out = cupola.empty((13, 20, 3), np.uint8)
    half_step = 0.5 * float(np.float32(3.6)) / 40
    kernel = cupola.shipped_kernels()["mandelbrot_image"]
    kernel[grid, block](out, np.float32(-0.65), 0.0, half_step, 500, 20, 13, 2)
    np.testing.assert_array_equal(out.get(), expected)


def test_mandelbrot_image_is_written_into_out(driver):
    expected = kernels.mandelbrot_image(30, 20)
    out, stream = np.empty((20, 30, 3), np.uint8), cupola.Stream()
    assert kernels.mandelbrot_image(30, 20, out=out) is out
    there = cupola.empty((20, 30, 3), np.uint8)
    assert kernels.mandelbrot_image(30, 20, out=there, stream=stream) is there
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(there.get(), expected)
    assert kernels.mandelbrot_image(0, 5).shape == (5, 0, 3)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (dict(width=-1), cupola.ArgumentValueError, "width"),
        (dict(height=2.5), cupola.ArgumentTypeError, "height"),
        (dict(width=2**24, samples=2), cupola.ArgumentValueError, "width must be at most 8388608"),
        (dict(iterations=-1), cupola.ArgumentValueError, "iterations"),
        (dict(samples=0), cupola.ArgumentValueError, "samples must be 1 to 16, got 0"),
        (dict(samples=17), cupola.ArgumentValueError, "samples must be 1 to 16, got 17"),
        (dict(span=0), cupola.ArgumentValueError, "span must be more than 0"),
        (dict(span=float("nan")), cupola.ArgumentValueError, "span must be finite"),
        (dict(center=1j), cupola.ArgumentTypeError, "center"),
        (dict(center=(0, "1")), cupola.ArgumentTypeError, r"center\[1\]"),
        (dict(center=(0, float("inf"))), cupola.ArgumentValueError, r"center\[1\]"),
        (dict(out=np.empty((4, 4, 3), np.uint8)), cupola.ArgumentValueError, r"\(4, 4, 3\)"),
        (dict(out=np.empty((8, 12, 3), np.float32)), cupola.ArgumentTypeError, "uint8"),
    ],
)
def test_mandelbrot_image_refuses_wrong_arguments(driver, arguments, error, says):
    with pytest.raises(error, match=says):
        kernels.mandelbrot_image(**{"width": 12, "height": 8, **arguments})


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 127, 4096, 100_003])
def test_saxpy(driver, n):
    x, y = rng.standard_normal((2, n)).astype(np.float32)
    np.testing.assert_array_equal(cupola.saxpy(0.3, x, y), np.float32(0.3) * x + y)
    on_device = cupola.saxpy(0.3, cupola.to_device(x), cupola.to_device(y))
    assert isinstance(on_device, cupola.Array)
    np.testing.assert_array_equal(on_device.get(), np.float32(0.3) * x + y)


def test_saxpy_out_and_in_place(driver):
    x, y = (cupola.to_device(np.arange(10, dtype=np.float32)) for _ in range(2))
    out = cupola.empty_like(x)
    assert cupola.saxpy(2, x, y, out=out) is out
    cupola.saxpy(2, x, y, out=y)
    np.testing.assert_array_equal(out.get(), 3 * np.arange(10))
    np.testing.assert_array_equal(y.get(), 3 * np.arange(10))


def test_saxpy_keeps_shape_and_refuses_the_rest(driver):
    x = np.ones((3, 4), np.float32)
    assert cupola.saxpy(1, x, x).shape == (3, 4)
    with pytest.raises(cupola.ArgumentTypeError, match="float32"):
        cupola.saxpy(1, x.astype(float), x)
    with pytest.raises(cupola.ArgumentValueError, match=r"\(3, 4\)"):
        cupola.saxpy(1, x, x[:2])


def test_doublify(driver):
    a = cupola.to_device(np.arange(16, dtype=np.float32).reshape(4, 4))
    cupola.shipped_kernels()["doublify"][1, (4, 4)](a)
    np.testing.assert_array_equal(a.get(), 2 * np.arange(16).reshape(4, 4))


def test_double_array_of_structs(driver):
    arrays = [cupola.to_device(np.arange(n, dtype=np.float32)) for n in (0, 1, 5, 100)]
    layout = np.dtype([("length", "i4"), ("pad", "i4"), ("ptr", "u8")])
    table = np.array([(a.size, 0, a.address or 0) for a in arrays], layout)
    cupola.shipped_kernels()["double_array"][4, 32](cupola.to_device(table))
    for array in arrays:
        np.testing.assert_array_equal(array.get(), 2 * np.arange(array.size))


def test_hello(driver, capfd):
    cupola.hello(2, 3)
    assert capfd.readouterr().out == "Hello World From GPU!\n" * 6


def test_shipped_module_lists_its_kernels(driver):
    names = {
        "mandelbrot_ker",
        "mandelbrot_image",
        "saxpy",
        "convolve",
        "doublify",
        "hello",
        "double_array",
    }
    squares = {"convolve_3", "convolve_5", "convolve_7"}
    strided = {f"copy_strided_{size}" for size in (1, 2, 4, 8, 16)}
    strided |= {f"copy_runs_{size}" for size in (1, 2, 4, 8)}
    assert set(cupola.shipped_kernels().kernels) == names | squares | strided
    parameters = cupola.shipped_kernels()["saxpy"].params
    assert [p.name for p in parameters] == ["a", "x", "y", "out", "n"]
    assert [p.kind for p in parameters] == ["float", "pointer", "pointer", "pointer", "integer"]
    assert [p.offset for p in parameters] == [0, 8, 16, 24, 32]
