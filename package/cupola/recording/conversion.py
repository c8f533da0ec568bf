# cupola/recording/conversion.py - makes cases of spools.
"""Writes the launches of a spool to a case, by the rules for addresses in `memory`."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from typing import Any

import numpy as np

from cupola.core.result_types import ObservedLaunch, Parameter
from cupola.device import Device
from cupola.exceptions import ArgumentValueError, Error, ImageError
from cupola.image.cxx_names import demangle
from cupola.module import Module
from cupola.recording.archive import Writer
from cupola.recording.capture import Capture, KernelOf
from cupola.recording.code_texts import CodeTexts, has_ptx
from cupola.recording.memory import Found, may_hold_addresses
from cupola.recording.spool import Spool, SpoolLaunch

_NO_LIMIT = 1 << 62  # the spool's own limit bounds its contents


def convert(spool: Spool, path: str | os.PathLike[str], kernels: str, texts: CodeTexts) -> Capture:
    """Write the launches of a spool to a new case.

    Parameters
    ----------
    spool : Spool
    path : path-like
        The case, which is replaced.
    kernels : str
        The pattern, as the case names it.
    texts : CodeTexts
        The PTX of images without PTX.

    Returns
    -------
    Capture
        The case as it was written.

    Raises
    ------
    ArgumentValueError
        An image of the spool can't be read.
    """
    capture = Capture(Writer(path), _NO_LIMIT)
    name, major, minor = spool.device
    images = _Images(spool, texts)
    try:
        capture.head(name, f"{major}.{minor}", kernels)
        for launch in spool.launches:
            _add(capture, launch, images)
        for kernel, reason, count in spool.left_out:
            capture.leave_out(kernel, reason, count)
    except ImageError as error:
        capture.close()
        raise ArgumentValueError(f"{spool.path} is no valid spool: {error}") from None
    except BaseException:
        capture.close()
        raise
    if spool.complete:
        capture.end(spool.stopped)
    else:
        capture.close()
    return capture


def _add(capture: Capture, launch: SpoolLaunch, images: _Images) -> None:
    title = demangle(launch.kernel).partition("(")[0].removeprefix("void ") or launch.kernel
    told = ObservedLaunch(
        None, launch.kernel, title, 0, launch.grid, launch.block, launch.shared, launch.attributes,
        launch.packed, 0, False,
    )  # fmt: skip
    memory = _SpoolMemory(launch, after=False)
    if not capture.before(told, images.kernel(launch), memory) or not launch.finished:
        return
    capture.after(launch.error, _SpoolMemory(launch, after=True))


class _SpoolMemory:
    """The contents before or after a launch in a spool."""

    def __init__(self, launch: SpoolLaunch, *, after: bool) -> None:
        self._after = after
        self._pieces = sorted(launch.pieces, key=lambda piece: piece.begin)
        self._begins = [piece.begin for piece in self._pieces]

    def allocation(self, address: int) -> tuple[int, int] | None:
        """The piece around an address."""
        place = bisect_right(self._begins, address) - 1
        if place < 0 or address - self._begins[place] >= self._pieces[place].nbytes:
            return None
        return self._begins[place], self._pieces[place].nbytes

    def read(self, begin: int, nbytes: int) -> np.ndarray[Any, Any]:
        """The bytes of a piece."""
        piece = self._pieces[bisect_right(self._begins, begin) - 1]
        content = piece.after if self._after else piece.before
        return np.frombuffer(content, np.uint8, count=nbytes)


class _Images:
    """The images of a spool, loaded by the CPU device where it takes them."""

    def __init__(self, spool: Spool, texts: CodeTexts) -> None:
        self._spool, self._texts = spool, texts
        self._modules: dict[int, tuple[Module | None, str]] = {}

    def kernel(self, launch: SpoolLaunch) -> KernelOf:
        """The kernel of a launch."""
        number, content = launch.image, self._spool.images[launch.image]
        if number not in self._modules:
            ptx = "" if has_ptx(content) else self._texts.of(content)
            self._modules[number] = _module(ptx.encode() or content), ptx
        module, ptx = self._modules[number]
        about: dict[str, Any] = {
            "image": content, "name": "the program's image", "manifest": None, "names": {},
            "ptx": ptx, "types": {}, "signatures": {},
        }  # fmt: skip
        digest = hashlib.sha256(content).hexdigest()
        parameters = _parameters(module, launch)
        return KernelOf(digest, lambda: dict(about), parameters, _variables(module, launch))


def _module(content: bytes) -> Module | None:
    """The module of an image; None where the CPU device does not take it."""
    try:
        if not has_ptx(content):
            return None
        return Module(content, "the program's image", None, Device("cpu"))
    except ImageError:
        return None


def _parameters(module: Module | None, launch: SpoolLaunch) -> list[Parameter]:
    """The parameters of a kernel with what its name and its PTX say of their types."""
    if module is not None:
        try:
            known = list(module.kernel(launch.kernel).params)
        except Error:
            known = []
        if [(one.offset, one.size) for one in known] == launch.parameters:
            return known
    return [Parameter("", "", "", offset, size) for offset, size in launch.parameters]


def _variables(module: Module | None, launch: SpoolLaunch) -> list[Found]:
    found = []
    for piece in launch.pieces:
        if not piece.variable:
            continue
        dtype = None
        if module is not None:
            try:
                dtype = module.globals[piece.variable].dtype
            except Error:
                continue  # the replay could not find the variable either
        found.append(
            Found(
                piece.begin, piece.nbytes, piece.variable, 0, dtype, may_hold_addresses(dtype), True
            )
        )
    return found
