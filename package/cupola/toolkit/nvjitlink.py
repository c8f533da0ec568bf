# cupola/toolkit/nvjitlink.py - links images with nvJitLink, called through ctypes.
"""NVIDIA's run-time linker; see `cupola.toolkit.nvrtc` for why it is ctypes."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint32, c_void_p
from typing import Any

from cupola import library
from cupola.exceptions import CompileError
from cupola.toolkit import libraries

ANY = 10  # nvJitLinkInputType: the linker detects the type
_SIZE = [c_void_p, POINTER(c_size_t)]
_TEXT = [c_void_p, c_char_p]
_PROTOTYPES: dict[str, list[Any]] = {
    "nvJitLinkCreate": [POINTER(c_void_p), c_uint32, POINTER(c_char_p)],
    "nvJitLinkDestroy": [POINTER(c_void_p)],
    "nvJitLinkAddData": [c_void_p, c_int, c_char_p, c_size_t, c_char_p],
    "nvJitLinkComplete": [c_void_p],
    "nvJitLinkGetLinkedCubinSize": _SIZE,
    "nvJitLinkGetLinkedCubin": _TEXT,
    "nvJitLinkGetLinkedPtxSize": _SIZE,
    "nvJitLinkGetLinkedPtx": _TEXT,
    "nvJitLinkGetErrorLogSize": _SIZE,
    "nvJitLinkGetErrorLog": _TEXT,
    "nvJitLinkGetInfoLogSize": _SIZE,
    "nvJitLinkGetInfoLog": _TEXT,
    "nvJitLinkVersion": [POINTER(c_uint), POINTER(c_uint)],
}


class NvJitLink:
    """The loaded linker; see `nvjitlink`."""

    def __init__(self, found: libraries.Library) -> None:
        self.found = found
        self._calls = found.calls(_PROTOTYPES, "nvJitLink 12.4")
        major, minor = c_uint(), c_uint()
        self._calls["nvJitLinkVersion"](byref(major), byref(minor))
        self.version = major.value, minor.value

    def __str__(self) -> str:
        return f"nvJitLink {self.version[0]}.{self.version[1]} ({self.found.path})"

    @property
    def identity(self) -> str:
        """The linker's identity, for cache keys."""
        return f"nvJitLink {self.version} {self.found.identity}"

    def _get(self, what: str, linker: c_void_p) -> bytes:
        size = c_size_t()
        if self._calls[f"nvJitLinkGet{what}Size"](linker, byref(size)) or not size.value:
            return b""
        content = ctypes.create_string_buffer(size.value)
        return b"" if self._calls[f"nvJitLinkGet{what}"](linker, content) else content.raw

    def _log(self, what: str, linker: c_void_p) -> str:
        return self._get(what, linker).rstrip(b"\0").decode(errors="replace").strip()

    def link(
        self, inputs: Sequence[tuple[str, bytes]], options: Sequence[str], ptx: bool
    ) -> tuple[bytes, str]:
        """Link the inputs (names and contents) to one image; returns it with the linker's output.

        Raises
        ------
        CompileError
            `log` is the linker's output.
        """
        linker = c_void_p()
        words = (c_char_p * len(options))(*[option.encode() for option in options])
        status = self._calls["nvJitLinkCreate"](byref(linker), len(options), words)
        try:
            kept = []  # alive until the linker is done
            for name, content in inputs:
                if status:
                    break
                kept.append((content, name.encode()))
                status = self._calls["nvJitLinkAddData"](
                    linker, ANY, kept[-1][0], len(content), kept[-1][1]
                )
            status = status or self._calls["nvJitLinkComplete"](linker)
            if status:
                log = self._log("ErrorLog", linker)
                first = log.splitlines()[0] if log else f"status {status}"
                titles = ", ".join(name for name, _ in inputs)
                remedy = _undefined(log)
                raise CompileError(
                    f"{titles}: linking failed: {first}{remedy}\n\n{log}\n\nby {self}", log
                )
            image = self._get("LinkedPtx" if ptx else "LinkedCubin", linker)
            return image.rstrip(b"\0") if ptx else image, self._log("InfoLog", linker)
        finally:
            if linker:
                self._calls["nvJitLinkDestroy"](byref(linker))


def _undefined(log: str) -> str:
    """A line for each undefined symbol of the linker's output: its C++ name and the remedy."""
    call = library.calls()["cupola_image_undefined"]  # this call's own: see `cache.folder`
    call.restype = c_char_p
    return str(call(log.encode()).decode(errors="replace"))


@functools.cache
def nvjitlink() -> NvJitLink:
    """The linker, found and loaded at the first call.

    Raises
    ------
    MissingFileError
        Where it is not found; see `cupola.toolkit.libraries.load`.
    """
    return NvJitLink(libraries.load("nvJitLink"))
