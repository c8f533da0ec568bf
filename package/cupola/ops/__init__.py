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


def op(kernels: Kernel | Mapping[str, Kernel], /, name: str = "", **declaration: Any) -> Operation:
    """An operation of a kernel in hand.

    Parameters
    ----------
    kernels : Kernel, or mapping of str to Kernel
        The kernel; or kernels by their element types, such as ``"float32"``, or
        ``"float32, int64"`` for two type variables in the order in which inputs name them.
    name : str, optional
        For messages; by default the kernel's.
    **declaration
        The keys of ``[[tool.cupola.ops]]``: ``inputs``, ``outputs``, ``arguments``, ``grid`` and
        ``block`` are required. ``backward`` is an `Operation`, not a name.

    Returns
    -------
    Operation

    Raises
    ------
    ArgumentError
        Where the declaration is invalid, or contradicts a kernel's parameters.
    """
    from cupola.ops.operation import of_kernels

    return of_kernels(kernels, name, declaration)
