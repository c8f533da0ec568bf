# tests/build/test_codec.py - where the build takes zstd from.
import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from cupola.build import native, step
from cupola.build.error import BuildError

ROOT = Path(__file__).resolve().parents[2]
BUILD = SimpleNamespace(error=SimpleNamespace(BuildError=BuildError))


@pytest.fixture(scope="module")
def codec():
    spec = importlib.util.spec_from_file_location("codec", ROOT / "csrc" / "codec.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_archive_of_a_source_distribution_comes_first(codec, tmp_path):
    places = [tmp_path / "csrc" / codec.ARCHIVE, tmp_path / codec.FOLDER / codec.ARCHIVE]
    assert codec.present(tmp_path) is None
    for path in reversed(places):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"another")
        assert codec.present(tmp_path) == path


def test_another_archive_is_refused(codec, tmp_path):
    path = tmp_path / codec.FOLDER / codec.ARCHIVE
    path.parent.mkdir(parents=True)
    path.write_bytes(b"another")
    with pytest.raises(BuildError, match=f"{codec.ARCHIVE} has SHA-256 .*: remove it"):
        codec.archive(BUILD, tmp_path)


def test_without_a_network_the_remedy_is_named(codec, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(BuildError, match=r"zstd is needed.*libzstd-dev"):
        codec.archive(BUILD, tmp_path)
    assert codec.present(tmp_path) is None


def test_a_library_that_cannot_be_linked_is_not_taken(codec, tmp_path):
    """The compiler finds a file of the name, and the trial link fails."""
    empty, compiler = tmp_path / "libzstd.a", tmp_path / "compiler"
    empty.write_bytes(b"!<arch>\n")
    lines = ["#!/bin/sh", f'case "$*" in -print*) echo {empty};; *) exec c++ "$@";; esac', ""]
    compiler.write_text("\n".join(lines))
    compiler.chmod(0o755)
    assert codec.static_library.__wrapped__((str(compiler),)) == ""


def test_a_release_takes_the_sources_also_where_there_is_a_library(codec, tmp_path, monkeypatch):
    """The bill of materials names one version."""
    monkeypatch.setattr(codec, "static_library", lambda command: "/usr/lib/libzstd.a")
    compiler = native.Compiler.find()
    arguments = (SimpleNamespace(step=step), tmp_path, compiler, tmp_path, ())
    assert codec.codec(*arguments).linked[0] == "/usr/lib/libzstd.a"
    pinned = codec.codec(*arguments, pinned=True)
    assert pinned.linked[0] == str(tmp_path / "zstd.o")
    assert pinned.needed == (codec.FOLDER / "zstd.c",)
