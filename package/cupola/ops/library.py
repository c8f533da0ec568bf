# cupola/ops/library.py - a package's operations at run time.
"""The operations behind a module such as ``heat.ops``, as `cupola.build` makes it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cupola.exceptions import ImageError
from cupola.ops.lazy_module import LazyModule

if TYPE_CHECKING:
    from cupola.core.kernel_library import KernelLibrary
    from cupola.kernel import Kernel
    from cupola.ops.operation import Operation


class OperationLibrary(LazyModule):
    """The operations of a package, each made when it is first used.

    Parameters
    ----------
    name : str
        The module's full name, such as ``"heat.ops"``.
    kernels : str
        The module of their kernels, such as ``"heat.kernels"``.
    operations : tuple of str
        Their names in the module.
    """

    def __init__(self, name: str, kernels: str, operations: tuple[str, ...]) -> None:
        super().__init__(name, operations, "operations")
        self.kernels = kernels
        self._tables: dict[str, dict[str, Any]] | None = None

    def _make(self, name: str) -> Operation:
        from cupola.declare.declaration_error import DeclarationError
        from cupola.declare.operation import read
        from cupola.ops.operation import Operation

        full = f"{self.name.rpartition('.')[0]}.{name}"
        library: KernelLibrary = import_module(self.kernels)._library
        if self._tables is None:
            self._tables = _tables(library)
        try:
            table = self._tables[full]
            if "family" in table:
                return self._of_family(full, table)
            declaration = read(table)
        except KeyError:
            raise ImageError(
                f"the manifest of {self.kernels} has no operation {full}: it is of another build "
                f"than the module {self.name}"
            ) from None
        except DeclarationError as error:
            raise ImageError(
                f"the manifest of {self.kernels} is invalid: operation {full}: {error}"
            ) from None

        def find(kernel: str, device: int) -> Kernel:
            return library.load(device)[library.kernels.get(kernel, kernel)]

        return Operation(declaration, find, self)

    def _of_family(self, full: str, table: dict[str, Any]) -> Operation:
        from cupola.ops.operation import Operation
        from cupola.ops.variants import of_family
        from cupola.tuning.family import from_library

        family = from_library(self.kernels, str(table["family"]).rpartition(".")[2])
        variants = of_family(family, table, full)
        declaration = variants.declaration(family.declaration.default)
        return Operation(declaration, library=self, variants=variants)

    def _added(self, made: Operation) -> None:
        made.register_loaded()


def _tables(library: KernelLibrary) -> dict[str, dict[str, Any]]:
    """The operations of a library's manifest, by name."""
    manifest = library.manifest()
    found = [] if manifest is None else manifest.head.get("operations", [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ImageError(f"the manifest of {library.name} is malformed: its operations are no list")
    return {str(one.get("name")): one for one in found}
