# cupola/core/element_errors.py - refusals of arrays with elements that a function does not take.
"""The error for an argument whose elements have a wrong type or byte order."""

from __future__ import annotations

from cupola.array import Array
from cupola.element import is_native
from cupola.exceptions import ArgumentTypeError


def element_error(
    function: str, name: str, array: Array, expected: str, remedy: str = ""
) -> ArgumentTypeError:
    """The error for an argument with wrong elements.

    Parameters
    ----------
    function, name : str
        Of the function and of the argument.
    array : Array
        The argument.
    expected : str
        The elements that the function takes.
    remedy : str, optional
        By default the conversion of the byte order, where that is wrong.
    """
    if not remedy and not is_native(array.dtype):
        remedy = f"pass cupola.to_device({name}.get()), which converts the byte order"
    text = f"{function}: argument {name}: expected {expected}, got {array.dtype}"
    return ArgumentTypeError(f"{text}; {remedy}" if remedy else text)
