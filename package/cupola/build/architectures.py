# package/cupola/build/architectures.py - chooses the architectures that an image is built for.
"""The architectures that a build makes code for."""

from __future__ import annotations

import ctypes
import os
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .error import BuildError
from .targets import Target, compilers, names, read

ALL = tuple(Target(number) for number in (75, 80, 86, 89, 90, 100, 120))
# Jetson Orin and Jetson Thor, whose processors are aarch64.
JETSON = (Target(87), Target(110))
PTX = Target(75)  # the oldest: newer devices and the CPU device compile it
VARIABLE = "CUPOLA_ARCHITECTURES"

CPU = "cpu"  # in a list: also machine code for hosts

_LAST = (90, 103, 110, 121)  # no newer device runs the plain code for these

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

    @property
    def generations(self) -> list[Target]:
        """The oldest target of each generation: machine code for 8.0 runs on all of 8.x, and
        another for 8.6 would change little. A Jetson runs no code of other GPUs, so its target is
        always among them.
        """
        oldest: dict[Target | int, Target] = {}
        for one in sorted(self.cubins, reverse=True):
            oldest[one if one in JETSON else one.number // 10] = one
        return sorted(oldest.values())

    def options(self) -> list[str]:
        """nvcc's -gencode options."""
        options = [f"-gencode=arch=compute_{n},code=sm_{n}" for n in self.cubins]
        return [*options, *(f"-gencode=arch=compute_{n},code=compute_{n}" for n in self.ptx)]

    def lto_options(self) -> list[str]:
        """nvcc's -gencode options for LTO-IR and PTX. The LTO-IR of the oldest level is for devices
        that the list lacks.
        """
        lto = sorted({*self.cubins, self.oldest})
        options = [f"-gencode=arch=compute_{n},code=lto_{n}" for n in lto]
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
    source_targets: Mapping[str, Sequence[Target]] | None = None,
    general: bool = True,
) -> Architectures:
    """The targets of a build: of machine code, and the levels of PTX.

    CUPOLA_ARCHITECTURES selects targets that the compiler supports: ``all`` means every target,
    ``native`` the targets of the present devices, and ``75,90a`` these two targets. Without the
    variable, ``otherwise`` selects them, which is the table's own value. A build always makes PTX:
    for the levels ``ptx``, else for compute_75 and the newest target without suffix. If all targets
    of a table have a suffix, the build makes PTX for these targets alone, and the variable, which
    is for all packages, can only leave out some of them. The variable's targets that are older than
    the oldest level of PTX are left out. ``devices`` replaces a query of the driver.

    ``source_targets`` has the targets of each source that is not for all targets. These targets are
    added. PTX is added for each target with a suffix, and for the oldest target without suffix of
    each source. The variable can leave out some of these targets. ``general``: whether other
    sources are for all targets.
    """
    known = set(supported)
    text = (os.environ if environment is None else environment).get(VARIABLE, "").strip().lower()
    source = VARIABLE if text else "architectures"
    own = otherwise.strip().lower()
    text = text or own
    special = _specific(own)
    levels = tuple(sorted(set(ptx or special or (PTX,))))
    if not general:
        levels = tuple(sorted(set(ptx)))
    _require(levels, known, "the CUDA compiler cannot make PTX for", "compute_")
    wanted, notes = _wanted(text, source, known, devices, special)
    wanted = wanted if general else []
    older = [target for target in wanted if levels and target.number < levels[0].number]
    if older and source == "architectures" and text not in ("all", "native"):
        raise BuildError(
            f"{source}={text}: sm_{older[0]} is older than the PTX that the sources are made "
            f"for, compute_{levels[0]}"
        )
    if older and text not in ("all", "native"):
        notes.append(f"left out of {source}: {names(older)} (older than PTX compute_{levels[0]})")
    cubins = tuple(target for target in wanted if target not in older)
    plain = [target for target in cubins if not target.suffix]
    if plain and not ptx and not special:
        levels = tuple(sorted({*levels, max(plain)}))
    if source_targets:
        listed = source == "architectures" and text not in ("all", "native")
        found = _of_sources(source_targets, known)
        if not listed:
            found, more = _wanted(text, source, known, devices, found)
            notes += more
        # A module for 9.0a has the kernels of all sources, and every device of sm_90 takes it.
        cubins = tuple(target for target in cubins if not _better(target, found))
        cubins = tuple(sorted({*cubins, *found}))
        levels = tuple(sorted({*levels, *(() if ptx else _levels(source_targets))}))
        _require_sources(levels, source_targets, general)
    return Architectures(cubins, levels, "; ".join(notes))


