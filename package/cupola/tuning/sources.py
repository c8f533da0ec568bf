# cupola/tuning/sources.py - where the kernels of a family come from.
"""Sources of kernels: CUDA C++ that is compiled at run time, and libraries of packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cupola import cache
from cupola.declare import table_fit
from cupola.declare.family import FamilyDeclaration, Variant
from cupola.exceptions import ImageError

if TYPE_CHECKING:
    from cupola.core.kernel_library import KernelLibrary
    from cupola.declare.stored_family import StoredFamily
    from cupola.image.manifest import Manifest
    from cupola.kernel import Kernel

_NO_TARGET = "no target can run it"


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

    def dropped(self, capability: int, types: tuple[str, ...]) -> dict[Variant, str]:
        """The variants that a device of a compute capability, 90 for 9.0, can't run, and why."""

    def fixed_shared(self, declaration: FamilyDeclaration, variant: Variant) -> int | None:
        """Bytes of shared memory of a variant, where the compiler of its kernels fixes them."""

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

    def declared(self, declaration: FamilyDeclaration) -> dict[str, str] | None:
        """The kernel's parameters in the sources, of unknown kinds; None where the sources do not
        show them plainly.
        """
        from cupola.compiler.source_files import sources_of
        from cupola.compiler.source_names import declarations

        texts = [one.text for one in sources_of(self.source, None)]
        kernel = declaration.kernel_of(declaration.default, declaration.type_choices[0])
        name = kernel.partition("<")[0].rpartition("::")[2].strip()
        found = [
            parameter
            for text in (*texts, *(self.headers or {}).values())
            for one in declarations(text, {name}).get(name, [])
            for parameter in one.names
        ]
        return dict.fromkeys(found, "") if found and all(found) else None

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
                table_fit.about_the_code(declaration),
                [one.text for one in sources],
                list(self.options),
                dict(self.headers or {}),
                sorted(digest.hex() for _, digest in included or ()),
            ]
        )

    def dropped(self, capability: int, types: tuple[str, ...]) -> dict[Variant, str]:
        """None: a variant that does not compile is found at its first use."""
        return {}

    def fixed_shared(self, declaration: FamilyDeclaration, variant: Variant) -> int | None:
        """None: a launch chooses the shared memory."""
        return None

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

    def declared(self, declaration: FamilyDeclaration) -> dict[str, str] | None:
        """The parameters in the library's manifest with their kinds; None where it lacks the kernel
        or names.
        """
        library = library_of(self.library)
        manifest = library.manifest()
        name = declaration.kernel_of(declaration.default, declaration.type_choices[0])
        symbol = library.kernels.get(name)
        for one in manifest or ():
            if symbol is None and manifest is not None and _is_named(manifest.about(one), name):
                symbol = one
        if manifest is None or symbol is None or symbol not in manifest:
            return None
        return _kinds(manifest.about(symbol))

    def digest(self, declaration: FamilyDeclaration) -> str:
        """As that of `PackageSource`."""
        return _digest(declaration, library_of(self.library).manifest(), self.library)

    def dropped(self, capability: int, types: tuple[str, ...]) -> dict[Variant, str]:
        """None: a kernel that the image lacks is found at its first use."""
        return {}

    def fixed_shared(self, declaration: FamilyDeclaration, variant: Variant) -> int | None:
        """Of the kernels in the library's manifest, the largest that their compiler fixes."""
        library = library_of(self.library)
        names = [declaration.kernel_of(variant, types) for types in declaration.type_choices]
        return _fixed_shared(library, [library.kernels.get(name, name) for name in names])

    def package(self, declaration: FamilyDeclaration) -> str:
        """The package of the library."""
        return self.library.rpartition(".")[0]


