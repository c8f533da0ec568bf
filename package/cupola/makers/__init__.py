# cupola/makers/__init__.py - functions that make kernels of arrays from expressions.
"""Kernels of your own for arrays: elementwise operations, reductions and scans.

An expression in C++ becomes a function of arrays. NVRTC compiles it when it is first used with some
types; the tables ``[[tool.cupola.makers]]`` of a package are compiled when the package is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from cupola.makers.elementwise_maker import Elementwise


def elementwise(
    parameters: str,
    body: str,
    name: str = "elementwise",
    *,
    preamble: str = "",
    before: str = "",
    after: str = "",
    structs: Mapping[str, npt.DTypeLike] | None = None,
    contiguous: bool = False,
    options: Sequence[str] = (),
) -> Elementwise:
    """Make a function that computes each element of its results by a statement.

    Parameters
    ----------
    parameters : str
        As in C: ``"float a, const T* x, T* out"``. ``float a`` is a number, ``const T* x`` an
        array to read, ``T* out`` a result, which may be read, too. A name with a capital letter
        in front is a type variable. Types are C's, or NumPy's names as ``complex64``. ``raw const
        T* x`` is an array of any length that is not broadcast; `body` indexes it in C order.
    body : str
        Statements for the element ``i`` of ``n``, both ``long long``: ``"out[i] = a * x[i]"``.
    name : str, optional
        The name in messages and in the kernel's.
    preamble : str, optional
        Includes, functions and structs before the kernel. It may use the type variables.
    before, after : str, optional
        Statements for each thread, before its first element and after its last one.
    structs : dict of str to dtype, optional
        The dtypes of structs which the preamble defines, by their names in C++.
    contiguous : bool, optional
        Whether `body` needs pointers. Without it, arrays with strides are views, which have
        ``[]`` alone. With it, inputs in another order are copied.
    options : sequence of str, optional
        NVRTC's options.

    Returns
    -------
    Elementwise
        A function of arrays; it compiles at its first call with some types.

    Raises
    ------
    ArgumentError
        Where a parameter is invalid.
    """
    from cupola.makers.elementwise_definition import define
    from cupola.makers.elementwise_maker import Elementwise
    from cupola.makers.kernel_source import CompiledKernels
    from cupola.makers.made import dtypes_of, name_of, options_of

    title, dtypes = name_of(name), dtypes_of(structs)
    sizes = {key: dtype.itemsize for key, dtype in dtypes.items()}
    code: dict[str, Any] = {"preamble": preamble, "before": before, "after": after}
    definition = define(title, parameters, body, sizes, contiguous=bool(contiguous), **code)
    return Elementwise(definition, dtypes, CompiledKernels(options_of(title, options)))
