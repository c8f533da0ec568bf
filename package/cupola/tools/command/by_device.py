# cupola/tools/command/by_device.py - the code that each device takes for each kernel.
"""Tables of kernels by devices, for ``python -m cupola inspect``."""

from __future__ import annotations

from pathlib import Path

from cupola.exceptions import ImageError
from cupola.image import cubin
from cupola.image.cxx_names import demangle
from cupola.image.verification import SUFFIXES
from cupola.tools.command import packages
from cupola.tools.command.table import table

CAPABILITIES = (75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121)


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


def by_device(data: bytes) -> dict[str, dict[str, str]]:
    """For each kernel, by demangled name, and each device: ``sm_90a``, ``compute_75``, or why the
    device has no code of it.
    """
    devices = {f"{n // 10}.{n % 10}": cubin.Device(n) for n in CAPABILITIES}
    devices["CPU device"] = cubin.Device(90, machine_code=False)
    entries = cubin.read_image(data).entries
    readable = [one.kind in ("cubin", "ptx") for one in entries]
    kernels = [
        {kernel.name for kernel in cubin.read_kernels(one.payload)} if known else set()
        for one, known in zip(entries, readable, strict=True)
    ]
    taken = dict(zip(devices, cubin.choose(data, list(devices.values())), strict=True))
    found: dict[str, dict[str, str]] = {}
    for name in sorted(set().union(*kernels)):
        row = found.setdefault(demangle(name).partition("(")[0].removeprefix("void "), {})
        for device, (index, reason) in taken.items():
            if index is None or name not in kernels[index]:
                row[device] = f"nothing: {reason if index is None else 'not in this code'}"
                continue
            kind = "sm" if entries[index].kind == "cubin" else "compute"
            row[device] = f"{kind}_{entries[index].target}"
    return found


def text_of(found: dict[str, dict[str, str]]) -> str:
    """A table with a row for each device, and a column for each different list of them."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, row in found.items():
        cells = tuple("nothing" if cell.startswith("nothing") else cell for cell in row.values())
        alike.setdefault(cells, []).append(name)
    texts = []
    devices = list(next(iter(found.values()), {}))
    for cells, names in alike.items():
        rows = [["device", "code"], *map(list, zip(devices, cells, strict=True))]
        texts.append(f"{', '.join(names)}\n{table(rows, '  ')}")
    return "\n\n".join(texts) or "no kernel"