class PackageSource(NamedTuple):
    """A family that a package's build has compiled; its manifest names the kernels."""

    library: str  # whose manifest has the family
    stored: StoredFamily

    def kernel(
        self, declaration: FamilyDeclaration, variant: Variant, types: tuple[str, ...], index: int
    ) -> Kernel:
        """The kernel, of the one library that has the variant."""
        found = self.stored.variants.get(variant)
        if found is None or types not in found.kernels:
            raise ImageError(
                f"{declaration.name}: the build of {self.library} dropped the variant "
                f"{declaration.text(variant)}: {_NO_TARGET}"
            )
        return library_of(found.library).load(index)[found.kernels[types]]

    def parameters(self, declaration: FamilyDeclaration) -> tuple[str, ...] | None:
        """The names in the manifest of any variant: all have the same parameters."""
        for found in self.stored.variants.values():
            manifest = library_of(found.library).manifest()
            for name in found.kernels.values():
                if manifest is None or name not in manifest:
                    return None
                known = manifest[name]
                if any(one.descriptor is not None for one in known):
                    return None  # a Python object fills several parameters
                return tuple(one.name for one in known if not one.hidden)
        return None

    def digest(self, declaration: FamilyDeclaration) -> str:
        """A hash of the family's kernels, and of the library's sources, options and toolkit."""
        return _digest(declaration, library_of(self.library).manifest(), self.library)

    def dropped(self, capability: int, types: tuple[str, ...]) -> dict[Variant, str]:
        """Those that the manifest lists for the device's target, and those without a kernel."""
        stored = self.stored
        found = {
            variant: _NO_TARGET
            for variant in stored.declaration.variants
            if variant not in stored.variants or types not in stored.variants[variant].kernels
        }
        targets = [stored.dropped[name] for name in _targets(capability) if name in stored.dropped]
        for (variant, typed), reason in targets[0].items() if targets else ():
            if typed == types and all((variant, types) in lost for lost in targets):
                found.setdefault(variant, reason)
        return found

    def fixed_shared(self, declaration: FamilyDeclaration, variant: Variant) -> int | None:
        """Of the kernels in the variant's manifest, the largest that their compiler fixes."""
        found = self.stored.variants.get(variant)
        if found is None:
            return None
        return _fixed_shared(library_of(found.library), found.kernels.values())

    def package(self, declaration: FamilyDeclaration) -> str:
        """The package of the library."""
        return self.library.rpartition(".")[0]


def _is_named(kernel: Mapping[str, Any], name: str) -> bool:
    """Whether a kernel of a manifest has a symbol, or a name in C++."""
    spelled = str(kernel.get("demangled", "")).removeprefix("void ")
    plain = name.replace(" ", "")
    return plain == kernel.get("name") or spelled.replace(" ", "").startswith(f"{plain}(")


def _kinds(kernel: Mapping[str, Any]) -> dict[str, str] | None:
    """The kinds of a kernel's parameters in a manifest; None where a parameter has no name."""
    given = [one for one in kernel.get("parameters", ()) if not one.get("hidden")]
    if any(not one.get("name") or "descriptor" in one for one in given):
        return None  # a Python object fills several parameters
    return {str(one["name"]): str(one.get("kind", "")) for one in given}


def _fixed_shared(library: KernelLibrary, symbols: Iterable[str]) -> int | None:
    """The most bytes of shared memory that a compiler fixes for kernels; None where it fixes none.

    The manifest describes the kernels.
    """
    manifest = library.manifest()
    if manifest is None:
        return None
    found = [manifest.fixed(symbol) for symbol in symbols if symbol in manifest]
    return max((one.shared for one in found if one is not None), default=None)


def _targets(capability: int) -> list[str]:
    return [f"sm_{capability}{suffix}" for suffix in ("", "a", "f")]


def library_of(name: str) -> KernelLibrary:
    """The kernel library behind a module."""
    library: KernelLibrary = import_module(name)._library
    return library


def _digest(declaration: FamilyDeclaration, manifest: Manifest | None, library: str) -> str:
    """That of `table_fit.digest`, for a manifest which may lack digests of the sources."""
    if manifest is None or not manifest.sources:
        raise ImageError(
            f"{library}: its manifest has no digests of its sources, by which tables of "
            "measurements are told apart; build it with this version of cupola"
        )
    return table_fit.digest(declaration, {**manifest.head, "sources": manifest.sources})
