"""Numerical kernels of nvcc and NVRTC with default flags leave the bits that a GPU left."""

import pathlib

import numpy as np
import pytest

from . import contraction_corpus as corpus

FILE = pathlib.Path(__file__).with_name("recorded") / "contraction.npz"
TEXTS = corpus.load_texts()
NAMES = {title: corpus.kernels_of(text) for title, text in TEXTS.items()}


@pytest.fixture(scope="module")
def recorded():
    if not FILE.exists():
        pytest.skip("no GPU has run these kernels yet (ptx.record_contraction)")
    with np.load(FILE) as file:
        parts = np.split(file["digests"], np.cumsum(file["sizes"])[:-1])
        return dict(zip(file["names"].tolist(), parts, strict=True))


def test_there_are_many_kernels_and_no_estimates():
    assert sum(map(len, NAMES.values())) >= 200
    assert {title.partition(" ")[0] for title in NAMES} == {"nvcc", "nvrtc"}
    for title, text in TEXTS.items():
        assert ".approx" not in text and ".full" not in text, title


def test_products_are_left_to_the_assembler():
    """Without rounding modifiers, as default flags have it."""
    for title, text in TEXTS.items():
        assert "mul.f" in text and "mul.rn" not in text, title


def test_every_kernel_has_results_that_differ(driver):
    """A kernel that writes nothing, or the same everywhere, would hold nothing."""
    for text in TEXTS.values():
        module = driver.load(text)
        for name in corpus.kernels_of(text):
            made = corpus.run(module, name)
            assert len(np.unique(made)) > 100, name
        module.unload()


@pytest.mark.parametrize("title", TEXTS)
def test_bits_of_a_gpu(driver, recorded, title):
    module = driver.load(TEXTS[title])
    wrong = {}
    for name in NAMES[title]:
        mine, its = corpus.digests(corpus.run(module, name)), recorded[f"{title} {name}"]
        if (mine != its).any():
            wrong[name] = f"{(mine != its).sum()} of {len(its)} chunks of {corpus.CHUNK}"
    module.unload()
    assert not wrong
