# cupola/random/philox.py - the counter-based generator Philox4x32-10.
"""`Philox`: its state is a key and a counter."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.random.bit_generator import BitGenerator, Draw

_WORD = 0xFFFFFFFF
_WIDE = 0xFFFFFFFFFFFFFFFF


class Philox(BitGenerator):
    """Philox4x32-10: four words of 32 bits for each counter of 128 bits, with a key of 64 bits.

    It is Random123's ``philox4x32`` of 10 rounds, with its constants and known-answer vectors.
    ``numpy.random.Philox`` is another generator, Philox4x64-10.

    An array takes consecutive counters, four words for each: 4 numbers of 32 bits, 2 of 64 bits, or
    1 number of a distribution that needs a varying count of words. Such a number takes more words
    from counters whose third word is larger, so it takes none from its neighbours.

    A captured graph repeats the same numbers at each launch.

    Parameters
    ----------
    seed : int, sequence of int or SeedSequence, optional
        By default the operating system's entropy.
    counter : int, optional
        The first counter, below 2**128; by default 0.
    key : int, optional
        The key itself, below 2**64, in place of a seed.

    Raises
    ------
    ArgumentValueError
        Where both a seed and a key are given, or a number is out of range.
    """

    _suffix = "philox"

    def __init__(self, seed: Any = None, *, counter: Any = None, key: Any = None) -> None:
        if seed is not None and key is not None:
            raise ArgumentValueError("Philox: expected a seed or a key, got both")
        super().__init__(seed)
        if key is None:
            words = self.seed_seq.generate_state(2, np.uint32)
            key = int(words[1]) << 32 | int(words[0])
        self._key = _below("key", key, 64)
        self._counter = _below("counter", 0 if counter is None else counter, 128)

    @property
    def state(self) -> dict[str, Any]:
        """``{"bit_generator": "Philox", "state": {"counter": uint32[4], "key": uint32[2]}}``."""
        with self._lock:
            numbers = {"counter": _words(self._counter, 4), "key": _words(self._key, 2)}
        return {"bit_generator": "Philox", "state": numbers}

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        try:
            name, numbers = value["bit_generator"], value["state"]
            counter, key = _number(numbers["counter"], 4), _number(numbers["key"], 2)
        except (KeyError, TypeError, ValueError):
            raise ArgumentTypeError(
                "state: expected a dict as Philox.state has it, with bit_generator and state"
            ) from None
        if name != "Philox":
            raise ArgumentValueError(f"state: expected the state of a Philox, got one of {name}")
        with self._lock:
            self._counter, self._key = counter, key

    def advance(self, delta: int) -> Philox:
        """Skip `delta` counters, that is four words each; a negative number goes back.

        Parameters
        ----------
        delta : int

        Returns
        -------
        Philox
            Itself.
        """
        with self._lock:
            self._move(operator.index(delta))
        return self

    def jumped(self, jumps: int = 1) -> Philox:
        """A generator with the same key whose counter's fourth word is larger by `jumps`.

        Parameters
        ----------
        jumps : int

        Returns
        -------
        Philox
            Its numbers overlap with no other jump's.
        """
        made = Philox(self.seed_seq)
        with self._lock:
            made._key, counter = self._key, self._counter
        made._counter = (counter + (operator.index(jumps) << 96)) % (1 << 128)
        return made

    def _move(self, delta: int) -> None:
        """Of the low half; the high half counts rejections and jumps."""
        low = (self._counter + delta) & _WIDE
        self._counter = self._counter & ~_WIDE | low

    def _draw(self, items: int, threads: int, device: int) -> Draw:
        counter = self._counter
        self._move(items)
        return Draw((self._key, counter & _WIDE, counter >> 64), threads)

    def __reduce__(self) -> Any:
        return _again, (self.seed_seq, self.state)


def _again(seed_seq: Any, state: dict[str, Any]) -> Philox:
    made = Philox(seed_seq)
    made.state = state
    return made


def _below(name: str, value: Any, bits: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(f"Philox: {name}: expected an int, got {value!r}") from None
    if not 0 <= number < 1 << bits:
        raise ArgumentValueError(
            f"Philox: {name}: expected an int from 0 to 2**{bits} - 1, got {number}"
        )
    return number


def _words(number: int, count: int) -> np.ndarray[Any, Any]:
    return np.array([number >> 32 * i & _WORD for i in range(count)], np.uint32)


def _number(words: Any, count: int) -> int:
    if len(words) != count:
        raise ValueError
    return sum((int(word) & _WORD) << 32 * i for i, word in enumerate(words))
