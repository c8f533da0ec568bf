# cupola/pycuda/_indexing.py - shape, strides and offset of an index.
"""Basic indexing of GPUArrays."""

from __future__ import annotations

from operator import index as integer
from typing import Any

Shape = tuple[int, ...]


def indexed(shape: Shape, strides: Shape, index: Any) -> tuple[Shape, Shape, int]:
    """Shape, strides and offset in bytes of the part that an index names.

    Raises
    ------
    IndexError, TypeError
    """
    words = index if isinstance(index, tuple) else (index,)
    used = sum(word is not None and word is not Ellipsis for word in words)
    if used > len(shape):
        raise IndexError(f"too many indices: the array has {len(shape)} axes")
    if not any(word is Ellipsis for word in words):
        words = (*words, Ellipsis)
    new_shape, new_strides, offset, axis = [], [], 0, 0
    for word in words:
        if word is Ellipsis:
            skipped = len(shape) - used
            new_shape += shape[axis : axis + skipped]
            new_strides += strides[axis : axis + skipped]
            axis += skipped
            used += skipped  # a second one skips nothing
        elif word is None:
            new_shape.append(1)
            new_strides.append(0)
        elif isinstance(word, slice):
            start, stop, step = word.indices(shape[axis])
            length = len(range(start, stop, step))
            new_shape.append(length)
            new_strides.append(strides[axis] * step)
            offset += start * strides[axis] if length else 0
            axis += 1
        else:
            try:
                place = integer(word)
            except TypeError:
                raise TypeError(f"invalid index: {word!r}; take() has arrays of indices") from None
            if not -shape[axis] <= place < shape[axis]:
                raise IndexError(
                    f"index {place} is out of the {shape[axis]} elements of axis {axis}"
                )
            offset += place % shape[axis] * strides[axis]
            axis += 1
    return tuple(new_shape), tuple(new_strides), offset
