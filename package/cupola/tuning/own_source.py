# cupola/tuning/own_source.py - the kernels of cupola itself as those of families.
"""`OwnSource`: kernels that cupola's own build has compiled."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cupola import cache, library
from cupola.declare.family import FamilyDeclaration, Launch, Variant
from cupola.declare.family_table import read
from cupola.declare.table_fit import about_the_code
from cupola.exceptions import MissingFileError
from cupola.tuning.family import Family

if TYPE_CHECKING:
    from cupola.kernel import Kernel

Chosen = TypeVar("Chosen")
MOST_LAUNCHES = 4096  # that a family keeps


class OwnSource(NamedTuple):
    """A source of cupola's kernels; `load` finds a kernel of its image."""

    file: str  # below csrc: "kernels/convolve.cu"
    names: tuple[str, ...]  # of the kernels' parameters
    load: Callable[[str, str, int], Kernel]  # of the image, the kernel's name and the device

    def kernel(
        self, declaration: FamilyDeclaration, variant: Variant, types: tuple[str, ...], index: int
    ) -> Kernel:
        """The kernel in the image of its source."""
        image = self.file.rpartition("/")[2].partition(".")[0]
        return self.load(image, declaration.kernel_of(variant, types), index)

    def parameters(self, declaration: FamilyDeclaration) -> tuple[str, ...] | None:
        """The names of the kernels' parameters, which not every image has."""
        return self.names

    def digest(self, declaration: FamilyDeclaration) -> str:
        """A hash of the sources alone, so that the tables apply to each build of them.

        Raises
        ------
        MissingFileError
            The installation has no digests of the sources.
        """
        return cache.key_of([about_the_code(declaration), _digests()[self.file]])

    def dropped(self, capability: int, types: tuple[str, ...]) -> dict[Variant, str]:
        """None: the images have PTX for all devices."""
        return {}

    def fixed_shared(self, declaration: FamilyDeclaration, variant: Variant) -> int | None:
        """None: a launch chooses the shared memory."""
        return None

    def package(self, declaration: FamilyDeclaration) -> str:
        """``cupola``."""
        return "cupola"


@functools.cache
def _digests() -> dict[str, str]:
    path = os.path.join(library.FOLDER, "digests.json")
    try:
        with open(path, encoding="utf-8") as file:
            found: dict[str, str] = json.load(file)
            return found
    except FileNotFoundError:
        raise MissingFileError(
            f"there is no {path}, by which tables of measurements are told apart; install cupola "
            "again"
        ) from None


def own_family(name: str, source: OwnSource, table: Mapping[str, Any]) -> Family:
    """A family of cupola's kernels.

    Parameters
    ----------
    name : str
        Without ``cupola.``.
    source : OwnSource
    table : dict
        The other keys of a declaration.
    """
    return Family(read({"name": f"cupola.{name}", **table}), source)


def chosen(
    family: Family,
    index: int,
    sizes: tuple[int, ...],
    make: Callable[[Family, Variant, int, tuple[int, ...]], Chosen],
) -> Chosen:
    """The result of `make` for the variant of sizes, kept until the tables are read again.

    Nothing is measured, whatever ``CUPOLA_TUNE`` is.

    Parameters
    ----------
    family : Family
    index : int
        Of the device.
    sizes : tuple of int
        The value of each of the declaration's `symbols`.
    make : callable
        Takes the family, the variant, the device and the sizes.
    """
    key = (index, *sizes)
    launches = family.launches
    found: Chosen | None = launches.get(key)
    if found is None:
        found = make(family, family.variant_for(sizes, (), index), index, sizes)
        if len(launches) >= MOST_LAUNCHES:
            launches.clear()
        launches[key] = found
    return found


def launch_of(family: Family, variant: Variant, sizes: tuple[int, ...]) -> Launch:
    """The launch of a variant for the values of the declaration's symbols."""
    declaration = family.declaration
    return declaration.launch(variant, dict(zip(declaration.symbols, sizes, strict=True)))
