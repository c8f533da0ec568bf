# cupola/__main__.py - the command: python -m cupola, or cupola.
"""cupola's command line."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

from cupola.exceptions import Error
from cupola.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    options = parser().parse_args(arguments)
    try:
        return int(options.run(options) or 0)
    except Error as error:
        print(f"cupola: {error}", file=sys.stderr)
    except OSError as error:
        print(f"cupola: {error}", file=sys.stderr)
    return 1


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    top = argparse.ArgumentParser(
        prog="cupola", description="Ship and use precompiled CUDA kernels in Python."
    )
    top.add_argument("--version", action="version", version=f"cupola {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")

    info = command("info", "the driver in use, why that one, and its devices")
    info.set_defaults(run=show_info)

    paths = command("paths", "where everything is, and why just there")
    one = paths.add_mutually_exclusive_group()
    one.add_argument("--library", action="store_true", help="only the path of libcupola.so")
    one.add_argument("--include", action="store_true", help="only the folder of the headers")
    one.add_argument("--cpu-driver", action="store_true", help="only the CPU device's path")
    paths.set_defaults(run=show_paths)

    picture = command("mandelbrot", "render the Mandelbrot set as a PNG")
    add = picture.add_argument
    add("-o", "--output", required=True, metavar="FILE", help="the PNG file to write")
    add("--size", type=positive, default=2048, help="points along a side (default 2048)")
    add("--region", type=coordinate, nargs=2, default=(-2.0, 2.0), metavar=("LO", "HI"),
        help="coordinates along both axes (default -2 2)")  # fmt: skip
    add("--iterations", type=natural, default=256, help="steps a point (default 256)")
    add("--bound", type=float, default=2.0,
        help="what stays within this absolute value is bounded (default 2)")  # fmt: skip
    add("--color", choices=colors(), default="grey", help="colours (default grey)")
    picture.set_defaults(run=render)
    return top


def positive(text: str) -> int:
    """An option's whole number from 1 on."""
    value = natural(text)
    if value == 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def natural(text: str) -> int:
    """An option's whole number from 0 on, as the kernel's int can hold."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a whole number: {text!r}") from None
    if not 0 <= value < 2**31:
        raise argparse.ArgumentTypeError(f"must be 0 to {2**31 - 1}, got {value}")
    return value


def coordinate(text: str) -> float:
    """An option's finite number."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a number: {text!r}") from None
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be finite, got {text}")
    return value


def colors() -> list[str]:
    """Names of pairs of colours."""
    from cupola.png import COLORS

    return sorted(COLORS)


def show_info(options: argparse.Namespace) -> None:
    """Print the driver and the devices."""
    import cupola

    found = cupola.driver.info()
    print(f"cupola {__version__}")
    print(f"driver: {found.path}, CUDA {version_text(found.version)}, taken: {found.reason}")
    for device in cupola.devices():
        major, minor = device.compute_capability
        free, total = device.memory
        print(
            f"device {device.index}: {device.name}, compute capability {major}.{minor}, "
            f"{device.multiprocessors} multiprocessors, {total >> 20} MiB ({free >> 20} free)"
        )


def show_paths(options: argparse.Namespace) -> None:
    """Print one path, or the report on all."""
    from cupola import paths

    if options.library:
        print(paths.library())
    elif options.include:
        print(paths.include())
    elif options.cpu_driver:
        print(paths.cpu_driver())
    else:
        print(paths.report())


def render(options: argparse.Namespace) -> None:
    """Write the picture; tell where it was computed, and how fast."""
    import numpy as np

    import cupola
    from cupola import png

    found = cupola.driver.info()
    device = cupola.Device()
    print(f"{device.name} through {found.path} ({found.reason})", flush=True)
    low, high = options.region
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


def version_text(version: int) -> str:
    """13000 as 13.0."""
    return f"{version // 1000}.{version % 1000 // 10}"


if __name__ == "__main__":
    sys.exit(main())
