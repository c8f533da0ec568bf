"""Digests of images in manifests, which are compared when images are loaded."""

import json
import shutil

import images
import pytest
from command_line import cli
from digests import *
from working import refused

import cupola


def test_a_manifest_of_another_image_is_refused(driver, beside):
    assert cupola.load(beside)["axpy"].params[1].name == "x"
    changed(beside)
    with refused(cupola.ImageError, saying=("q.fatbin", "q.json", "of another image", "SHA-256")):
        cupola.load(beside)
    shutil.copy(images.fatbin("compute_75", "sm_90"), beside)
    with refused(cupola.ImageError, saying=("q.fatbin", "q.json", "bytes, and this one has")):
        cupola.load(beside)
    answer = cli("inspect", beside)
    assert answer.returncode == 1 and "q.json is of another image" in answer.stderr


def test_the_manifest_of_a_fatbin_is_not_that_of_ptx(driver, beside):
    """`q.ptx` is newer, and its kernel has other parameters than `q.json` says."""
    text = images.SCALE.read_text().replace(".entry scale(", ".entry axpy(")
    other = beside.with_suffix(".ptx")
    other.write_text(text.replace("scale_param", "axpy_param"))
    assert [one.name for one in cupola.load(other)["axpy"].params] != ["a", "x", "y", "out", "n"]
    assert "axpy(float a, const float* x, const float* y" not in cli("inspect", other).stdout


@pytest.mark.parametrize(
    "record",
    [5, [], {}, {"file": "q", "size": "1", "sha256": "0" * 64},
     {"file": 5, "size": 1, "sha256": "0" * 64}, {"file": "q.fatbin", "size": 1, "sha256": "x"},
     {"file": "q.fatbin", "size": 1, "sha256": ["0"] * 64}],
    ids=repr,
)  # fmt: skip
def test_a_malformed_digest_is_named(driver, beside, record):
    manifest = json.loads(beside.with_suffix(".json").read_text())
    manifest["image"] = record
    beside.with_suffix(".json").write_text(json.dumps(manifest))
    with refused(cupola.ImageError, saying=("q.json", "malformed")):
        cupola.load(beside)


def test_a_package_is_compared_where_user_or_package_ask(driver, package, monkeypatch):
    image, manifest = package / "q.fatbin", package / "q.json"
    monkeypatch.setenv("CUPOLA_VERIFY", "1")
    cupola.load("q", package.name)
    changed(image)
    with refused(cupola.ImageError, saying=("q.fatbin", "q.json", "SHA-256")):
        cupola.load("q", package.name)
    monkeypatch.setenv("CUPOLA_VERIFY", "yes")
    with refused(cupola.ArgumentError, ValueError, saying="CUPOLA_VERIFY=yes: expected 0 or 1"):
        cupola.load("q", package.name)
    monkeypatch.delenv("CUPOLA_VERIFY")
    cupola.load("q", package.name)
    asking = {**json.loads(manifest.read_text()), "verify": True}
    manifest.write_text(json.dumps(asking))
    with refused(cupola.ImageError, saying=("q.fatbin", "q.json", "SHA-256")):
        cupola.load("q", package.name)


def test_without_a_digest_nothing_can_be_compared(driver, package, monkeypatch):
    manifest = json.loads((package / "q.json").read_text())
    del manifest["image"]
    (package / "q.json").write_text(json.dumps(manifest))
    cupola.load("q", package.name)
    monkeypatch.setenv("CUPOLA_VERIFY", "1")
    with refused(cupola.ImageError, saying=("q.fatbin", "CUPOLA_VERIFY=1", "has no digest")):
        cupola.load("q", package.name)
    (package / "q.json").unlink()
    with refused(cupola.ImageError, saying=("q.fatbin", "CUPOLA_VERIFY=1", "has no manifest")):
        cupola.load("q", package.name)
