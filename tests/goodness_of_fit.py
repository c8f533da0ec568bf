"""Statistics of samples, with the bounds that a right generator exceeds once in some thousands."""

import numpy as np


def kolmogorov_smirnov(x, cumulative):
    """The scaled statistic of a sample and a continuous distribution function."""
    x = np.sort(np.asarray(x, np.float64), axis=None)
    values, n = cumulative(x), x.size
    above = np.arange(1, n + 1) / n - values
    below = values - np.arange(n) / n
    return max(above.max(), below.max()) * np.sqrt(n)


def two_samples(x, y):
    """Kolmogorov's and Smirnov's scaled statistic of two samples."""
    x, y = np.sort(x, axis=None), np.sort(y, axis=None)
    both = np.concatenate([x, y])
    distance = (
        np.searchsorted(x, both, "right") / x.size - np.searchsorted(y, both, "right") / y.size
    )
    return np.abs(distance).max() * np.sqrt(x.size * y.size / (x.size + y.size))


def chi_square(observed, expected):
    """The statistic as a normal number, by Wilson's and Hilferty's approximation."""
    observed, expected = np.asarray(observed, float), np.asarray(expected, float)
    statistic = ((observed - expected) ** 2 / expected).sum()
    freedom = observed.size - 1
    share = 2 / (9 * freedom)
    return ((statistic / freedom) ** (1 / 3) - (1 - share)) / np.sqrt(share)
