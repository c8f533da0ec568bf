# cupola/makers/element_types.py - the types of a call's arguments and of type variables.
"""Element types of calls: type variables, promotion, conversions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.core.element_errors import element_error
from cupola.declare.c_types import CXX, STRUCTS
from cupola.declare.kernel_definition import Definition
from cupola.declare.maker_parameters import Parameter
from cupola.element import is_native
from cupola.exceptions import ArgumentTypeError
from cupola.ops.element_dtypes import dtype_of

Types = dict[str, str]  # element types by type variable


def element_of(dtype: np.dtype[Any]) -> str:
    """The name of an element type; also for those that no kernel has."""
    return dtype.name if dtype.isnative else str(dtype)


def types_of(definition: Definition, values: Mapping[str, Any]) -> Types:
    """The types of the type variables.

    Arrays that the kernel writes and raw arrays must have the type itself. Other arrays are
    promoted together by NumPy's rules. Numbers decide where no array does.

    Raises
    ------
    ArgumentTypeError
        Where arguments contradict each other, or none decides.
    """
    found: Types = {}
    for variable in definition.variables:
        given = [
            one
            for one in definition.parameters
            if one.variable == variable and values.get(one.name) is not None
        ]
        exact = [one for one in given if one.array and (one.raw or not one.const)]
        arrays = [one for one in given if one.array]
        chosen = exact[:1] or arrays or given
        if not chosen:
            names = ", ".join(one.name for one in definition.parameters if one.variable == variable)
            raise ArgumentTypeError(
                f"{definition.name}: no argument decides the type {variable} (of {names}): pass "
                "out="
            )
        found[variable] = _promoted(definition, variable, chosen, values)
    return found


def _promoted(
    definition: Definition, variable: str, chosen: list[Parameter], values: Mapping[str, Any]
) -> str:
    kinds = [
        values[one.name].dtype if one.array else _scalar_type(definition, one, values[one.name])
        for one in chosen
    ]
    names = ", ".join(one.name for one in chosen)
    where = f"{definition.name}: {'arguments' if len(chosen) > 1 else 'argument'} {names}"
    try:
        promoted = np.result_type(*kinds)
    except TypeError as error:
        raise ArgumentTypeError(f"{where}: no common type for {variable}: {error}") from None
    element = element_of(promoted)
    if element not in CXX:
        raise ArgumentTypeError(
            f"{where}: {variable} can't be {element}; it can be {', '.join(CXX)}"
        )
    return element


def _scalar_type(definition: Definition, parameter: Parameter, value: Any) -> np.dtype[Any]:
    try:
        return np.result_type(value)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{definition.name}: argument {parameter.name}: expected a number, got "
            f"{type(value).__name__}"
        ) from None


def wanted(
    parameter: Parameter, types: Mapping[str, str], structs: Mapping[str, np.dtype[Any]]
) -> np.dtype[Any]:
    """The dtype of a parameter."""
    if parameter.type in structs:
        return structs[parameter.type]
    return dtype_of(parameter.element or types[parameter.variable])


def converted(definition: Definition, parameter: Parameter, value: Array, dtype: Any) -> Array:
    """An array of the parameter's type: itself, or a copy where that loses nothing.

    Raises
    ------
    ArgumentTypeError
        Where it has another type that the kernel can't take.
    """
    if value.dtype == dtype:
        return value
    native = is_native(value.dtype)
    safe = native and np.can_cast(value.dtype, dtype, "safe")
    if parameter.const and not parameter.raw and safe:
        return value.astype(dtype)
    by = f" ({parameter.variable})" if parameter.variable else ""
    remedy = f"convert it with {parameter.name}.astype({dtype})" if parameter.const else ""
    raise element_error(
        definition.name, parameter.name, value, f"elements of {dtype}{by}", remedy if native else ""
    )


def scalar(definition: Definition, parameter: Parameter, value: Any, dtype: Any) -> Any:
    """A number for the launch, which checks it; by its bytes where C++ has a struct.

    Raises
    ------
    ArgumentTypeError
        Where it is no number, or can't have the type.
    """
    if isinstance(value, Array):
        raise ArgumentTypeError(
            f"{definition.name}: argument {parameter.name}: expected a number, got a cupola.Array; "
            f"a parameter for an array is written const {parameter.type}* {parameter.name}"
        )
    if dtype.kind != "V" and element_of(dtype) not in STRUCTS:
        return value
    try:
        if dtype.kind == "f" and np.iscomplexobj(value):
            raise TypeError("it is complex")
        if dtype.kind != "V" and np.asarray(value).dtype.kind in "SU":
            raise TypeError("it is a text")
        return np.asarray(value, dtype).reshape(()).tobytes()
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"{definition.name}: argument {parameter.name}: expected a number of {dtype}, got "
            f"{value!r}: {error}"
        ) from None
