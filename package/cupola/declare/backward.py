# cupola/declare/backward.py - how an operation's gradients follow from another operation.
"""The backward operation: its arguments and results by the forward operation's names.

An input ``grad_v`` of the backward operation is the gradient of the output ``v``. Its other inputs
and its scalars are those of the forward operation, and its outputs, by their names. An output
``grad_u`` is the gradient of the input ``u``.
"""

from __future__ import annotations

from typing import NamedTuple

from .declaration_error import DeclarationError
from .operation import Declaration

PREFIX = "grad_"


class Backward(NamedTuple):
    """The arguments and results of a backward operation.

    Parameters
    ----------
    gradients : dict of str to str
        The forward output of each input that is a gradient.
    saved : tuple of str
        Inputs and outputs of the forward operation that it needs.
    results : dict of str to str
        The output that is the gradient of each forward input that has one.
    """

    gradients: dict[str, str]
    saved: tuple[str, ...]
    results: dict[str, str]


def match(forward: Declaration, backward: Declaration) -> Backward:
    """Match the names of two operations.

    Raises
    ------
    DeclarationError
        For the key of the backward operation whose name fits nothing.
    """
    inputs = [one.name for one in forward.inputs]
    outputs = [one.name for one in forward.outputs]
    gradients, saved = {}, []
    if any(one.mutated for one in (*forward.inputs, *backward.inputs)):
        raise DeclarationError("mutates", "an operation with a backward changes no input")
    for one in backward.inputs:
        if one.name.startswith(PREFIX) and one.name.removeprefix(PREFIX) in outputs:
            gradients[one.name] = one.name.removeprefix(PREFIX)
        elif one.name in (*inputs, *outputs):
            saved.append(one.name)
        else:
            raise DeclarationError(
                f"inputs.{one.name}", f"the backward of {forward.name} takes gradients "
                f"({', '.join(PREFIX + name for name in outputs)}), and what {forward.name} takes "
                f"and returns ({', '.join((*inputs, *outputs))})"
            )  # fmt: skip
    results = {}
    for one in backward.outputs:
        name = one.name.removeprefix(PREFIX)
        if name == one.name or name not in inputs:
            raise DeclarationError(
                f"outputs.{one.name}", f"the backward of {forward.name} returns gradients of its "
                f"inputs ({', '.join(PREFIX + name for name in inputs)})"
            )  # fmt: skip
        results[name] = one.name
    known = {one.name: one.kind for one in forward.scalars}
    for scalar in backward.scalars:
        if known.get(scalar.name) != scalar.kind:
            raise DeclarationError(
                f"scalars.{scalar.name}", f"{forward.name} has no {scalar.kind} {scalar.name}"
            )
    return Backward(gradients, tuple(saved), results)
