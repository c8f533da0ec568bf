# package/cupola/build/architectures.py - chooses the architectures that an image is built for.
"""The architectures that a build makes code for."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .error import BuildError

ALL = (75, 80, 86, 89, 90, 100, 120)
PTX = 75  # the oldest: newer devices and the CPU device compile it
VARIABLE = "CUPOLA_ARCHITECTURES"

CPU = "cpu"  # in a list: also machine code for hosts

_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76  # CUdevice_attribute


@dataclass(frozen=True)
class Architectures:
    """Machine code for ``cubins`` (75 is sm_75) and PTX for ``ptx``."""

    cubins: tuple[int, ...]
    ptx: int = PTX
    note: str = ""  # a message about omitted architectures

    def options(self) -> list[str]:
        """nvcc's -gencode options."""
        options = [f"-gencode=arch=compute_{n},code=sm_{n}" for n in self.cubins]
        return [*options, f"-gencode=arch=compute_{self.ptx},code=compute_{self.ptx}"]

    def __str__(self) -> str:
        cubins = " ".join(f"sm_{n}" for n in self.cubins)
        return f"PTX compute_{self.ptx}" + (f", {cubins}" if cubins else "")


def choose(
    supported: Iterable[int],
    environment: Mapping[str, str] | None = None,
    devices: Iterable[int] | None = None,
    *,
    otherwise: str = "native",
    ptx: int = PTX,
) -> Architectures:
    """The architectures that CUPOLA_ARCHITECTURES selects from those that the compiler supports.

    ``all`` is the full list; ``native`` the present devices; ``75,90`` these two; without a value
    ``otherwise`` is used.  PTX is always made, for ``ptx``. No code is made for older
    architectures: the environment's list is for all packages, so they are left out of it.
    ``devices`` replaces a query of the driver.
    """
    supported = set(supported)
    text = (os.environ if environment is None else environment).get(VARIABLE, "").strip().lower()
    source = VARIABLE if text else "architectures"
    text = text or otherwise.strip().lower()
    if ptx not in supported:
        raise BuildError(f"the CUDA compiler cannot make PTX for compute_{ptx}")
    if text == "all":
        return _cut([n for n in ALL if n >= ptx], supported, "the full list", ptx)
    if text == "native":
        present = present_devices() if devices is None else devices
        return _cut(sorted(set(present)), supported, "the devices present", ptx)
    wanted = _parse(text, source)
    unknown = [n for n in wanted if n not in supported]
    if unknown:
        raise BuildError(
            f"{source}={text}: the CUDA compiler makes no code for "
            f"{_names(unknown)}; it knows {_names(sorted(supported))}"
        )
    if source == VARIABLE:
        older = [n for n in wanted if n < ptx]
        note = f"left out of {source}: {_names(older)} (older than PTX compute_{ptx})"
        return Architectures(tuple(n for n in wanted if n >= ptx), ptx, note if older else "")
    if wanted and wanted[0] < ptx:
        raise BuildError(
            f"{source}={text}: sm_{wanted[0]} is older than the PTX that the sources are made "
            f"for, compute_{ptx}"
        )
    return Architectures(tuple(wanted), ptx)


def hosts(environment: Mapping[str, str] | None = None, *, otherwise: str = "native") -> str:
    """For which levels of this machine's kind kernels become machine code for the CPU device:
    ``all``, ``native`` (this machine's own), or none; ``cpu`` where a list asks for all of them.
    """
    text = (os.environ if environment is None else environment).get(VARIABLE, "").strip().lower()
    text = text or otherwise.strip().lower()
    if text in ("all", "native"):
        return text
    return CPU if CPU in _words(text) else ""


def asks_for_all(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the build must be fast on every machine, as for wheels."""
    return (os.environ if environment is None else environment).get(VARIABLE, "") == "all"


def _parse(text: str, source: str) -> list[int]:
    numbers = []
    for word in _words(text):
        if word == CPU:
            continue
        if not re.fullmatch(r"[1-9]\d{1,2}", word):
            raise BuildError(
                f"{source}={text}: {word!r} is no architecture; "
                "write 'all', 'native' or a list such as '75,90,cpu'"
            )
        numbers.append(int(word))
    return sorted(set(numbers))


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _cut(wanted: Iterable[int], supported: set[int], what: str, ptx: int) -> Architectures:
    wanted = tuple(wanted)
    missing = [n for n in wanted if n not in supported]
    note = f"left out of {what}: {_names(missing)} (not known to this nvcc)" if missing else ""
    kept = tuple(n for n in wanted if n in supported and n >= ptx)
    return Architectures(kept, ptx, note)


def _names(numbers: Iterable[int]) -> str:
    return ", ".join(f"sm_{n}" for n in numbers)


def present_devices() -> list[int]:
    """Compute capabilities of this machine's devices (90 for 9.0); none without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        if driver.cuInit(0):
            return []
        get_count, get = driver.cuDeviceGetCount, driver.cuDeviceGet
        get_attribute = driver.cuDeviceGetAttribute
    except (OSError, AttributeError):
        return []
    count, device = ctypes.c_int(), ctypes.c_int()
    if get_count(ctypes.byref(count)):
        return []
    found = set()
    for ordinal in range(count.value):
        if get(ctypes.byref(device), ordinal):
            continue
        parts = [ctypes.c_int(), ctypes.c_int()]
        wanted = zip(parts, (_CAPABILITY_MAJOR, _CAPABILITY_MINOR), strict=True)
        if any(get_attribute(ctypes.byref(part), code, device) for part, code in wanted):
            continue
        found.add(parts[0].value * 10 + parts[1].value)
    return sorted(found)
