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

from cupola.pycuda import driver as drv
from cupola.pycuda._contexts import current
from cupola.pycuda._random_source import SOURCE
from cupola.pycuda.compiler import SourceModule
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


@context_dependent_memoize
def _module(state: str) -> SourceModule:
    return SourceModule(f"#define STATE {state}\n{SOURCE}", no_extern_c=True)


@context_dependent_memoize
def _function(state: str, name: str, types: str) -> Any:
    return _module(state).get_function(name).prepare(types)


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
        self._run("prepare", "PPQ", None, int(self._state), seeds.ptr, offset)

    @property
    def state(self):
        """The memory of the generators' states."""
        return self._state

    def _run(self, name: str, types: str, stream: Any, *values: Any) -> None:
        function = _function(self.state_type, name, types)
        function.prepared_async_call(
            (self.block_count, 1), (self.generators_per_block, 1, 1), stream, *values
        )

    def _fill(self, kind: str, data: Any, stream: Any, *values: float) -> None:
        letter = _LETTERS.get(data.dtype.name)
        known = "fd" if kind != "uniform" else "fdul"
        if letter is None or letter not in known:
            raise NotImplementedError(f"{kind} numbers of {data.dtype} are not supported")
        if not data.flags.forc:
            raise ValueError("random numbers are written to contiguous arrays")
        types = "PPQ" + "d" * len(values)
        self._run(f"{kind}_{letter}", types, stream, int(self._state), data.ptr, data.size, *values)

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
        self._fill("normal", data, stream, 0.0, 1.0)

    def gen_normal(self, shape, dtype, stream=None):
        """A new array of normal numbers."""
        made = self._made(shape, dtype)
        self.fill_normal(made, stream)
        return made

    def fill_log_normal(self, data, mean, stddev, stream=None):
        """Exponentials of normal numbers with that mean and deviation."""
        self._fill("log_normal", data, stream, mean, stddev)

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
        if lambda_value is None:
            self._run(f"poisson_{letter}", "PPQ", stream, int(self._state), data.ptr, data.size)
        else:
            self._run(
                "poisson", "PPQd", stream, int(self._state), data.ptr, data.size, lambda_value
            )

    def gen_poisson(self, shape, dtype, lambda_value, stream=None):
        """A new array of Poisson numbers."""
        made = self._made(shape, dtype)
        self.fill_poisson(made, lambda_value, stream)
        return made

    def call_skip_ahead(self, i, stream=None):
        """Let each generator skip `i` numbers of 32 bits."""
        self._run("skip", "PQ", stream, int(self._state), i)

    def call_skip_ahead_array(self, i, stream=None):
        """Let each generator skip as many numbers as an array of uint64 says."""
        if i.size != self._count:
            raise ValueError(f"there are {self._count} generators, got {i.size} numbers")
        self._run("skip_each", "PP", stream, int(self._state), i.astype(np.uint64).ptr)


class XORWOWRandomNumberGenerator(_Generator):
    """Marsaglia's XORWOW generators.

    Parameters
    ----------
    seed_getter : callable, optional
        Returns an array of as many int32 as its argument says.
    offset : int
        Numbers to skip.
    """

    state_type, state_words = "Xorwow", 6


class MRG32k3aRandomNumberGenerator(_Generator):
    """L'Ecuyer's combined generators of two linear recurrences.

    Parameters
    ----------
    seed_getter, offset
        As for `XORWOWRandomNumberGenerator`.
    """

    state_type, state_words = "Mrg32k3a", 6


class Philox4x32_10RandomNumberGenerator(_Generator):
    """Counter-based generators of Salmon et al.; PyCUDA has none of that name.

    Parameters
    ----------
    seed_getter, offset
        As for `XORWOWRandomNumberGenerator`.
    """

    state_type, state_words = "Philox", 12


@context_dependent_memoize
def _default() -> Philox4x32_10RandomNumberGenerator:
    return Philox4x32_10RandomNumberGenerator()


def rand(shape, dtype=np.float32, stream=None):
    """A new array of uniform numbers: floats of at least 0 and below 1, or integers."""
    return _default().gen_uniform(shape, dtype, stream)
