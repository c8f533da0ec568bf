# examples/host_launcher/host_launcher.py - a CUDA library with a host launcher, through ctypes.
"""Builds mandelbrot.cu with nvcc, calls its host launcher, and saves a picture.

Where there is a GPU:

    python host_launcher.py [picture.png]

Without one, the same program and the same source:

    python -m cupola run host_launcher.py [picture.png]

Neither file uses cupola.
"""

import ctypes
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).parent
WIDTH, HEIGHT, LEFT, TOP, PIXEL, LIMIT = 768, 512, -2.25, 1.0, 1 / 256, 256


def build(folder):
    """The one nvcc line."""
    library = pathlib.Path(folder) / "mandelbrot.so"
    command = ["nvcc", "-shared", "-Xcompiler", "-fPIC", "-o", library, HERE / "mandelbrot.cu"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def draw(library):
    """(HEIGHT, WIDTH) int32: steps until a point escapes; and the kernel's milliseconds."""
    integer, number = ctypes.c_int, ctypes.c_double
    library.mandelbrot.argtypes = [
        ctypes.POINTER(integer), integer, integer, number, number, number, integer,
        ctypes.POINTER(ctypes.c_float),
    ]  # fmt: skip
    steps = np.empty((HEIGHT, WIDTH), np.int32)
    milliseconds = ctypes.c_float()
    status = library.mandelbrot(
        steps.ctypes.data_as(ctypes.POINTER(integer)), WIDTH, HEIGHT, LEFT, TOP, PIXEL, LIMIT,
        ctypes.byref(milliseconds),
    )  # fmt: skip
    if status:
        raise SystemExit(f"the launcher returned CUDA error {status}")
    return steps, milliseconds.value


def main():
    with tempfile.TemporaryDirectory() as folder:
        steps, milliseconds = draw(build(folder))
    print(f"{WIDTH} x {HEIGHT} points, kernel {milliseconds:.2f} ms")
    inside = np.count_nonzero(steps == LIMIT) * PIXEL**2
    print(f"area of the set: {inside:.3f}")
    if len(sys.argv) > 1:
        from matplotlib import pyplot

        pyplot.imsave(sys.argv[1], np.log2(steps + 1), cmap="magma")
        print(f"picture: {sys.argv[1]}")


if __name__ == "__main__":
    main()
