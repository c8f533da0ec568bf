# cupola/tools/debug/dap_variables.py - frames and values for the Debug Adapter Protocol.
"""References of a stop: a client asks for frames, scopes and children by number."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from cupola.exceptions import Error
from cupola.image.debug_values import Pointer
from cupola.tools.debug.shell import repr_of, type_of
from cupola.tools.debug.stopped_launch import Frame, StoppedLaunch

MAX_CHILDREN = 1000
Children = Callable[[], Iterable[tuple[str, Callable[[], Any]]]]  # names, and their values


class References:
    """The meaning of numbers, as long as a launch is stopped."""

    def __init__(self, stop: StoppedLaunch) -> None:
        self.stop = stop
        self._lanes = {stop.warp: stop.lane}  # looked at, by warp
        self._frames: list[tuple[int, int, int]] = []
        self._children: list[Children] = []

    def look_at(self, warp: int, lane: int) -> None:
        """Choose the lane whose variables are shown for a warp."""
        self._lanes[warp] = lane

    def threads(self) -> list[dict[str, Any]]:
        """A thread for each warp of the block that has not ended."""
        block = ",".join(map(str, self.stop.block))
        return [
            {"id": number + 1, "name": f"block ({block}), warp {number}"}
            for number, warp in enumerate(self.stop.warps)
            if warp["live"]
        ]

    def select_warp(self, number: int) -> None:
        """Look at a warp: at its lane that stopped, or the first one that runs."""
        live = self.stop.warps[number]["live"] if 0 <= number < len(self.stop.warps) else 0
        if not live:
            raise Error(f"warp {number} has ended")
        self.stop.select(number, self._lanes.get(number, (live & -live).bit_length() - 1))

    def frames(self, warp: int) -> list[dict[str, Any]]:
        """The calls of a warp's lane."""
        self.select_warp(warp)
        found = []
        for depth, frame in enumerate(self.stop.frames):
            self._frames.append((self.stop.warp, self.stop.lane, depth))
            found.append(
                {
                    "id": len(self._frames),
                    "name": f"{frame.name}{' (inlined)' if frame.inlined else ''}",
                    "line": frame.at.line,
                    "column": max(frame.at.column, 1),
                    "source": self.source(frame),
                }
            )
        return found

    def source(self, frame: Frame) -> dict[str, Any]:
        """A frame's file; of a kernel without source lines, the text of its PTX."""
        name = os.path.basename(frame.at.file)
        if self.stop.code.sources:
            return {"name": name, "path": frame.at.file}
        return {"name": name, "sourceReference": 1}

    def select_frame(self, number: int) -> None:
        """Look at a frame by its number."""
        if not 0 < number <= len(self._frames):
            raise Error(f"no frame {number}")
        warp, lane, depth = self._frames[number - 1]
        if (warp, lane) != (self.stop.warp, self.stop.lane):
            self.stop.select(warp, lane)
        self.stop.depth = depth

    def scopes(self, frame: int) -> list[dict[str, Any]]:
        """Variables, registers and the thread's indices."""
        self.select_frame(frame)
        stop = self.stop

        def of(names: Iterable[str], get: Callable[[str], Any]) -> Children:
            listed = list(names)

            def children() -> Iterable[tuple[str, Callable[[], Any]]]:
                self.select_frame(frame)
                return [(name, lambda name=name: get(name)) for name in listed]  # type: ignore[misc]

            return children

        named = stop.variables() or stop.ptx_variables()
        indices = ("threadIdx", "blockIdx", "blockDim", "gridDim", "warp", "lane")
        return [
            self._scope("Variables", of(named, stop.value)),
            self._scope("Registers", of(stop.registers(), stop.register)),
            self._scope("Thread", of(indices, stop.evaluate)),
        ]

    def _scope(self, name: str, children: Children) -> dict[str, Any]:
        self._children.append(children)
        return {"name": name, "variablesReference": len(self._children), "expensive": False}

    def variables(self, reference: int, start: int, count: int) -> list[dict[str, Any]]:
        """The children of a scope or a value."""
        if not 0 < reference <= len(self._children):
            raise Error(f"no variables {reference}")
        found = []
        listed = list(self._children[reference - 1]())
        for name, get in listed[start : start + (count or MAX_CHILDREN)]:
            try:
                found.append({"name": name, **self.shown(get())})
            except Error as error:
                found.append({"name": name, "value": str(error), "variablesReference": 0})
        return found

    def shown(self, value: Any) -> dict[str, Any]:
        """A value as text, with a reference to its parts if it has some."""
        parts: list[tuple[str, Any]] = []  # names and indices
        if isinstance(value, np.ndarray) and value.ndim:
            parts = [(f"[{n}]", n) for n in range(min(len(value), MAX_CHILDREN))]
        elif isinstance(value, np.void) and value.dtype.names:
            parts = [(name, name) for name in value.dtype.names]
        elif isinstance(value, Pointer) and value.address:
            parts = [("[0]", 0)]
        if parts:

            def get(index: Any) -> Callable[[], Any]:
                return lambda: value[index]

            self._children.append(lambda: [(name, get(index)) for name, index in parts])
        return {
            "value": repr_of(value),
            "type": type_of(value),
            "variablesReference": len(self._children) if parts else 0,
        }
