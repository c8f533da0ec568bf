# cupola/random/bit_generator.py - what the generators of random bits have in common.
"""`BitGenerator`: seeds, children and raw words."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence
from numpy.random.bit_generator import ISeedSequence

from cupola.arrays import images
from cupola.creation import empty
from cupola.device import Device
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from typing_extensions import Self

    from cupola.array import Array

_BLOCK = 256
# Blocks of a launch for each multiprocessor: twice as many as run at a time.
_BLOCKS = 16
_multiprocessors: dict[int, int] = {}


class Draw(NamedTuple):
    """The first arguments of a launch, and how many threads share the items."""

    arguments: tuple[Any, ...]
    threads: int


class BitGenerator:
    """The base of `Philox` and `XORWOW`, which says where random bits come from.

    Parameters
    ----------
    seed : int, sequence of int or SeedSequence, optional
        By default the operating system's entropy.

    Attributes
    ----------
    seed_seq : SeedSequence
    state : dict
        The state; assign it to continue from there. Its items are those of the class.
    """

    _suffix = ""  # end of the names of its kernels

    def __init__(self, seed: Any = None) -> None:
        if not isinstance(seed, ISeedSequence):
            seed = _seed_sequence(seed)
        self.seed_seq = seed
        self._seed_seq = seed  # NumPy's older name, by which dask.array spawns generators
        self._lock = threading.Lock()

    @property
    def lock(self) -> threading.Lock:
        """The lock that is held while a draw moves the state."""
        return self._lock

    def spawn(self, n_children: int) -> list[Self]:
        """Independent generators of the same class, by `SeedSequence.spawn`.

        Parameters
        ----------
        n_children : int

        Returns
        -------
        list of BitGenerator
        """
        return [type(self)(child) for child in self.seed_seq.spawn(n_children)]

    def random_raw(self, size: Any = None) -> Array:
        """Words of 32 random bits.

        Parameters
        ----------
        size : int or tuple of int, optional
            By default an array without axes.

        Returns
        -------
        Array
            Of uint32.
        """
        made = empty(() if size is None else size, np.uint32)
        self.fill("integers32_4", made, 4, 0, 0, 0)
        return made

    def fill(
        self, name: str, target: Array, group: int, *arguments: Any, image: str = "random"
    ) -> None:
        """Launch the kernel of a distribution for a contiguous array.

        Parameters
        ----------
        name : str
            The kernel's name without the generator's.
        target : Array
        group : int
            Elements of an item.
        arguments
            Those after the array and its length.
        image : str
            The source with the kernel.
        """
        items = -(-target.size // group)
        if not items:
            return
        device = target.device_index
        kernel = images.kernel(image, f"random_{name}_{self._suffix}", device)
        most = _BLOCK * _BLOCKS * _multiprocessors_of(device)
        blocks = -(-min(items, most) // _BLOCK)
        with self._lock:
            draw = self._draw(items, blocks * _BLOCK, device)
            blocks = -(-min(items, draw.threads) // _BLOCK)
            kernel[blocks, _BLOCK](*draw.arguments, target, target.size, draw.threads, *arguments)

    def _draw(self, items: int, threads: int, device: int) -> Draw:
        """Take so many items out of the stream; the launch has at least so many threads."""
        raise NotImplementedError


def _seed_sequence(seed: Any) -> SeedSequence:
    try:
        return SeedSequence(seed)
    except TypeError:
        raise ArgumentTypeError(
            f"seed: expected an int, a sequence of ints or a SeedSequence, got {seed!r}"
        ) from None
    except ValueError:
        raise ArgumentValueError(f"seed: expected ints of at least 0, got {seed!r}") from None


def _multiprocessors_of(device: int) -> int:
    if device not in _multiprocessors:
        _multiprocessors[device] = Device(device).multiprocessor_count
    return _multiprocessors[device]