def full_list(system: str = "") -> list[Target]:
    """The targets of ``all``, for a system such as linux-aarch64, else the one that Python's
    modules are built for.
    """
    if (system or sysconfig.get_platform()).endswith("-aarch64"):
        return sorted((*ALL, *JETSON))
    return list(ALL)


def _require(targets: Sequence[Target], known: set[Target], what: str, prefix: str) -> None:
    """Raise for targets that the compiler does not know."""
    unknown = [target for target in targets if target not in known]
    if unknown:
        raise BuildError(
            f"{what} {names(unknown, prefix)}; it knows {names(sorted(known), prefix)}"
            f"{compilers(unknown)}"
        )


def _of_sources(own: Mapping[str, Sequence[Target]], known: set[Target]) -> list[Target]:
    """The targets of the sources that are not for all targets; raises if the compiler can't make
    one.
    """
    for file, targets in own.items():
        _require(targets, known, f"{file}: the CUDA compiler makes no code for", "sm_")
    every = sorted({target for targets in own.values() for target in targets})
    _refuse_doubles(every, " and ".join(own))
    return every


def _levels(own: Mapping[str, Sequence[Target]]) -> set[Target]:
    """The default levels of PTX of the sources that are not for all targets."""
    levels: set[Target] = set()
    for targets in own.values():
        levels |= {target for target in targets if target.suffix}
        levels |= set(sorted(target for target in targets if not target.suffix)[:1])
    return levels


def _require_sources(
    levels: Sequence[Target], own: Mapping[str, Sequence[Target]], general: bool
) -> None:
    """Raise for a level of PTX for which no source is compiled."""
    for level in levels:
        if not general and not any(level in targets for targets in own.values()):
            raise BuildError(
                f"ptx = {level}: no source is for compute_{level}: add {level} to the "
                f"architectures of {' or '.join(own)}, or remove the level"
            )


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
        what, targets = "the full list", full_list()
        if special:
            return list(special), []
    else:
        targets = _parse(text, source)
        _require(targets, known, f"{source}={text}: the CUDA compiler makes no code for", "sm_")
        what = source
        _refuse_doubles(targets, f"{source}={text}")
    if special:
        kept = [one for one in special if any(_serves(one, other) for other in targets)]
        left = [one for one in special if one not in kept]
        return kept, [f"left out: {names(left)} (not in {what})"] if left else []
    missing = [target for target in targets if target not in known]
    notes = [f"left out of {what}: {names(missing)} (not known to this nvcc"
             f"{compilers(missing)})"] if missing else []  # fmt: skip
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
        if better := _better(target, targets):
            raise BuildError(
                f"{what}: sm_{target} and sm_{better} are for the same devices, which take "
                f"sm_{better}: remove one of them"
            )


def _better(target: Target, targets: Sequence[Target]) -> Target | None:
    """The target with a suffix whose code all devices of a plain target take first."""
    if target.suffix:
        return None
    last = target.number in _LAST
    for other in targets:
        same = other.number == target.number
        if other.suffix and same and (last or other.suffix == "f"):
            return other
        if last and not same and _serves(other, target):
            return other
    return None


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
