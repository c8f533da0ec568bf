"""Fetches of textures, bit for bit: against NumPy, and against what an H200 gave."""

import functools
import pathlib

import numpy as np
import pytest

from . import texture_reference
from .record_texture import channels
from .texture import fetch, module_text
from .texture_cases import cases

CASES = {case.name: case for case in cases()}
REFERENCED = [name for name, case in CASES.items() if texture_reference.supports(case)]
RECORDED = pathlib.Path(__file__).parent / "recorded" / "nvidia-h200-texture.npz"


@functools.cache
def recorded():
    with np.load(RECORDED) as file:
        words = np.ascontiguousarray(file["planes"].T).view(np.uint32).reshape(-1)
        parts = np.split(words, np.cumsum(file["counts"])[:-1])
    return dict(zip(CASES, parts, strict=True))


@pytest.fixture(scope="module")
def fetched(started):
    """The driver's result for a case; one module has all instructions."""
    started.make_current()
    text, names = module_text(CASES.values())
    module = started.load(text)
    yield functools.cache(lambda name: fetch(started, module, names, CASES[name]))
    module.unload()


def different(case, got, expected):
    """The first fetch whose result differs; None if all agree."""
    bad = np.flatnonzero((got != expected).any(1))
    if len(bad):
        at = case.words[bad[0]].view(np.float32)
        return f"{len(bad)} of {len(got)}: at {at} {got[bad[0]]} where {expected[bad[0]]} is wanted"
    return None


@pytest.mark.parametrize("name", REFERENCED)
def test_reference(fetched, name):
    case = CASES[name]
    expected = texture_reference.fetch(case)
    assert not different(case, fetched(name)[:, : expected.shape[1]], expected)


def test_most_cases_have_a_reference():
    assert len(REFERENCED) > len(CASES) / 2


@pytest.mark.parametrize("name", CASES)
def test_recorded(fetched, name):
    case = CASES[name]
    got = fetched(name)[:, : channels(case)]
    assert not different(case, got, recorded()[name].reshape(got.shape))
