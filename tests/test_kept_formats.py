# tests/test_kept_formats.py - what earlier versions built still loads: manifests, images, tables.
"""The folders of tests/kept are a package as a version built it, and never change."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import cupola
from cupola.declare import tuning_table
from cupola.image import verification

KEPT = sorted((Path(__file__).parent / "kept").iterdir())


@pytest.fixture(params=KEPT, ids=lambda path: path.name)
def folder(request, monkeypatch):
    """The folder of a version, with its package `kept` on sys.path."""
    monkeypatch.syspath_prepend(str(request.param))
    yield request.param
    for name in [name for name in sys.modules if name.partition(".")[0] == "kept"]:
        del sys.modules[name]


def test_the_oldest_version_is_kept():
    assert KEPT[0].name == "0.1"


def test_kernels_launch_with_the_types_of_the_manifest(folder):
    kernels = importlib.import_module("kept.kernels")
    assert Path(kernels.__file__).is_relative_to(folder)
    out = cupola.zeros(8, np.float32)
    assert str(kernels.line.signature) == "line(float* out, Line line, int n)"
    kernels.line[1, 32](out, (2.0, 3), 8)
    i = np.arange(8)
    assert np.array_equal(out.get(), 2 * i + 3 + np.array([1, 2, 3, 4])[i % 4])
    with pytest.raises(cupola.ArgumentTypeError, match="argument 0"):
        kernels.line[1, 32](cupola.zeros(8, np.int32), (2.0, 3), 8)


def test_operations_and_families_are_read(folder):
    x = cupola.to_device(np.arange(300, dtype=np.float32))
    assert np.array_equal(importlib.import_module("kept.ops").add(x, x).get(), 2 * x.get())
    scale = importlib.import_module("kept.families").scale
    out = cupola.empty_like(x)
    scale(out, x, 3.0, 300)
    assert np.array_equal(out.get(), 3 * x.get())
    assert scale.variants == ((1,), (2,))


def test_a_plain_fatbin_loads(folder):
    module = cupola.load(str(folder / "plain.fatbin"))
    x = cupola.ones(40, np.float32)
    module["add"][1, 64](x, x, x, 40)
    assert (x.get() == 2).all()


def test_digests_still_fit(folder):
    """The digest of the image in the manifest, and that of the family's code in a table."""
    findings = verification.verify(folder / "kept")
    assert [(one.file, one.fault) for one in findings] == [("kernels.fatbin", "")]
    table = tuning_table.read((folder / "table.json").read_bytes())
    (family,) = table.families
    scale = importlib.import_module("kept.families").scale
    assert (family.name, family.digest) == (scale.name, scale.digest)
    assert [row.variant for row in family.rows] == [{"UNROLL": 2}]


def test_the_build_writes_the_formats_that_are_kept(folder):
    """A new format needs a new folder here; the old one stays readable."""
    manifest = json.loads((folder / "kept" / "kernels.json").read_text())
    formats = {json.loads((f / "kept" / "kernels.json").read_text())["format"] for f in KEPT}
    from cupola.build import manifest as writer

    assert manifest["format"] in formats and writer.FORMAT in formats
    assert (folder / "kept" / "kernels.fatbin").read_bytes()[8:16] == b"cupola 1"


def test_a_newer_manifest_is_refused(folder, tmp_path):
    for path in (folder / "kept").glob("kernels.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    text = (tmp_path / "kernels.json").read_text()
    (tmp_path / "kernels.json").write_text(text.replace('"format": 1', '"format": 2', 1))
    with pytest.raises(
        cupola.ImageError, match="has format 2; this version of cupola reads format 1"
    ):
        cupola.load(str(tmp_path / "kernels.fatbin"))["line"]
