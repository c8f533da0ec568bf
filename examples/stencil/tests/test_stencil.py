import numpy as np
import pytest
import stencil
from stencil.cases import smoothed
from stencil.families import smooth

import cupola


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (100, 70), (257, 1030)])
def test_smooth(shape):
    x = np.random.default_rng(0).random(shape, np.float32)
    assert np.array_equal(stencil.smooth(x), smoothed(x))
    assert np.array_equal(stencil.smooth(cupola.to_device(x)).get(), smoothed(x))


def test_every_variant_gives_the_same():
    x = np.random.default_rng(0).random((100, 300), np.float32)
    result = cupola.empty((100, 300), np.float32)
    call = smooth.call((result, cupola.to_device(x), 100, 300))
    for variant in smooth.variants:
        result.fill(-1)
        smooth.launch(variant, call)
        assert np.array_equal(result.get(), smoothed(x)), variant
