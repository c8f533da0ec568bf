# cupola/tools/command/by_device.py - prints the code that each device takes for each kernel.
"""Tables of kernels by devices, for ``python -m cupola inspect``."""

from __future__ import annotations

from pathlib import Path

from cupola.exceptions import ImageError
from cupola.image import manifest as manifests
from cupola.image import parts
from cupola.image.devices import NOTHING, by_device
from cupola.image.installed import folders_of
from cupola.image.verification import SUFFIXES
from cupola.tools.command.table import table


def images_of(package: str) -> list[Path]:
    """The images in the folder of an installed package, which is not imported.

    Raises
    ------
    ImageError
        It has no image.
    """
    folders = folders_of(package)
    paths = [path for folder in folders for path in sorted(Path(folder).rglob("*"))]
    images = [path for path in paths if path.suffix in SUFFIXES and path.is_file()]
    images = [path for path in images if not _is_part(path)]
    if not images:
        raise ImageError(f"{package}: no image ({', '.join(SUFFIXES)}) is in {folders[0]}")
    return images


def _is_part(path: Path) -> bool:
    """Whether it is a part of another image, which shows it."""
    manifest = manifests.read(str(path.with_suffix(".json")))
    return manifest is not None and "part" in manifest.head


def of_file(path: Path, data: bytes) -> dict[str, dict[str, str]]:
    """As `by_device`, also with the code of the image's parts; a part that is not installed is
    named.
    """
    found = by_device(data)
    manifest = manifests.beside(str(path), data)
    for part in [] if manifest is None else parts.parts_of(manifest):
        place = path.with_name(parts.file_of(path.name, part.name))
        taken = by_device(place.read_bytes()) if place.is_file() else {}
        for name, row in found.items():
            for device in (f"{n // 10}.{n % 10}" for n in part.capabilities):
                if name in taken:
                    row[device] = f"{taken[name][device]}, of {part.package}-{part.name}"
                else:
                    row[device] = f"{row[device].partition(':')[0]}; {part.missing}"
    return found


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
