"""The bits that a GPU made of the instructions on matrices, which record_matrix.py wrote down."""

import pathlib

import numpy as np
import pytest

from . import matrix, record_matrix

RECORDED = sorted(pathlib.Path(__file__).with_name("recorded").glob("*matrix*.npz"))


@pytest.fixture(params=RECORDED, ids=lambda p: p.stem)
def recording(request, driver):
    file, digests = record_matrix.recorded(request.param)
    if driver.on_hardware and driver.name() != str(file["device"]):
        pytest.skip(f"recorded on another device: {file['device']}")
    return file, digests


def test_there_is_a_recording():
    assert RECORDED


@pytest.mark.parametrize("kind", ["DENSE", "SPARSE", "WHOLE", "GROUP", "GROUP_SPARSE"])
def test_recorded_products(kind, recording, load):
    file, digests = recording
    wrong = []
    for form in getattr(matrix, kind):
        words = record_matrix.results(form, load, int(file["seed"]), int(file["cases"]))
        name = record_matrix.named(form)
        if f"words {name}" in file:
            assert (words[:10] == file[f"words {name}"]).all(), name
        cases = np.flatnonzero(record_matrix.digests(words) != digests[name])
        wrong += [f"{name}: cases {cases[:10]} of {len(words)}"] * (len(cases) > 0)
    assert not wrong


def test_recorded_fragments(recording, load):
    """The manual leaves open which elements of a wmma matrix a lane holds."""
    _, digests = recording
    for form in matrix.WHOLE:
        for operand, words in record_matrix.layouts(form, load).items():
            wanted = digests[f"{record_matrix.named(form)} {operand}"]
            assert (record_matrix.digests(words) == wanted).all(), (form, operand)


@pytest.mark.parametrize("operand", ["a", "b"])
def test_recorded_layouts_of_shared_memory(operand, recording, driver):
    """Descriptors with every swizzle, transposed and not."""
    _, digests = recording
    got = record_matrix.probe_group(driver, operand)
    assert (record_matrix.digests(got) == digests[f"probes {operand}"]).all()
