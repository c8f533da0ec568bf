"""Tables of measurements: their text, hostile files, writers at the same time, joins."""

import json
import os
import re
import subprocess
import sys
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cupola.declare import tuning_table
from cupola.declare.tuning_table import DeviceRecord, FamilyRows, Row, Table, TableError
from cupola.tuning import tables

DATE = "2026-11-29T06:00:00Z"
DEVICE = DeviceRecord("NVIDIA H200", "9.0", 150754820096, 12080, 1980000)
DIGEST = "ab" * 32


def row(*key, variant=None, types=("float32",), seconds=1e-5, date=DATE):
    chosen = {"TX": 32, "WORD": "fast"} if variant is None else variant
    return Row(types, key, chosen, seconds, 0.01, 2e-5, 24, date)


def rows(*listed, name="step", digest=DIGEST, tunables=("TX", "WORD"), key=("rows", "columns")):
    return FamilyRows(name, digest, tunables, key, listed)


TABLE = Table(DEVICE, (rows(row(4096, 4096), row(16, 2**40)), rows(name="empty")))
TEXT = tuning_table.written(TABLE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The user's cache."""
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path))
    return tmp_path / tables.FOLDER


def changed(*path, value):
    """The text of the table with another value at a path of keys."""
    whole = json.loads(TEXT)
    place = whole
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(whole)


def test_a_row_is_a_line_in_a_fixed_order():
    lines = TEXT.splitlines()
    assert sum('"seconds"' in line for line in lines) == 2
    assert all(line.count('"seconds"') < 2 for line in lines)
    again = tuning_table.read(TEXT)
    assert tuning_table.written(again) == TEXT
    backwards = Table(DEVICE, tuple(reversed(TABLE.families)))
    assert tuning_table.written(backwards) == TEXT
    assert again.families[1].rows[0] == row(16, 2**40)


ROW = ("families", 1, "rows", 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT[: len(TEXT) // 2], "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[]", "expected an object"),
        ('{"format": 1}', "lacks 'device'"),
        (changed("format", value=2), "it has format 2, and this version of cupola reads format 1"),
        (changed("format", value=True), "it has format True"),
        (changed("device", "name", value=""), "device.name: expected a text of 1 to 256"),
        (changed("device", "name", value="a\nb"), "device.name"),
        (changed("device", "capability", value="nine"), "device.capability"),
        (changed("device", "clock", value=-1), "device.clock: expected an integer from 0"),
        (changed("families", value={}), "families: expected a list"),
        (changed("families", 1, "digest", value="xyz"), "digest: expected a text of the form"),
        (changed("families", 1, "key", value=["a"] * 9), "9 entries, and at most 8 are read"),
        (changed("families", 0, value=json.loads(TEXT)["families"][1]), "step: it is listed twice"),
        (changed(*ROW, value=json.loads(TEXT)["families"][1]["rows"][1]), "is listed twice"),
        (changed(*ROW, "key", value=[1]), "1 sizes for a key of 2"),
        (changed(*ROW, "key", value=[1, 2**63]), "expected an integer from 0 to"),
        (changed(*ROW, "key", value=[1, 2.0]), "expected an integer"),
        (changed(*ROW, "variant", value={"TX": 1}), "variant lacks 'WORD'"),
        (changed(*ROW, "variant", value={"TX": 1, "WORD": "a", "B": 1}), "other tunables"),
        (changed(*ROW, "variant", value={"TX": 2**40, "WORD": "a"}), "TX: expected an integer"),
        (changed(*ROW, "seconds", value=0), "seconds: expected a time in seconds, got 0"),
        (changed(*ROW, "seconds", value="1"), "expected a time in seconds, got '1'"),
        (changed(*ROW, "seconds", value=10**400), "expected a time in seconds"),
        (TEXT.replace("1e-05", "NaN"), "it is no JSON: NaN is no number of JSON"),
        (changed(*ROW, "spread", value=-0.5), "spread: expected a number >= 0"),
        (changed(*ROW, "default_seconds", value=0), "default_seconds: expected a time"),
        (changed(*ROW, "variants", value=0), "variants: expected an integer from 1"),
        (changed(*ROW, "date", value="yesterday"), "date: expected a text of the form"),
    ],
)
def test_a_hostile_table_is_refused_by_field(text, said):
    with pytest.raises(TableError, match=re.escape(said)):
        tuning_table.read(text)


