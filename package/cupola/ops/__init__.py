# cupola/ops/__init__.py - declared operations: one declaration, a call for each kind of array.
"""Operations: kernels with a declaration of what they compute, called with arrays.

`cupola.op` makes one of a kernel in hand. A package's operations stand in its pyproject.toml, as
``[[tool.cupola.ops]]``, and are attributes of its module ``ops``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["op"]

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cupola.kernel import Kernel
    from cupola.ops.operation import Operation
    from cupola.tuning.family import Family


def op(
    kernels: Kernel | Mapping[str, Kernel] | Family, /, name: str = "", **declaration: Any
) -> Operation:
    """An operation of a kernel in hand.

    Parameters
    ----------
    kernels : Kernel, mapping of str to Kernel, or Family
        The kernel; or kernels by their element types, such as ``"float32"``, or
        ``"float32, int64"`` for two type variables in the order in which inputs name them. Of a
        family, each call launches the variant for its sizes. Under ``jax.jit`` the variant is
        chosen while JAX traces: the family's default, if it depends on a scalar operand.
    name : str, optional
        For messages; by default the kernel's.
    **declaration
        The keys of ``[[tool.cupola.ops]]``: ``inputs``, ``outputs``, ``arguments``, ``grid`` and
        ``block`` are required, but a family has the last two. ``backward`` is an `Operation`, not a
        name.

    Returns
    -------
    Operation

    Raises
    ------
    ArgumentError
        Where the declaration is invalid, or contradicts a kernel's parameters.
    """
    from cupola.ops.declared import declared

    return declared(kernels, name, declaration)
