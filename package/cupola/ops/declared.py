# cupola/ops/declared.py - cupola.op: an operation that a program declares.
"""`cupola.op`, over kernels in hand or a family of variants."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from cupola.declare.backward import match
from cupola.declare.declaration_error import DeclarationError
from cupola.declare.operation import read
from cupola.exceptions import ArgumentError, ArgumentTypeError, ArgumentValueError
from cupola.kernel import Kernel
from cupola.ops.operation import Operation
from cupola.ops.variants import of_family


def declared(kernels: Any, name: str, table: Mapping[str, Any]) -> Operation:
    """The operation of kernels by their element types, of a kernel, or of a family."""
    if "kernels" in table:
        raise ArgumentTypeError("op takes the kernels as its first argument")
    families = sys.modules.get("cupola.tuning.family")
    if families is not None and isinstance(kernels, families.Family):
        return _of_family(kernels, name, table)
    single = isinstance(kernels, Kernel)
    given = {"": kernels} if single else dict(kernels) if isinstance(kernels, Mapping) else {}
    if not given or not all(isinstance(one, Kernel) for one in given.values()):
        raise ArgumentTypeError(
            "op takes a Kernel, or kernels by element type such as "
            f"{{'float32': module['kernel']}}, got {kernels!r}"
        )
    title = name or next(iter(given.values())).title.partition("<")[0]
    named: Any = {types: f"{index}" for index, types in enumerate(given)}
    by_name = dict(zip(named.values(), given.values(), strict=True))
    table = {**table, "kernels": "0" if single else named}
    backward = _named_backward(title, table)

    def find(kernel: str, device: int) -> Kernel:
        found = by_name[kernel]
        return found if found.device_index == device else found.module.on(device)[found.name]

    try:
        declaration = read(table, title)
        if backward is not None:
            match(declaration, backward.declaration)
        made = Operation(declaration, find, backward=backward)
    except DeclarationError as error:
        raise ArgumentValueError(f"op {title}: {error}") from None
    try:
        for types, kernel in declaration.kernels.items():
            made.native(types, by_name[kernel].device_index)
    except ArgumentError as error:
        raise type(error)(f"op {error}") from None
    made.register_loaded()
    return made


def _named_backward(title: str, table: dict[str, Any]) -> Operation | None:
    """The operation of the gradients, which the table then names."""
    backward: Any = table.get("backward")
    if backward is None:
        return None
    if not isinstance(backward, Operation):
        raise ArgumentTypeError(
            f"op {title}: backward: expected the operation of the gradients, which cupola.op "
            f"or a package's ops has made, got {backward!r}"
        )
    table["backward"] = backward.declaration.name
    return backward


def _of_family(family: Any, name: str, table: Mapping[str, Any]) -> Operation:
    """The operation of a family of variants."""
    title, known = name or family.name.rpartition(".")[2], dict(table)
    backward = _named_backward(title, known)
    try:
        variants = of_family(family, known, title)
        declaration = variants.declaration(family.declaration.default)
        if backward is not None:
            match(declaration, backward.declaration)
    except DeclarationError as error:
        raise ArgumentValueError(f"op {title}: {error}") from None
    made = Operation(declaration, variants=variants, backward=backward)
    made.register_loaded()
    return made
