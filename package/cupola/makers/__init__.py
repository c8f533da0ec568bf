# cupola/makers/__init__.py - functions that make kernels of arrays from expressions.
"""Kernels of your own for arrays: elementwise operations, reductions and scans.

An expression in C++ becomes a function of arrays. NVRTC compiles it when it is first used with some
types; the tables ``[[tool.cupola.makers]]`` of a package are compiled when the package is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["elementwise", "reduction", "scan"]

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from cupola.makers.elementwise_maker import Elementwise
    from cupola.makers.reduction_maker import Reduction
    from cupola.makers.scan_maker import Scan


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
    from cupola.declare.elementwise_definition import define
    from cupola.makers.elementwise_maker import Elementwise
    from cupola.makers.kernel_source import CompiledKernels
    from cupola.makers.made import dtypes_of, name_of, options_of

    title, dtypes = name_of(name), dtypes_of(structs)
    sizes = {key: dtype.itemsize for key, dtype in dtypes.items()}
    code: dict[str, Any] = {"preamble": preamble, "before": before, "after": after}
    definition = define(title, parameters, body, sizes, contiguous=bool(contiguous), **code)
    return Elementwise(definition, dtypes, CompiledKernels(options_of(title, options)))


def reduction(
    parameters: str,
    map: str | Sequence[str],  # noqa: A002 - the name that users of other libraries know
    reduce: str | Sequence[str],
    neutral: str | Sequence[str],
    name: str = "reduction",
    *,
    post: str | Sequence[str] | None = None,
    accumulator: str | Sequence[str] | None = None,
    preamble: str = "",
    structs: Mapping[str, npt.DTypeLike] | None = None,
    contiguous: bool = False,
    options: Sequence[str] = (),
) -> Reduction:
    """Make a function that combines the elements of arrays.

    Parameters
    ----------
    parameters : str
        As for `elementwise`: ``"const T* x, const T* y, T* out"``.
    map : str or sequence of str
        An expression for the element ``i`` of the ``n`` that are combined to the result ``o``:
        ``"x[i] * y[i]"``. Several expressions are several reductions in one pass.
    reduce : str or sequence of str
        An expression of two values ``a`` and ``b``: ``"a + b"``. It has to be associative and
        commutative.
    neutral : str or sequence of str
        An expression that changes no value that it is combined with: ``"0"``.
    name : str, optional
        The name in messages and in the kernel's.
    post : str or sequence of str, optional
        An expression for each result of the combined value ``a``, ``n`` and ``o``: ``"sqrt(a)"``.
        With several reductions, ``a0``, ``a1`` and so on are their values.
    accumulator : str or sequence of str, optional
        The type of the values: an element type, a type variable or a struct of `structs`. By
        default that of the result; ``float`` for half types.
    preamble, structs, contiguous, options
        As for `elementwise`.

    Returns
    -------
    Reduction
        A function of arrays; it compiles at its first call with some types.

    Raises
    ------
    ArgumentError
        Where a parameter is invalid.
    """
    from cupola.declare.reduction_definition import define
    from cupola.makers.kernel_source import CompiledKernels
    from cupola.makers.made import dtypes_of, name_of, options_of
    from cupola.makers.reduction_maker import Reduction

    title, dtypes = name_of(name), dtypes_of(structs)
    sizes = {key: dtype.itemsize for key, dtype in dtypes.items()}
    more: dict[str, Any] = {"post": post, "accumulator": accumulator, "preamble": preamble}
    definition = define(
        title, parameters, map, reduce, neutral, sizes, contiguous=bool(contiguous), **more
    )
    return Reduction(definition, dtypes, CompiledKernels(options_of(title, options)))


def scan(
    parameters: str,
    map: str,  # noqa: A002 - as in `reduction`
    scan: str,
    neutral: str | None,
    name: str = "scan",
    *,
    exclusive: bool = False,
    segment: str | None = None,
    output: str | None = None,
    accumulator: str | None = None,
    preamble: str = "",
    structs: Mapping[str, npt.DTypeLike] | None = None,
    contiguous: bool = False,
    options: Sequence[str] = (),
) -> Scan:
    """Make a function that combines each element of an array with those before it.

    Parameters
    ----------
    parameters : str
        As for `elementwise`: ``"const T* x, T* out"``.
    map : str
        An expression for the element ``i`` of ``n``: ``"x[i]"``.
    scan : str
        An expression of two values, of which ``a`` stands before ``b``: ``"a + b"``. It has to be
        associative.
    neutral : str or None
        An expression that changes no value that it is combined with: ``"0"``. With None the first
        element begins the scan, and ``prev`` before the element is ``T()``.
    name : str, optional
        The name in messages and in the kernel's.
    exclusive : bool, optional
        Whether a result combines only the elements before its own.
    segment : str, optional
        An expression: whether the element ``i`` begins a segment: ``"start[i]"``. The combined
        value is the neutral one before each segment.
    output : str, optional
        Statements for the element ``i`` with ``item``, which includes the element, and ``prev``,
        which does not. By default the result becomes one of the two.
    accumulator : str, optional
        The type of the values: an element type, a type variable or a struct of `structs`. By
        default that of the first result; ``float`` for half types.
    preamble, structs, contiguous, options
        As for `elementwise`.

    Returns
    -------
    Scan
        A function of arrays; it compiles at its first call with some types.

    Raises
    ------
    ArgumentError
        Where a parameter is invalid.
    """
    from cupola.declare.scan_definition import define
    from cupola.makers.kernel_source import CompiledKernels
    from cupola.makers.made import dtypes_of, name_of, options_of
    from cupola.makers.scan_maker import Scan

    title, dtypes = name_of(name), dtypes_of(structs)
    sizes = {key: dtype.itemsize for key, dtype in dtypes.items()}
    more: dict[str, Any] = {
        "exclusive": bool(exclusive),
        "segment": segment,
        "output": output,
        "accumulator": accumulator,
        "preamble": preamble,
        "contiguous": bool(contiguous),
    }
    definition = define(title, parameters, map, scan, neutral, sizes, **more)
    return Scan(definition, dtypes, CompiledKernels(options_of(title, options)))
