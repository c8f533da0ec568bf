# cupola/recording/replay.py - runs the launches of a case again, and compares what they wrote.
"""Replays launches: memory of the recorded sizes, with addresses of this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cupola import launch_observer
from cupola.core.loader import load
from cupola.device import Device
from cupola.exceptions import ArgumentValueError, DriverError, Error, ImageError
from cupola.image import reader
from cupola.image.manifest import Manifest
from cupola.memory import alloc
from cupola.module import Module
from cupola.recording.case import LIMIT, Case, read
from cupola.recording.code_texts import has_ptx
from cupola.recording.comparison import Difference, difference
from cupola.recording.cpu_device import CpuDevice, place_of_fault
from cupola.recording.launches import Contents, Launch

__all__ = ["Outcome", "replay"]


class Outcome(NamedTuple):
    """The result of the replay of a launch."""

    number: int
    """The launch's number in the case."""
    kernel: str
    """The kernel's name in messages."""
    difference: str
    """The first element that differs, or the error of the launch; empty where neither is."""
    compared: bool
    """Whether the case has the contents after the launch."""
    error: str = ""
    """The error of a launch that failed here as it did when it was recorded."""
    no_code: str = ""
    """Why the launch did not run: its image has no code for the device."""


def replay(
    case: Case | str | os.PathLike[str], *, device: Any = "cpu", rtol: float = 0, atol: float = 0,
    limit: int = LIMIT, image: str | os.PathLike[str] | None = None,
) -> list[Outcome]:  # fmt: skip
    """Run the launches of a case, each with the recorded contents of its memory.

    Waits for each launch.

    Parameters
    ----------
    case : Case or path-like
    device : Device, int or "cpu"
        By default the CPU device.
    rtol, atol : float
        As for `numpy.isclose`, for arrays of floats. With zeros, bits are compared.
    limit : int
        The most bytes of the file's members, uncompressed.
    image : path-like, optional
        A file with the kernels, in place of the recorded images: such as repaired ones.

    Returns
    -------
    list of Outcome
        One for each launch. A launch that fails is the last one that runs, since its error may
        have ended the work of the device.

    Raises
    ------
    ArgumentValueError
        The file is no valid case, or does not fit its own image.
    ImageError
        No launch has an image with code for the device.
    """
    known = case if isinstance(case, Case) else read(case, limit=limit)
    where = device if isinstance(device, Device) else Device(device)
    outcomes = list(_outcomes(known, where, rtol, atol, image))
    if outcomes and all(one.no_code for one in outcomes):
        raise ImageError(f"{known.file}: {outcomes[0].no_code}")
    return outcomes


def _outcomes(
    case: Case, device: Device, rtol: float, atol: float, image: str | os.PathLike[str] | None
) -> Iterator[Outcome]:
    modules: dict[str, Module | str] = {}
    for launch in case.launches:
        if launch.image not in modules:
            modules[launch.image] = (
                _module(case, launch.image, device) if image is None else load(image, device=device)
            )
        module = modules[launch.image]
        if isinstance(module, str):
            yield Outcome(launch.index, launch.title, "", False, no_code=module)
            continue
        with device:
            found = _Replayed(case, launch, module, device.index)
            try:
                found.run()
            except DriverError as error:
                ptx = _ptx(module.image)
                place = place_of_fault(str(error), launch, found.begins, ptx)
                text = f"{error}\n{place}" if place else str(error)
                differs = "" if launch.error else f"the launch failed: {text}"
                yield Outcome(
                    launch.index, launch.title, differs, False, text if launch.error else ""
                )
                return
            yield Outcome(
                launch.index, launch.title, _difference(found, module, rtol, atol), launch.finished
            )


def _difference(found: _Replayed, module: Module, rtol: float, atol: float) -> str:
    """The first difference, and the thread that wrote the element; "" where there is none."""
    launch = found.launch
    if not launch.finished:
        return ""
    first = found.compare(rtol, atol)
    if first is None:
        return ""
    index, how = first
    cpu = CpuDevice.of(found.device)
    if cpu is None:
        return how.text
    again = _Replayed(found.case, launch, module, found.device)
    with cpu.watching(again.begins[index] + how.offset, how.nbytes):
        again.run()
        writer = cpu.last_write()
    return f"{how.text}; {f'written last by {writer}' if writer else 'no thread writes it'}"


def _ptx(image: bytes) -> str:
    """The one PTX text of an image; "" where it has none, or several."""
    entries = reader.read_image(image).entries
    texts = [one.payload for one in entries if one.kind == "ptx"]
    return texts[0].decode("utf-8", "replace") if len(texts) == 1 else ""


