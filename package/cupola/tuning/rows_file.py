# cupola/tuning/rows_file.py - adds rows to the table of a device.
"""The file of a device's rows."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from cupola import cache
from cupola.declare.family import FamilyDeclaration
from cupola.tuning.results import Row

_FORMAT = 1
_FOLDER = "tuning"


def store_rows(
    declaration: FamilyDeclaration,
    name: str,
    digest: str,
    device: Mapping[str, Any],
    rows: Sequence[Row],
    folder: str | os.PathLike[str] | None = None,
) -> str | None:
    """Add rows to the file of a device, in place of those with the same keys.

    Parameters
    ----------
    declaration, name, digest : FamilyDeclaration, str, str
        The family.
    device : mapping
        As `cupola.tuning.device_facts.device_facts` describes it.
    rows : sequence of Row
    folder : path-like, optional
        By default that of the user, in the cache.

    Returns
    -------
    str or None
        The file; None where the cache is disabled.
    """
    if folder is None:
        around = cache.folder()
        if around is None:
            return None
        folder = os.path.join(around, _FOLDER)
    words = re.sub(r"[^a-z0-9]+", "-", device["name"].lower()).strip("-")
    path = os.path.join(folder, f"{words}-sm{device['capability'].replace('.', '')}.json")
    families = []
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
        families = json.load(file)["families"]
    kept = [one for one in families if one["name"] != name]
    old = [one for one in families if one["name"] == name and one["digest"] == digest]
    known = {json.dumps([row["types"], row["key"]]): row for one in old for row in one["rows"]}
    known |= {json.dumps([row.types, row.key]): row._asdict() for row in rows}
    entry = {
        "name": name,
        "digest": digest,
        "tunables": list(declaration.tunables),
        "key": list(declaration.key),
        "rows": list(known.values()),
    }
    os.makedirs(folder, 0o700, exist_ok=True)
    aside, made = tempfile.mkstemp(prefix=".", suffix=".new", dir=folder)
    with open(aside, "w", encoding="utf-8") as file:
        whole = {"format": _FORMAT, "device": dict(device), "families": [*kept, entry]}
        file.write(json.dumps(whole, indent=1) + "\n")
    os.replace(made, path)
    return path
