# package/cupola/build/family_manifest.py - the families of a library, in its manifest.
"""Families in a manifest, before ``kernels``::

    "families": [{"table": {"name": "heat.step", ...},
                  "variants": [{"variant": [16, 4], "library": "heat._kernels_step_TX16",
                                "kernels": {"float32": "_Z4stepILi16ELi4EfEvPT_"}}],
                  "dropped": {"sm_75": [{"variant": [64, 8], "types": "float64",
                                         "reason": "65,536 bytes of static shared memory; ..."}]}}]

``variant`` has a value for each tunable, in the order of the table. ``kernels`` has the kernel's
name in the library's image by element types, which are joined by commas; the key is empty where the
table has no ``types``. ``variants`` lacks what no target can run, and ``dropped`` has what one
target can't. A kernel that exceeds the registers of a block stays in the image: a variant with
smaller blocks may use it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..declare.declaration_error import DeclarationError
from ..declare.family import Variant
from ..declare.family_names import check_names
from ..image.kernel_names import attributes, named
from . import variants
from .families import FamilyTable, fixed
from .instances import NVCC
from .kernels import Kernels
from .stub import arguments
from .targets import read as read_target

_REGISTERS = 65536  # of a block
_UNIT, _WARP = 8, 32  # registers are allocated in units of 8 for each thread of a warp
# Bytes of static and dynamic shared memory that a block can have, by target.
_SHARED = {
    75: 64 << 10,
    **dict.fromkeys((80, 87), 163 << 10),
    **dict.fromkeys((86, 89, 120, 121), 99 << 10),
    **dict.fromkeys((90, 100, 103, 110), 227 << 10),
}
_ABSENT = "the sources with the kernel are not for this target"
_SHOWN = 3  # dropped variants that a line names for a target


@dataclass(frozen=True)
class _Built:
    """A library that was built."""

    manifest: Mapping[str, Any]
    outcome: variants.Outcome

    @cached_property
    def targets(self) -> set[str]:
        """The targets that it has machine code for, and those of its PTX."""
        resources = {target for one in self.manifest["kernels"] for target in one["resources"]}
        return {*resources, *self.outcome.refused}

    @cached_property
    def kernels(self) -> dict[str, Mapping[str, Any]]:
        """The kernels in the manifest by their symbols."""
        return {one["name"]: one for one in self.manifest["kernels"]}

    def symbol(self, spelled: str) -> str | None:
        """The symbol of a kernel as a table spells it; None where there is none."""
        known = self.outcome.kernels.get(spelled)
        if known is not None or spelled in self.kernels:
            return known or spelled
        found = named(dict(self.manifest), spelled)
        return None if found is None else str(found["name"])


def inputs(families: Sequence[FamilyTable], manifest: Path) -> list[Path]:
    """The files of which `store` describes families."""
    found = [variants.outcome_file(manifest)] if families else []
    for library in _others(families, manifest):
        found += [_manifest(library, manifest), variants.outcome_file(_manifest(library, manifest))]
    return found


def _others(families: Sequence[FamilyTable], manifest: Path) -> list[str]:
    """The libraries with variants, besides that of a manifest."""
    used = {library for one in families for library in one.libraries.values()}
    return sorted(library for library in used if _manifest(library, manifest) != manifest)


def _manifest(library: str, manifest: Path) -> Path:
    """The manifest of another library of the package: each has a folder of its name."""
    return manifest.parent.with_name(library) / f"{library.rpartition('.')[2]}.json"


def store(manifest: dict[str, Any], families: Sequence[FamilyTable], place: Path) -> dict[str, Any]:
    """The manifest with families, which are checked against the kernels of their libraries.

    Parameters
    ----------
    manifest : dict
        Of the library that is declared for the defaults.
    families : sequence of FamilyTable
    place : Path
        Its file, in a folder of its own. Beside the folder are those of the other libraries.

    Raises
    ------
    BuildError
        A kernel is missing, or no device can run the default.
    """
    if not families:
        return manifest
    libraries = {families[0].library: _Built(manifest, _outcome(place))}
    for library in _others(families, place):
        other = _manifest(library, place)
        libraries[library] = _Built(json.loads(other.read_text()), _outcome(other))
    head = {name: value for name, value in manifest.items() if name != "kernels"}
    described = [_described(one, libraries) for one in families]
    return {**head, "families": described, "kernels": manifest["kernels"]}


def _outcome(manifest: Path) -> variants.Outcome:
    return variants.read_outcome(variants.outcome_file(manifest))


def _described(one: FamilyTable, libraries: Mapping[str, _Built]) -> dict[str, Any]:
    declaration = one.declaration
    entries: list[dict[str, Any]] = []
    dropped: dict[str, list[dict[str, Any]]] = {}
    kept: dict[str, int] = {}  # kernels by target
    built = {variant: libraries[name] for variant, name in one.libraries.items()}
    every = {target for library in built.values() for target in library.targets}
    for variant in declaration.variants:
        kernels: dict[str, str] = {}
        for types in declaration.type_choices:
            symbol, lost = "", dict.fromkeys(every, one.faults.get(variant, ""))
            if variant in built:
                spelled = declaration.kernel_of(variant, types)
                symbol, lost = _kernel(one, spelled, variant, built[variant])
            for target, reason in lost.items():
                if reason:
                    about = {"variant": list(variant), "types": ",".join(types), "reason": reason}
                    dropped.setdefault(target, []).append(about)
                else:
                    kernels[",".join(types)] = symbol
                    kept[target] = kept.get(target, 0) + 1
        if kernels:
            library = one.libraries[variant]
            entries.append({"variant": list(variant), "library": library, "kernels": kernels})
    _require_names(one, entries, libraries)
    dropped = {target: dropped[target] for target in sorted(dropped, key=order)}
    _require_default(one, dropped, kept)
    table = {**declaration.table, "library": declaration.library}
    return {"table": table, "variants": entries, "dropped": dropped}


def _require_names(
    one: FamilyTable, entries: Sequence[Mapping[str, Any]], libraries: Mapping[str, _Built]
) -> None:
    """Refuse names in the table that are no sizes and no parameters of the kernels."""
    found = [
        kernel
        for entry in entries
        for symbol in entry["kernels"].values()
        if (kernel := libraries[entry["library"]].kernels.get(symbol)) is not None
    ]
    if not found:
        return
    kinds = {str(each["name"] or ""): str(each["kind"]) for each in arguments(dict(found[0]))}
    try:
        check_names(one.declaration, kinds)
    except DeclarationError as error:
        raise one.wrong(error.key, error.text) from None


def order(target: str) -> tuple[Any, ...]:
    """The place of ``sm_90a`` among targets."""
    return tuple(read_target(target.removeprefix("sm_")) or ())


def _kernel(
    one: FamilyTable, spelled: str, variant: Variant, built: _Built
) -> tuple[str, dict[str, str]]:
    """The symbol of a variant's kernel, and by target why that can't run it, or ""."""
    symbol = built.symbol(spelled)
    if symbol is None:
        known = ", ".join(sorted(attributes(dict(built.manifest)))) or "none"
        raise one.wrong("kernel", f"there is no kernel {spelled!r}; there are {known}")
    resources = built.kernels.get(symbol, {}).get("resources", {})
    declaration = one.declaration
    count = math.prod(fixed(declaration, variant, declaration.block) or (0,))
    (dynamic,) = fixed(declaration, variant, [declaration.shared]) or (0,)
    return symbol, {
        target: built.outcome.refused.get(target, {}).get(symbol)
        or _fault(target, resources.get(target), count, dynamic)
        for target in built.targets
    }


def _fault(target: str, resources: Mapping[str, int] | None, count: int, dynamic: int) -> str:
    """Why a target can't run a kernel with a number of threads and bytes of dynamic shared memory;
    "" where it can.
    """
    if resources is None:
        return _ABSENT
    registers, shared = resources["registers"], resources["shared"] + dynamic
    each, warps = -(-registers // _UNIT) * _UNIT, -(-count // _WARP)
    if each * warps * _WARP > _REGISTERS:
        return f"{registers} registers for each of {count:,} threads; a block has {_REGISTERS:,}"
    most = _SHARED.get(order(target)[0], shared)
    if shared > most:
        return f"{shared:,} bytes of shared memory; a block has {most:,}"
    return ""


def _require_default(
    one: FamilyTable,
    dropped: Mapping[str, Sequence[Mapping[str, Any]]],
    kept: Mapping[str, int],
) -> None:
    """Refuse a family whose default a target can't run; but sources can be for some targets."""
    declaration = one.declaration
    for target, every in dropped.items():
        for lost in every:
            absent = lost["reason"] == _ABSENT and target not in kept
            if tuple(lost["variant"]) != declaration.default or absent:
                continue
            types = f" of {lost['types']}" if lost["types"] else ""
            left = "choose another default" if target in kept else "no variant is left"
            raise one.wrong(
                "default", f"{declaration.text(declaration.default)}{types} can't run on {target}: "
                f"{lost['reason']}; {left}"
            )  # fmt: skip


