# cupola/tools/command/mandelbrot.py - python -m cupola mandelbrot.
"""Renders the Mandelbrot set with a shipped kernel."""

from __future__ import annotations

import argparse

from cupola.tools.command.values import coordinate, positive

HELP = "render the Mandelbrot set as a PNG"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the picture."""
    from cupola.tools.command.png import COLORS

    add = parser.add_argument
    add("-o", "--output", required=True, metavar="FILE", help="the PNG file to write")
    add("--size", type=positive, default=2048, help="width and height in points (default 2048)")
    add("--region", type=coordinate, nargs=2, default=(-2.0, 2.0), metavar=("LO", "HI"),
        help="range of both axes (default -2 2)")  # fmt: skip
    add("--iterations", type=positive, default=256, help="iterations for each point (default 256)")
    add("--bound", type=float, default=2.0,
        help="escape radius (default 2)")  # fmt: skip
    add("--color", choices=sorted(COLORS), default="grey", help="palette (default grey)")


def run(options: argparse.Namespace) -> None:
    """Write the picture; tell where it was computed, and how fast."""
    import numpy as np

    import cupola
    from cupola.exceptions import ArgumentValueError
    from cupola.tools.command import png

    low, high = options.region
    if low >= high:
        raise ArgumentValueError(f"--region {low} {high}: expected LO below HI, as in -2 2")
    found = cupola.driver.info()
    device = cupola.Device()
    print(f"{device.name} through {found.path} ({found.reason})", flush=True)
    lattice = cupola.to_device(np.linspace(low, high, options.size, dtype=np.float32))
    graph = cupola.empty((options.size, options.size), np.float32)
    start, stop = cupola.Event(), cupola.Event()
    # Loads the kernels, which is not what is measured.
    cupola.mandelbrot(lattice=lattice[:1], iterations=1)
    start.record()
    cupola.mandelbrot(
        iterations=options.iterations, bound=options.bound, lattice=lattice, out=graph
    )
    stop.record()
    seconds = stop.elapsed_since(start)
    png.write(options.output, graph.get(), options.color)
    points = options.size**2
    rate = f", {points / seconds / 1e6:,.1f} million points/s" if seconds > 0 else ""
    print(
        f"{options.output}: {options.size} x {options.size} points, {options.iterations} "
        f"iterations, kernel {seconds * 1e3:,.3f} ms{rate}"
    )
