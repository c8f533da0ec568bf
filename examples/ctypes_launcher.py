# examples/ctypes_launcher.py - the Mandelbrot set through libcupola.so and plain ctypes.
"""A compiled kernel called like any C function: ctypes, NumPy, and nothing else.

python examples/ctypes_launcher.py [picture.png]

The C function, as cupola/cupola.h declares it, takes host pointers. It allocates device memory,
copies, launches the kernel, copies back and returns a status:

    int cupola_mandelbrot(const float* lattice, float* graph, int iterations, float bound, int n);
"""

import ctypes
import sys
import time

import numpy as np

import cupola

SIZE, LOW, HIGH, ITERATIONS, BOUND = 512, -2.0, 2.0, 256, 2.0

float_p = ctypes.POINTER(ctypes.c_float)

library = ctypes.CDLL(cupola.paths.library())
# Without argtypes ctypes would pass a Python float as a C double, which this function doesn't take,
# and could not tell a wrong argument from a right one.
library.cupola_mandelbrot.argtypes = [float_p, float_p, ctypes.c_int, ctypes.c_float, ctypes.c_int]
library.cupola_mandelbrot.restype = ctypes.c_int
library.cupola_last_error.restype = ctypes.c_char_p


def mandelbrot(size=SIZE, low=LOW, high=HIGH, iterations=ITERATIONS, bound=BOUND):
    """(size, size) float32: 1 where z -> z^2 + c stays within the bound; row 0 is the top."""
    # C knows nothing of strides: both arrays are contiguous float32, and these names keep them
    # alive during the call.
    lattice = np.linspace(low, high, size, dtype=np.float32)
    graph = np.empty((size, size), np.float32)
    status = library.cupola_mandelbrot(
        lattice.ctypes.data_as(float_p), graph.ctypes.data_as(float_p), iterations, bound, size
    )
    if status:
        raise RuntimeError(library.cupola_last_error().decode())
    return graph


def by_numpy(size=SIZE, low=LOW, high=HIGH, iterations=ITERATIONS, bound=BOUND):
    """The same by NumPy: in float32, each operation rounded, so that the bits are the same."""
    lattice = np.linspace(low, high, size, dtype=np.float32)
    c_real, c_imag = np.meshgrid(lattice, lattice[::-1])
    real, imag, real2, imag2 = (np.zeros_like(c_real) for _ in range(4))
    inside = np.ones(c_real.shape, bool)
    with np.errstate(over="ignore", invalid="ignore"):  # points that have left go to infinity
        for _ in range(iterations):
            # In place: a new array for each result would take longer than the arithmetic.
            imag *= real
            imag += imag
            imag += c_imag
            np.subtract(real2, imag2, out=real)
            real += c_real
            np.multiply(real, real, out=real2)
            np.multiply(imag, imag, out=imag2)
            inside &= real2 + imag2 <= np.float32(bound) ** 2
    return inside.astype(np.float32)


def figure(graph, path, title):
    """Save the picture with the axes of the complex plane."""
    import matplotlib

    matplotlib.use("Agg")  # into a file, no window
    import matplotlib.pyplot as plt

    plt.figure(figsize=(5, 4.6), dpi=120)
    plt.imshow(graph, extent=(LOW, HIGH, LOW, HIGH), cmap="Greys", interpolation="nearest")
    plt.xlabel("real part of c")
    plt.ylabel("imaginary part of c")
    plt.title(title)
    plt.tight_layout()
    plt.savefig(path)


def seconds(function):
    """The result, and how long it took."""
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else "mandelbrot.png"
    _, first = seconds(mandelbrot)  # loads the driver and the kernel
    graph, warm = seconds(mandelbrot)
    expected, numpy = seconds(by_numpy)
    assert np.array_equal(graph, expected), "the two pictures differ"

    print(f"{SIZE} x {SIZE} points, {int(graph.sum())} of them inside, bit-equal")
    print(f"libcupola.so by ctypes  {warm * 1e3:8.1f} ms  (the first time {first * 1e3:.1f} ms)")
    print(f"NumPy                   {numpy * 1e3:8.1f} ms  ({numpy / warm:.0f} times as long)")
    figure(graph, path, f"Mandelbrot set, {ITERATIONS} iterations")
    print(f"saved {path}")
