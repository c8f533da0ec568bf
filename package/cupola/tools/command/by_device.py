# cupola/tools/command/by_device.py - prints the code that each device takes for each kernel.
"""Tables of kernels by devices, for ``python -m cupola inspect``."""

from __future__ import annotations

from pathlib import Path

from cupola.exceptions import ImageError
from cupola.image.devices import NOTHING
from cupola.image.verification import SUFFIXES
from cupola.tools.command import packages
from cupola.tools.command.table import table


def images_of(package: str) -> list[Path]:
    """The images in the folder of an installed package, which is not imported.

    Raises
    ------
    ImageError
        It has no image.
    """
    folders = packages.folders_of(package)
    paths = [path for folder in folders for path in sorted(Path(folder).rglob("*"))]
    images = [path for path in paths if path.suffix in SUFFIXES and path.is_file()]
    if not images:
        raise ImageError(f"{package}: no image ({', '.join(SUFFIXES)}) is in {folders[0]}")
    return images


def text_of(found: dict[str, dict[str, str]]) -> str:
    """A table with a row for each device, and a column for each different list of them."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, row in found.items():
        cells = tuple(NOTHING if cell.startswith(NOTHING) else cell for cell in row.values())
        alike.setdefault(cells, []).append(name)
    texts = []
    devices = list(next(iter(found.values()), {}))
    for cells, names in alike.items():
        rows = [["device", "code"], *map(list, zip(devices, cells, strict=True))]
        texts.append(f"{', '.join(names)}\n{table(rows, '  ')}")
    return "\n\n".join(texts) or "no kernel"
