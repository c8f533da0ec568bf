# cupola/image/devices.py - the code that each device takes for each kernel of an image.
"""Lists the code that each device takes for each kernel of an image: machine code, PTX or nothing.
It loads no driver.

`cupola.image.reader.choose` makes the choice. cupola.build uses this module, also before cupola can
be imported: its imports are relative.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from . import reader
from .cxx_names import demangle
from .ptx_functions import symbols
from .reader import CAPABILITIES, Device, Entry

NOTHING = "nothing"  # the beginning of a cell without code
CPU = "CPU device"


def known_devices(links: bool = False) -> dict[str, Device]:
    """The devices of a table by their names: compute capabilities, and the CPU device.

    Parameters
    ----------
    links : bool
        Whether GPUs take LTO-IR, which cupola.link links.
    """
    found = {f"{n // 10}.{n % 10}": Device(n, links=links) for n in CAPABILITIES}
    return {**found, CPU: Device(90, machine_code=False)}


def by_device(data: bytes) -> dict[str, dict[str, str]]:
    """For each demangled name of a kernel, and each device: the target of the code, such as
    ``sm_90a`` or ``compute_75``, or why the device has no code of the kernel. Code that only
    cupola.link takes is ``lto_90 (linked)``.
    """
    entries = reader.read_image(data).entries
    linked = _is_open(entries)
    devices = known_devices(linked)
    kernels = [_kernels(one) for one in entries]
    taken = dict(zip(devices, reader.choose(data, list(devices.values())), strict=True))
    every = sorted(set().union(*kernels))
    # LTO-IR has the same kernels as the PTX.
    kernels = [{*every} if one.kind == "ltoir" else of
               for one, of in zip(entries, kernels, strict=True)]  # fmt: skip
    titles = [_title(name) for name in every]
    found: dict[str, dict[str, str]] = {}
    for name, title in zip(every, titles, strict=True):
        alone = titles.count(title) == 1  # else an overload
        row = found.setdefault(title if alone else demangle(name), {})
        for device, (index, reason) in taken.items():
            if index is None or name not in kernels[index]:
                row[device] = f"{NOTHING}: {reason if index is None else 'not in this code'}"
            else:
                row[device] = _target(entries[index]) + linked * " (linked)"
    return found


def lacking(data: bytes, name: str, device: Device) -> list[str]:
    """The targets, such as ``sm_90a``, for which an image has a kernel that the device's code
    lacks. Empty where the image has no such kernel, or the device's code has it.

    Parameters
    ----------
    data : bytes
        The image.
    name : str
        The kernel's name in the image, or its C++ name with or without parameters.
    device : Device
    """
    wanted, entries = re.sub(r"\s", "", name), reader.read_image(data).entries
    held = [any(wanted in (one, *_spelled(one)) for one in _kernels(entry)) for entry in entries]
    ((index, _),) = reader.choose(data, [device])
    if index is not None and held[index]:
        return []
    return [_target(entry) for entry, has in zip(entries, held, strict=True) if has]


def missing(found: Mapping[str, Mapping[str, str]]) -> list[list[str]]:
    """The rows of a table of kernels and devices. The first row names the devices. Empty where each
    kernel has code for each device. Kernels with the same devices share a row.
    """
    if not any(cell.startswith(NOTHING) for row in found.values() for cell in row.values()):
        return []
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, row in found.items():
        alike.setdefault(tuple(map(_kind, row.values())), []).append(name)
    devices = list(next(iter(found.values())))
    return [["kernel", *devices], *([_names(names), *kinds] for kinds, names in alike.items())]


def _kind(cell: str) -> str:
    return "-" if cell.startswith(NOTHING) else "PTX" if cell.startswith("compute") else "code"


def _names(names: Sequence[str], most: int = 2) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _is_open(entries: Sequence[Entry]) -> bool:
    """Whether kernels use functions that no source of the image defines."""
    if not any(one.kind == "ltoir" for one in entries):
        return False
    texts = [one.payload.decode(errors="replace") for one in entries if one.kind == "ptx"]
    return any(not one.defined for text in texts for one in symbols(text).values())


def _kernels(entry: Entry) -> set[str]:
    if entry.kind not in ("cubin", "ptx"):
        return set()
    return {kernel.name for kernel in reader.read_kernels(entry.payload)}


def _target(entry: Entry) -> str:
    kind = {"cubin": "sm", "ltoir": "lto"}.get(entry.kind, "compute")
    return f"{kind}_{entry.target}"


def _title(name: str) -> str:
    return demangle(name).partition("(")[0].removeprefix("void ")


def _spelled(name: str) -> list[str]:
    """The C++ names of a kernel, without spaces."""
    full = demangle(name).removeprefix("void ")
    return [
        re.sub(r"\s", "", text) for text in (full, _title(name), _title(name).partition("<")[0])
    ]
