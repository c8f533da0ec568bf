"""Statistics of cupola.random's bits, with fixed seeds: each bound fails once in some thousands."""

import numpy as np
import pytest
from goodness_of_fit import chi_square

import cupola

pytestmark = pytest.mark.campaign("statistics of millions of random numbers")

random = cupola.random
N = 1 << 18


@pytest.fixture(scope="module", params=[random.Philox, random.XORWOW])
def words(request):
    return request.param(20261127).random_raw(N).get()


def test_bytes_are_uniform(words):
    octets = words.view(np.uint8)
    for place in range(4):
        counts = np.bincount(octets[place::4], minlength=256)
        assert abs(chi_square(counts, np.full(256, N / 256))) < 4
    pairs = np.bincount(octets[:-1].astype(int) << 8 | octets[1:], minlength=1 << 16)
    assert abs(chi_square(pairs, np.full(1 << 16, (4 * N - 1) / (1 << 16)))) < 4


def test_bits_are_balanced_and_independent(words):
    bits = np.unpackbits(words.view(np.uint8)).reshape(N, 32)
    deviation = np.sqrt(N) / 2
    assert (abs(bits.sum(0) - N / 2) < 4.5 * deviation).all()
    for lag in (1, 2, 3, 4, 7, 64, 1024):
        differ = (bits[lag:] ^ bits[:-lag]).sum(0)
        assert (abs(differ - (N - lag) / 2) < 4.5 * deviation).all(), lag


def test_numbers_are_not_correlated(words):
    x = words / 2.0**32 - 0.5
    for lag in (1, 2, 3, 4, 5, 64, 256, 1024, 65536):
        found = (x[lag:] * x[:-lag]).mean() * 12 * np.sqrt(N - lag)
        assert abs(found) < 4, lag


def test_runs(words):
    """Numbers of runs above and below the median, and of each length."""
    high = words >= 1 << 31
    starts = np.flatnonzero(np.diff(high)) + 1
    assert abs(len(starts) - N / 2) < 4 * np.sqrt(N) / 2
    lengths = np.bincount(np.minimum(np.diff(starts), 12))[1:]
    expected = (len(starts) - 1) * 0.5 ** np.array([*range(1, 12), 11])
    assert abs(chi_square(lengths, expected)) < 4


@pytest.mark.parametrize("shift", [0, 8])
def test_birthday_spacings(words, shift):
    """Marsaglia's: equal distances of 512 birthdays in a year of 2**24 days have the mean 2."""
    days = np.sort((words.reshape(-1, 512) >> shift) & 0xFFFFFF, axis=1).astype(np.int64)
    distances = np.sort(np.diff(days, axis=1), axis=1)
    equal = (np.diff(distances, axis=1) == 0).sum(1)
    trials = len(equal)
    mean = 512**3 / (4 * 2**24)
    counts = np.bincount(np.minimum(equal, 7), minlength=8)
    share = np.exp(-mean) * np.cumprod([1, *(mean / k for k in range(1, 7))])
    assert abs(chi_square(counts, trials * np.array([*share, 1 - share.sum()]))) < 4


def test_gaps(words):
    """Numbers between two that are below an eighth of the range."""
    places = np.flatnonzero(words < 1 << 29)
    gaps = np.bincount(np.minimum(np.diff(places) - 1, 40), minlength=41)
    share = 0.125 * 0.875 ** np.arange(40)
    expected = (len(places) - 1) * np.array([*share, 0.875**40])
    assert abs(chi_square(gaps, expected)) < 4


def test_streams_of_neighbouring_seeds_differ():
    x = np.array([random.Philox(seed).random_raw(64).get() for seed in range(64)])
    flat = np.unpackbits(x.view(np.uint8), axis=1).astype(int)
    for other in (np.roll(flat, 1, 0), np.roll(flat, 7, 0)):
        differ = (flat ^ other).sum()
        assert abs(differ - flat.size / 2) < 4.5 * np.sqrt(flat.size) / 2
