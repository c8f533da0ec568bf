"""tests/build_cache.py makes an entry once, and again after a change of a part."""

import os
import time

import build_cache
import pytest


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(build_cache, "FOLDER", tmp_path / "entries")
    return tmp_path / "entries"


def entries(folder):
    return [path for path in folder.iterdir() if path.is_dir()]


def test_an_entry_follows_from_texts_and_the_contents_of_files(folder, tmp_path):
    source, made = tmp_path / "source", []

    def make(there):
        made.append(source.read_text())
        (there / "output").write_text(made[-1])

    for text, option in (("a", "-O1"), ("a", "-O1"), ("b", "-O1"), ("a", "-O2"), ("a", "-O1")):
        source.write_text(text)
        assert (build_cache.entry([option, source], make) / "output").read_text() == text
    assert made == ["a", "b", "a"]


def test_parts_are_kept_apart():
    assert build_cache.digest(["a", "b"]) != build_cache.digest(["ab"])
    assert build_cache.digest(["a", ""]) != build_cache.digest(["", "a"])


def test_a_failure_leaves_no_entry(folder):
    def fail(there):
        (there / "half").write_text("")
        raise RuntimeError("the compiler failed")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="the compiler failed"):
            build_cache.entry(["a"], fail)
    assert entries(folder) == []
    assert build_cache.entry(["a"], lambda there: None).is_dir()


def test_unused_entries_are_removed(folder):
    old, used = (build_cache.entry([name], lambda there: None) for name in ("old", "used"))
    past = time.time() - 2 * build_cache.UNUSED
    for each in (old, used):
        os.utime(each, (past, past))
    build_cache.entry(["used"], lambda there: None)
    build_cache.entry(["new"], lambda there: None)
    assert not old.exists() and used.exists()
