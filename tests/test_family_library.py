"""Families of packages: named by a manifest, bound without the image, equal in merged wheels."""

import json
import pickle
import shutil
import sys

import families
import images
import numpy as np
import pytest
from working import refused

import cupola
from cupola.build import library
from cupola.build.kernels import Kernels
from cupola.declare.tuning_table import Row
from cupola.image.manifest_text import written
from cupola.tuning import sources, tables
from cupola.tuning.family import from_library

NAME = "tests_family_library"
NAMES = {2: "_Z5scaleILi2EEvPi", 3: "_Z5scaleILi3EEvPi"}  # scale<2>(int* values)
TABLE = {
    "name": f"{NAME}.scale",
    "kernel": "scale<{FACTOR}>",
    "tunables": {"FACTOR": [2, 3, 4]},
    "default": {"FACTOR": 2},
    "sizes": {"n": "size(values)"},
    "key": ["n"],
    "grid": [1],
    "block": ["n"],
    "library": "kernels",
}


def entry(**changed):
    """The family in a manifest: each variant in a library of its own."""
    found = {
        "table": TABLE,
        "variants": [
            {"variant": [2], "library": f"{NAME}.kernels", "kernels": {"": NAMES[2]}},
            {"variant": [3], "library": f"{NAME}.others", "kernels": {"": NAMES[3]}},
        ],
        "dropped": {"sm_75": [{"variant": [4], "types": "", "reason": "too large"}]},
    }
    return {**found, **changed}


