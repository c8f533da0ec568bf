# cupola/ops/jax_scalars.py - how the scalars of a call reach XLA's foreign function.
"""A scalar is a constant of the function, or an operand whose value each call gives.

Outside of a program's own ``jax.jit``, numbers of Python are operands: a new value compiles
nothing. Constants and operands have the number's bits, so that 0.0 and -0.0 differ, and NaN equals
itself, wherever JAX compares them. JAX's own arrays are operands as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from cupola.declare.operation import Declaration, Scalar
from cupola.exceptions import ArgumentTypeError, ArgumentValueError


class Scalars(NamedTuple):
    """The scalars of a call.

    Parameters
    ----------
    numbers : dict of str to number
        The constants.
    operands : dict of str to array
        uint32[2] with the bits of a float64 or an int64, or one of JAX's arrays without axes.
    declared : tuple of Scalar
        All of them, in order.
    """

    numbers: dict[str, Any]
    operands: dict[str, Any]
    declared: tuple[Scalar, ...]

    @property
    def text(self) -> str:
        """For the handler: "o" for an operand, and "=" with 16 digits of bits for a constant."""
        return "".join(
            "o"
            if one.name in self.operands
            else f"={int.from_bytes(_bits(one, self.numbers[one.name]), 'little'):016x}"
            for one in self.declared
        )

    def only(self, names: Iterable[str]) -> Scalars:
        """Some of them, by their names in another declaration's order."""
        by_name = {one.name: one for one in self.declared}
        return Scalars(
            {name: self.numbers[name] for name in names if name in self.numbers},
            {name: self.operands[name] for name in names if name in self.operands},
            tuple(by_name[name] for name in names),
        )

    def without_values(self) -> Scalars:
        """These scalars without the operands' values, which a cached function must not hold."""
        return self._replace(operands=dict.fromkeys(self.operands))


def _bits(scalar: Scalar, value: Any) -> bytes:
    return struct.pack("<d" if scalar.kind == "float" else "<q", value)


def scalars_of(declaration: Declaration, values: Mapping[str, Any], constant: bool) -> Scalars:
    """The scalars of a call.

    Parameters
    ----------
    declaration : Declaration
    values : mapping of str to number or jax.Array
    constant : bool
        Whether numbers of Python are constants. Those that shapes or checks need always are.

    Raises
    ------
    ArgumentTypeError
        Where JAX traces a scalar whose value shapes need, or its element type is wrong.
    ArgumentValueError
        Where an integer exceeds 64 bits.
    """
    shaping = declaration.scalars_of_shapes
    checked = shaping | declaration.scalars_of_checks
    numbers: dict[str, Any] = {}
    operands: dict[str, Any] = {}
    for one in declaration.scalars:
        value = values[one.name]
        where = f"{declaration.name}: argument {one.name}"
        if isinstance(value, jax.Array):
            operand = _operand(one, value, where)
            if one.name not in shaping:
                operands[one.name] = operand
                continue
            if isinstance(value, Tracer):
                raise ArgumentTypeError(
                    f"{where}: shapes depend on it, so JAX can't trace it: name it in "
                    "static_argnames of jax.jit, and pass a number of Python"
                )
            value = one.python_type(value)
        if one.kind != "float" and not -(2**63) <= value < 2**63:
            raise ArgumentValueError(f"{where}: {value} is outside of the range of int64")
        if constant or one.name in checked:
            numbers[one.name] = value
        else:
            operands[one.name] = np.frombuffer(_bits(one, value), np.uint32)
    return Scalars(numbers, operands, declaration.scalars)


def _operand(scalar: Scalar, value: jax.Array, where: str) -> jax.Array:
    """One of JAX's arrays, in an element type that the handler reads."""
    kinds = {"float": "floating or an integer", "int": "an integer", "bool": "bool"}
    kind = value.dtype.kind if jax.dtypes.issubdtype(value.dtype, np.number) else "b"
    floating = jax.dtypes.issubdtype(value.dtype, np.floating)
    fits = {
        "float": floating or kind in "iu",
        "int": kind in "iu",
        "bool": value.dtype == np.bool_,
    }[scalar.kind]
    if value.shape or not fits:
        raise ArgumentTypeError(
            f"{where}: expected one number whose type is {kinds[scalar.kind]}, got shape "
            f"{value.shape} of {value.dtype}"
        )
    if floating and value.dtype.itemsize < 4:
        return value.astype(np.float32)
    if kind in "iu" and value.dtype.itemsize < 4:
        return value.astype(np.int32)
    return value


def no_gradient(where: str, value: Any) -> Any:
    """The value, whose gradient is an error: no operation has gradients of scalars."""

    @jax.custom_jvp
    def same(value: Any) -> Any:
        return value

    @same.defjvp
    def refuse(primals: Any, tangents: Any) -> Any:
        raise ArgumentTypeError(
            f"{where}: an operation has no gradient for a scalar; use "
            "jax.lax.stop_gradient on it, or pass an array input"
        )

    return same(value)
