"""Tables of measurements of other code: named by `cupola verify`, and by builds."""

import json
import zipfile

import families
import pytest
from command_line import cli
from test_family_library import NAME, TABLE, entry, measured, package  # noqa: F401 - a fixture

import cupola
from cupola.build import tables
from cupola.build.project import Project
from cupola.declare.tuning_table import DeviceRecord, FamilyRows, Table, written
from cupola.tools.command.shipped_tables import stale_tables
from cupola.tuning import tables as stored_tables

REMEDY = f"measure again by `python -m cupola tune {NAME} --output {NAME}/tuning`"


@pytest.fixture
def shipped(package, tmp_path):  # noqa: F811
    """The folder of a package with a table, and a function that makes the package again."""
    family = package([entry()])
    folder = tmp_path / NAME
    rows = family.rows([measured(8, 3)])
    stored_tables.store(stored_tables.device_record(cupola.Device()), rows, str(folder / "tuning"))
    return folder, package


def test_rows_of_other_code_are_a_warning(shipped):
    folder, package = shipped  # noqa: F811
    (table,) = (folder / "tuning").glob("*.json")
    assert stale_tables(folder) == []
    package([entry()], sources={"scale.cu": "cd" * 32})
    (line,) = stale_tables(folder)
    said = f"tuning/{table.name}: its rows for {NAME}.scale were measured on other code (digest "
    assert line.startswith(said) and line.endswith(f": launches ignore them; {REMEDY}")
    answer = cli("verify", folder)
    assert f"\nwarning: {line}\n" in answer.stdout
    wheel = folder.parent / "p.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in folder.rglob("*.*"):
            archive.write(path, path.relative_to(folder.parent))
    assert stale_tables(wheel) == [f"{NAME}/{line}"]
    assert stale_tables(table) == []


def test_other_reasons_why_launches_ignore_a_table(shipped):
    folder, package = shipped  # noqa: F811
    (table,) = (folder / "tuning").glob("*.json")
    package([entry(table={**TABLE, "key": []})])
    assert "have the key n: launches ignore them" in stale_tables(folder)[0]
    with pytest.raises(cupola.ImageError):  # the fixture asks for the family
        package([entry(table={**TABLE, "name": f"{NAME}.other"})])
    assert f"its rows are for {NAME}.scale, and the package has no such" in stale_tables(folder)[0]
    table.write_text("{")
    assert "it is no JSON: " in stale_tables(folder)[0]


def test_rows_of_earlier_code_beside_those_of_this_code_are_none(shipped):
    folder, package = shipped  # noqa: F811
    other = package([entry()], sources={"scale.cu": "cd" * 32})
    families_ = other.rows([measured(9, 3)])
    stored_tables.store(
        stored_tables.device_record(cupola.Device()), families_, str(folder / "tuning")
    )
    assert stale_tables(folder) == []


@pytest.mark.parametrize("source", ["", "src"])
def test_a_build_warns(tmp_path, source):
    text = """
[[tool.cupola.kernels]]
library = "heat.kernels"
sources = ["heat.cu"]
[[tool.cupola.variants]]
name = "heat.step"
kernel = "step"
tunables = { TX = [16, 32] }
default = { TX = 16 }
grid = [1]
block = ["TX"]
"""
    (declared,) = tables.libraries(toml(text), text)
    project = Project(tmp_path, [declared])
    place = tmp_path / project.folder(declared) / "kernels.json"
    place.parent.mkdir(parents=True)
    (family,) = declared.families
    table = {**family.declaration.table, "library": "heat.kernels"}
    variants = [{"variant": [16], "library": "heat.kernels", "kernels": {"": "step"}}]
    about = {"table": table, "variants": variants, "dropped": {}}
    place.write_text(json.dumps({"sources": {"heat.cu": "ab" * 32}, "families": [about]}))
    folder = tmp_path / source / "heat/tuning"
    folder.mkdir(parents=True)
    row = families.row((), 16, ())._replace(variant={"TX": 16})
    rows = FamilyRows("heat.step", "ab" * 32, ("TX",), (), (row,))
    device = DeviceRecord("NVIDIA H200", "9.0", 1, 1, 1)
    (folder / "h200-sm90.json").write_text(written(Table(device, (rows,))))
    (line,) = project._stale_tables(declared)
    name = "/".join(filter(None, [source, "heat/tuning/h200-sm90.json"]))
    assert line.startswith(f"{name}: its rows for heat.step were measured on other code")
    assert line.endswith("`python -m cupola tune heat --output heat/tuning`")


def toml(text):
    try:
        import tomllib
    except ModuleNotFoundError:
        from setuptools.compat.py310 import tomllib
    return tomllib.loads(text)["tool"]["cupola"]
