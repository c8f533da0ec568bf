# cupola/tuning/launch_steps.py - a declaration's sizes and launches as steps for compiled code.
"""The form of a declaration that `cupola.variant_choice` evaluates at a new key."""

from __future__ import annotations

from cupola.declare.expression import OPERATORS, Expression
from cupola.declare.family import FamilyDeclaration
from cupola.variant_choice import LaunchSteps

_NUMBER, _SLOT, _FIRST_OPERATOR = 0, 1, 2


def launch_steps(declaration: FamilyDeclaration) -> LaunchSteps:
    """The key, the sizes and the launch of each variant.

    Raises
    ------
    ArgumentValueError
        The declaration uses too many sizes.
    """
    slots = {symbol: index for index, symbol in enumerate(declaration.symbols)}
    sizes = []
    for name, expression in declaration.sizes.items():  # each uses only those before it
        if all(symbol in slots for symbol in expression.symbols):
            sizes.append(_steps(expression, slots))
            slots[name] = len(slots)
    first_tunable = len(slots)
    for name in declaration.tunables:
        slots[name] = len(slots)
    launch = [*declaration.grid, *declaration.block, declaration.shared]
    return LaunchSteps(
        declaration,
        first_tunable,
        sizes,
        [_steps(one, slots) for one in launch],
        [slots[name] for name in declaration.key],
        [[0 if isinstance(word, str) else word for word in one] for one in declaration.variants],
    )


def _steps(expression: Expression, slots: dict[str, int]) -> list[tuple[int, int]]:
    found = []
    for step in expression.steps:
        if isinstance(step, tuple):
            found.append((_FIRST_OPERATOR + OPERATORS.index(step[0]), 0))
        elif isinstance(step, str):
            found.append((_SLOT, slots[step]))
        else:
            found.append((_NUMBER, step))
    return found
