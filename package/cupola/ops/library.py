# cupola/ops/library.py - a package's operations at run time.
"""The operations behind a module such as ``heat.ops``, as `cupola.build` makes it."""

from __future__ import annotations

import difflib
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cupola.exceptions import ImageError

if TYPE_CHECKING:
    from cupola.kernel import Kernel
    from cupola.kernel_library import KernelLibrary
    from cupola.ops.operation import Operation


class OperationLibrary:
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
        self.name = name
        self.kernels = kernels
        self.operations = operations
        self._lock = threading.RLock()
        self._tables: dict[str, dict[str, Any]] | None = None

    def attribute(self, name: str) -> Operation:
        """An operation. It loads no driver, and no kernel before its first call.

        Raises
        ------
        AttributeError
            Where there is no such operation; the text has similar names.
        NotFoundError, ImageError
            Where the package's image or its manifest is missing or invalid.
        """
        if name not in self.operations:
            text = f"module {self.name!r} has no attribute {name!r}"
            if not name.startswith("__"):
                near = difflib.get_close_matches(name, self.operations, 3)
                known = f"its operations are {', '.join(self.operations)}"
                text += f"; did you mean {' or '.join(near)}?" if near else f"; {known}"
            raise AttributeError(text, name=name)
        module = sys.modules[self.name]
        with self._lock:  # one operation, also where several threads use it first
            made: Operation | None = vars(module).get(name)
            if made is None:
                made = self._make(name)
                setattr(module, name, made)
                made.register_loaded()
        return made

    def attributes(self) -> list[str]:
        """Names for dir(): the operations and other attributes."""
        return sorted({*vars(sys.modules[self.name]), *self.operations})

    def _make(self, name: str) -> Operation:
        from cupola.ops.declaration import DeclarationError, read
        from cupola.ops.operation import Operation

        full = f"{self.name.rpartition('.')[0]}.{name}"
        library: KernelLibrary = import_module(self.kernels)._library
        if self._tables is None:
            self._tables = _tables(library)
        try:
            declaration = read(self._tables[full])
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


def _tables(library: KernelLibrary) -> dict[str, dict[str, Any]]:
    """The operations of a library's manifest, by name."""
    manifest = library.manifest()
    found = [] if manifest is None else manifest.head.get("operations", [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ImageError(f"the manifest of {library.name} is malformed: its operations are no list")
    return {str(one.get("name")): one for one in found}
