"""The kernels of benchmarks/bench_tuning.py compute what they should, in many variants."""

import random
import sys
from pathlib import Path

import images
import pytest

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))

import tuning_families
from tuned_families import FormulaClock

from cupola.tuning.session import Settings
from cupola.tuning.tune import tune_with


@pytest.mark.parametrize("measured", tuning_families.BENCHMARKS, ids=lambda one: one.name)
def test_variants_are_right(measured, tmp_path, monkeypatch):
    """Sizes that no tile divides, and the way from the default to a variant of a seed."""
    images.nvrtc()
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path))
    family = measured.family()
    best = family.declaration.values(random.Random(1).choice(family.variants))
    key = (37, 45, 19)[: len(measured.key)]
    settings = Settings(FormulaClock(**best), search="greedy")
    made = tuning_families.cases(measured, [key])
    (case,) = tune_with(family, made, settings, store=False).cases
    assert case.row.key == key and case.row.variant == best
    assert not [one.failure for one in case.outcomes if one.failure]


def test_sizes_repeat_and_differ():
    for benchmark in tuning_families.BENCHMARKS:
        first = tuning_families.sizes(benchmark, 40, 0)
        assert first == tuning_families.sizes(benchmark, 40, 0) and len(set(first)) == 40
        assert not set(first) & set(tuning_families.sizes(benchmark, 40, 1))
        assert all(len(key) == len(benchmark.key) for key in first)
