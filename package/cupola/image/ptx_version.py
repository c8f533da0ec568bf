# cupola/image/ptx_version.py - writes the lowest version of PTX that a text needs.
"""PTX for older drivers: a compiler writes its own version, and a driver refuses newer ones."""

from __future__ import annotations

from typing import NamedTuple

from . import reader
from .cxx_names import demangle


class Requirement(NamedTuple):
    """The lowest version of PTX that a text needs, with the first statement that needs it."""

    written: int  # the text's .version, 95 for 9.5
    needed: int
    known: bool  # False: cupola does not know `what`, so `needed` is `written`
    line: int
    what: str  # "mbarrier.try_wait", ".target sm_90a"
    function: str  # the kernel or function around it; "" outside of them
    cuda: str  # the oldest CUDA whose drivers take it, "12.0"

    def __str__(self) -> str:
        where = f"kernel or function {demangle(self.function)}, " if self.function else ""
        reason = f"{where}line {self.line}: {self.what}"
        version = f"PTX {self.needed // 10}.{self.needed % 10}"
        text = f"needs a driver of CUDA {self.cuda} or newer ({version}), for {reason}"
        return text if self.known else f"{text}, which cupola does not know"


def required(text: bytes) -> Requirement:
    """The version that a PTX text needs. It need not be complete.

    Raises
    ------
    ImageError
        It does not begin with ``.version`` and ``.target``, or is no PTX at all.
    """
    return Requirement(*reader.ptx_version(text))


def lowered(image: bytes) -> tuple[bytes, list[tuple[str, Requirement]]]:
    """The image with each PTX text in the lowest version that the text needs, and for each text its
    level, as ``"PTX compute_90"``, and its requirement. ``image`` is a fatbin, PTX, or an object or
    library with fatbins inside. The number of bytes does not change.

    Raises
    ------
    ImageError
        The bytes are no image, or have compressed PTX.
    """
    texts = [one for one in reader.read_image(image).entries if one.kind == "ptx"]
    found = [(f"PTX compute_{one.target}", required(one.payload)) for one in texts]
    return reader.lowered(image), found
