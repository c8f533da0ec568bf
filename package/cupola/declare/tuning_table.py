# cupola/declare/tuning_table.py - tables of measurements: their JSON, checked and joined.
"""Tables of measured variants, a JSON file for each device.

``format`` 1::

    {"format": 1,
     "device": {"name": "NVIDIA H200", "capability": "9.0", "memory": 150754820096,
                "driver": 12080, "clock": 1980000},
     "families": [
      {"name": "step", "digest": "9f86d0...", "tunables": ["TX"], "key": ["rows"], "rows": [
       {"types": ["float32"], "key": [4096], "variant": {"TX": 32}, "seconds": 1.2e-05,
        "spread": 0.01, "default_seconds": 2.1e-05, "variants": 24,
        "date": "2026-11-29T06:00:00Z"}]}]}

``memory`` is in bytes, ``clock`` in kHz, ``driver`` as CUDA numbers it. ``seconds`` is the median
time of a launch of the variant, and ``spread`` the relative spread of its times.
``default_seconds`` is the median of the declared default; null: it was not measured. ``variants``
is the number of variants that were measured. ``digest`` identifies the code. A file is untrusted.
Only the standard library is imported: the build joins tables, too.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .family import MOST_VARIANTS, Value
from .family_table import MOST_KEY, MOST_VALUES

FORMAT = 1
MOST_BYTES = 4 << 20  # of a file
MOST_FAMILIES = 4096
MOST_ROWS = 1 << 14  # of a file
_MOST_VERSIONS = 8  # of a family's code, in a table that grows
_MOST_OF_ONE = 2048  # rows of one version
_MOST_TEXT = 256
_MOST_SIZE = 2**63 - 1
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_CAPABILITY = re.compile(r"\d{1,3}\.\d{1,2}", re.ASCII)


class TableError(ValueError):
    """A table is malformed, or two tables can't be joined."""


@dataclass(frozen=True)
class DeviceRecord:
    """The device of a table."""

    name: str
    capability: str  # "9.0"
    memory: int  # bytes
    driver: int  # 12080 for 12.8
    clock: int  # kHz


