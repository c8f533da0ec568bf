# cupola/arrays/keys.py - x[key] and x[key] = value where a key has arrays of indices or masks.
"""`get_items` and `set_items`, by NumPy's rules of advanced indexing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import is_device_array, require_device
from cupola.arrays.compaction import nonzero_of, select
from cupola.arrays.element_types import require_native
from cupola.arrays.layouts import broadcast_to
from cupola.arrays.plans import planned
from cupola.creation import asarray, empty
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from cupola.arrays.positions import Positions

# The modules for what is not a mask of a whole array are imported at their use: x[mask] is common.
TITLE = "x[key]"
Indices = Any  # a numpy.ndarray or an Array


class Selection(NamedTuple):
    """A view with its indexed axes side by side, and the indices."""

    view: Array
    before: int  # axes of the view before the indexed ones
    positions: Positions


def get_items(array: Array, key: Any) -> Array:
    """``array[key]`` for a key with arrays of indices or masks.

    Parameters
    ----------
    array : Array
    key : object, or tuple of objects
        Ints, slices, None, ``...``, arrays of integers and of bool, on a device or on the host,
        and lists.

    Returns
    -------
    Array
        A new array in C order, queued on the current stream.

    Raises
    ------
    IndexError
        Where an index on the host is out of range, or shapes do not fit.
    ArgumentValueError
        While the stream is being captured, where the call must wait for the device.

    Notes
    -----
    A mask on the device gives a size that only the device knows: the call waits for a count. The
    device checks the range of its own indices, and a later wait raises the error, as for `take`.
    """
    if _is_whole_mask(key, array):
        require_native(TITLE, "x", array)
        return select(array, _fitting(key, array, 0), TITLE)
    return _items(array, key)


@planned
def _items(array: Array, key: Any) -> Array:
    require_native(TITLE, "x", array)
    keys = _parsed(array, key)
    if len(keys) == 1 and _is_whole_mask(keys[0], array):
        return select(array, keys[0], TITLE)
    from cupola.arrays.gather import take_from

    return take_from(*_selected(array, keys))


@planned
def set_items(array: Array, key: Any, value: Any) -> None:
    """``array[key] = value`` for a key with arrays of indices or masks.

    Parameters
    ----------
    array : Array
    key : object, or tuple of objects
        As for `get_items`.
    value : array_like or Array
        Broadcast to the shape of ``array[key]``, and cast by NumPy's rule "same_kind".

    Notes
    -----
    Where indices are equal, the value of the last one stays, as in NumPy. For more than 4,096
    indices on the device that takes temporary memory of about 8 bytes for each position of the
    indexed axes, unless `value` is a single element. The device checks the range of its own
    indices. Nothing is written for an index that is out of range, and a later wait raises the
    error, as for `put`. The call waits where a mask on the device takes several values.
    """
    from cupola.arrays.choose import fill_where
    from cupola.arrays.gather import put_into

    if not array.flags.writeable:
        raise ArgumentValueError("this array's memory is read-only")
    require_native(f"{TITLE} = value", "x", array)
    keys = _parsed(array, key)
    values = _values(array, value)
    if len(keys) == 1 and values.size == 1 and _is_mask(keys[0]) and keys[0].ndim:
        mask = _fitting(keys[0], array, 0)
        if isinstance(mask, Array):
            fill_where(array, mask, values.reshape(()))
            return
    selection = _selected(array, keys)
    shape = (
        *selection.view.shape[: selection.before],
        *selection.positions.shape,
        *selection.view.shape[selection.before + len(selection.positions.sizes) :],
    )
    while values.ndim > len(shape) and values.shape[0] == 1:
        values = values[0]
    try:
        values = broadcast_to(values, shape)
    except ArgumentValueError:
        raise ArgumentValueError(
            f"x[key] = value: a value of shape {values.shape} does not fit the {shape} of x[key]"
        ) from None
    put_into(*selection, values)


def _values(array: Array, value: Any) -> Array:
    """The values on the array's device, of its dtype."""
    if isinstance(value, (bool, int, float, complex, np.generic)):
        filled: Array = empty((), array.dtype, device=array.device_index)
        filled.fill(value)  # without a copy from the host
        return filled
    if not is_device_array(value):
        # The plain path converts and copies as for x[...] = value.
        made: Array = empty(np.shape(value), array.dtype, device=array.device_index)
        made[...] = value
        return made
    found: Array = asarray(value)
    require_device(f"{TITLE} = value", "value", found, array.device_index)
    require_native(f"{TITLE} = value", "value", found)
    if found.dtype == array.dtype:
        return found
    return found.astype(array.dtype, casting="same_kind")


def _parsed(array: Array, key: Any) -> list[Any]:
    """The key's parts; lists and other libraries' arrays as arrays."""
    keys = []
    for part in key if isinstance(key, tuple) else (key,):
        if part is None or part is Ellipsis or isinstance(part, slice):
            keys.append(part)
            continue
        keys.append(part.__index__() if _is_int(part) else _indices(part))
    return keys


