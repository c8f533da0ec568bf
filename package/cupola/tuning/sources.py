# cupola/tuning/sources.py - where the kernels of a family come from.
"""Sources of kernels: CUDA C++ that is compiled at run time, and libraries of packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cupola import cache
from cupola.declare.family import FamilyDeclaration, Variant
from cupola.exceptions import ImageError

if TYPE_CHECKING:
    from cupola.core.kernel_library import KernelLibrary
    from cupola.image.manifest import Manifest
    from cupola.kernel import Kernel

# The keys of a family's table that decide its code.
_OF_THE_CODE = ("kernel", "source", "macros", "options", "types")


class KernelSource(Protocol):
    """Where the kernels of a family come from; it can be pickled."""

    def kernel(
        self, declaration: FamilyDeclaration, variant: Variant, types: tuple[str, ...], index: int
    ) -> Kernel:
        """The kernel of a variant for the device of an index."""

    def parameters(self, declaration: FamilyDeclaration) -> tuple[str, ...] | None:
        """The names of the kernel's parameters; None where only a loaded kernel has them."""

    def digest(self, declaration: FamilyDeclaration) -> str:
        """Identifies the code, as an SHA-256."""

    def dropped(
        self, capability: int, types: tuple[str, ...], variants: Sequence[Variant]
    ) -> set[Variant]:
        """The variants that a device of a compute capability, 90 for 9.0, can't run."""

    def package(self, declaration: FamilyDeclaration) -> str:
        """The package whose tables apply; empty where there is none."""


class CompiledSource(NamedTuple):
    """CUDA sources, compiled at run time by `cupola.compile`."""

    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    options: tuple[str, ...] = ()
    include: tuple[str | os.PathLike[str], ...] = ()
    headers: Mapping[str, str] | None = None

    def kernel(
        self, declaration: FamilyDeclaration, variant: Variant, types: tuple[str, ...], index: int
    ) -> Kernel:
        """Compile the variant alone, and load it. The disk cache keeps the image."""
        from cupola.compiler import compile as compile_source

        name = declaration.kernel_of(variant, types)
        macros = declaration.macros_of(variant)
        module = compile_source(
            self.source,
            options=[
                *self.options,
                *(f"-D{macro}={value}" for macro, value in macros.items()),
                *declaration.options_of(variant),
            ],
            include=self.include,
            headers=self.headers,
            name_expressions=[name] if declaration.is_template else [],
            device=index,
        )
        return module[name]

    def parameters(self, declaration: FamilyDeclaration) -> tuple[str, ...] | None:
        """None: the compiler tells them."""
        return None

    def digest(self, declaration: FamilyDeclaration) -> str:
        """A hash of texts, options, headers, and the files that the texts include.

        Paths are not part of it, so that it is the same on another machine.
        """
        from cupola.compiler import headers
        from cupola.compiler.arguments import folders_of
        from cupola.compiler.request import include_folders
        from cupola.compiler.source_files import sources_of

        sources = sources_of(self.source, None)
        included = headers.included(
            [(one.name, one.text.encode()) for one in sources],
            self.headers or {},
            [*folders_of(self.include), *include_folders(self.options)],
        )
        return cache.key_of(
            [
                _about_the_code(declaration),
                [one.text for one in sources],
                list(self.options),
                dict(self.headers or {}),
                sorted(digest.hex() for _, digest in included or ()),
            ]
        )

    def dropped(
        self, capability: int, types: tuple[str, ...], variants: Sequence[Variant]
    ) -> set[Variant]:
        """None: a variant that does not compile is found at its first use."""
        return set()

    def package(self, declaration: FamilyDeclaration) -> str:
        """The package that a name such as ``heat.step`` begins with, where it is imported."""
        package = declaration.name.rpartition(".")[0]
        return package if package in sys.modules else ""


class ModuleSource(NamedTuple):
    """The kernels of a package's library, found by their names in C++."""

    library: str  # "heat.kernels"

    def kernel(
        self, declaration: FamilyDeclaration, variant: Variant, types: tuple[str, ...], index: int
    ) -> Kernel:
        """The kernel in the library's image."""
        library = library_of(self.library)
        name = declaration.kernel_of(variant, types)
        return library.load(index)[library.kernels.get(name, name)]

    def parameters(self, declaration: FamilyDeclaration) -> tuple[str, ...] | None:
        """None: the image has the kernels' names in C++."""
        return None

    def digest(self, declaration: FamilyDeclaration) -> str:
        """As that of `PackageSource`."""
        return _digest(declaration, library_of(self.library).manifest(), self.library)

    def dropped(
        self, capability: int, types: tuple[str, ...], variants: Sequence[Variant]
    ) -> set[Variant]:
        """None: a kernel that the image lacks is found at its first use."""
        return set()

    def package(self, declaration: FamilyDeclaration) -> str:
        """The package of the library."""
        return self.library.rpartition(".")[0]


