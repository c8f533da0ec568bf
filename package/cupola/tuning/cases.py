# cupola/tuning/cases.py - calls of a family with their references.
"""`cupola.Case`: the arguments of a call, and what its kernel must compute."""

from __future__ import annotations

import contextlib
import hashlib
import math
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from functools import cached_property
from typing import Any

import numpy as np

from cupola.exceptions import ArgumentError, ArgumentTypeError, ArgumentValueError, Error

__all__ = ["Case"]

Array = np.ndarray[Any, Any]


class Case:
    """A call of a family with its reference, which `cupola.tune` measures variants on.

    Parameters
    ----------
    arguments : sequence, or mapping by name
        The arguments of the call. NumPy arrays are copied to the device afresh for each variant.
        Other values are passed as they are.
    expected : dict
        The content of arguments after the call: a NumPy array by the argument's name or position,
        with the shape of the argument.
    rtol, atol : float, optional
        The relative and the absolute tolerance, as `numpy.isclose` takes them. By default integers
        must be equal. For floating-point numbers both are the power 2/3 of the dtype's `eps`, as
        `numpy.finfo` has it: 2.4e-05 for float32, 3.7e-11 for float64. NaN equals NaN.
    name : str
        The case in messages and tables; by default the sizes of the call's key.

    Raises
    ------
    ArgumentTypeError
        An argument lies on a device, or is an array of Python objects.
    ArgumentValueError
        There is no reference, or its argument or shape is wrong.
    """

    def __init__(
        self,
        arguments: Sequence[Any] | Mapping[str, Any],
        expected: Mapping[str | int, Any],
        *,
        rtol: float | None = None,
        atol: float | None = None,
        name: str = "",
    ) -> None:
        by_name = isinstance(arguments, Mapping)
        if not by_name and (isinstance(arguments, str) or not isinstance(arguments, Sequence)):
            raise ArgumentTypeError(
                f"a case takes a tuple, a list or a dict of arguments, got "
                f"{type(arguments).__name__}"
            )
        self.name = name
        self.positional: tuple[Any, ...] = () if by_name else tuple(arguments)
        self.named: dict[str, Any] = dict(arguments) if isinstance(arguments, Mapping) else {}
        self.rtol, self.atol = _checked("rtol", rtol), _checked("atol", atol)
        for place, value in enumerate(self.positional):
            _check_argument(self.title, place, value)
        for word, value in self.named.items():
            _check_argument(self.title, word, value)
        if not isinstance(expected, Mapping) or not expected:
            raise ArgumentValueError(
                f"{self.title} has no reference: expected a dict with an array by the name or the "
                f"position of each output, got {expected!r}"
            )
        self.expected: dict[str | int, Array] = {
            key: np.asarray(value) for key, value in expected.items()
        }
        for key, reference in self.expected.items():
            if reference.dtype.hasobject:
                raise ArgumentTypeError(
                    f"{self.title}: the reference of {key!r} is an array of Python objects: "
                    "expected numbers"
                )

    @property
    def title(self) -> str:
        """The case in messages."""
        return f"case {self.name!r}" if self.name else "a case"

    @cached_property
    def digest(self) -> str:
        """Identifies the contents: arguments, references and tolerances."""
        state = hashlib.sha256(repr((self.rtol, self.atol)).encode())
        for values in (enumerate(self.positional), self.named.items(), self.expected.items()):
            for place, value in values:
                if isinstance(value, np.ndarray):
                    state.update(f"{place!r} {value.dtype.str} {value.shape}".encode())
                    state.update(np.ascontiguousarray(value).data)
                else:
                    state.update(f"{place!r} {value!r}".encode())
        return state.hexdigest()

    def references(self, names: Sequence[str], arguments: Sequence[Any]) -> dict[int, Array]:
        """The references by the positions of arguments.

        Parameters
        ----------
        names : sequence of str
            The names of the kernel's parameters.
        arguments : sequence
            A value for each of them.

        Raises
        ------
        ArgumentValueError
            A reference has no argument, or another shape.
        """
        found: dict[int, Array] = {}
        for key, reference in self.expected.items():
            place = key if isinstance(key, int) else names.index(key) if key in names else -1
            if not 0 <= place < len(names):
                raise ArgumentValueError(
                    f"{self.title}: the reference of {key!r} has no argument: the kernel's "
                    f"{len(names)} parameters are {', '.join(names)}"
                )
            shape = getattr(arguments[place], "shape", None)
            if shape is None:
                raise ArgumentValueError(
                    f"{self.title}: the reference of {key!r} is for an array, and argument "
                    f"{place} ({names[place]}) is {type(arguments[place]).__name__}"
                )
            if tuple(shape) != reference.shape:
                raise ArgumentValueError(
                    f"{self.title}: the reference of {key!r} has the shape {reference.shape}, and "
                    f"argument {place} ({names[place]}) has {tuple(shape)}"
                )
            found[place] = reference
        return found

    def __repr__(self) -> str:
        count = len(self.positional) + len(self.named)
        return f"<cupola.Case {self.name or ''} of {count} arguments>".replace("  ", " ")


