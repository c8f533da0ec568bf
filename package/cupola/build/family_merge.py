# package/cupola/build/family_merge.py - merges the families in manifests of one tree.
"""Families of libraries that were built of the same tables for other targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..declare.family_table import read
from .error import BuildError
from .family_manifest import order

KEY = "families"  # of a manifest


def compare(first: Mapping[str, Any], other: Mapping[str, Any], places: tuple[str, str]) -> None:
    """Raise unless two manifests have the same families.

    Targets can differ, and with them the variants that no target can run.

    Raises
    ------
    BuildError
        It names the family, and what differs.
    """
    mine, theirs = _by_name(first), _by_name(other)
    remedy = "build both of the same sources and tables"
    for name in sorted(mine.keys() ^ theirs.keys()):
        has, lacks = places if name in mine else places[::-1]
        raise BuildError(f"{has} has the family {name}, and {lacks} lacks it: {remedy}")
    for name, one in mine.items():
        if one["table"] != theirs[name]["table"]:
            raise BuildError(
                f"{places[0]} and {places[1]} have different tables of the family {name}: {remedy}"
            )
        known = {tuple(entry["variant"]): entry for entry in one["variants"]}
        for entry in theirs[name]["variants"]:
            same = known.get(tuple(entry["variant"]), entry)
            both = same["kernels"].keys() & entry["kernels"].keys()
            if same["library"] != entry["library"] or any(
                same["kernels"][types] != entry["kernels"][types] for types in both
            ):
                raise BuildError(
                    f"{places[0]} and {places[1]} have different kernels for the variant "
                    f"{entry['variant']} of the family {name}: {remedy}"
                )


def merged(manifests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The families of all manifests, as an entry of one; empty where they have none.

    Parameters
    ----------
    manifests : sequence of dict
        Those that `compare` accepts. That of an image whose machine code is partly in other wheels
        still tells what these targets can't run.
    """
    if KEY not in manifests[0]:
        return {}
    tables = [_by_name(one) for one in manifests]
    return {KEY: [_joined([one[name] for one in tables]) for name in tables[0]]}


def _by_name(manifest: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["table"]["name"]: one for one in manifest.get(KEY, [])}


def _joined(given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    declaration = read(given[0]["table"])
    kernels: dict[tuple[Any, ...], dict[str, Any]] = {}
    for one in given:
        for entry in one["variants"]:
            joined = kernels.setdefault(tuple(entry["variant"]), {**entry, "kernels": {}})
            joined["kernels"] = {**joined["kernels"], **entry["kernels"]}
    choices = [",".join(types) for types in declaration.type_choices]
    entries = [kernels[variant] for variant in declaration.variants if variant in kernels]
    for entry in entries:
        named = entry["kernels"]
        entry["kernels"] = {types: named[types] for types in choices if types in named}
    dropped = {target: lost for one in given for target, lost in one["dropped"].items()}
    dropped = {target: dropped[target] for target in sorted(dropped, key=order)}
    return {"table": given[0]["table"], "variants": entries, "dropped": dropped}
