# cupola/ops/variants.py - the kernels of an operation over a family of variants.
"""`VariantKernels`: which variant a call of an operation takes, and its kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cupola.declare.family_operation import FamilyOperation

if TYPE_CHECKING:
    from cupola.declare.family import Variant
    from cupola.declare.operation import Declaration
    from cupola.kernel import Kernel
    from cupola.tuning.family import Family


class VariantKernels:
    """The kernels of one operation.

    Parameters
    ----------
    family : Family
    operation : FamilyOperation
        The operation's declarations.
    """

    def __init__(self, family: Family, operation: FamilyOperation) -> None:
        self.family, self.operation = family, operation
        self._types = operation.types()

    def choose(self, sizes: Mapping[str, Any], types: tuple[str, ...], device: int) -> Variant:
        """The variant for a call's sizes: the family's default where a size or the device (-1) is
        not known yet.
        """
        given = self.operation.given(sizes)
        if given is None or device < 0:
            return self.family.declaration.default
        return self.family.variant_for(given, self._types[types], device)

    def declaration(self, variant: Variant) -> Declaration:
        """The operation with the kernels and the launch of a variant."""
        family = self.family
        shared = family.source.fixed_shared(family.declaration, variant)
        return self.operation.declaration(variant, None, shared)

    def kernel(self, variant: Variant, types: tuple[str, ...], device: int) -> Kernel:
        """The kernel of a variant for the types of the operation's type variables."""
        return self.family.kernel(variant, self._types[types], device)


def of_family(family: Family, table: Mapping[str, Any], name: str) -> VariantKernels:
    """The kernels of the operation of a table, which a family has.

    Raises
    ------
    DeclarationError
        The table does not fit the family.
    """
    return VariantKernels(
        family, FamilyOperation(table, family.declaration, family.parameters, name)
    )
