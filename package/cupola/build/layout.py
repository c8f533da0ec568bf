# package/cupola/build/layout.py - memory layouts of values as NumPy dtypes in JSON.
"""dtypes of the types in debug information, as JSON values.

- ``"<f4"`` is a dtype as NumPy spells it, ``"|V8"`` bytes without a description;
- ``["<f4", [2, 3]]`` an array of these;
- ``{"names": [...], "formats": [...], "offsets": [...], "itemsize": 40}`` a struct.

`cupola.image.manifest.dtype_of` converts them to NumPy dtypes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Description = dict[str, Any]
Spec = Any  # a JSON value: str, list or dict

_FLOATS = {"half": "<f2", "float": "<f4", "double": "<f8"}


def dtype(description: Description) -> Spec:
    """The dtype of a value, or of a field with its ``shape``; pointers are addresses."""
    inner = _scalar(description)
    shape = description.get("shape")
    return [inner, list(shape)] if shape else inner


def _scalar(description: Description) -> Spec:
    kind, size = description["kind"], description["size"]
    if kind == "pointer":
        return "<u8"
    if kind == "float":
        return _FLOATS.get(description["type"], "<u2" if size == 2 else f"<f{size}")
    if kind == "integer":
        if description["type"] == "bool":
            return "|b1"
        return f"{'<' if size > 1 else '|'}{'i' if description['signed'] else 'u'}{size}"
    fields = description.get("fields")
    if not fields or description.get("union"):
        return f"|V{size}"
    return _struct(fields, size)


def _struct(fields: Sequence[Description], size: int) -> Spec:
    names: list[str] = []
    formats: list[Spec] = []
    offsets: list[int] = []
    for field in _merged(fields):
        name = field["name"] or f"_{field['offset']}"
        while name in names:
            name += "_"
        names.append(name)
        formats.append(dtype(field))
        offsets.append(field["offset"])
    return {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}


def _merged(fields: Sequence[Description]) -> Iterator[Description]:
    """Fields, with bit fields that share bytes merged, without fields of size 0."""
    waiting: list[Description] = []
    for field in fields:
        if "bits" in field:
            if waiting and _bytes(waiting[-1])[1] <= _bytes(field)[0]:
                yield _shared(waiting)
                waiting = []
            waiting.append(field)
            continue
        if waiting:
            yield _shared(waiting)
            waiting = []
        hollow = field["kind"] == "struct" and not field.get("fields") and field.get("base")
        if field["count"] and not hollow:
            yield field
    if waiting:
        yield _shared(waiting)


def _bytes(field: Description) -> tuple[int, int]:
    """The first byte of a bit field, and the one after its last."""
    first, width = field["bits"]
    return field["offset"] + first // 8, field["offset"] + (first + width + 7) // 8


def _shared(fields: Sequence[Description]) -> Description:
    begin = min(_bytes(field)[0] for field in fields)
    end = max(_bytes(field)[1] for field in fields)
    name = "_".join(field["name"] for field in fields if field["name"])
    return {"name": name, "kind": "struct", "size": end - begin, "offset": begin, "count": 1}


def notes(description: Description, where: str = "") -> list[str]:
    """Notes on a value that a dtype can't express."""
    if description["kind"] == "float" and description["type"] == "bfloat16":
        return [f"{where or 'this'} is a bfloat16, by its bits"]
    if description["kind"] != "struct":
        return []
    if description.get("union"):
        return [f"{where or 'this'} is a union, by its bytes"]
    if not description.get("fields") and not description.get("base"):
        return [f"{where or 'this'} is told by its bytes alone"]
    found = []
    for field in description.get("fields", []):
        path = f"{where}.{field['name']}" if where else field["name"]
        if "bits" in field:
            first, width = field["bits"]
            found.append(
                f"{path} is bits {first} to {first + width - 1} from byte {field['offset']}"
            )
        else:
            found += notes(field, path)
    return found