@pytest.fixture
def package(driver, tmp_path, monkeypatch):
    """A function that makes the package with families in its manifest, and other head fields."""
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CUPOLA_TUNE", "tables")
    monkeypatch.delenv("CUPOLA_PATH", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    described = json.loads(images.described().with_suffix(".json").read_text())

    def make(listed, **head):
        forget()
        for name in ("kernels", "others"):
            shutil.copy(images.described().with_suffix(".fatbin"), folder / f"{name}.fatbin")
            made = {**described, "sources": {"scale.cu": "ab" * 32}, **head, "families": listed}
            made["kernels"] = made.pop("kernels")
            (folder / f"{name}.json").write_text(written(made))
            kernels = Kernels(f"{NAME}.{name}", ["kernels.cu"])
            (folder / f"{name}.py").write_text(library.module_text(kernels, made))
        return from_library(f"{NAME}.kernels", "scale")

    def forget():
        for name in [name for name in sys.modules if name.split(".")[0] == NAME]:
            del sys.modules[name]

    yield make
    forget()


def loaded():
    """The libraries whose images are loaded."""
    return {name for name in ("kernels", "others") if sources.library_of(f"{NAME}.{name}")._modules}


def factor(family, size=8):
    values = cupola.to_device(np.ones(size, np.int32))
    family(values)
    return int(values.get()[-1])


def measured(key, value):
    return Row((), (key,), {"FACTOR": value}, 1e-6, 0.0, None, 2, families.DATE)


def test_only_the_image_of_the_chosen_variant_is_loaded(package):
    family = package([entry()])
    assert family.name == f"{NAME}.scale" and len(family.variants) == 3
    families.store(family, measured(8, 3))
    assert family.call([cupola.empty(8, np.int32)]).given == {"size(values)": 8}
    assert family.digest and not loaded()
    assert factor(family) == 3 and loaded() == {"others"}
    other = pickle.loads(pickle.dumps(family))
    assert other.digest == family.digest and factor(other) == 3


def test_tables_of_the_package_apply(package, tmp_path):
    family = package([entry()])
    rows = family.rows([measured(8, 3), measured(128, 2)])
    tables.store(tables.device_record(cupola.Device()), rows, str(tmp_path / NAME / "tuning"))
    assert factor(family, 9) == 3 and factor(family, 100) == 2
    assert str(tmp_path / NAME / "tuning") in str(family.explain(cupola.empty(8, np.int32)))


def test_variants_that_the_build_dropped_are_never_chosen(package):
    capability = 10 * cupola.Device().compute_capability[0] + cupola.Device().compute_capability[1]
    family = package([entry()])
    families.store(family, measured(8, 4), measured(64, 3))
    assert factor(family) == 3  # no target has the variant 4
    values = cupola.empty(8, np.int32)
    if cupola.driver.info().kind == "cpu":  # it runs PTX, from which nothing is dropped
        assert "dropped the variant FACTOR=4: no target can run it" in str(family.explain(values))
    assert family.source.dropped(capability, ()) == {(4,): "no target can run it"}
    lost = {"sm_90": [{"variant": [2], "types": "", "reason": "registers"}]}
    both = {**lost, "sm_90a": []}
    dropped = package([entry(dropped=lost)]).source.dropped
    assert dropped(90, ())[2,] == "registers" and set(dropped(80, ())) == {(4,)}
    # The device takes the code for sm_90a, which has the variant.
    assert package([entry(dropped=both)]).source.dropped(90, ()).keys() == {(4,)}


def test_the_first_variant_that_is_there_replaces_a_dropped_default(package, monkeypatch):
    major, minor = cupola.Device().compute_capability
    lost = {f"sm_{10 * major + minor}": [{"variant": [2], "types": "", "reason": "registers"}]}
    family = package([entry(dropped=lost)])
    monkeypatch.setattr("cupola.device.is_cpu", lambda index: False)
    values = cupola.empty(8, np.int32)
    assert family.choose(values) == {"FACTOR": 3}
    about = str(family.explain(values))
    assert "the first variant that the device can launch, without the default" in about
    assert "ignored: FACTOR=2: registers" in about
    families.store(family, measured(8, 4), name="a GPU")
    family.reload()
    assert "ignored: FACTOR=4: no target can run it" in str(family.explain(values))


def test_the_digest_is_that_of_sources_kernels_and_toolkit(package):
    digest = package([entry()]).digest
    # Fields by which merged and split wheels differ.
    for same in ({"architectures": {"cubin": [90], "ptx": [90]}}, {"package": "tests 2"}):
        assert package([entry()], **same).digest == digest
    table = {**TABLE, "grid": [2], "restrictions": ["FACTOR < 9"]}
    assert package([entry(table=table)]).digest == digest
    for other in (
        {"sources": {"scale.cu": "cd" * 32}},
        {"toolkit": "13.1.0"},
        {"options": ["--use_fast_math"]},
    ):
        assert package([entry()], **other).digest != digest
    assert package([entry(table={**TABLE, "options": ["-O1"]})]).digest != digest
    with refused(cupola.ImageError, saying="its manifest has no digests of its sources"):
        package([entry()], sources={}).digest  # noqa: B018


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ([], "has no family scale: it is of another build than the package"),
        ([{}], "is malformed: family : KeyError: 'table'"),
        ([entry(table={**TABLE, "grid": "n +"})], f"is malformed: family {NAME}.scale: grid: "),
        ([entry(dropped=[])], f"is malformed: family {NAME}.scale: AttributeError"),
    ],
)
def test_a_malformed_manifest_is_named(package, listed, said):
    with refused(cupola.ImageError, saying=["the manifest", "kernels", said]):
        package(listed)


def test_a_library_of_kernels_is_a_source(package):
    package([entry()])
    module = __import__(f"{NAME}.kernels").kernels
    family = cupola.family(
        module, **{key: value for key, value in TABLE.items() if key not in ("name", "library")}
    )
    assert factor(family) == 2
    families.store(family, measured(8, 3), measured(20, 4))
    family.reload()
    assert factor(family) == 3
    # The image has no scale<4>.
    assert factor(family, 20) == 3
    assert "ignored: FACTOR=4: " in str(family.explain(cupola.empty(20, np.int32)))
    wrong = {**TABLE, "sizes": {"n": "size(value)"}}
    with refused(cupola.ArgumentValueError, saying="'value' is no parameter of the kernel: did you "
                 "mean 'values'?"):  # fmt: skip
        cupola.family(
            module, **{key: value for key, value in wrong.items() if key not in ("name", "library")}
        )
    with refused(cupola.ArgumentTypeError, saying="macros, options, include and headers are for"):
        cupola.family(module, kernel="scale<2>", tunables={"A": [1]}, default={"A": 1}, grid=1,
                      block=1, macros=["A"])  # fmt: skip