def test_a_table_has_a_limited_size():
    with pytest.raises(TableError, match="it has more than 4,194,304 bytes"):
        tuning_table.read(b" " * (tuning_table.MOST_BYTES + 1))
    whole = json.loads(TEXT)
    whole["families"][1]["rows"] = [None] * (tuning_table.MOST_ROWS + 1)
    with pytest.raises(TableError, match="16,385 entries, and at most 16,384 are read"):
        tuning_table.read(json.dumps(whole))
    whole["families"] = [whole["families"][0]] * (tuning_table.MOST_FAMILIES + 1)
    with pytest.raises(TableError, match="4,097 entries"):
        tuning_table.read(json.dumps(whole))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_fuzz_a_table_with_one_foreign_value(data):
    """A value of any type at any place is read, or refused by a TableError."""
    whole = json.loads(TEXT)
    place, depth = whole, 0
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys)) if keys else None
        inner = None if key is None else place[key]
        if not isinstance(inner, (dict, list)) or data.draw(st.booleans()):
            break
        place, depth = inner, depth + 1
    if key is not None:
        place[key] = data.draw(VALUES)
    _read(json.dumps(whole))


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, len(TEXT)), st.integers(0, len(TEXT)))
def test_fuzz_a_table_with_foreign_bytes(planted, begin, end):
    _read(TEXT.encode()[:begin] + planted + TEXT.encode()[end:])


def _read(content):
    try:
        found = tuning_table.read(content)
    except TableError as error:
        assert str(error)
        return
    assert tuning_table.read(tuning_table.written(found)) == tuning_table.read(
        tuning_table.written(tuning_table.read(tuning_table.written(found)))
    )


def test_the_newest_row_of_each_key_is_kept_by_a_merge():
    newer, older = "2026-12-01T00:00:00Z", "2026-01-01T00:00:00Z"
    one = Table(DEVICE, (rows(row(1, 1, seconds=1.0), row(2, 2, seconds=2.0)),))
    other = Table(
        DEVICE,
        (
            rows(row(1, 1, seconds=3.0, date=newer), row(2, 2, seconds=4.0, date=older)),
            rows(row(3, 3), name="other"),
        ),
    )
    for joined in (tables.merge(one, other), tables.merge(other, one)):
        step, apart = sorted(joined.families, key=lambda family: family.name, reverse=True)
        assert {row.key: row.seconds for row in step.rows} == {(1, 1): 3.0, (2, 2): 2.0}
        assert apart.name == "other"


def test_a_merge_refuses_other_code_and_other_devices():
    with pytest.raises(TableError, match="family step: one table is for code with the digest abab"):
        tables.merge(TABLE, Table(DEVICE, (rows(digest="cd" * 32),)))
    other = DeviceRecord("NVIDIA H100", "9.0", 1, 1, 1)
    with pytest.raises(TableError, match=r"one table is of NVIDIA H200 \(9.0\), the other of .*H1"):
        tables.merge(TABLE, Table(other, ()))


def test_rows_are_stored_beside_those_that_are_there(folder):
    path = tables.store(DEVICE, rows(row(1, 1)))
    assert path == str(folder / "nvidia-h200-sm90.json")
    tables.store(DEVICE, rows(row(2, 2)))
    tables.store(DEVICE, rows(row(3, 3), name="other"))
    families = {one.name: len(one.rows) for one in tables.load(path).families}
    assert families == {"step": 2, "other": 1}
    assert sorted(os.listdir(folder)) == [".lock", "nvidia-h200-sm90.json"]


def test_rows_of_eight_versions_of_a_code_are_kept(folder):
    for number in range(12):
        date = f"2026-01-{number + 1:02}T00:00:00Z"
        path = tables.store(DEVICE, rows(row(1, 1, date=date), digest=f"{number:064x}"))
    kept = {int(one.digest, 16) for one in tables.load(path).families}
    assert kept == set(range(4, 12))


def test_the_folder_of_a_package_has_rows_for_one_version_of_a_code(tmp_path):
    for number in range(3):
        for name in ("step", "other"):
            more = rows(row(number, 1), name=name, digest=f"{number:064x}")
            path = tables.store(DEVICE, more, str(tmp_path))
    kept = {one.name: (int(one.digest, 16), len(one.rows)) for one in tables.load(path).families}
    assert kept == {"step": (2, 1), "other": (2, 1)}


def test_a_table_that_grows_keeps_its_newest_rows(folder):
    listed = [row(number, 0, date=f"2026-01-{1 + number // 100:02}T00:00:00Z")
              for number in range(2500)]  # fmt: skip
    for number in range(10):
        path = tables.store(DEVICE, rows(*listed, name=f"family {number}"))
    kept = {one.name: one.rows for one in tables.load(path).families}
    assert all(len(one) == 2048 for one in kept.values())
    assert min(one.key[0] for one in kept["family 9"]) >= 400
    assert 2 < len(kept) <= 8 and "family 9" in kept


