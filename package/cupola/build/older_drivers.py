# package/cupola/build/older_drivers.py - steps that write PTX for older drivers.
"""The PTX of an image, with the lowest versions that it needs (`cupola.image.ptx_version`)."""

from __future__ import annotations

from pathlib import Path

from ..image import ptx_version, reader
from .step import Step

OLDEST = 73  # the PTX version of CUDA 11.3, the oldest driver that cupola supports


def step(made: Path, image: Path, root: Path, title: str) -> Step:
    """The step that makes ``image`` from the compiler's output: PTX, a fatbin, or an object with
    fatbins inside.
    """

    def act() -> None:
        data, found = ptx_version.lowered((root / made).read_bytes())
        (root / image).write_bytes(data)
        for level, one in found:
            # No line for a version that each supported driver takes, or that only the target needs.
            # No line for a hint to the compiler either: a load leaves hints out.
            hint = one.what.startswith(".pragma ")
            if not hint and (not one.known or (one.function and one.needed > OLDEST)):
                print(f"{title or image.name}: {level} {one}", flush=True)

    modules = (Path(__file__), Path(ptx_version.__file__), Path(reader.library_path()))
    return Step(
        target=image,
        inputs=(made, *modules),
        action=act,
        key=("lowest version",),
        label=f"write PTX for older drivers in {image.name}",
        quiet=True,
    )
