# cupola/declare/expression.py - integer expressions of a declared operation.
"""The expressions of declarations, for sizes that are numbers or a framework's symbols.

`cupola.declare.compiled` writes their steps for the library, which evaluates them at a call. Only
the standard library is imported: the build checks declarations too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(r"[ \t]*(?:([0-9]+)|([A-Za-z_][A-Za-z_0-9]*)|(==|!=|<=|>=|//|.))", re.DOTALL)
_COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
_MOST, _LEAST = 2**63 - 1, -(2**63)
_MAX_DEPTH = 32
MAX_TEXT = 4096
# In the order of their numbers in compiled steps.
OPERATORS = (
    *("+", "-", "*", "/", "%", "ceildiv", "min", "max"),
    *("==", "!=", "<", "<=", ">", ">="),
)
NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


class ExpressionError(ValueError):
    """An expression is invalid, or cannot be computed from the given values."""


@dataclass(frozen=True)
class Expression:
    """An integer expression over named sizes.

    Parameters
    ----------
    text : str
        As it was written.
    steps : tuple
        In postfix order: a number, a symbol's name, or an operator in a tuple.
    """

    text: str
    steps: tuple[Any, ...]

    @property
    def symbols(self) -> list[str]:
        """Names, and calls such as ``stride(u, 0)``, that it needs the values of."""
        return list(dict.fromkeys(step for step in self.steps if isinstance(step, str)))

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The value: an int, or a symbol of the sizes' framework. That of a comparison is a bool.

        Parameters
        ----------
        values : mapping of str to int or a framework's symbolic size

        Raises
        ------
        ExpressionError
            For an overflow, a division by zero, and a division of negative numbers.
        """
        stack: list[Any] = []
        for step in self.steps:
            if isinstance(step, tuple):
                right = stack.pop()
                stack[-1] = _apply(step[0], stack[-1], right)
            else:
                stack.append(values[step] if isinstance(step, str) else step)
        return stack[0]

    def substituted(self, texts: Mapping[str, str]) -> str:
        """The expression as a text, with symbols replaced by expressions.

        Parameters
        ----------
        texts : mapping of str to str
            By symbol. Other symbols stay.
        """
        stack: list[str] = []
        for step in self.steps:
            if isinstance(step, tuple):
                right, left = stack.pop(), stack.pop()
                infix = f"({left} {step[0]} {right})"
                stack.append(f"{step[0]}({left}, {right})" if step[0].isalpha() else infix)
            else:
                stack.append(texts.get(step, step) if isinstance(step, str) else str(step))
        return stack[0]

    def sides(self, values: Mapping[str, Any]) -> tuple[Any, Any]:
        """The two values that a comparison compares."""
        comparison = Expression(self.text, (*self.steps[:-1], ("pair",)))
        found: tuple[Any, Any] = comparison.evaluate(values)
        return found


def parse(
    text: str, find: Callable[[str], str] | None = None, *, check: bool = False
) -> Expression:
    """Parse an expression.

    Parameters
    ----------
    text : str
    find : callable, optional
        Called with each name and each call, such as ``stride(u, 0)``. Returns "", or what is wrong
        with it.
    check : bool
        Whether the text must be a comparison.

    Raises
    ------
    ExpressionError
    """
    if len(text.encode()) > MAX_TEXT:
        raise ExpressionError(f"it is longer than {MAX_TEXT} bytes")
    return Expression(text, tuple(_Reader(text, find or (lambda name: "")).read(check)))


