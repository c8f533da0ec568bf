# cupola/declare/stored_family.py - reads the families in a manifest.
"""Families of variants, as `cupola.build.family_manifest` writes them into manifests.

A manifest is untrusted: no name in it leads out of the family's own package, and no variant is one
that the declaration does not have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..exceptions import ImageError
from .declaration_error import DeclarationError
from .family import MOST_VARIANTS, FamilyDeclaration, Variant
from .family_table import read

_NAME = re.compile(r"[^\W\d]\w*")
_TARGET = re.compile(r"sm_[1-9]\d{1,2}[af]?")
_LONGEST = 1 << 16  # characters of a name or a reason
_MALFORMED = (
    ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OverflowError
)  # fmt: skip

Types = tuple[str, ...]  # element types of the arguments in the declaration's `types`


class StoredVariant(NamedTuple):
    """Where a variant's kernels are."""

    library: str  # the module, "heat._kernels_step_TX16"
    kernels: Mapping[Types, str]  # names in the library's image; without those that no target runs


@dataclass(frozen=True)
class StoredFamily:
    """A family that was built."""

    declaration: FamilyDeclaration
    variants: Mapping[Variant, StoredVariant]  # those that some target can run
    # By target ("sm_90a"), why it can't run a variant.
    dropped: Mapping[str, Mapping[tuple[Variant, Types], str]]


def families_of(head: Mapping[str, Any], place: str) -> dict[str, StoredFamily]:
    """The families that a manifest describes, by their names in the package.

    Parameters
    ----------
    head : dict
        The fields of the manifest that describe the whole image.
    place : str
        The manifest's file, for messages.

    Raises
    ------
    ImageError
        A family is malformed, or contradicts its declaration; the text names it.
    """
    found: dict[str, StoredFamily] = {}
    name = ""
    try:
        given = head.get("families", [])
        if not isinstance(given, list):
            raise TypeError(f"families: a list is expected, got {type(given).__name__}")
        for one in given:
            name = str(one["table"]["name"])
            stored = _stored(one)
            package, _, short = stored.declaration.name.rpartition(".")
            if not package or not _NAME.fullmatch(short) or short in found:
                raise ValueError("expected a name of its own, as in 'heat.step'")
            found[short] = stored
    except DeclarationError as error:
        raise ImageError(f"the manifest {place} is malformed: family {name}: {error}") from None
    except _MALFORMED as error:
        raise ImageError(
            f"the manifest {place} is malformed: family {name}: {type(error).__name__}: {error}"
        ) from error
    return found


def _stored(given: Mapping[str, Any]) -> StoredFamily:
    declaration = read(given["table"])
    allowed, choices = set(declaration.variants), set(declaration.type_choices)
    package = declaration.name.rpartition(".")[0]
    variants: dict[Variant, StoredVariant] = {}
    for one in _listed(given["variants"]):
        variant = _variant(one["variant"], allowed)
        library, kernels = _text(one["library"]), dict(one["kernels"])
        inside, _, name = library.rpartition(".")
        if inside != package or not _NAME.fullmatch(name):
            raise ValueError(f"{library!r} is no library of the package {package}")
        if variant in variants:
            raise ValueError(f"two entries for {declaration.text(variant)}")
        named = {_types(types, choices): _text(kernel) for types, kernel in kernels.items()}
        variants[variant] = StoredVariant(library, named)
    dropped: dict[str, dict[tuple[Variant, Types], str]] = {}
    for target, lost in given["dropped"].items():
        if not _TARGET.fullmatch(target):
            raise ValueError(f"{target!r} is no target")
        dropped[target] = {
            (_variant(one["variant"], allowed), _types(one["types"], choices)): _text(one["reason"])
            for one in _listed(lost)
        }
    if declaration.default not in variants:
        raise ValueError("its default is not among its variants")
    return StoredFamily(declaration, variants, dropped)


def _listed(given: Any) -> list[Any]:
    if not isinstance(given, list) or len(given) > MOST_VARIANTS * MOST_VARIANTS:
        raise TypeError(f"a list is expected, got {type(given).__name__}")
    return given


def _variant(given: Any, allowed: set[Variant]) -> Variant:
    if not isinstance(given, list) or any(type(value) not in (int, str) for value in given):
        raise TypeError(f"a variant of {given!r}")
    if tuple(given) not in allowed:
        raise ValueError(f"the declaration has no variant {given!r}")
    return tuple(given)


def _types(given: Any, choices: set[Types]) -> Types:
    found = tuple(_text(given).split(",")) if given else ()
    if found not in choices:
        raise ValueError(f"the declaration has no types {given!r}")
    return found


def _text(given: Any) -> str:
    if not isinstance(given, str) or not 0 < len(given) < _LONGEST:
        raise TypeError(f"a text is expected, got {str(given)[:40]!r}")
    return given
