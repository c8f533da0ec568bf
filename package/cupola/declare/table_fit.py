# cupola/declare/table_fit.py - whether rows of a table were measured on a family's code.
"""Digests of families, and the comparison of tables with them, at run time and in builds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from .family import FamilyDeclaration
from .stored_family import families_of
from .tuning_table import FamilyRows, TableError, read

FOLDER = "tuning"  # of a package
# The keys of a family's table that decide its code.
_OF_THE_CODE = ("kernel", "source", "macros", "options", "types")


def about_the_code(declaration: FamilyDeclaration) -> dict[str, Any]:
    """The keys of a declaration that decide the code, for a digest."""
    return {key: declaration.table[key] for key in _OF_THE_CODE if key in declaration.table}


def digest(declaration: FamilyDeclaration, head: Mapping[str, Any]) -> str:
    """The digest of a package's family. It is equal in wheels that `cupola merge` and
    `cupola split` make of each other: such wheels are of the same sources, options and toolkit.

    Parameters
    ----------
    declaration : FamilyDeclaration
    head : mapping
        The fields of the manifest that describe the whole image.
    """
    parts = [
        about_the_code(declaration),
        head["sources"],
        {key: head.get(key) for key in ("toolkit", "compiler", "options")},
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def unfit(rows: FamilyRows, declaration: FamilyDeclaration, digest: str) -> str:
    """Why rows can't be used; empty where they can."""
    if rows.digest != digest:
        return (
            f"its rows for {rows.name} were measured on other code (digest {rows.digest[:12]}, "
            f"and that of the code is {digest[:12]})"
        )
    if rows.tunables != tuple(declaration.tunables):
        return f"its rows for {rows.name} have the tunables {', '.join(rows.tunables)}"
    if rows.key != declaration.key:
        return f"its rows for {rows.name} have the key {', '.join(rows.key) or 'of no size'}"
    return ""


def stale(head: Mapping[str, Any], manifest: str, tables: Iterable[tuple[str, bytes]]) -> list[str]:
    """A line for each table of a package, and each family in it, that launches ignore.

    Parameters
    ----------
    head : mapping
        The fields of the manifest that describe the whole image, with families.
    manifest : str
        The manifest's file, for messages.
    tables : iterable of (str, bytes)
        The name and the content of each file.

    Raises
    ------
    ImageError
        The manifest is malformed.
    """
    families = {
        one.declaration.name: one.declaration for one in families_of(head, manifest).values()
    }
    if not families or not head.get("sources"):
        return []
    package = next(iter(families)).rpartition(".")[0]
    found = []
    for name, content in tables:
        reasons: dict[str, str] = {}
        try:
            listed = read(content).families
        except TableError as error:
            found.append(f"{name}: {error}: remove the file, or {_remedy(package)}")
            continue
        for rows in listed:
            declaration = families.get(rows.name)
            if declaration is None:
                why = f"its rows are for {rows.name}, and the package has no such family"
            else:
                why = unfit(rows, declaration, digest(declaration, head))
            if why:
                reasons.setdefault(rows.name, why)
            else:
                reasons[rows.name] = ""  # rows of earlier code beside these do no harm
        found += [
            f"{name}: {why}: launches ignore them; {_remedy(package)}"
            for why in reasons.values()
            if why
        ]
    return found


def _remedy(package: str) -> str:
    folder = "/".join([*package.split("."), FOLDER])
    return f"measure again by `python -m cupola tune {package} --output {folder}`"
