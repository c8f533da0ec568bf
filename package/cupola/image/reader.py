# cupola/image/reader.py - the entries of images, and kernels' layouts in cubins, by the C ABI.
"""Images and cubins, as libcupola.so reads them (``cupola/image.h``). It loads no driver.

cupola.build uses this module, also before cupola can be imported: its imports are relative.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

from .. import library
from ..exceptions import Error, ImageError

POINTER, INTEGER, FLOAT, STRUCT = 1, 2, 4, 8
# Compute capabilities of the GPUs since 2018, without those for which CUDA has no target.
CAPABILITIES = (75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121)
_KINDS = ("other", "ptx", "cubin", "fatbin", "library")  # by cupola_image_kind
_OTHERS = {8: "ltoir"}  # kinds by their number in the fatbin
_ERROR_IMAGE = 5  # cupola_status
_NO_FILE = 0xFFFFFFFF

_chosen: list[str] = []


def use(path: str | os.PathLike[str]) -> None:
    """Read with another library than libcupola.so. libcupola.so contains kernels, so the build of
    cupola first makes a library that only has the readers.
    """
    _chosen[:] = [os.fspath(path)]


def library_path() -> str:
    """The path of the library that reads images."""
    return _chosen[0] if _chosen else library.path()


@dataclass(frozen=True)
class Entry:
    """One piece of code in an image."""

    kind: str  # "ptx", "cubin" or "ltoir", else "kind 4" with the number in the fatbin
    architecture: int
    payload: bytes
    version: str = ""  # of PTX, "9.0"; "" where it is unknown
    variant: str = ""  # "a" or "f" of sm_90a or sm_100f

    @property
    def target(self) -> str:
        """``90a`` of sm_90a or compute_90a."""
        return f"{self.architecture}{self.variant}"


@dataclass(frozen=True)
class Image:
    """The entries of a file, in their order."""

    kind: str  # "fatbin", "cubin", "ptx" or "library"
    entries: list[Entry]
    fatbins: int = 0  # within a library
    texts: int = 0


@dataclass(frozen=True)
class Parameter:
    """A parameter's offset and size, in bytes, and all kinds that it can have."""

    offset: int
    size: int
    kinds: int = 0  # POINTER, INTEGER, FLOAT and STRUCT of cupola/kernel.h


@dataclass
class Kernel:
    """A kernel's layout, and in a cubin its resources, in bytes except for registers."""

    name: str
    parameters: list[Parameter] | None  # None where PTX has a list that can't be read
    registers: int = 0
    shared: int = 0
    local: int = 0  # a thread's stack: the frames of the kernel and of the functions it calls
    constant: int = 0


_TAKE = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)


class _Entry(ctypes.Structure):
    _fields_ = [
        *((name, c_uint32) for name in ("kind", "number", "architecture", "version")),
        ("bytes", c_void_p),
        ("size", c_size_t),
        ("variant", c_uint32),
    ]


class _Parameter(ctypes.Structure):
    _fields_ = [(name, c_uint32) for name in ("offset", "size", "kind")]


class _Kernel(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("parameters", ctypes.POINTER(_Parameter)),
        ("parameter_count", c_size_t),
        ("known", c_uint32),
        *((name, c_uint64) for name in ("registers", "shared", "constant", "local")),
    ]


class _Place(ctypes.Structure):
    _fields_ = [(name, c_uint32) for name in ("file", "line", "column", "call")]


class _Call(ctypes.Structure):
    _fields_ = [
        *((name, c_uint32) for name in ("parent", "file", "line", "column")),
        ("function", c_char_p),
    ]


@dataclass(frozen=True)
class Lines:
    """The source lines of a PTX text, by its .file and .loc."""

    files: list[str]
    # For each line of the text, from line 1 on: an index of `files`, a line, a column and an index
    # of `calls`; None where no .loc applies.
    places: list[tuple[int, int, int, int] | None]
    # Each inlined call: the index of the call around it, the place of the call, and the label of
    # the callee's name. The first item stands for the function itself.
    calls: list[tuple[int, int, int, int, str]]


