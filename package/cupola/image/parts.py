# cupola/image/parts.py - the parts of an image that are in wheels of their own.
"""Parts of an image: `cupola split` moves machine code for some targets into other wheels.

The manifest of the image lists the parts::

    "parts": [{"name": "sm90a", "targets": ["sm_90a"], "capabilities": [90]}]

The part ``sm90a`` of ``heat/kernels.fatbin`` is the file ``heat/kernels.sm90a.fatbin``, of the
distribution ``heat-sm90a``. Its manifest names it as ``part``. Devices of these compute
capabilities take the part, as they would take its code in an undivided image.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from cupola.exceptions import ImageError
from cupola.image.manifest import Manifest

# Keys that are equal in the manifests of a part and its image, if both were built together.
_SAME = ("package", "toolkit", "sources", "variables")


class Part(NamedTuple):
    """A part, as the manifest of its image lists it."""

    name: str  # "sm90a": the extra that installs it
    targets: tuple[str, ...]  # "sm_90a"
    capabilities: tuple[int, ...]  # 90 for 9.0
    package: str  # the distribution of the image, "heat"

    @property
    def requirement(self) -> str:
        """The requirement for pip: ``heat[sm90a]``."""
        return f"{self.package}[{self.name}]"

    @property
    def missing(self) -> str:
        """The message about a part that is not installed."""
        return (
            f"{', '.join(self.targets)} of {self.package} is in a wheel of its own, which is not "
            f"installed: pip install '{self.requirement}'"
        )


def parts_of(manifest: Manifest) -> list[Part]:
    """The parts that a manifest lists.

    Raises
    ------
    ImageError
        The list is malformed.
    """
    package = str(manifest.head.get("package", "")).partition(" ")[0]
    try:
        return [
            Part(_word(one["name"]), tuple(map(_word, one["targets"])),
                 tuple(map(int, one["capabilities"])), package)
            for one in manifest.head.get("parts", [])
        ]  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ImageError(
            f"the manifest {manifest.place} is malformed: parts: {type(error).__name__}: {error}"
        ) from error


def _word(text: str) -> str:
    """A name that can be a part of a file's name."""
    if not text.replace("_", "").isalnum():
        raise ValueError(f"{text!r}: expected letters and digits")
    return text


def file_of(image: str, part: str) -> str:
    """``kernels.sm90a.fatbin`` of ``kernels.fatbin``."""
    stem, suffix = os.path.splitext(image)
    return f"{stem}.{part}{suffix}"


def require_same(image: Manifest, part: Manifest | None, name: str, place: str) -> None:
    """Refuse a part that was not built together with its image.

    Raises
    ------
    ImageError
        They differ.
    """
    if part is None or part.head.get("part") != name:
        raise ImageError(f"{place} has no manifest of a part {name!r} of {image.place}")
    for key in _SAME:
        mine, theirs = image.head.get(key), part.head.get(key)
        if mine != theirs:
            detail = "" if isinstance(mine, dict) else f": {theirs}, and {mine}"
            raise ImageError(
                f"{place} does not belong to {image.place}: they have different {key}{detail}; "
                "install both wheels of the same version and build"
            )
