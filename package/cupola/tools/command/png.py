# cupola/tools/command/png.py - writes pictures as PNG, with only the standard library.
"""Pictures as PNG files."""

from __future__ import annotations

import os
import struct
import zlib
from typing import Any

RGB, PALETTE = 2, 3  # color types of the PNG specification
# Two colors each: for points outside and inside the set.
COLORS: dict[str, tuple[tuple[int, int, int], tuple[int, int, int]]] = {
    "grey": ((255, 255, 255), (0, 0, 0)),
    "night": ((13, 17, 43), (247, 201, 92)),
    "fire": ((38, 4, 2), (255, 140, 26)),
    "sea": ((224, 242, 241), (0, 77, 102)),
    "forest": ((237, 241, 214), (38, 84, 50)),
}


def write(path: str | os.PathLike[str], mask: Any, color: str = "grey") -> None:
    """Write a picture of two colours.

    Parameters
    ----------
    path : str or os.PathLike
    mask : (height, width) array
        Points that are not 0 get the second colour. Row 0 is at the top.
    color : str
        One of `COLORS`.
    """
    # Imported here, so that the help of the command line does not wait for NumPy.
    import numpy as np

    chosen = np.asarray(mask) != 0
    # A palette of two colors, one byte for each point; each row starts with filter type 0.
    lines = np.zeros((chosen.shape[0], 1 + chosen.shape[1]), np.uint8)
    lines[:, 1:] = chosen
    palette = bytes(value for point in COLORS[color] for value in point)
    _save(path, chosen.shape, PALETTE, lines, (b"PLTE", palette))


def write_rgb(path: str | os.PathLike[str], image: Any) -> None:
    """Write a picture of full colours.

    Parameters
    ----------
    path : str or os.PathLike
    image : (height, width, 3) uint8 array
        Red, green and blue. Row 0 is at the top.
    """
    import numpy as np

    height, width, channels = image.shape
    # Filter 1: each pixel minus its left neighbour, which compresses smooth colours best.
    lines = np.ones((height, 1 + width * channels), np.uint8)
    pixels = lines[:, 1:].reshape(height, width, channels)
    pixels[:, :1] = image[:, :1]
    pixels[:, 1:] = image[:, 1:] - image[:, :-1]
    _save(path, (height, width), RGB, lines)


def _save(
    path: str | os.PathLike[str],
    shape: tuple[int, int],
    color_type: int,
    lines: Any,
    *chunks: tuple[bytes, bytes],
) -> None:
    """Write the file; `lines` are the filtered rows, `chunks` stand before them."""
    height, width = shape
    header = struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, content in (
            (b"IHDR", header),
            *chunks,
            (b"IDAT", zlib.compress(lines.tobytes(), 8)),
            (b"IEND", b""),
        ):
            file.write(struct.pack(">I", len(content)) + kind + content)
            file.write(struct.pack(">I", zlib.crc32(kind + content)))
