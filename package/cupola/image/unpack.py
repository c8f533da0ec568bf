# cupola/image/unpack.py - decompresses entries of fatbins: LZ4 blocks, and zstd by libzstd.
"""Compressed code, as nvcc writes it by default.

`csrc/image/unpack.cpp` does the same for the CPU device.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from ..exceptions import ImageError

# Limits against forged headers: bytes, and ratios to the compressed size.
MAX_BYTES, MAX_LZ4, MAX_ZSTD = 1 << 30, 255, 1024


class UnpackerMissingError(ImageError):
    """This machine lacks the library that decompresses it."""


def unpack(payload: bytes, size: int, is_zstd: bool) -> bytes:
    """The code of a compressed entry.

    Parameters
    ----------
    payload : bytes
    size : int
        Of the code, by the entry's header.
    is_zstd : bool
        Whether it is zstd; else it is a block of LZ4.

    Raises
    ------
    UnpackerMissingError
        Where it is zstd, and there is no libzstd.so.1.
    ImageError
        Where the bytes are damaged.
    """
    if size > min(MAX_BYTES, max(len(payload), 64) * (MAX_ZSTD if is_zstd else MAX_LZ4)):
        raise ImageError(f"a fatbin entry's header gives an impossible unpacked size of {size}")
    found = _unpack_zstd(payload, size) if is_zstd else _unpack_lz4(payload, size)
    if found is None or len(found) != size:
        raise ImageError("the compressed bytes of a fatbin entry are damaged")
    return found


@functools.cache
def _zstd() -> Any:
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        raise UnpackerMissingError("libzstd.so.1 is not on this machine") from None
    library.ZSTD_decompress.restype = ctypes.c_size_t
    return library


def _unpack_zstd(payload: bytes, size: int) -> bytes | None:
    room = ctypes.create_string_buffer(size + 1)  # more than the size is damage, too
    made = _zstd().ZSTD_decompress(
        room, ctypes.c_size_t(size + 1), payload, ctypes.c_size_t(len(payload))
    )
    return room.raw[:made] if made <= size else None  # an error's code is larger


def _unpack_lz4(payload: bytes, size: int) -> bytes | None:
    """Literals and matches alternate; bytes of 255 extend a length."""
    out = bytearray()
    at = 0

    def length(first: int) -> int:
        nonlocal at
        more = 255 if first == 15 else 0
        while more == 255:
            more = payload[at]
            at += 1
            first += more
        return first

    try:
        while len(out) <= size:
            token = payload[at]
            at += 1
            literals = length(token >> 4)
            if at + literals > len(payload):
                return None
            out += payload[at : at + literals]
            at += literals
            if at == len(payload):
                return bytes(out)
            back = payload[at] | payload[at + 1] << 8
            at += 2
            match = length(token & 15) + 4
            if not 0 < back <= len(out) or len(out) + match > size:
                return None
            piece = out[-back:][:match]
            out += (piece * (match // len(piece) + 1))[:match]  # it may overlap its own output
    except IndexError:
        return None
    return None
