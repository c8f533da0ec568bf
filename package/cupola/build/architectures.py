# package/cupola/build/architectures.py - chooses the architectures that an image is built for.
"""The architectures that a build makes code for."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .error import BuildError
from .targets import Target, names, read

ALL = tuple(Target(number) for number in (75, 80, 86, 89, 90, 100, 120))
PTX = Target(75)  # the oldest: newer devices and the CPU device compile it
VARIABLE = "CUPOLA_ARCHITECTURES"

CPU = "cpu"  # in a list: also machine code for hosts

_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76  # CUdevice_attribute


@dataclass(frozen=True)
class Architectures:
    """Machine code for ``cubins`` (90a is sm_90a) and PTX for each level of ``ptx``."""

    cubins: tuple[Target, ...]
    ptx: tuple[Target, ...] = (PTX,)
    note: str = ""  # a message about omitted architectures

    @property
    def oldest(self) -> Target:
        """The oldest level of PTX, for which the kernels are described."""
        return min(self.ptx)

    def options(self) -> list[str]:
        """nvcc's -gencode options."""
        options = [f"-gencode=arch=compute_{n},code=sm_{n}" for n in self.cubins]
        return [*options, *(f"-gencode=arch=compute_{n},code=compute_{n}" for n in self.ptx)]

    def __str__(self) -> str:
        cubins = " ".join(f"sm_{n}" for n in self.cubins)
        levels = " ".join(f"compute_{n}" for n in self.ptx)
        return f"PTX {levels}" + (f", {cubins}" if cubins else "")


def choose(
    supported: Iterable[Target],
    environment: Mapping[str, str] | None = None,
    devices: Iterable[int] | None = None,
    *,
    otherwise: str = "native",
    ptx: Sequence[Target] = (),
) -> Architectures:
    """The architectures that CUPOLA_ARCHITECTURES selects from those that the compiler supports.

    ``all`` is the full list; ``native`` the present devices; ``75,90a`` these two; without a value
    ``otherwise`` is used, the table's own value. PTX is always made: for the levels ``ptx``, else
    for compute_75 and the newest target without suffix. A table whose targets all have a suffix
    gets PTX for these alone, and the environment's list, which is for all packages, only leaves
    some of them out. No code is made for architectures older than the PTX: the environment's list
    is cut. ``devices`` replaces a query of the driver.
    """
    known = set(supported)
    text = (os.environ if environment is None else environment).get(VARIABLE, "").strip().lower()
    source = VARIABLE if text else "architectures"
    own = otherwise.strip().lower()
    text = text or own
    special = _specific(own)
    levels = tuple(sorted(set(ptx or special or (PTX,))))
    unknown = [level for level in levels if level not in known]
    if unknown:
        raise BuildError(
            f"the CUDA compiler cannot make PTX for {names(unknown, 'compute_')}; it knows "
            f"{names(sorted(known), 'compute_')}"
        )
    wanted, notes = _wanted(text, source, known, devices, special)
    older = [target for target in wanted if target.number < levels[0].number]
    level = f"compute_{levels[0]}"
    if older and source == "architectures" and text not in ("all", "native"):
        raise BuildError(
            f"{source}={text}: sm_{older[0]} is older than the PTX that the sources are made "
            f"for, {level}"
        )
    if older and text not in ("all", "native"):
        notes.append(f"left out of {source}: {names(older)} (older than PTX {level})")
    cubins = tuple(target for target in wanted if target not in older)
    plain = [target for target in cubins if not target.suffix]
    if plain and not ptx and not special:
        levels = tuple(sorted({*levels, max(plain)}))
    return Architectures(cubins, levels, "; ".join(notes))


def _specific(text: str) -> tuple[Target, ...]:
    """The targets of a table's list in which each has a suffix; else none."""
    found = [read(word) for word in _words(text) if word != CPU]
    specific = [target for target in found if target is not None and target.suffix]
    return tuple(specific) if len(specific) == len(found) else ()


def _wanted(
    text: str,
    source: str,
    known: set[Target],
    devices: Iterable[int] | None,
    special: Sequence[Target],
) -> tuple[list[Target], list[str]]:
    """The targets of machine code, and notes about those that are left out."""
    if text == "native":
        present = present_devices() if devices is None else devices
        what, targets = "the devices present", [Target(n) for n in sorted(set(present))]
    elif text == "all":
        what, targets = "the full list", list(ALL)
        if special:
            return list(special), []
    else:
        targets = _parse(text, source)
        unknown = [target for target in targets if target not in known]
        if unknown:
            raise BuildError(
                f"{source}={text}: the CUDA compiler makes no code for {names(unknown)}; it "
                f"knows {names(sorted(known))}"
            )
        what = source
        _refuse_doubles(targets, f"{source}={text}")
    if special:
        kept = [one for one in special if any(_serves(one, other) for other in targets)]
        left = [one for one in special if one not in kept]
        return kept, [f"left out: {names(left)} (not in {what})"] if left else []
    missing = [target for target in targets if target not in known]
    notes = [f"left out of {what}: {names(missing)} (not known to this nvcc)"] if missing else []
    return [target for target in targets if target in known], notes


def _serves(target: Target, wanted: Target) -> bool:
    """Whether code for a target with suffix is of use where another list wants code."""
    if target.number == wanted.number:
        return True
    same = target.number // 10 == wanted.number // 10
    return target.suffix == "f" and same and target.number < wanted.number


def _refuse_doubles(targets: Sequence[Target], what: str) -> None:
    """Raise for a target without suffix that no device would take."""
    for target in targets:
        # 9.0 is the only capability 9.x; a family has all devices that its plain target has.
        better = Target(90, "a") if target == Target(90) else Target(target.number, "f")
        if not target.suffix and better in targets:
            raise BuildError(
                f"{what}: sm_{target} and sm_{better} are for the same devices, which take "
                f"sm_{better}: remove one of them"
            )


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


def _parse(text: str, source: str) -> list[Target]:
    targets = set()
    for word in _words(text):
        if word == CPU:
            continue
        target = read(word)
        if target is None:
            raise BuildError(
                f"{source}={text}: {word!r} is no architecture; "
                "write 'all', 'native' or a list such as '75,90a,100f,cpu'"
            )
        targets.add(target)
    return sorted(targets)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


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
