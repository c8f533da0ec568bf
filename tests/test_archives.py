# tests/test_archives.py - archives of a release depend on their contents alone.
import io
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools"))
import archives  # noqa: E402

FILES = {
    "cupola/__init__.py": b"",
    "cupola/lib/libcupola.so": b"library" * 100,
    "cupola-0.1.dist-info/RECORD": b"cupola/__init__.py,,\n",
    "cupola-0.1.dist-info/METADATA": b"Name: cupola\n",
}
EXECUTABLE = {"cupola/lib/libcupola.so"}
WHEN = 1_700_000_000


def write_wheel(path, names, date, umask):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        file.writestr(zipfile.ZipInfo("cupola/lib/", date), b"")
        for name in names:
            entry = zipfile.ZipInfo(name, date)
            mode = 0o777 if name in EXECUTABLE else 0o666
            entry.external_attr = (0o100000 | (mode & ~umask)) << 16
            file.writestr(entry, FILES[name])


def write_sdist(path, names, date, umask):
    with tarfile.open(path, "w:gz") as file:
        folder = tarfile.TarInfo("cupola-0.1")
        folder.type, folder.mtime = tarfile.DIRTYPE, date
        file.addfile(folder)
        for name in names:
            entry = tarfile.TarInfo(f"cupola-0.1/{name}")
            entry.size, entry.mtime, entry.uid, entry.uname = len(FILES[name]), date, umask, "me"
            entry.mode = (0o777 if name in EXECUTABLE else 0o666) & ~umask
            file.addfile(entry, io.BytesIO(FILES[name]))


def test_wheels_of_two_builds_have_the_same_bytes(tmp_path):
    one, two = tmp_path / "one.whl", tmp_path / "two.whl"
    write_wheel(one, list(FILES), (2020, 1, 1, 0, 0, 0), 0o022)
    write_wheel(two, list(reversed(FILES)), (2024, 2, 3, 4, 5, 6), 0o077)
    assert one.read_bytes() != two.read_bytes()
    for path in (one, two):
        archives.normalize(path, WHEN)
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as file:
        assert {name: file.read(name) for name in file.namelist()} == FILES
        assert file.namelist()[-2:] == [
            "cupola-0.1.dist-info/METADATA",
            "cupola-0.1.dist-info/RECORD",
        ]
        entries = {entry.filename: entry for entry in file.infolist()}
    assert entries["cupola/__init__.py"].date_time == (2023, 11, 14, 22, 13, 20)
    modes = {name: entry.external_attr >> 16 & 0o777 for name, entry in entries.items()}
    assert modes == {name: 0o755 if name in EXECUTABLE else 0o644 for name in FILES}


def test_source_distributions_of_two_builds_have_the_same_bytes(tmp_path):
    one, two = tmp_path / "one.tar.gz", tmp_path / "two.tar.gz"
    write_sdist(one, list(FILES), 1_600_000_000, 0o022)
    write_sdist(two, list(reversed(FILES)), 1_650_000_000, 0o077)
    assert one.read_bytes() != two.read_bytes()
    for path in (one, two):
        archives.normalize(path, WHEN)
    assert one.read_bytes() == two.read_bytes()
    with tarfile.open(one) as file:
        entries = {entry.name.partition("/")[2]: entry for entry in file.getmembers()}
        found = {name: file.extractfile(entry).read() for name, entry in entries.items()}
    assert found == FILES
    assert {(e.mtime, e.uid, e.gid, e.uname) for e in entries.values()} == {(WHEN, 0, 0, "")}
    assert entries["cupola/lib/libcupola.so"].mode == 0o755
    assert entries["cupola/__init__.py"].mode == 0o644


def test_another_time_gives_other_bytes(tmp_path):
    path = tmp_path / "one.whl"
    write_wheel(path, list(FILES), (2020, 1, 1, 0, 0, 0), 0o022)
    archives.normalize(path, WHEN)
    before = path.read_bytes()
    archives.normalize(path, WHEN)
    assert path.read_bytes() == before
    archives.normalize(path, WHEN + 60)
    assert path.read_bytes() != before


def test_the_time_is_that_of_the_environment_or_of_the_last_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(WHEN))
    assert archives.moment() == WHEN
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert archives.moment() == archives.FIRST
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    with pytest.raises(SystemExit, match="SOURCE_DATE_EPOCH=today: expected the seconds"):
        archives.moment()
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(SystemExit, match="is none"):
        archives.moment(tmp_path)
