# cupola/core/struct_values.py - values of C structs and variables, by dtypes of manifests.
"""Values for kernels' structs and modules' variables, by the dtypes that manifests have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cupola.exceptions import ArgumentTypeError, ArgumentValueError

# The kinds that each kind of Python's numbers converts to.
_WEAK = {"b": "biufc", "i": "biufc", "u": "biufc", "f": "fc", "c": "c"}


def packed(value: Any, dtype: np.dtype[Any]) -> np.void:
    """A structured scalar with the fields of a mapping or a tuple.

    Parameters
    ----------
    value : mapping, tuple or structured scalar
        A mapping and a named tuple have the struct's fields by name, another tuple in their order.
        Structs in it likewise.
    dtype : numpy.dtype
        The struct's, with names.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Where a field is missing, unknown, of another kind or out of range. The text begins with the
        field's name.
    """
    made = np.zeros((), dtype)
    _put(made, value, dtype, "")
    found: np.void = made[()]
    return found


def for_variable(value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A value in the layout of a variable; the same array where nothing has to be converted.

    Parameters
    ----------
    value : array_like; for structs also a mapping, a tuple, or a sequence of them
    dtype : numpy.dtype
        The variable's, with the shape of an array.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Where the kind of numbers, the fields or the number of elements differ, or a number is out
        of range.
    """
    base, shape = dtype.subdtype or (dtype, ())
    fields = isinstance(value, (Mapping, tuple)) or (shape and isinstance(value, list))
    if base.names is not None and fields:
        made = np.zeros(shape, base)
        _put_structs(made, value, base, shape, "")
        return made
    try:
        found = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"expected {base}, got {_shown(value)}: {error}") from None
    if found.dtype.names is not None and base.names is not None:
        if other := difference(found.dtype, base):
            raise ArgumentTypeError(f"got a struct {other}; the variable's is {base}")
        _check_axes(found, shape)
        return found
    raw = base.kind == "V" and (found.dtype.kind == "V" or found.dtype == np.uint8)
    if not raw and found.size != math.prod(shape):
        raise ArgumentValueError(
            f"expected {math.prod(shape)} of {base} ({dtype.itemsize} bytes), got "
            f"{found.size} of {found.dtype}"
        )
    if raw:
        return found
    _check_axes(found, shape)
    return _cast(value, found, base, "")


def _check_axes(found: np.ndarray[Any, Any], shape: tuple[int, ...]) -> None:
    """Refuses values of several axes for a variable of several other axes."""
    if found.ndim > 1 and len(shape) > 1 and found.shape != shape:
        raise ArgumentValueError(
            f"expected the shape {shape}, got {found.shape}; pass value.reshape({shape}) to keep "
            "the order of the elements"
        )


def _put(made: np.ndarray[Any, Any], value: Any, dtype: np.dtype[Any], where: str) -> None:
    for name, one in _fields_by_name(value, dtype, where).items():
        inner = dtype[name]
        path = f"{where}.{name}" if where else name
        base, shape = inner.subdtype or (inner, ())
        if base.names is not None and not shape:
            _put(made[name], one, base, path)
        elif base.names is not None:
            _put_structs(made[name], one, base, shape, path)
        else:
            made[name] = _number(one, base, shape, path)


def _put_structs(
    made: np.ndarray[Any, Any], value: Any, dtype: np.dtype[Any], shape: tuple[int, ...], where: str
) -> None:
    """An array of structs."""
    if not shape:
        _put(made, value, dtype, where)
        return
    if not isinstance(value, (Sequence, np.ndarray)) or len(value) != shape[0]:
        raise ArgumentTypeError(f"{_prefix(where)}expected {shape[0]} structs, got {_shown(value)}")
    for i, one in enumerate(value):
        _put_structs(made[i, ...], one, dtype, shape[1:], f"{where}[{i}]")


def _fields_by_name(value: Any, dtype: np.dtype[Any], where: str) -> dict[str, Any]:
    """The value's fields by their names, which are all names of the struct."""
    names = dtype.names or ()
    prefix = _prefix(where)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.void) and value.dtype.names is not None:
        given = {name: value[name] for name in value.dtype.names}
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        given = dict(zip(value._fields, value, strict=True))
    elif isinstance(value, tuple):
        if len(value) != len(names):
            raise ArgumentTypeError(
                f"{prefix}expected the {len(names)} fields {', '.join(names)}, got a tuple of "
                f"{len(value)}"
            )
        return dict(zip(names, value, strict=True))
    elif isinstance(value, Mapping):
        given = dict(value)
    else:
        raise ArgumentTypeError(
            f"{prefix}expected a mapping or a tuple of {', '.join(names)}, got {_shown(value)}"
        )
    missing = [name for name in names if name not in given]
    unknown = [str(name) for name in given if name not in names]
    if missing or unknown:
        wrong = [f"without {', '.join(missing)}"] if missing else []
        wrong += [f"with the unknown {', '.join(unknown)}"] if unknown else []
        raise ArgumentTypeError(
            f"{prefix}expected the fields {', '.join(names)}, got a {type(value).__name__} "
            f"{' and '.join(wrong)}"
        )
    return given