def _checked(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise ArgumentTypeError(f"{name}= is a number, got {value!r}")
    if not (math.isfinite(value) and value >= 0):
        raise ArgumentValueError(f"{name}= is a number of at least 0, got {value!r}")
    return float(value)


def _check_argument(title: str, key: str | int, value: Any) -> None:
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise ArgumentTypeError(
                f"{title}: argument {key} is an array of Python objects: expected numbers"
            )
    elif hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__"):
        raise ArgumentTypeError(
            f"{title}: argument {key} is an array of {type(value).__module__}: expected a NumPy "
            "array, which is copied to the device for each variant; copy it with x.get() or "
            "numpy.asarray(x)"
        )


class CaseIterator:
    """Cases, held one at a time. Errors name the family and the number of the case.

    Parameters
    ----------
    family : str
        The family's name.
    cases : Case, iterable of Case, or callable
        A function without arguments returns an iterable, or is a generator function.
    """

    def __init__(self, family: str, cases: Any) -> None:
        self._family, self._function = family, ""
        self.taken = 0  # cases
        if isinstance(cases, Case):
            cases = [cases]
        elif callable(cases):
            self._function = getattr(cases, "__qualname__", type(cases).__name__)
            with self.naming():
                cases = cases()
        if not isinstance(cases, Iterable):
            kind = type(cases).__name__
            given = f"the function {self._function} returned {kind}" if self._function else kind
            raise ArgumentTypeError(
                f"{family}: cases= is a function that yields cases, or a list of them, got {given}"
            )
        self._cases = iter(cases)
        self.count = len(cases) if isinstance(cases, Sized) else None  # of all, where it is known

    def take(self) -> Case | None:
        """The next case; None after the last one.

        Raises
        ------
        ArgumentError
            It is no case, or the function that makes it raised an error.
        """
        self.taken += 1
        with self.naming(self.taken):
            found = next(self._cases, None)
            if found is None:
                self.taken -= 1
            elif not isinstance(found, Case):
                raise ArgumentTypeError(
                    f"expected cupola.Case(arguments, expected), got {type(found).__name__}"
                )
        return found

    @contextlib.contextmanager
    def naming(self, number: int = 0, case: Case | None = None) -> Iterator[None]:
        """Name the family and the case in errors of the block."""
        named = f" ({case.name})" if case is not None and case.name else ""
        where = f"{self._family}, case {number}{named}" if number else self._family
        try:
            yield
        except Error as error:
            kind, arguments = error.__reduce__()[:2]
            raise kind(f"{where}: {arguments[0]}", *arguments[1:]) from error
        except Exception as error:
            # The innermost line: a command prints no traceback.
            last = traceback.extract_tb(error.__traceback__)[-1]
            made = f"the function {self._function or 'of the cases'} raised "
            raise ArgumentError(
                f"{where}: {'' if case else made}{type(error).__name__}: {error} ({last.filename}, "
                f"line {last.lineno})"
            ) from error
