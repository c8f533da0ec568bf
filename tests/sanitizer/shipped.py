# tests/sanitizer/shipped.py - run every shipped kernel, and check what it computed; meant to be
# run under compute-sanitizer, which looks at what each access does.
"""Shapes are small and awkward: they cover no whole number of blocks, and some nothing at all."""

import numpy as np

import cupola


def mandelbrot(module):
    for size, grid, block in (
        (1, 1, 1),
        (33, (2, 2), (16, 16)),
        (50, 7, 96),
        (64, (2, 4), (32, 8)),
    ):
        lattice = np.linspace(-2, 2, size, dtype=np.float32)
        graph = cupola.empty((size, size), np.float32)
        kernel = module["mandelbrot_ker"]
        kernel[grid, block](cupola.to_device(lattice), graph, 30, 4.0, size)
        c = lattice[None, :] + 1j * lattice[::-1, None].astype(np.complex128)
        z, stays = np.zeros_like(c), np.ones(c.shape, bool)
        with np.errstate(all="ignore"):
            for _ in range(30):
                z = z * z + c
                stays &= abs(z) <= 2
        # In another precision, only a few points on the edge differ.
        assert np.mean(graph.get() != stays) < 0.01


def mandelbrot_image(module):
    for width, height, samples, grid, block in (
        (1, 1, 1, 1, 1),
        (33, 7, 2, (2, 2), (16, 16)),
        (50, 20, 3, 7, 96),
    ):
        out = cupola.zeros((height, width, 3), np.uint8)
        module["mandelbrot_image"][grid, block](
            out, -0.65, 0.0, 1.8 / (width * samples), 100, width, height, samples
        )
        picture = out.get()
        assert (picture[0].any() and picture[-1].any()) or width == 1
        assert (picture[height // 2].sum(-1) == 0).any()


def saxpy():
    values = np.arange(4099, dtype=np.float32)
    for count in (0, 1, 3, 4, 5, 1023, 4099):
        x, y = values[:count], values[::-1][:count].copy()
        assert np.array_equal(cupola.saxpy(0.5, x, y), np.float32(0.5) * x + y)


def shifted_saxpy(module):
    """Arrays which do not begin at 16 bytes, alike and unlike."""
    x = cupola.to_device(np.arange(1000, dtype=np.float32))
    out = cupola.zeros(1000, np.float32)
    start, target = (a.__cuda_array_interface__["data"][0] for a in (x, out))
    for ahead, behind in ((1, 1), (1, 2), (0, 3)):
        count = 990
        module["saxpy"][3, 64](
            2.0, start + 4 * ahead, start + 4 * ahead, target + 4 * behind, count
        )
        expected = 3 * np.arange(ahead, ahead + count, dtype=np.float32)
        assert np.array_equal(out.get()[behind : behind + count], expected)


def convolve():
    values = np.random.default_rng(1).integers(-9, 9, (13, 17, 3)).astype(np.float32)
    weights = np.arange(15, dtype=np.float32).reshape(3, 5)
    for border, mode in (("zero", "constant"), ("clamp", "edge")):
        padded = np.pad(values, ((1, 1), (2, 2), (0, 0)), mode=mode)
        expected = sum(
            weights[i, j] * padded[i : i + 13, j : j + 17] for i in range(3) for j in range(5)
        )
        assert np.array_equal(cupola.convolve(values, weights, border), expected)


def doubling(module):
    square = cupola.to_device(np.arange(16, dtype=np.float32).reshape(4, 4))
    module["doublify"][1, (4, 4)](square)
    assert np.array_equal(square.get().ravel(), 2 * np.arange(16))

    arrays = [cupola.to_device(np.arange(n, dtype=np.float32)) for n in (1, 5, 100)]
    kind = np.dtype([("length", "i4"), ("pad", "i4"), ("ptr", "u8")])
    table = np.array(
        [(a.size, 0, a.__cuda_array_interface__["data"][0]) for a in arrays], dtype=kind
    )
    module["double_array"][3, 32](cupola.to_device(table))
    for array in arrays:
        assert np.array_equal(array.get(), 2 * np.arange(array.size))


def main():
    module = cupola.shipped_kernels()
    mandelbrot(module)
    mandelbrot_image(module)
    saxpy()
    shifted_saxpy(module)
    convolve()
    doubling(module)
    module["hello"][2, 3]()
    cupola.Device(0).synchronize()
    print(f"every shipped kernel ran on {cupola.Device(0).name}")


if __name__ == "__main__":
    main()