def _prefix(where: str) -> str:
    return f"{where}: " if where else ""


def _number(value: Any, dtype: np.dtype[Any], shape: tuple[int, ...], where: str) -> Any:
    """A number or an array of numbers, by NumPy's same_kind rule."""
    try:
        found = np.asarray(value, dtype) if dtype.kind == "V" else np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"{where}: expected {dtype}, got {_shown(value)}: {error}"
        ) from None
    if found.shape != shape:
        text = f"the shape {shape}" if shape else "one number"
        raise ArgumentValueError(f"{where}: expected {text}, got {_shown(value)}")
    return _cast(value, found, dtype, where)


def _cast(
    value: Any, found: np.ndarray[Any, Any], dtype: np.dtype[Any], where: str
) -> np.ndarray[Any, Any]:
    """The array of a value's numbers in the dtype; refuses other kinds and numbers out of range."""
    if found.dtype == dtype:
        return found
    prefix = _prefix(where)
    if not _converts(value, found, dtype):
        raise ArgumentTypeError(f"{prefix}expected {dtype}, got {_shown(value)}")
    if dtype.kind in "biu" and found.dtype.kind in "biuO" and found.size:
        least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if int(found.min()) < least or int(found.max()) > most:
            raise ArgumentValueError(
                f"{prefix}expected {least} to {most}, the range of {dtype}, got {_shown(value)}"
            )
    try:
        with np.errstate(over="ignore"):
            made = found.astype(dtype)
        lost = dtype.kind in "fc" and np.any(np.isinf(made) & ~np.isinf(found.astype("c16")))
    except OverflowError:
        lost = True
    if lost:
        raise ArgumentValueError(f"{prefix}{_shown(value)} is out of the range of {dtype}")
    return made


def _converts(value: Any, found: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> bool:
    """Whether the kinds of numbers fit. Python's numbers have no size."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np.can_cast(found.dtype, dtype, "same_kind")
    kind = found.dtype.kind
    if kind == "O" and all(isinstance(one, int) for one in found.flat):
        kind = "i"  # larger than 64 bits
    return dtype.kind in _WEAK.get(kind, "")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"a {type(value).__name__}"


def difference(given: np.dtype[Any], wanted: np.dtype[Any]) -> str:
    """Describes the first difference in the layouts of two structs; "" where they agree.

    Ignores byte order, and bytes that only one struct describes. Signed and unsigned integers of
    one size are equal. A name that both structs have must be at one place in both: names that the
    wanted struct lacks, and those that NumPy gives by itself (f0, f1), are the caller's.
    """
    known = dict(_leaves(wanted, 0, ""))
    taken = {byte: at for at, (one, _) in known.items() for byte in range(at, at + one.itemsize)}
    for at, (one, name) in _leaves(given, 0, ""):
        for byte in range(at, at + one.itemsize):
            if byte not in taken:
                continue
            other, meant = known[taken[byte]]
            if taken[byte] != at or other.itemsize != one.itemsize or _kind(other) != _kind(one):
                return f"in which {name} is {one} at {at}, not {meant} of {other}"
            break
    return _other_name(given, wanted, "")


def _other_name(given: np.dtype[Any], wanted: np.dtype[Any], where: str) -> str:
    """Describes the first field whose name the wanted struct has elsewhere; "" without one."""
    given, wanted = given.base, wanted.base
    if not given.fields or not wanted.fields:
        return ""
    named = _is_named(given) and _is_named(wanted)
    for name, (inner, offset, *_) in given.fields.items():
        path = f"{where}.{name}" if where else name
        there = {
            other: kind
            for other, (kind, at, *_) in wanted.fields.items()
            if at == offset and kind.itemsize == inner.itemsize
        }
        if not there or (inner.base.kind == "V" and inner.base.names is None):
            continue
        if named and name not in there and name in wanted.fields:
            return f"in which {path} is at {offset}, where the other struct has {min(there)}"
        kind = there.get(name, next(iter(there.values())))
        if found := _other_name(inner, kind, path):
            return found
    return ""


def _is_named(dtype: np.dtype[Any]) -> bool:
    names = dtype.names or ()
    return names != tuple(f"f{place}" for place in range(len(names)))


def _leaves(
    dtype: np.dtype[Any], at: int, name: str
) -> Iterator[tuple[int, tuple[np.dtype[Any], str]]]:
    """The numbers in a struct, by their offsets."""
    if dtype.itemsize == 0:
        return
    if dtype.subdtype is not None:
        inner, shape = dtype.subdtype
        for i in range(math.prod(shape)):
            yield from _leaves(inner, at + i * inner.itemsize, name)
    elif dtype.fields is not None:
        for field, (inner, offset, *_) in dtype.fields.items():
            yield from _leaves(inner, at + offset, f"{name}.{field}" if name else field)
    elif dtype.kind != "V":
        yield at, (dtype, name)


def _kind(dtype: np.dtype[Any]) -> str:
    return {"u": "i", "b": "i"}.get(dtype.kind, dtype.kind)
