# package/cupola/build/older_drivers.py - steps that write PTX for older drivers.
"""The PTX of an image, with the lowest versions that it needs (`cupola.image.ptx_version`)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from ..image import cubin, ptx_version
from ..image.ptx_version import Requirement
from .error import BuildError
from .step import Step

_HEADER = struct.Struct("<IHHQ")  # magic, version, size of this header, size of the entries
_PTX = 1
OLDEST = 73  # the PTX version of CUDA 11.3, the oldest driver that cupola supports
_PACKED = 0x2000 | 0x8000  # flags of compressed entries


def step(made: Path, image: Path, root: Path, title: str) -> Step:
    """The step that makes ``image``, PTX or a fatbin, of what the compiler made."""

    def act() -> None:
        data = (root / made).read_bytes()
        if data.startswith(b"\x50\xed\x55\xba"):
            data, found = of_fatbin(data)
        else:
            data, requirement = ptx_version.lowered(data)
            found = [("PTX", requirement)]
        (root / image).write_bytes(data)
        for level, one in found:
            # Not where the target alone needs it, nor where each supported driver takes it.
            if not one.known or (one.function and one.needed > OLDEST):
                print(f"{title or image.name}: {level} {one}", flush=True)

    reader = (Path(__file__), Path(ptx_version.__file__), Path(cubin.reader()))
    return Step(
        target=image,
        inputs=(made, *reader),
        action=act,
        key=("lowest version",),
        label=f"write PTX for older drivers in {image.name}",
        quiet=True,
    )


def of_fatbin(image: bytes) -> tuple[bytes, list[tuple[str, Requirement]]]:
    """An uncompressed fatbin with each PTX in its lowest version, and what each needs."""
    data, found = bytearray(image), []
    for at, header, size in _entries(image):
        (kind,) = struct.unpack_from("<H", image, at)
        (flags,) = struct.unpack_from("<Q", image, at + 40)
        if kind != _PTX:
            continue
        if flags & _PACKED:
            raise BuildError(
                "the compiler made a compressed image: remove its options for compression"
            )
        text = image[at + header : at + header + size]
        lower, one = ptx_version.lowered(text.rstrip(b"\0"))
        data[at + header : at + header + len(lower)] = lower
        # The entry's header repeats the version: the minor number, then the major one.
        struct.pack_into("<HH", data, at + 24, one.needed % 10, one.needed // 10)
        (number,) = struct.unpack_from("<I", image, at + 28)
        found.append((f"PTX compute_{number}", one))
    return bytes(data), found


def _entries(image: bytes) -> Iterator[tuple[int, int, int]]:
    """Of each entry its offset, the size of its header and the size of its code."""
    cubin.read_image(image)  # raises ImageError for a damaged one
    _, _, at, size = _HEADER.unpack_from(image)
    end = at + size
    while at < end:
        header, length = struct.unpack_from("<IQ", image, at + 4)
        yield at, header, length
        at += header + length