def _module(case: Case, digest: str, device: Device) -> Module | str:
    """The module of an image; the reason where it has no code for the device."""
    told, content = case.images[digest], case.image(digest)
    takes_code = CpuDevice.of(device.index) is None
    if told["ptx"] and not takes_code and not has_ptx(content):
        content = told["ptx"].encode()
    manifest = None
    if told["manifest"]:
        text = told["manifest"].encode("utf-8", "surrogateescape")
        manifest = Manifest(text, f"of {told['name']} in {case.file}")
    try:
        return Module(
            content, told["name"], manifest, device, names=told["names"],
            ptx=told["ptx"], types=told["types"], signatures=told["signatures"],
        )  # fmt: skip
    except ImageError as error:
        major, minor = device.compute_capability
        where = reader.Device(10 * major + minor, machine_code=takes_code)
        if reader.choose(content, [where])[0][0] is not None:
            raise
        alone = "ptx" not in told["code"].split()
        what = "machine code alone" if alone else "code for other devices"
        return (
            f"{told['name']} was recorded as {what} ({told['code']}), and has none for "
            f"{device.name}; replay it with --device on the GPU that it is built for\n{error}"
        )


class _Replayed:
    """One launch with its memory."""

    def __init__(self, case: Case, launch: Launch, module: Module, device: int) -> None:
        self.case, self.launch, self.device = case, launch, device
        self.kernel = module.kernel(launch.kernel)
        self.owners: list[Any] = []
        self.begins: list[int] = []
        for piece in launch.memory:
            if piece.variable:
                variable = module.globals[piece.name]
                if variable.nbytes != piece.nbytes:
                    raise ArgumentValueError(
                        f"{case.file}: the variable {piece.name} has {variable.nbytes} bytes in "
                        f"the image, and {piece.nbytes} in the case; record it again"
                    )
                self.owners.append(variable)
                self.begins.append(variable.address)
            else:
                memory = alloc(piece.nbytes, device=device)
                self.owners.append(memory)
                self.begins.append(memory.address)

        # The same begins, and the sizes of the pieces, for rows of addresses.
        self._table = (
            np.array(self.begins, np.uint64),
            np.array([piece.nbytes for piece in launch.memory], np.int64),
        )

    def run(self) -> None:
        """Fill the memory, launch, and wait."""
        for index, piece in enumerate(self.launch.memory):
            host = self._contents(piece.before, piece.nbytes)
            launch_observer.write(self.begins[index], host, self.device)
        packed = bytearray(self.launch.packed)
        for offset, index, at in self.launch.pointers:
            packed[offset : offset + 8] = (self.begins[index] + at).to_bytes(8, "little")
        launch = self.launch
        launch_observer.launch(
            self.kernel, launch.grid, launch.block, launch.shared, launch.attributes, bytes(packed)
        )
        Device(self.device).synchronize()

    def compare(self, rtol: float, atol: float) -> tuple[int, Difference] | None:
        """The first difference, with the index of its piece of memory; None where there is none."""
        for index, piece in enumerate(self.launch.memory):
            assert piece.after is not None
            found = launch_observer.read(self.begins[index], piece.nbytes, self.device)
            differs = difference(
                piece, self._contents(piece.after, piece.nbytes), found, rtol, atol
            )
            if differs is not None:
                return index, differs
        return None

    def _contents(self, contents: Contents, nbytes: int) -> np.ndarray[Any, Any]:
        """Recorded bytes, with this process's addresses in place of the recorded ones."""
        host = self.case.array(contents.data)
        rows = self.case.pointers(contents)
        refuse = self._refuse
        if host.size != nbytes:
            raise refuse(f"a piece of memory has {host.size} bytes, and {nbytes} are named")
        if not len(rows):
            return host
        begins, sizes = self._table
        offsets, indices, places = rows.T
        if (
            offsets.min() < 0 or offsets.max() > nbytes - 8 or (offsets % 8).any()
            or indices.min() < 0 or indices.max() >= len(begins) or places.min() < 0
            or (places > sizes[indices]).any()
        ):  # fmt: skip
            raise refuse("an address leads outside of its memory")
        words = host[: nbytes // 8 * 8].view(np.uint64)
        words[offsets // 8] = begins[indices] + places.astype(np.uint64)
        return host

    def _refuse(self, reason: str) -> Error:
        return ArgumentValueError(
            f"{self.case.file} is no valid case: launch {self.launch.index}: {reason}; record it "
            "again with cupola.record"
        )
