# cupola/makers/library.py - the makers of a package, whose kernels were compiled at its build.
"""The functions behind a module such as ``waves.makers``, as `cupola.build` makes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cupola.core.kernel_library import KernelLibrary
from cupola.declare.kernel_definition import Definition
from cupola.declare.maker_table import MakerTable, TableError, check_types, read
from cupola.exceptions import ImageError
from cupola.makers.elementwise_maker import Elementwise
from cupola.makers.maker import Maker
from cupola.makers.reduction_maker import Reduction
from cupola.makers.scan_maker import Scan
from cupola.ops.lazy_module import LazyModule

if TYPE_CHECKING:
    from cupola.kernel import Kernel

_CLASSES: dict[str, Any] = {"elementwise": Elementwise, "reduction": Reduction, "scan": Scan}


class ShippedKernels:
    """Kernels of a package's image.

    Parameters
    ----------
    library : KernelLibrary
    table : MakerTable
    """

    def __init__(self, library: KernelLibrary, table: MakerTable) -> None:
        self._library, self._table = library, table

    def find(
        self, definition: Definition, types: Mapping[str, str], form: str, name: str, device: int
    ) -> Kernel:
        """A kernel; the first one on a device loads the image there.

        Raises
        ------
        ArgumentValueError
            Where the package was built for other types.
        NotFoundError, ImageError
            As `KernelLibrary.load` does.
        """
        check_types(definition.name, self._table.types, types)
        return self._library.load(device)[f"{definition.namespace(types)}::{name}"]


class MakerLibrary(LazyModule):
    """The makers of a package, each made when it is first used.

    Parameters
    ----------
    name : str
        The module's full name, such as ``"waves.makers"``; its image lies beside it.
    tables : mapping of str to dict
        Tables ``[[tool.cupola.makers]]`` by the functions' names.
    """

    def __init__(self, name: str, tables: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(name, tables, "functions")
        self.tables = tables
        self._library = KernelLibrary(name, {})
        self.load = self._library.load

    def _make(self, name: str) -> Maker:
        try:
            table = read(self.tables[name])
        except TableError as error:
            raise ImageError(
                f"{self.name}.{name} was built by another version of cupola, whose table this one "
                f"does not read: {error}"
            ) from None
        dtypes = {
            struct: np.dtype([(field, kind) for field, kind in fields], align=True)
            for struct, fields in table.structs.items()
        }
        kernels = ShippedKernels(self._library, table)
        made: Maker = _CLASSES[table.kind](table.definition, dtypes, kernels)
        return made