def _is_int(part: Any) -> bool:
    # An array on the device is not read here: to ask for its value would wait for the device.
    if isinstance(part, (bool, Array)) or not hasattr(part, "__index__"):
        return False
    return not getattr(part, "ndim", 0) and getattr(part, "dtype", None) != np.bool_


def _indices(part: Any) -> Indices:
    if is_device_array(part):
        found = asarray(part)
    else:
        try:
            found = np.asarray(part)
        except ValueError as error:
            kind = type(part).__name__
            raise ArgumentTypeError(f"{TITLE}: a {kind} is no index: {error}") from None
        if isinstance(part, (list, tuple)) and found.size == 0:
            found = found.astype(np.int64)
    if found.dtype.kind not in "biu":
        raise ArgumentTypeError(
            f"{TITLE}: expected ints, slices, None, ... and arrays of integers or bool, got a "
            f"{type(part).__name__} of {found.dtype}"
        )
    return found


def _is_mask(part: Any) -> bool:
    return isinstance(part, (np.ndarray, Array)) and part.dtype == np.bool_


def _is_whole_mask(part: Any, array: Array) -> bool:
    return isinstance(part, Array) and _is_mask(part) and part.shape == array.shape != ()


def _fitting(mask: Indices, array: Array, axis: int) -> Indices:
    """The mask, after a check of its shape."""
    for number, (length, size) in enumerate(zip(mask.shape, array.shape[axis:], strict=False)):
        if length != size:
            raise IndexError(
                f"{TITLE}: the mask has {length} elements along axis {number}, and axis "
                f"{axis + number} of the array has {size}"
            )
    if isinstance(mask, Array):
        require_device(TITLE, "mask", mask, array.device_index)
    return mask


def _selected(array: Array, keys: list[Any]) -> Selection:
    """The view, with its axes in the result's order, and the positions."""
    from cupola.arrays.positions import Positions

    taken = sum(
        part.ndim if _is_mask(part) else 1
        for part in keys
        if part is not None and part is not Ellipsis
    )
    if sum(part is Ellipsis for part in keys) > 1:
        raise IndexError("an index can have only one ellipsis ('...')")
    if taken > array.ndim:
        raise IndexError(f"the array has {array.ndim} axes, and {taken} are indexed")
    if not any(part is Ellipsis for part in keys):
        keys = [*keys, Ellipsis]
    basic: list[Any] = []  # the key of the view
    axis = 0  # the array's axis that the next key is for
    arrays: list[Indices] = []
    axes: list[int] = []  # axes of the array, for errors
    indexed: list[int] = []  # axes of the view
    count = 0  # axes of the view so far
    fancy: list[int] = []  # places of ints and arrays in the key
    of_mask = False  # whether a mask is the only array
    front = 0  # the axes of the view before the first of these
    for place, part in enumerate(keys):
        if part is Ellipsis:
            basic.append(Ellipsis)
            count += array.ndim - taken
            axis += array.ndim - taken
            continue
        if part is None or isinstance(part, slice):
            basic.append(part)
            count += 1
            axis += part is not None
            continue
        if not fancy:
            front = count
        fancy.append(place)
        if isinstance(part, int):
            basic.append(part)
            axis += 1
            continue
        found, length = _arrays_of(part, array, axis)
        of_mask = _is_mask(part) and not arrays
        arrays += found
        axes += range(axis, axis + len(found))
        indexed += range(count, count + len(found))
        basic += [slice(None)] * length if length else [None]
        count += len(found)
        axis += length
    view: Array = array[tuple(basic)]
    adjacent = fancy[-1] - fancy[0] + 1 == len(fancy)
    before = front if adjacent else 0
    rest = [each for each in range(view.ndim) if each not in indexed]
    order = rest[:before] + indexed + rest[before:]
    sizes = [view.shape[each] for each in indexed]
    try:
        positions = Positions(TITLE, arrays, axes, sizes, array.device_index, different=of_mask)
    except ValueError as error:
        if isinstance(error, ArgumentValueError):
            raise
        shapes = ", ".join([str(one.shape) for one in arrays])
        raise IndexError(
            f"{TITLE}: arrays of indices of shapes {shapes} do not broadcast"
        ) from None
    return Selection(view.transpose(order) if order else view, before, positions)


def _arrays_of(part: Indices, array: Array, axis: int) -> tuple[list[Indices], int]:
    """The integer arrays for a part of the key, and how many axes it takes."""
    if not _is_mask(part):
        return [part], 1
    _fitting(part, array, axis)
    if part.ndim == 0:
        # A bool stands for an axis of length 1, of which the bool takes the element or none.
        return [np.zeros(int(bool(part)), np.int64)], 0
    if isinstance(part, np.ndarray):
        return list(part.nonzero()), part.ndim
    return list(nonzero_of(part, TITLE)), part.ndim