def read_image(data: bytes) -> Image:
    """Read a fatbin, a cubin, PTX, or a library or program, which may have none of them inside.

    Raises
    ------
    ImageError
        The bytes are none of these, or damaged.
    """
    with _opened("image", data) as (calls, image):
        entries = [
            Entry(
                _KINDS[one.kind] if one.kind else _OTHERS.get(one.number, f"kind {one.number}"),
                one.architecture,
                ctypes.string_at(one.bytes, one.size),
                f"{one.version // 10}.{one.version % 10}" if one.version else "",
                chr(one.variant) if one.variant else "",
            )
            for one in _listed(calls, calls.cupola_image_entries, image, _Entry)
        ]
        kind, fatbins, texts = c_uint32(), c_size_t(), c_size_t()
        _check(calls, calls.cupola_image_kind_of(image, byref(kind)))
        _check(calls, calls.cupola_image_embedded(image, byref(fatbins), byref(texts)))
    return Image(_KINDS[kind.value], entries, fatbins.value, texts.value)


@dataclass(frozen=True)
class Device:
    """The properties of a device and its driver that decide which entry of an image is taken."""

    capability: int  # 90 for 9.0
    ptx: int = 0  # the newest PTX version that the driver takes, 90 for 9.0; 0 for no limit
    machine_code: bool = True  # False: the CPU device
    links: bool = False  # True: nvJitLink links for the device; it takes LTO-IR first


def choose(data: bytes, devices: Sequence[Device]) -> list[tuple[int | None, str]]:
    """For each device: the index of the entry that the device takes, or None if it takes no entry;
    and the reason.

    Raises
    ------
    ImageError
        The bytes are no image, or damaged.
    """
    with _opened("image", data) as (calls, image):
        found: list[tuple[int | None, str]] = []
        for device in devices:
            index, reason = c_size_t(), c_char_p()
            takes = 2 if device.links else int(device.machine_code)
            asked = (device.capability, device.ptx, takes)
            status = calls.cupola_image_choose(
                image, *map(c_uint32, asked), byref(index), byref(reason)
            )
            _check(calls, status)
            text = (reason.value or b"").decode("utf-8", "replace")
            found.append((None if index.value == c_size_t(-1).value else index.value, text))
    return found


def is_packed(data: bytes) -> bool:
    """Whether the bytes are a fatbin that `pack` compressed."""
    return data[:4] == b"\x50\x2a\x4d\x18" and data[8:16] == b"cupola 1"


def pack(fatbin: bytes, level: int = 19) -> bytes:
    """A fatbin compressed by zstd, whose entries can be unpacked one by one. ``zstd -d`` unpacks
    the whole fatbin. Machine code is left out if it is equal to machine code of an older
    architecture that the same devices run.

    Parameters
    ----------
    fatbin : bytes
        A fatbin without compressed entries.
    level : int
        The level of zstd, from 1 to 19.

    Raises
    ------
    ImageError
        The bytes are no fatbin, or have compressed entries, or two entries for one target.
    """
    return _made("pack", fatbin, level)


def lowered(image: bytes) -> bytes:
    """A fatbin or PTX, with each PTX text in the lowest version that the text needs. The size does
    not change.

    Raises
    ------
    ImageError
        The bytes are no image, or have compressed PTX.
    """
    return _made("lower", image)


def _made(what: str, image: bytes, *options: int) -> bytes:
    """The image that a function of the library makes of another image."""
    made: list[bytes] = []

    def take(_owner: int | None, bytes_: int, size: int) -> None:
        made.append(ctypes.string_at(bytes_, size))

    calls = _loaded(library_path())
    content = (c_char_p(image), c_size_t(len(image)))
    make = getattr(calls, f"cupola_image_{what}")
    _check(calls, make(*content, *options, _TAKE(take), None))
    return made[0]


