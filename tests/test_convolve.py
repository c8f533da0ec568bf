"""The shipped convolution against NumPy, on arrays of any place and launches of any shape."""

import numpy as np
import pytest

import cupola

rng = np.random.default_rng(21)


def correlate(image, kernel, border):
    """In the kernel's order: from 0, row by row, each product and sum rounded."""
    image3 = image if image.ndim == 3 else image[..., np.newaxis]
    height, width = kernel.shape
    mode = {"zero": "constant", "clamp": "edge"}[border]
    pad = [(height // 2,) * 2, (width // 2,) * 2, (0, 0)]
    padded = np.pad(image3, pad, mode=mode)
    total = np.zeros_like(image3)
    for i in range(height):
        for j in range(width):
            window = padded[i : i + image3.shape[0], j : j + image3.shape[1]]
            total = total + kernel[i, j] * window
    return total.reshape(image.shape)


@pytest.mark.parametrize("border", ["zero", "clamp"])
@pytest.mark.parametrize(
    "shape",
    [(1, 1), (5, 7), (64, 33), (20, 30, 3), (9, 9, 1), (2, 50), (40, 64), (3, 4), (17, 20, 2)],
)
@pytest.mark.parametrize("size", [(1, 1), (3, 3), (5, 3), (1, 7), (5, 5), (7, 7), (9, 9)])
def test_convolve(driver, shape, size, border):
    image = rng.standard_normal(shape).astype(np.float32)
    kernel = rng.standard_normal(size).astype(np.float32)
    expected = correlate(image, kernel, border)
    np.testing.assert_array_equal(cupola.convolve(image, kernel, border), expected)
    on_device = cupola.convolve(cupola.to_device(image), cupola.to_device(kernel), border)
    np.testing.assert_array_equal(on_device.get(), expected)


@pytest.mark.parametrize("size", [3, 5, 7])
@pytest.mark.parametrize(
    ("grid", "block"),
    [(1, 1), (3, 32), ((2, 2), (16, 4)), (1, 9), (1, 18), (2, 31), (6, 32), (1000, 33)],
)
def test_convolve_in_strips_of_any_launch(driver, size, grid, block):
    image = rng.standard_normal((19, 36)).astype(np.float32)
    weights = rng.standard_normal((size, size)).astype(np.float32)
    kernel = cupola.shipped_kernels()[f"convolve_{size}"]
    source, weights_there = cupola.to_device(image), cupola.to_device(weights)
    for border, name in enumerate(["zero", "clamp"]):
        out = cupola.to_device(np.full((19, 36), np.nan, np.float32))
        kernel[grid, block](source, weights_there, out, 19, 36, 1, border)
        np.testing.assert_array_equal(out.get(), correlate(image, weights, name))


@pytest.mark.parametrize(("off_image", "off_out"), [(0, 1), (1, 0), (3, 3)])
def test_convolve_of_arrays_that_are_not_aligned_to_16_bytes(driver, off_image, off_out):
    image = rng.standard_normal((20, 32)).astype(np.float32)
    weights = rng.standard_normal((5, 5)).astype(np.float32)
    source, out = (cupola.to_device(np.zeros(644, np.float32)) for _ in range(2))
    source[off_image : off_image + 640].set(image.reshape(-1))
    kernel = cupola.shipped_kernels()["convolve_5"]
    pointers = source.address + 4 * off_image, cupola.to_device(weights), out.address + 4 * off_out
    kernel[1, 64](*pointers, 20, 32, 1, 0)
    expected = np.zeros(644, np.float32)
    expected[off_out : off_out + 640] = correlate(image, weights, "zero").reshape(-1)
    np.testing.assert_array_equal(out.get(), expected)


def test_convolve_multiplies_the_border_too(driver):
    weights = np.zeros((3, 3), np.float32)
    weights[0, 0] = np.inf  # times the border of zeros is NaN, as in NumPy
    image = np.ones((5, 8), np.float32)
    with np.errstate(invalid="ignore"):
        expected = correlate(image, weights, "zero")
    np.testing.assert_array_equal(cupola.convolve(image, weights), expected)


def test_convolve_border_is_zero_by_default_and_the_filter_is_not_flipped(driver):
    image = np.arange(1, 10, dtype=np.float32).reshape(3, 3)
    kernel = np.zeros((3, 3), np.float32)
    kernel[1, 2] = 1
    np.testing.assert_array_equal(cupola.convolve(image, kernel), [[2, 3, 0], [5, 6, 0], [8, 9, 0]])


@pytest.mark.parametrize(
    ("shape", "size", "border"),
    [
        ((4, 4), (2, 3), "zero"),
        ((4, 4), (3, 3), "wrap"),
        ((4,), (3, 3), "zero"),
        ((4, 4), (3,), "zero"),
    ],
)
def test_convolve_refuses_wrong_arguments(driver, shape, size, border):
    with pytest.raises(cupola.ArgumentError):
        cupola.convolve(np.zeros(shape, np.float32), np.zeros(size, np.float32), border)
