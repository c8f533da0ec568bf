# cupola/random/xorwow.py - Marsaglia's generator XORWOW, as many subsequences of it.
"""`XORWOW`: states on the device, and skips by matrices of bits."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from cupola.creation import to_device
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.random.bit_generator import BitGenerator, Draw

if TYPE_CHECKING:
    from cupola.array import Array

_COUNT = 1 << 16  # subsequences
_BETWEEN = 67  # two sequences are 2**67 words apart
_BITS = 160
_WEYL = 362437  # added to the sixth word at each step
_Bits = np.ndarray[Any, np.dtype[Any]]


class XORWOW(BitGenerator):
    """XORWOW (Marsaglia 2003): five words of a xorshift, and a counter that is added to them.

    There are 65536 subsequences, 2**67 words apart, as cuRAND has them. Thread t continues
    subsequence t, so items t, t + 65536, ... of an array are its next words. An item is 4 numbers
    of 32 bits, 2 of 64 bits, or 1 number of a distribution that needs a varying count of words. The
    first state comes from `SeedSequence`, so the numbers differ from cuRAND's.

    The states are in the memory of the device that draws: 1.5 MiB, made at the first draw. Use a
    generator on one stream at a time, or let the second stream wait for the first.

    Parameters
    ----------
    seed : int, sequence of int or SeedSequence, optional
        By default the operating system's entropy.
    """

    _suffix = "xorwow"

    def __init__(self, seed: Any = None) -> None:
        super().__init__(seed)
        words = self.seed_seq.generate_state(6, np.uint32)
        words[0] |= 1  # not all zeros
        self._host: _Bits | None = None  # rows x, y, z, w, v, d
        self._first = words
        self._states: Array | None = None

    @property
    def state(self) -> dict[str, Any]:
        """``{"bit_generator": "XORWOW", "state": {"words": uint32[6, 65536]}}``.

        Row by row Marsaglia's x, y, z, w, v, d. Waits for the device.
        """
        with self._lock:
            words = self._now() if self._states is None else self._states.get()
        return {"bit_generator": "XORWOW", "state": {"words": words.copy()}}

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        try:
            name, words = value["bit_generator"], np.array(value["state"]["words"], np.uint32)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ArgumentTypeError(
                "state: expected a dict as XORWOW.state has it, with bit_generator and state"
            ) from None
        if name != "XORWOW" or words.shape != (6, _COUNT) or not words[:5].any(0).all():
            raise ArgumentValueError(
                f"state: expected words of shape {(6, _COUNT)} of an XORWOW, no five of them all "
                f"zero, got {words.shape} of {name}"
            )
        with self._lock:
            self._host, self._states = words, None

    def advance(self, delta: int) -> XORWOW:
        """Skip `delta` words of each subsequence; waits for the device.

        Parameters
        ----------
        delta : int
            At least 0.

        Returns
        -------
        XORWOW
            Itself.
        """
        delta = operator.index(delta)
        if delta < 0:
            raise ArgumentValueError(f"XORWOW: delta: expected at least 0, got {delta}")
        state = self.state
        words = state["state"]["words"]
        words[:5] = _product(_power(delta), words[:5])
        words[5] += np.uint32(delta * _WEYL & 0xFFFFFFFF)
        self.state = state
        return self

    def _now(self) -> _Bits:
        """The states on the host."""
        if self._host is None:
            words = np.empty((6, _COUNT), np.uint32)
            words[:, 0] = self._first
            words[5] = self._first[5]  # 2**67 steps add a multiple of 2**32
            for k, matrix in enumerate(_skip_matrices()):
                have = 1 << k
                words[:5, have : 2 * have] = _product(matrix, words[:5, :have])
            self._host = words
        return self._host

    def _draw(self, items: int, threads: int, device: int) -> Draw:
        if self._states is None:
            self._states = to_device(self._now(), device=device)
        elif self._states.device_index != device:
            self._states = to_device(self._states.get(), device=device)
        self._host = None
        return Draw((self._states, _COUNT), _COUNT)

    def __reduce__(self) -> Any:
        return _again, (self.seed_seq, self.state)


def _again(seed_seq: Any, state: dict[str, Any]) -> XORWOW:
    made = XORWOW(seed_seq)
    made.state = state
    return made


# -- steps as matrices over the field of two elements: row i is the image of bit i ---------------


def _step() -> _Bits:
    x = np.packbits(np.eye(_BITS, dtype=np.uint8), axis=1, bitorder="little").view("<u4").T
    t = x[0] ^ x[0] >> np.uint32(2)
    last = x[4] ^ x[4] << np.uint32(4) ^ t ^ t << np.uint32(1)
    return _unpacked(np.stack([*x[1:], last], axis=1))


def _unpacked(words: _Bits) -> _Bits:
    """Rows of five words as rows of 160 bits."""
    return np.unpackbits(
        np.ascontiguousarray(words, "<u4").view(np.uint8), axis=1, bitorder="little"
    )


def _times(x: _Bits, y: _Bits) -> _Bits:
    # Sums of 160 zeros and ones are exact in float32.
    product = x.astype(np.float32) @ y.astype(np.float32)
    return (product.astype(np.int32) & 1).astype(np.uint8)


def _power(exponent: int) -> _Bits:
    """The matrix of so many steps; by their order, 2**160 - 1, at most 160 squares."""
    exponent %= (1 << _BITS) - 1
    made, square = np.eye(_BITS, dtype=np.uint8), _step()
    while exponent:
        if exponent & 1:
            made = _times(made, square)
        square = _times(square, square)
        exponent >>= 1
    return made


@functools.cache
def _skip_matrices() -> list[_Bits]:
    """The matrices of 1, 2, 4, ... times 2**67 steps."""
    made = [_power(1 << _BETWEEN)]
    while 1 << len(made) < _COUNT:
        made.append(_times(made[-1], made[-1]))
    return made


def _product(matrix: _Bits, states: _Bits) -> _Bits:
    """Columns of five words times a matrix, by tables of the images of each byte."""
    count = states.shape[1]
    eight = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    octets = np.ascontiguousarray(states.T, "<u4").view(np.uint8)
    made = np.zeros((count, 5), np.uint32)
    for place in range(_BITS // 8):
        image = _times(eight, matrix[8 * place : 8 * place + 8])
        table = np.packbits(image, axis=1, bitorder="little").view("<u4")
        made ^= table[octets[:, place]]
    return made.T
