# heat/__main__.py - a plate as heat spreads over it: python -m heat -o heat.gif
"""Pictures of a plate at several times."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

import cupola
from heat import Plate

# From cold to hot.
COLORS = np.array([(8, 8, 40), (60, 20, 110), (190, 50, 90), (250, 150, 40), (255, 250, 200)])


def start(size: int) -> np.ndarray:
    """A cold plate with a hot border on the left, a hot ring, and a hot bar."""
    temperatures = np.zeros((size, size), np.float32)
    row, column = np.mgrid[:size, :size] / size
    distance = np.hypot(row - 0.35, column - 0.6)
    temperatures[(distance > 0.15) & (distance < 0.22)] = 1
    temperatures[(abs(row - 0.8) < 0.04) & (abs(column - 0.5) < 0.35)] = 1
    temperatures[:, 0] = 1
    return temperatures


def colored(temperatures: np.ndarray) -> np.ndarray:
    """Temperatures of 0 to 1 as (rows, columns, 3) bytes."""
    at = np.clip(temperatures, 0, 1) ** 0.5 * (len(COLORS) - 1)
    bands = [np.interp(at, range(len(COLORS)), COLORS[:, band]) for band in range(3)]
    return np.stack(bands, axis=-1).astype(np.uint8)


def frames(size: int, count: int, steps: int) -> Iterator[np.ndarray]:
    """The plate at the beginning, and each time after so many steps."""
    plate = Plate(start(size))
    for frame in range(count):
        if frame:
            plate.advance(steps)
        yield colored(plate.temperatures.get())


def main() -> None:
    """The command ``heat``."""
    parser = argparse.ArgumentParser(prog="heat", description=__doc__)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("heat.gif"),
        help="a .gif moves; in any other picture the times stand side by side",
    )
    parser.add_argument("--size", type=int, default=128, help="points along a side")
    parser.add_argument("--frames", type=int, default=6)
    parser.add_argument("--steps", type=int, default=100, help="steps between two frames")
    given = parser.parse_args()
    began = time.perf_counter()
    made = list(frames(given.size, given.frames, given.steps))
    seconds = time.perf_counter() - began
    if given.output.suffix.lower() == ".gif":
        first, *rest = (Image.fromarray(frame) for frame in made)
        first.save(given.output, save_all=True, append_images=rest, duration=120, loop=0)
    else:
        Image.fromarray(np.concatenate(made, axis=1)).save(given.output)
    steps = given.steps * (given.frames - 1)
    print(f"{steps} steps in {seconds:.2f} s on {cupola.Device().name}: {given.output}")


if __name__ == "__main__":
    main()