def notes(kernels: Kernels, manifest: Mapping[str, Any], root: Path, folder: Path) -> list[str]:
    """A line for each family of a library that was built in a folder of a project, and warnings
    about macros that no source uses.
    """
    stored = {one["table"]["name"]: one for one in manifest.get("families", [])}
    place = folder / f"{kernels.name}.json"
    found = [_line(one, stored[one.declaration.name], place) for one in kernels.families]
    if kernels.compiler == NVCC and kernels.variants:
        words: set[str] = set()
        for name in manifest["sources"]:
            words.update(re.findall(r"\w+", (root / name).read_text(errors="replace")))
        found += [
            f"warning: {one.family.declaration.name}: no source of {kernels.library} uses the "
            f"macro {macro}: all its values give the same kernels"
            for one in kernels.variants
            for macro in one.family.declaration.macros
            if macro not in words
        ]
    return found


def _line(one: FamilyTable, stored: Mapping[str, Any], place: Path) -> str:
    libraries = {each["library"] for each in stored["variants"]}
    size = sum(_manifest(each, place).with_suffix(".fatbin").stat().st_size for each in libraries)
    count, every = len(stored["variants"]), len(one.declaration.variants)
    images = f"{len(libraries)} images" if len(libraries) > 1 else "an image"
    whole = f"{count} of {every} variants" if count < every else f"{count} variants"
    first = f"{one.declaration.name}: {whole}, in {images} of {size:,} bytes"
    return "; ".join([first, *_losses(one, stored["dropped"])])


def _losses(one: FamilyTable, dropped: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """The dropped variants by reason, once for all targets with the same."""
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for target, every in dropped.items():
        reasons: dict[str, dict[str, None]] = {}
        for lost in every:
            if lost["reason"] == _ABSENT:
                continue  # the notes of the library have a table of these
            types = f" of {lost['types']}" if lost["types"] else ""
            text = one.declaration.text(tuple(lost["variant"]))
            text = text if tuple(lost["variant"]) in one.faults else text + types
            reasons.setdefault(lost["reason"], {}).setdefault(text)
        for reason, listed in reasons.items():
            alike.setdefault((reason, tuple(listed)), []).append(target)
    for (reason, texts), targets in alike.items():
        more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        first = ", ".join(texts[:_SHOWN]) + more
        yield f"dropped for {', '.join(targets)}: {first} ({reason})"
