# cupola/arrays/matrix_stacks.py - stacks of matrices as products take them.
"""`Matrices`: operands whose elements follow each other along one axis."""

from __future__ import annotations

from typing import Any, NamedTuple

from cupola.array import Array
from cupola.arrays.layouts import broadcast_to, merged, start

MOST_BATCHES = 65535  # blocks along a grid's last axis; a block also computes further batches


class Matrices(NamedTuple):
    """Operands of one type whose elements follow each other along one of the two axes."""

    first: Array  # the view whose first element the kernel gets
    step: int  # elements between the neighbours along the other axis
    deep: bool  # whether the elements are adjacent along the axis that is summed
    batch: int  # elements between matrices

    def arguments(self) -> tuple[Any, ...]:
        """The kernel's four arguments."""
        return start(self.first), self.step, self.deep, self.batch


def matrices(x: Array, lead: tuple[int, ...], depth: int) -> Matrices:
    """Operands as a kernel takes them: views, or a copy where the elements are apart.

    Parameters
    ----------
    x : Array
        Of two or more axes.
    lead : tuple of int
        The shape of the stack, to which the leading axes broadcast.
    depth : {-1, -2}
        The axis that is summed.
    """
    view = broadcast_to(x, (*lead, *x.shape[-2:]))
    found = _view(view, depth)
    if found is None:
        # Copy the array before it is broadcast, if its own axes are evenly spaced in the copy.
        found = _view(broadcast_to(x.copy(), view.shape), depth) or _view(view.copy(), depth)
    assert found is not None
    return found


def _view(view: Array, depth: int) -> Matrices | None:
    size, line = view.itemsize, -3 - depth
    group = merged(view.shape[:-2], view.strides[:-2])
    if group is None or any(one % size for one in (view.ptr, group[1], *view.strides[-2:])):
        return None
    inner, outer = view.strides[depth], view.strides[line]
    deep = inner == size or view.shape[depth] <= 1
    if not deep and outer != size and view.shape[line] > 1:
        return None
    return Matrices(view, (outer if deep else inner) // size, deep, group[1] // size)