@dataclass(frozen=True)
class PackageSource:
    """A family that a package's build has compiled; its manifest names the kernels.

    Parameters
    ----------
    library : str
        The library whose manifest has the family.
    kernels : mapping
        By variant the library with its kernels, and their names in the image by element types.
    lost : mapping
        By target, as in ``sm_90a``: the variants and element types that it lacks.
    """

    library: str
    kernels: Mapping[Variant, tuple[str, Mapping[str, str]]]
    lost: Mapping[str, frozenset[tuple[Variant, str]]]

    def kernel(
        self, declaration: FamilyDeclaration, variant: Variant, types: tuple[str, ...], index: int
    ) -> Kernel:
        """The kernel, of the one library that has the variant."""
        library, names = self.kernels.get(variant, ("", {}))
        name = names.get(",".join(types))
        if name is None:
            raise ImageError(
                f"{declaration.name}: the build of {self.library} dropped the variant "
                f"{declaration.text(variant)}: no target can run it"
            )
        return library_of(library).load(index)[name]

    def parameters(self, declaration: FamilyDeclaration) -> tuple[str, ...] | None:
        """The names in the manifest of any variant: all have the same parameters."""
        for library, names in self.kernels.values():
            manifest = library_of(library).manifest()
            for name in names.values():
                if manifest is None or name not in manifest:
                    return None
                known = manifest[name]
                if any(one.descriptor is not None for one in known):
                    return None  # a Python object fills several parameters
                return tuple(one.name for one in known if not one.hidden)
        return None

    def digest(self, declaration: FamilyDeclaration) -> str:
        """A hash of the family's kernels, the sources of the library and the toolkit."""
        return _digest(declaration, library_of(self.library).manifest(), self.library)

    def dropped(
        self, capability: int, types: tuple[str, ...], variants: Sequence[Variant]
    ) -> set[Variant]:
        """Those that the manifest lists for the device's target, and those without a kernel."""
        typed = ",".join(types)
        found = {one for one in variants if typed not in self.kernels.get(one, ("", {}))[1]}
        targets = [self.lost[name] for name in _targets(capability) if name in self.lost]
        return found | {
            one for one in variants if targets and all((one, typed) in lost for lost in targets)
        }

    def package(self, declaration: FamilyDeclaration) -> str:
        """The package of the library."""
        return self.library.rpartition(".")[0]


def _targets(capability: int) -> list[str]:
    return [f"sm_{capability}{suffix}" for suffix in ("", "a", "f")]


def library_of(name: str) -> KernelLibrary:
    """The kernel library behind a module."""
    library: KernelLibrary = import_module(name)._library
    return library


def package_source(library: str, entry: Mapping[str, Any]) -> PackageSource:
    """The source of a family of a manifest.

    Raises
    ------
    ImageError
        The entry is malformed.
    """
    try:
        kernels = {
            tuple(one["variant"]): (str(one["library"]), dict(one["kernels"]))
            for one in entry["variants"]
        }
        lost = {
            str(target): frozenset((tuple(one["variant"]), str(one["types"])) for one in every)
            for target, every in entry["dropped"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ImageError(
            f"the manifest of {library} is malformed: a family: {type(error).__name__}: {error}"
        ) from error
    return PackageSource(library, kernels, lost)


def _about_the_code(declaration: FamilyDeclaration) -> dict[str, Any]:
    return {key: declaration.table[key] for key in _OF_THE_CODE if key in declaration.table}


def _digest(declaration: FamilyDeclaration, manifest: Manifest | None, library: str) -> str:
    """Equal in wheels that `cupola merge` and `cupola split` make of each other: such wheels are
    of the same sources and toolkit, and differ in their targets.
    """
    if manifest is None or not manifest.sources:
        raise ImageError(
            f"{library}: its manifest has no digests of its sources, by which tables of "
            "measurements are told apart; build it with this version of cupola"
        )
    head = manifest.head
    return cache.key_of(
        [
            _about_the_code(declaration),
            manifest.sources,
            {key: head.get(key) for key in ("toolkit", "compiler")},
        ]
    )
