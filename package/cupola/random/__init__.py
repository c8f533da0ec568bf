# cupola/random/__init__.py - arrays of random numbers, with NumPy's Generator interface.
"""Random numbers that are made on the device.

::

    rng = cupola.random.default_rng(2026)
    x = rng.standard_normal((1000, 1000), dtype=np.float32)

A number depends on the seed, on the position of the generator and on its index in the array. It
does not depend on the device or on the size of a launch. `Generator.random`, `Generator.uniform`,
`Generator.integers` and `BitGenerator.random_raw` give the same bits on every GPU and on the CPU
device. The numbers differ from those of NumPy's generators.
"""

from __future__ import annotations

from typing import Any

from numpy.random import SeedSequence

from cupola.random.bit_generator import BitGenerator
from cupola.random.generator import Generator
from cupola.random.philox import Philox
from cupola.random.xorwow import XORWOW

__all__ = ["BitGenerator", "Generator", "Philox", "SeedSequence", "XORWOW", "default_rng"]


def default_rng(seed: Any = None) -> Generator:
    """A `Generator` over `Philox`.

    Parameters
    ----------
    seed : int, sequence of int, SeedSequence, BitGenerator or Generator, optional
        By default the operating system's entropy. A `Generator` is returned as it is, and a
        `BitGenerator` is wrapped.

    Returns
    -------
    Generator

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Where the seed is of another type, or negative.
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, BitGenerator) else Philox(seed))


def __getattr__(name: str) -> object:
    """Say what to use for a name that only NumPy has."""
    from cupola.core.numpy_names import missing

    raise missing(__name__, name, dir(Generator))


def __dir__() -> list[str]:
    return sorted(__all__)