class _Reader:
    """Recursive descent.

    - comparison = sum [operator sum]
    - sum = product {("+" | "-") product}
    - product = value {("*" | "/" | "%") value}
    - value = number | name | name "(" arguments ")" | "(" sum ")"
    """

    def __init__(self, text: str, find: Callable[[str], str]) -> None:
        self.text, self.find = text, find
        self.at = self.depth = self.nested = 0
        self.steps: list[Any] = []

    def read(self, check: bool) -> list[Any]:
        self._sum()
        if check:
            operator = self._take(*_COMPARISONS)
            if not operator:
                raise ExpressionError(f"expected a comparison such as n >= 1{self._where()}")
            self._sum()
            self._emit((operator,), -1)
        if self._peek():
            if not check and self._peek() in _COMPARISONS:
                raise ExpressionError("a comparison is a check, not a number")
            raise ExpressionError(f'unexpected "{self.text[self.at :].strip()[:12]}"')
        return self.steps

    def _match(self) -> re.Match[str] | None:
        found = _TOKEN.match(self.text, self.at)
        return found if found and found[0].strip(" \t") else None

    def _peek(self) -> str:
        found = self._match()
        return found[0].strip(" \t") if found else ""

    def _take(self, *tokens: str) -> str:
        found = self._match()
        if found is None or found[3] not in tokens:
            return ""
        self.at = found.end()
        return found[3]

    def _where(self) -> str:
        rest = self.text[self.at :].lstrip(" \t")
        return f' at "{rest[:12]}"' if rest else " at the end"

    def _emit(self, step: Any, change: int) -> None:
        self.depth += change
        if self.depth > _MAX_DEPTH:
            raise ExpressionError("it is nested too deeply")
        self.steps.append(step)

    def _sum(self) -> None:
        self.nested += 1
        if self.nested > _MAX_DEPTH:
            raise ExpressionError("it is nested too deeply")
        self._product()
        while operator := self._take("+", "-"):
            self._product()
            self._emit((operator,), -1)
        self.nested -= 1

    def _product(self) -> None:
        self._value()
        while operator := self._take("*", "/", "%", "//"):
            if operator == "//":
                raise ExpressionError("write / for a division: it rounds down")
            self._value()
            self._emit((operator,), -1)

    def _value(self) -> None:
        if self._take("("):
            self._sum()
            self._close()
            return
        found = self._match()
        if found is None:
            raise ExpressionError("expected a value at the end")
        if not (found[1] or found[2]):
            raise ExpressionError(f"expected a value{self._where()}")
        self.at = found.end()
        if found[1]:
            self._number(found[1])
        elif self._take("("):
            self._call(found[2])
        else:
            self._symbol(found[2])

    def _number(self, digits: str) -> None:
        if self.text[self.at : self.at + 1].isidentifier() or self.text.startswith(".", self.at):
            raise ExpressionError(f"only whole decimal numbers are possible{self._where()}")
        if not digits.isascii() or int(digits) > _MOST:
            raise ExpressionError("a number exceeds the range of 64-bit integers")
        self._emit(int(digits), 1)

    def _call(self, name: str) -> None:
        if name in ("ceildiv", "min", "max"):
            count = 0
            while not count or self._take(","):
                self._sum()
                count += 1
                if count > 1:
                    self._emit((name,), -1)
            self._close()
            if count < 2 or (name == "ceildiv" and count != 2):
                takes = "ceildiv takes two" if name == "ceildiv" else "min and max take two or more"
                raise ExpressionError(f"{takes} values")
            return
        end = self.text.find(")", self.at)
        if end < 0:
            raise ExpressionError(f"expected ){self._where()}")
        inside = self.text[self.at : end]
        listed = [one.strip(" ") for one in inside.split(",")] if inside.strip(" ") else []
        self.at = end + 1
        self._symbol(f"{name}({', '.join(listed)})")

    def _close(self) -> None:
        if not self._take(")"):
            raise ExpressionError(f"expected ){self._where()}")

    def _symbol(self, name: str) -> None:
        if wrong := self.find(name):
            raise ExpressionError(wrong)
        self._emit(name, 1)


def _apply(operator: str, left: Any, right: Any) -> Any:
    found = _OPERATIONS[operator](left, right)
    if type(found) is int and not _LEAST <= found <= _MOST:
        raise ExpressionError("it exceeds the range of 64-bit integers")
    return found


def _divisible(left: Any, right: Any) -> None:
    # Symbolic sizes are not negative; frameworks refuse a division by zero themselves.
    if type(right) is int and right == 0:
        raise ExpressionError("it divides by zero")
    if any(type(one) is int and one < 0 for one in (left, right)):
        raise ExpressionError("it divides a negative number, or by a negative number")


def _floor(left: Any, right: Any) -> Any:
    _divisible(left, right)
    return left // right


def _modulo(left: Any, right: Any) -> Any:
    _divisible(left, right)
    return left % right


def _ceildiv(left: Any, right: Any) -> Any:
    _divisible(left, right)
    if type(left) is type(right) is int:
        return -(-left // right)
    return (left + right - 1) // right


def _chosen(name: str, plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``min`` or ``max``, by the framework's own function for its symbols."""

    def choose(left: Any, right: Any) -> Any:
        for one in (left, right):
            root = type(one).__module__.partition(".")[0]
            if root == "torch":
                return getattr(sys.modules["torch"], f"sym_{name}")(left, right)
            if root in ("jax", "jaxlib", "jax_export"):
                from jax import core

                return getattr(core, f"{name}_dim")(left, right)
        return plain(left, right)

    return choose


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _floor,
    "%": _modulo,
    "ceildiv": _ceildiv,
    "min": _chosen("min", min),
    "max": _chosen("max", max),
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "pair": lambda left, right: (left, right),
}