class Row(NamedTuple):
    """The best variant for one key."""

    types: tuple[str, ...]  # element types of the arguments in the declaration's `types`
    key: tuple[int, ...]
    variant: Mapping[str, Value]
    seconds: float
    spread: float
    default_seconds: float | None
    variants: int  # that were measured
    date: str  # UTC, "2026-11-29T06:00:00Z"

    @property
    def place(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Types and key: each row of a family has others."""
        return self.types, self.key


@dataclass(frozen=True)
class FamilyRows:
    """The rows of one family's code."""

    name: str
    digest: str
    tunables: tuple[str, ...]
    key: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """The content of a file."""

    device: DeviceRecord
    families: tuple[FamilyRows, ...]


def read(content: bytes | str) -> Table:
    """Check the content of a file.

    Raises
    ------
    TableError
        It is malformed, too large, or of another format; the text names the field.
    """
    if len(content) > MOST_BYTES:
        raise TableError(f"it has more than {MOST_BYTES:,} bytes")
    try:
        whole = json.loads(content, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise TableError(f"it is no JSON: {error}") from None
    fields = _object("the file", whole, {"format", "device", "families"})
    if type(fields["format"]) is not int or fields["format"] != FORMAT:
        raise TableError(
            f"it has format {_shown(fields['format'])}, and this version of cupola reads format "
            f"{FORMAT}"
        )
    known: dict[tuple[str, str], FamilyRows] = {}
    left = MOST_ROWS
    for given in _list("families", fields["families"], MOST_FAMILIES):
        family = _family(given, left)
        left -= len(family.rows)
        if (family.name, family.digest) in known:
            raise TableError(f"family {family.name}: it is listed twice")
        known[family.name, family.digest] = family
    return Table(_device(fields["device"]), tuple(known.values()))


def written(table: Table) -> str:
    """The text of a file: one line for each row, in a fixed order."""
    families = [
        _line(
            {
                "name": one.name,
                "digest": one.digest,
                "tunables": list(one.tunables),
                "key": list(one.key),
                "rows": [],
            },
        )[:-2]
        + "".join(
            f"{',' if at else ''}\n   {_line(_row_object(one, row))}"
            for at, row in enumerate(sorted(one.rows, key=lambda row: row.place))
        )
        + "]}"
        for one in sorted(table.families, key=lambda one: (one.name, one.digest))
    ]
    listed = ",\n  ".join(families)
    return (
        f'{{"format": {FORMAT},\n "device": {_line(vars(table.device))},\n "families": ['
        + (f"\n  {listed}" if families else "")
        + "]}\n"
    )


def merge(one: Table, other: Table) -> Table:
    """The rows of two tables of one device; of two rows for one key, the newer.

    Raises
    ------
    TableError
        They are of different devices, or have rows for different code of one family.
    """
    device = _same_device(one, other)
    families = {family.name: family for family in one.families}
    for family in other.families:
        known = families.get(family.name)
        if known is not None and known.digest != family.digest:
            raise TableError(
                f"family {family.name}: one table is for code with the digest "
                f"{known.digest[:12]}, the other for {family.digest[:12]}: tune both on the same "
                "build"
            )
        families[family.name] = family if known is None else _joined(known, family)
    return Table(device, tuple(families.values()))


def with_rows(table: Table, added: FamilyRows) -> Table:
    """The table with the rows of a family, of two rows for one key the newer.

    Rows for the newest versions of the family's code are kept, and as many newest rows of all
    families as a table can have.
    """
    for known in table.families:
        if (known.name, known.digest) == (added.name, added.digest):
            added = _joined(known, added)
    rows = sorted(added.rows, key=lambda row: row.date, reverse=True)[:_MOST_OF_ONE]
    added = replace(added, rows=tuple(rows))
    kept, versions = [added], 1
    for one in sorted(table.families, key=_newest, reverse=True):
        if one.name == added.name:
            versions += one.digest != added.digest
            if one.digest == added.digest or versions > _MOST_VERSIONS:
                continue
        kept.append(one)
    while len(kept) > 1 and not _fits(kept, table.device):
        del kept[-1]
    return Table(table.device, tuple(kept))


def _newest(family: FamilyRows) -> str:
    return max((row.date for row in family.rows), default="")


def _fits(families: list[FamilyRows], device: DeviceRecord) -> bool:
    return (
        len(families) <= MOST_FAMILIES
        and sum(len(one.rows) for one in families) <= MOST_ROWS
        and len(written(Table(device, tuple(families)))) <= MOST_BYTES
    )


def _joined(one: FamilyRows, other: FamilyRows) -> FamilyRows:
    if (one.tunables, one.key) != (other.tunables, other.key):
        return other  # the declaration changed, and the code did not
    rows = {row.place: row for row in one.rows}
    for row in other.rows:
        if row.place not in rows or rows[row.place].date <= row.date:
            rows[row.place] = row
    return FamilyRows(one.name, one.digest, one.tunables, one.key, tuple(rows.values()))


def _same_device(one: Table, other: Table) -> DeviceRecord:
    mine, theirs = one.device, other.device
    if (mine.name, mine.capability) != (theirs.name, theirs.capability):
        raise TableError(
            f"one table is of {mine.name} ({mine.capability}), the other of {theirs.name} "
            f"({theirs.capability})"
        )
    return max(mine, theirs, key=lambda device: device.driver)


def _line(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _row_object(family: FamilyRows, row: Row) -> dict[str, Any]:
    return {
        "types": list(row.types),
        "key": list(row.key),
        "variant": {name: row.variant[name] for name in family.tunables},
        "seconds": float(row.seconds),
        "spread": float(row.spread),
        "default_seconds": row.default_seconds,
        "variants": row.variants,
        "date": row.date,
    }


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _wrong(what: str, value: Any, expected: str) -> TableError:
    return TableError(f"{what}: expected {expected}, got {_shown(value)}")


def _object(what: str, value: Any, needed: Iterable[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(what, value, "an object")
    for key in sorted(needed):
        if key not in value:
            raise TableError(f"{what} lacks {key!r}")
    return value


def _list(what: str, value: Any, most: int) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(what, value, "a list")
    if len(value) > most:
        raise TableError(f"{what}: {len(value):,} entries, and at most {most:,} are read")
    return value


def _text(what: str, value: Any, pattern: re.Pattern[str] | None = None) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _MOST_TEXT or not value.isprintable():
        raise _wrong(what, value, f"a text of 1 to {_MOST_TEXT} characters")
    if pattern is not None and not pattern.fullmatch(value):
        raise _wrong(what, value, f"a text of the form {pattern.pattern}")
    return value


def _texts(what: str, value: Any, most: int) -> tuple[str, ...]:
    return tuple(_text(what, one) for one in _list(what, value, most))


def _integer(what: str, value: Any, least: int = 0, most: int = _MOST_SIZE) -> int:
    if type(value) is not int or not least <= value <= most:
        raise _wrong(what, value, f"an integer from {least} to {most}")
    return value


def _real(what: str, value: Any, allowed: Callable[[float], bool], expected: str) -> float:
    try:
        number = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and allowed(number)):
        raise _wrong(what, value, expected)
    return number


def _seconds(what: str, value: Any) -> float:
    return _real(what, value, lambda number: number > 0, "a time in seconds")


def _device(given: Any) -> DeviceRecord:
    fields = _object("device", given, ("name", "capability", "memory", "driver", "clock"))
    return DeviceRecord(
        _text("device.name", fields["name"]),
        _text("device.capability", fields["capability"], _CAPABILITY),
        *(_integer(f"device.{key}", fields[key]) for key in ("memory", "driver", "clock")),
    )


def _family(given: Any, most: int) -> FamilyRows:
    fields = _object("a family", given, ("name", "digest", "tunables", "key", "rows"))
    name = _text("a family's name", fields["name"])
    what = f"family {name}"
    tunables = _texts(f"{what}: tunables", fields["tunables"], MOST_VALUES)
    key = _texts(f"{what}: key", fields["key"], MOST_KEY)
    rows: dict[Any, Row] = {}
    for at, one in enumerate(_list(f"{what}: rows", fields["rows"], most)):
        row = _row(f"{what}, row {at}", one, tunables, key)
        if row.place in rows:
            raise TableError(f"{what}, row {at}: the key {list(row.key)} is listed twice")
        rows[row.place] = row
    digest = _text(f"{what}: digest", fields["digest"], _DIGEST)
    return FamilyRows(name, digest, tunables, key, tuple(rows.values()))


def _row(what: str, given: Any, tunables: tuple[str, ...], key: tuple[str, ...]) -> Row:
    needed = ("types", "key", "variant", "seconds", "spread", "default_seconds", "variants", "date")
    fields = _object(what, given, needed)
    sizes = tuple(
        _integer(f"{what}: key", one) for one in _list(f"{what}: key", fields["key"], MOST_KEY)
    )
    if len(sizes) != len(key):
        raise TableError(f"{what}: {len(sizes)} sizes for a key of {len(key)}")
    variant = _object(f"{what}: variant", fields["variant"], tunables)
    if len(variant) != len(tunables):
        raise TableError(f"{what}: the variant has values for other tunables than {tunables}")
    default = fields["default_seconds"]
    return Row(
        _texts(f"{what}: types", fields["types"], MOST_VALUES),
        sizes,
        {name: _value(f"{what}: {name}", variant[name]) for name in tunables},
        _seconds(f"{what}: seconds", fields["seconds"]),
        _real(f"{what}: spread", fields["spread"], lambda number: number >= 0, "a number >= 0"),
        None if default is None else _seconds(f"{what}: default_seconds", default),
        _integer(f"{what}: variants", fields["variants"], 1, MOST_VARIANTS),
        _text(f"{what}: date", fields["date"], _DATE),
    )


def _value(what: str, given: Any) -> Value:
    if isinstance(given, str):
        return _text(what, given)
    return _integer(what, given, -(2**31), 2**31 - 1)
