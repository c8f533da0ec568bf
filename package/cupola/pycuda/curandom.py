# cupola/pycuda/curandom.py - pycuda.curandom: generators of random numbers.
"""Random numbers by generators of cupola's own, which need no cuRAND.

XORWOW is Marsaglia's generator (Xorshift RNGs, 2003), Philox4x32-10 that of Salmon et al. (Parallel
random numbers: as easy as 1, 2, 3; 2011), MRG32k3a that of L'Ecuyer (1999). The sequences differ
from cuRAND's, whose choice of seeds is its own. Quasirandom (Sobol) generators are absent.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from cupola.arrays import images
from cupola.pycuda import driver as drv
from cupola.pycuda._contexts import current
from cupola.pycuda._errors import translated
from cupola.pycuda._streams import stream_of
from cupola.pycuda.gpuarray import GPUArray, to_gpu
from cupola.pycuda.tools import context_dependent_memoize

_BLOCK = 256
_LETTERS = {
    "uint32": "u",
    "int32": "u",
    "uint64": "l",
    "int64": "l",
    "float32": "f",
    "float64": "d",
}


def get_curand_version():
    """None: cuRAND is not used."""
    return


def seed_getter_uniform(n):
    """An array of `n` seeds, all of them one random number."""
    made = GPUArray((n,), np.int32)
    return made.fill(np.int32(secrets.randbits(31)))


def seed_getter_unique(n):
    """An array of `n` random seeds."""
    return to_gpu(np.random.default_rng().integers(0, 2**31, n, np.int32))


class _Generator:
    """Generators in parallel, each of which makes a part of an array."""

    state_type = ""
    state_words = 0
    has_box_muller = True

    def __init__(self, seed_getter=None, offset=0):
        device = current()._owner._device
        self.block_count = 2 * device.multiprocessor_count
        self.generators_per_block = _BLOCK
        count = self.block_count * _BLOCK
        seeds = (seed_getter or seed_getter_uniform)(count)
        if seeds.dtype != np.int32 or seeds.size != count:
            raise ValueError(f"seed_getter({count}) is an array of {count} int32")
        self._state = drv.mem_alloc(count * self.state_words * 4)
        self._count = count
        self._run("start", None, seeds.ptr, offset)

    @property
    def state(self):
        """The memory of the generators' states."""
        return self._state

    def _run(self, name: str, stream: Any, *values: Any) -> None:
        device = current()._owner._number
        with translated():
            kernel = images.kernel("random_states", f"states_{name}_{self.state_type}", device)
            launch = kernel[self.block_count, self.generators_per_block, stream_of(stream)]
            launch(int(self._state), *values)

    def _fill(self, kind: str, data: Any, stream: Any, *values: float) -> None:
        letter = _LETTERS.get(data.dtype.name)
        known = "fd" if kind != "uniform" else "fdul"
        if letter is None or letter not in known:
            raise NotImplementedError(f"{kind} numbers of {data.dtype} are not supported")
        if not data.flags.forc:
            raise ValueError("random numbers are written to contiguous arrays")
        self._run(f"{kind}_{letter}", stream, data.ptr, data.size, *values)

    def _made(self, shape: Any, dtype: Any) -> GPUArray:
        return GPUArray(shape, dtype)

    def fill_uniform(self, data, stream=None):
        """Uniform numbers: all integers of 32 or 64 bits, or floats between 0 and 1."""
        self._fill("uniform", data, stream)

    def gen_uniform(self, shape, dtype, stream=None):
        """A new array of uniform numbers."""
        made = self._made(shape, dtype)
        self.fill_uniform(made, stream)
        return made

    def fill_normal(self, data, stream=None):
        """Numbers of the normal distribution with mean 0 and deviation 1."""
        self._fill("normal", data, stream, 0.0, 1.0, False)

    def gen_normal(self, shape, dtype, stream=None):
        """A new array of normal numbers."""
        made = self._made(shape, dtype)
        self.fill_normal(made, stream)
        return made

    def fill_log_normal(self, data, mean, stddev, stream=None):
        """Exponentials of normal numbers with that mean and deviation."""
        self._fill("normal", data, stream, mean, stddev, True)

    def gen_log_normal(self, shape, dtype, mean, stddev, stream=None):
        """A new array of log-normal numbers."""
        made = self._made(shape, dtype)
        self.fill_log_normal(made, mean, stddev, stream)
        return made

    def fill_poisson(self, data, lambda_value=None, stream=None):
        """Poisson numbers of a mean, or of the mean that each element has so far."""
        if lambda_value is not None and data.dtype != np.uint32:
            raise NotImplementedError("Poisson numbers of one mean are for arrays of uint32")
        letter = _LETTERS.get(data.dtype.name)
        if letter not in ("u", "f", "d"):
            raise NotImplementedError(f"Poisson numbers of {data.dtype} are not supported")
        one = lambda_value is not None
        mean = lambda_value if one else 0.0
        self._run(f"poisson_{letter}", stream, data.ptr, data.size, mean, one)

    def gen_poisson(self, shape, dtype, lambda_value, stream=None):
        """A new array of Poisson numbers."""
        made = self._made(shape, dtype)
        self.fill_poisson(made, lambda_value, stream)
        return made

    def call_skip_ahead(self, i, stream=None):
        """Let each generator skip `i` numbers of 32 bits."""
        self._run("skip", stream, i)

    def call_skip_ahead_array(self, i, stream=None):
        """Let each generator skip as many numbers as an array of uint64 says."""
        if i.size != self._count:
            raise ValueError(f"there are {self._count} generators, got {i.size} numbers")
        self._run("skip_each", stream, i.astype(np.uint64).ptr)


class XORWOWRandomNumberGenerator(_Generator):
    """Marsaglia's XORWOW generators.

    Parameters
    ----------
    seed_getter : callable, optional
        Returns an array of as many int32 as its argument says.
    offset : int
        Numbers to skip.
    """

    state_type, state_words = "xorwow", 6


class MRG32k3aRandomNumberGenerator(_Generator):
    """L'Ecuyer's combined generators of two linear recurrences.

    Parameters
    ----------
    seed_getter, offset
        As for `XORWOWRandomNumberGenerator`.
    """

    state_type, state_words = "mrg32k3a", 6


class Philox4x32_10RandomNumberGenerator(_Generator):
    """Counter-based generators of Salmon et al.; PyCUDA has none of that name.

    Parameters
    ----------
    seed_getter, offset
        As for `XORWOWRandomNumberGenerator`.
    """

    state_type, state_words = "philox", 12


@context_dependent_memoize
def _default() -> Philox4x32_10RandomNumberGenerator:
    return Philox4x32_10RandomNumberGenerator()


def rand(shape, dtype=np.float32, stream=None):
    """A new array of uniform numbers: floats of at least 0 and below 1, or integers."""
    return _default().gen_uniform(shape, dtype, stream)
