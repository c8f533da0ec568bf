# cupola/makers/group_maker.py - calls over groups of elements, for reductions and scans.
"""`GroupMaker`: the arguments of kernels over groups of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.creation import empty
from cupola.declare.group_definition import GroupDefinition
from cupola.declare.kernel_definition import FLAT, STRIDED
from cupola.exceptions import ArgumentValueError
from cupola.kernel_constants import MAKER_BLOCK
from cupola.makers.broadcast_layout import packed_layout, pointer_argument
from cupola.makers.element_types import Types
from cupola.makers.groups import Chunks, Groups
from cupola.makers.maker import Maker
from cupola.makers.work import Launch


class GroupMaker(Maker):
    """A function of arrays that works on groups of their elements."""

    definition: GroupDefinition

    def _partial(self, dealt: Chunks, types: Types, device: int) -> Array | None:
        """Memory for the totals of chunks."""
        if dealt.chunks == 1:
            return None
        count = dealt.tasks * self.definition.total_bytes(types)
        return empty(count, np.uint8, device=device)

    def _combine_chunks(
        self, types: Types, form: str, device: int, dealt: Chunks, arguments: tuple[Any, ...],
        partial: Array | None,
    ) -> Launch:  # fmt: skip
        """The launch that combines the totals of each group's chunks."""
        rest = Chunks(dealt.groups, dealt.chunks, 1, dealt.chunks, MAKER_BLOCK)
        kernel = self._kernel(types, form, f"{form}_chunks", device)
        return Launch(kernel, rest.grid, MAKER_BLOCK, (*arguments, rest.packed(), partial))

    def _arguments(
        self, values: dict[str, Any], groups: Groups
    ) -> tuple[str, tuple[Any, ...], tuple[bytes, ...]]:
        """The form, the arguments for the parameters and for `n`, and the layouts."""
        definition = self.definition
        arrays = [values[one.name] for one in definition.seen]
        form, layouts = FLAT, ()
        if not groups.flat(definition.name, arrays):
            if STRIDED in definition.forms:
                axes = groups.split(definition.name, arrays)
                form, layouts = STRIDED, tuple(packed_layout(one, len(arrays)) for one in axes)
            else:
                arrays = self._copies(arrays, groups)
        starts = {
            one.name: pointer_argument(x) for one, x in zip(definition.seen, arrays, strict=True)
        }
        return form, (*self._in_order(values, starts), groups.n), layouts

    def _copies(self, arrays: list[Array], groups: Groups) -> list[Array]:
        """Inputs group by group, for code that needs pointers."""
        order = [k for k in range(len(groups.shape)) if k not in groups.axes] + list(groups.axes)
        copies = []
        for one, x in zip(self.definition.seen, arrays, strict=True):
            if groups.flat(self.definition.name, [x]):
                copies.append(x)
                continue
            if not one.const:
                raise ArgumentValueError(
                    f"{self.definition.name}: argument {one.name} is written, and its groups are "
                    "not one after the other in memory; the definition has contiguous=True"
                )
            copies.append(self._c_order(x, groups.shape).transpose(*order).copy())
        return copies