def test_rows_of_another_declaration_replace_those_of_the_same_code(folder):
    tables.store(DEVICE, rows(row(1, 1)))
    path = tables.store(
        DEVICE, rows(row(7, variant={"TX": 1}), tunables=("TX",), key=("rows",), digest=DIGEST)
    )
    (family,) = tables.load(path).families
    assert family.key == ("rows",) and len(family.rows) == 1


@pytest.mark.parametrize("content", [TEXT[: len(TEXT) // 2], "", changed("format", value=9)])
def test_a_damaged_file_is_one_warning_and_is_kept_aside(folder, content):
    folder.mkdir()
    path = folder / "nvidia-h200-sm90.json"
    path.write_text(content)
    with pytest.warns(RuntimeWarning, match="is not used: .*remove the file") as caught:
        assert tables.find() == []
        assert tables.find() == []
    assert len(caught) == 1 and str(path) in str(caught[0].message)
    with pytest.warns(RuntimeWarning, match=r"it is now .*\.damaged"):
        tables.store(DEVICE, rows(row(1, 1)))
    assert (folder / "nvidia-h200-sm90.json.damaged").read_text() == content
    (found,) = tables.find()
    assert found.table.families[0].rows == (row(1, 1),)


def test_a_changed_file_is_read_again(folder):
    path = tables.store(DEVICE, rows(row(1, 1)))
    assert len(tables.find()[0].table.families[0].rows) == 1
    tables.store(DEVICE, rows(row(2, 2)))
    assert len(tables.find()[0].table.families[0].rows) == 2
    os.unlink(path)
    assert tables.find() == []


def test_no_pipe_is_waited_for(folder):
    folder.mkdir()
    os.mkfifo(folder / "pipe.json")
    with pytest.warns(RuntimeWarning, match="it is no file"):
        assert tables.find() == []


def test_a_folder_that_can_not_be_written_is_a_warning(folder):
    folder.parent.joinpath(tables.FOLDER).write_text("a file where the folder belongs")
    with pytest.warns(RuntimeWarning, match="measurements of step are not kept"):
        assert tables.store(DEVICE, rows(row(1, 1))) is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (row(-1, 1), "key: expected an integer from 0"),
        (row(1, 1, seconds=float("nan")), "Out of range float values are not JSON compliant"),
        (row(1, 1, variant={"TX": 1.5, "WORD": "a"}), "TX: expected an integer"),
    ],
)
def test_rows_that_no_table_can_have_are_not_written(folder, wrong, said):
    path = tables.store(DEVICE, rows(row(1, 1)))
    with pytest.warns(RuntimeWarning, match=f"measurements of step are not kept: .*{said}"):
        assert tables.store(DEVICE, rows(wrong)) is None
    assert len(tables.load(path).families[0].rows) == 1


def test_without_a_cache_nothing_is_stored(monkeypatch):
    monkeypatch.setenv("CUPOLA_CACHE_DIR", "none")
    assert tables.store(DEVICE, rows(row(1, 1))) is None and tables.find() == []


def test_processes_that_write_at_the_same_time_lose_nothing(folder):
    code = """
import sys
sys.path.insert(0, sys.argv[2])
import test_tuning_tables as t
from cupola.tuning import tables
for number in range(20):
    tables.store(t.DEVICE, t.rows(t.row(int(sys.argv[1]), number)))
"""
    here = os.path.dirname(__file__)
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(number), here]) for number in range(4)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a reader never sees half of a file
        while any(one.poll() is None for one in writers):
            tables.find()
    assert [one.wait() for one in writers] == [0] * 4
    (found,) = tables.find()
    keys = {one.key for one in found.table.families[0].rows}
    assert keys == {(process, number) for process in range(4) for number in range(20)}
    assert sorted(os.listdir(folder)) == [".lock", "nvidia-h200-sm90.json"]


def test_the_name_of_a_file_is_that_of_the_device():
    about = vars(DEVICE)
    named = DeviceRecord(**{**about, "name": "cupola CPU device (Intel(R) Xeon(R))"})
    assert tables.file_name(named) == "cupola-cpu-device-intel-r-xeon-r-sm90.json"
    assert tables.file_name(DeviceRecord(**{**about, "name": "../.."})) == "device-sm90.json"