def read_fatbin(data: bytes) -> list[Entry]:
    """The entries of a fatbin that a build ships: PTX, machine code and LTO-IR.

    Raises
    ------
    ImageError
        The bytes are no fatbin, or an entry can't be read on this machine.
    """
    image = read_image(data)
    if image.kind != "fatbin":
        raise ImageError(f"expected a fatbin, got a {image.kind}")
    for i, entry in enumerate(image.entries):
        if entry.kind not in ("ptx", "cubin", "ltoir"):
            raise ImageError(f"entry {i} of a fatbin is code of {entry.kind}")
    return image.entries


def read_kernels(data: bytes) -> list[Kernel]:
    """All kernels of a cubin, by name, or of PTX, in its order.

    Raises
    ------
    ImageError
        The bytes are neither, or damaged. PTX need not be valid.
    """
    with _opened("code", data) as (calls, code):
        return [_kernel(one) for one in _listed(calls, calls.cupola_code_kernels, code, _Kernel)]


class _Version(ctypes.Structure):
    _fields_ = [
        *((name, c_uint32) for name in ("written", "needed", "known", "line")),
        *((name, c_char_p) for name in ("what", "function", "cuda")),
    ]


def ptx_version(text: bytes) -> tuple[int, int, bool, int, str, str, str]:
    """The fields of ``cupola_ptx_version``; `cupola.image.ptx_version` gives them names.

    Raises
    ------
    ImageError
        The text does not begin with ``.version`` and ``.target``, or is no PTX at all.
    """
    calls, found = _loaded(library_path()), _Version()
    _check(calls, calls.cupola_ptx_version_of(c_char_p(text), c_size_t(len(text)), byref(found)))
    names = [one.decode("utf-8", "replace") for one in (found.what, found.function, found.cuda)]
    return (found.written, found.needed, bool(found.known), found.line, *names)


def _kernel(one: _Kernel) -> Kernel:
    parameters = [
        Parameter(each.offset, each.size, each.kind)
        for each in one.parameters[: one.parameter_count]
    ]
    return Kernel(
        one.name.decode("utf-8", "replace"),
        parameters if one.known else None,
        one.registers,
        one.shared,
        one.local,
        one.constant,
    )


def read_lines(text: bytes) -> Lines:
    """The source lines of a PTX text. Malformed directives are left out."""
    with _opened("lines", text) as (calls, lines):
        places = _listed(calls, calls.cupola_lines_places, lines, _Place)
        return Lines(
            [
                name.decode("utf-8", "replace")
                for name in _listed(calls, calls.cupola_lines_files, lines, c_char_p)
            ],
            [
                (one.file, one.line, one.column, one.call) if one.file != _NO_FILE else None
                for one in places
            ],
            [
                (one.parent, one.file, one.line, one.column, one.function.decode(errors="replace"))
                for one in _listed(calls, calls.cupola_lines_calls, lines, _Call)
            ],
        )


@functools.cache
def _loaded(path: str) -> Any:
    """The functions of the library. Functions that return no status have their types set."""
    if not _chosen:
        library.load()
    calls = ctypes.CDLL(path)  # the reader's own functions: no other module sets their types
    calls.cupola_last_error.restype = c_char_p
    for name in ("image", "code", "lines"):
        getattr(calls, f"cupola_{name}_release").argtypes = [c_void_p]
    return calls


@contextmanager
def _opened(what: str, data: bytes) -> Iterator[tuple[Any, c_void_p]]:
    """The functions of the library, and a handle of the object that it reads from the bytes."""
    calls, handle = _loaded(library_path()), c_void_p()
    read = getattr(calls, f"cupola_{what}_read")
    _check(calls, read(c_char_p(data), c_size_t(len(data)), byref(handle)))
    try:
        yield calls, handle
    finally:
        getattr(calls, f"cupola_{what}_release")(handle)


def _listed(calls: Any, function: Any, handle: c_void_p, form: type) -> list[Any]:
    """The list of structs that a function of the library returns."""
    first, count = ctypes.POINTER(form)(), c_size_t()
    _check(calls, function(handle, byref(first), byref(count)))
    return first[: count.value]


def _check(calls: Any, status: int) -> None:
    if status:
        text = calls.cupola_last_error().decode("utf-8", "replace")
        raise (ImageError if status == _ERROR_IMAGE else Error)(text)
