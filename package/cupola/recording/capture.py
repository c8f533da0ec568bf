# cupola/recording/capture.py - writes launches, and the memory around them, to a case.
"""The contents of memory around a launch, as members of a case."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cupola import launch_observer
from cupola.core.result_types import ObservedLaunch, Parameter
from cupola.exceptions import ImageError
from cupola.image import reader
from cupola.module import description_of, digest_of
from cupola.recording.archive import Held, Writer
from cupola.recording.case import FORMAT, VERSION
from cupola.recording.memory import Found, Reached, may_hold_addresses
from cupola.version import __version__

# Instructions by handles that cannot be moved to another process: of textures, surfaces and tensor
# maps.
_HANDLES = re.compile(r"^\s*(?:@\S+\s+)?(?:tex|tld4|txq|suld|sust|sured|suq)\.|\.bulk\.tensor",
                      re.MULTILINE)  # fmt: skip


class LimitReached(Exception):
    """The contents exceed the limit of the recording."""


class Memory(Protocol):
    """Where the contents of memory come from."""

    def allocation(self, address: int) -> tuple[int, int] | None:
        """The begin and the size of the allocation around an address, or None."""

    def read(self, begin: int, nbytes: int) -> np.ndarray[Any, Any]:
        """The bytes of an allocation, as uint8 with one axis."""


class DeviceMemory:
    """The memory of a device of this process.

    Parameters
    ----------
    device : int
    """

    def __init__(self, device: int) -> None:
        self._device = device

    def allocation(self, address: int) -> tuple[int, int] | None:
        """The allocation that the driver knows at an address."""
        return launch_observer.allocation(address, self._device)

    def read(self, begin: int, nbytes: int) -> np.ndarray[Any, Any]:
        """A copy of the bytes."""
        return launch_observer.read(begin, nbytes, self._device)


@dataclass
class KernelOf:
    """The kernel of a launch, and its image."""

    digest: str  # the name of the image in the case
    describe: Callable[[], dict[str, Any]]  # as `cupola.module.description_of`
    parameters: list[Parameter]
    variables: list[Found]


def kernel_of(module: Any, name: str) -> KernelOf:
    """A kernel of a module of this process."""
    return KernelOf(
        digest_of(module), lambda: description_of(module), list(module.kernel(name).params),
        _variables(module),
    )  # fmt: skip


class Capture:
    """One case that is being written.

    Parameters
    ----------
    writer : Writer or Held
    limit : int
        The most bytes of contents and images, before compression.
    """

    def __init__(self, writer: Writer | Held, limit: int) -> None:
        self._writer, self._limit = writer, limit
        self._used = 0
        self._images: dict[str, str] = {}  # for each digest, the PTX
        self._code: set[str] = set()
        self._left_out: dict[tuple[str, str], int] = {}
        self._reached: Reached | None = None
        self.count = 0

    @property
    def code(self) -> frozenset[str]:
        """The kinds of code that the images have."""
        return frozenset(self._code)

    def head(self, device: str, capability: str, kernels: str) -> None:
        """Write the member that each case begins with."""
        about = {
            "format": FORMAT, "version": VERSION, "cupola": __version__,
            "device": {"name": device, "compute_capability": capability}, "kernels": kernels,
        }  # fmt: skip
        self._writer.append({"case.json": json.dumps(about, indent=1).encode()})

    def _forget(self) -> None:
        """Forget what was written."""
        self._used, self._images, self._reached = 0, {}, None

    def leave_out(self, kernel: str, reason: str, count: int = 1) -> None:
        """Count launches that are not recorded."""
        key = kernel, reason
        self._left_out[key] = self._left_out.get(key, 0) + count

    def before(self, launch: ObservedLaunch, kernel: KernelOf, memory: Memory) -> bool:
        """Write a launch with the contents before it. False: it was left out."""
        digest, parameters = kernel.digest, kernel.parameters
        self._add_image(kernel)
        if uses_handles(self._images[digest], launch.name):
            self.leave_out(launch.title, "it uses textures, surfaces or tensor maps")
            return False
        members: dict[str, Any] = {}
        reached = Reached(memory.allocation, kernel.variables)
        pointers = reached.follow(launch.packed, parameters)
        contents = [self._contents(reached, index, members, memory, grow=True)
                    for index in _growing(reached.pieces)]  # fmt: skip
        pieces = [
            {"variable": piece.variable, "name": piece.name, "at": piece.at,
             "nbytes": piece.nbytes, "dtype": _element(piece.dtype, piece.nbytes), "before": one}
            for piece, one in zip(reached.pieces, contents, strict=True)
        ]  # fmt: skip
        about = {
            "index": self.count, "kernel": launch.name, "title": launch.title, "image": digest,
            "grid": launch.grid, "block": launch.block, "shared": launch.shared,
            "attributes": launch.attributes, "packed": launch.packed.hex(),
            "arguments": [_argument(one, launch.packed) for one in parameters],
            "pointers": pointers, "memory": pieces,
        }  # fmt: skip
        self._append(f"launches/{self.count:06}.json", about, members)
        self._reached = reached
        return True

    def after(self, error: str, memory: Memory) -> None:
        """Write the contents after the launch, or the error with which the launch failed."""
        reached, self._reached = self._reached, None
        assert reached is not None
        members: dict[str, Any] = {}
        about: dict[str, Any] = {"error": error, "memory": None}
        if not error:
            about["memory"] = [
                self._contents(reached, index, members, memory, grow=False)
                for index in range(len(reached.pieces))
            ]
        self._append(f"launches/{self.count:06}.after.json", about, members)
        self.count += 1

    def end(self, stopped: str) -> None:
        """Write what ends a complete case."""
        left_out = [
            {"kernel": kernel, "reason": reason, "count": count}
            for (kernel, reason), count in self._left_out.items()
        ]
        try:
            self._append("end.json", {"stopped": stopped, "left_out": left_out}, {})
        finally:
            self.close()

    def close(self) -> None:
        """Close the file, which stays incomplete without `end`."""
        self._writer.close()

    def _append(self, name: str, about: dict[str, Any], members: dict[str, Any]) -> None:
        text = json.dumps(about, separators=(",", ":")).encode()
        self._writer.append({**members, name: text})

    def _add_image(self, kernel: KernelOf) -> None:
        digest = kernel.digest
        if digest in self._images:
            return
        members: dict[str, Any] = {}
        told = kernel.describe()
        content = told.pop("image")
        sha256 = hashlib.sha256(content).hexdigest()
        self._take(f"images/{sha256}.bin", content, members)
        manifest = told.pop("manifest")
        ptx, code = _ptx(content)
        if told["ptx"] and not ptx:
            ptx, code = told["ptx"], f"{code} ptx"
        text = "" if manifest is None else manifest.text.decode("utf-8", "surrogateescape")
        about = {**told, "image": sha256, "code": code, "manifest": text}
        members[f"images/{digest}.json"] = json.dumps(about).encode()
        self._writer.append(members)
        self._images[digest] = ptx
        self._code |= set(code.split())

    def _contents(
        self, reached: Reached, index: int, members: dict[str, Any], memory: Memory, *, grow: bool
    ) -> dict[str, str]:
        piece = reached.pieces[index]
        if piece.nbytes > self._limit:
            raise LimitReached
        host = memory.read(piece.begin, piece.nbytes)
        rows = ""
        if piece.leads_on:
            found = reached.rows(host, grow=grow)
            if len(found):
                rows = self._add(np.ascontiguousarray(found).view(np.uint8).reshape(-1), members)
        return {"data": self._add(host, members), "pointers": rows}

    def _add(self, host: np.ndarray[Any, Any], members: dict[str, Any]) -> str:
        digest = hashlib.sha256(host.data).hexdigest()
        stream = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "|u1", "fortran_order": False, "shape": host.shape}
        )
        name = f"data/{digest}.npy"
        if name not in self._writer.names and name not in members:
            stream.write(host.data)
            self._take(name, stream.getbuffer(), members)
        return digest

    def _take(self, name: str, content: Any, members: dict[str, Any]) -> None:
        if name in self._writer.names or name in members:
            return
        if self._used + len(content) > self._limit:
            raise LimitReached
        self._used += len(content)
        members[name] = content


def uses_handles(ptx: str, kernel: str) -> bool:
    """Whether a kernel, or a function of its text, has instructions by handles."""
    heads = list(re.finditer(r"\.(entry|func)\b(?:\s*\([^)]*\))?\s*([\w$]+)", ptx))
    ends = [*(one.start() for one in heads[1:]), len(ptx)][: len(heads)]
    return any(
        _HANDLES.search(ptx, head.start(), end) is not None
        for head, end in zip(heads, ends, strict=True)
        if head[1] == "func" or head[2] == kernel
    )


def _growing(pieces: list[Found]) -> Any:
    """The indices of a list that grows meanwhile."""
    index = 0
    while index < len(pieces):
        yield index
        index += 1


def _variables(module: Any) -> list[Found]:
    """The variables of a module that have bytes."""
    try:
        names = list(module.globals)
    except ImageError:  # of machine code that lists none
        return []
    found = []
    for name in names:
        one = module.globals[name]
        if one.nbytes:
            dtype = one.dtype
            found.append(
                Found(one.address, one.nbytes, name, 0, dtype, may_hold_addresses(dtype), True)
            )
    return found


def _ptx(content: bytes) -> tuple[str, str]:
    """The PTX of an image, and the kinds of code that it has, such as ``"ptx cubin"``."""
    entries = reader.read_image(content).entries
    texts = [one.payload.decode("utf-8", "replace") for one in entries if one.kind == "ptx"]
    return "\n".join(texts), " ".join(sorted({one.kind for one in entries}))


def _element(dtype: np.dtype[Any] | None, nbytes: int) -> str:
    """The element type by which differences are shown; "" for bytes."""
    if dtype is None or dtype.base.kind not in "biufc" or nbytes % dtype.base.itemsize:
        return ""
    return dtype.base.str


def _argument(parameter: Parameter, packed: bytes) -> dict[str, Any]:
    return {
        "name": parameter.name, "type": str(parameter), "offset": parameter.offset,
        "bytes": packed[parameter.offset : parameter.offset + parameter.size].hex(),
    }  # fmt: skip
