# cupola/tools/command/demo.py - python -m cupola demo.
"""Draws the Mandelbrot set in colour with a shipped kernel."""

from __future__ import annotations

import argparse
import os
import shlex
import sys

from cupola.tools.command.values import coordinate, positive

HELP = "draw the Mandelbrot set in colour as a PNG"
FILE, ZOOM = "mandelbrot.png", "seahorses.png"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the picture."""
    add = parser.add_argument
    add("-o", "--output", default=FILE, metavar="FILE",
        help=f"the PNG file to write (default {FILE})")  # fmt: skip
    add("--width", type=positive, default=1536, metavar="PIXELS",
        help="width; the height is 2/3 of it (default 1536)")  # fmt: skip
    add("--center", type=coordinate, nargs=2, default=(-0.65, 0.0), metavar=("RE", "IM"),
        help="the point in the middle (default -0.65 0)")  # fmt: skip
    add("--span", type=coordinate, default=3.6, help="width in the plane (default 3.6)")
    add("--iterations", type=positive, default=500, help="most steps of a point (default 500)")
    add("--samples", type=positive, default=3,
        help="points of a pixel along each axis (default 3)")  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Write the picture; print the device, the kernel's time and what to try next."""
    import numpy as np

    import cupola
    from cupola import kernels
    from cupola.tools.command import png

    height = max(1, round(options.width * 2 / 3))
    start, stop = cupola.Event(), cupola.Event()
    kernels.mandelbrot_image(1, 1)  # loads the kernels, which the time below leaves out
    image = cupola.empty((height, options.width, 3), np.uint8)
    start.record()
    kernels.mandelbrot_image(
        options.width,
        height,
        tuple(options.center),
        options.span,
        options.iterations,
        options.samples,
        out=image,
    )
    stop.record()
    seconds = stop.elapsed_since(start)
    png.write_rgb(options.output, image.get())
    info = cupola.driver.info()
    print(f"picture  {options.output}: {options.width} x {height} pixels of {options.samples**2} "
          f"points, {options.iterations} iterations")  # fmt: skip
    print(f"device   {cupola.Device().name} through {info.path} ({info.reason})")
    print(f"kernel   {seconds * 1e3:,.2f} ms")
    print(f"\nnext\n{suggestions()}")


def suggestions() -> str:
    """Three commands to try next, as they are typed in this folder."""
    python = sys.executable
    if python.startswith(os.getcwd() + os.sep):
        python = os.path.relpath(python)
    command = f"  {shlex.quote(python)} -m cupola"
    return "\n".join(
        [
            f"{command} demo -o {ZOOM} --center -0.7436 0.1318 --span 0.012 --iterations 1500",
            f"{command} info     # the driver and the devices, and why this driver",
            f"{command} bench    # launches, copies and kernels beside the same work in C++",
        ]
    )
