# tests/build/test_compile_cache.py - what was compiled elsewhere is not compiled again.
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from project import Project

from cupola.build import nvcc, step, toolkit
from cupola.build.error import BuildError

SOURCE = '#include "value.cuh"\nextern "C" __global__ void set(int* x) { *x = VALUE; }\n'


class Compiler:
    """A folder with a source and its header; compiled by a program that counts its runs."""

    def __init__(self, folder, log):
        self.folder, self.log = folder, log
        folder.mkdir(parents=True)
        self.write("set.cu", SOURCE)
        self.write("value.cuh", "#define VALUE 1\n")
        found = toolkit.find()
        wrapper = folder / "nvcc"
        wrapper.write_text(f'#!/bin/sh\necho run >> {log}\nexec {found.nvcc} "$@"\n')
        wrapper.chmod(0o755)
        fields = {**vars(found), "nvcc": wrapper}
        self.toolkit = type(found)(**fields)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        old = time.time() - 60  # a file that changes as it is read is not to be remembered
        os.utime(self.folder / name, (old, old))

    def compile(self, *options):
        """How often the compiler ran, and what it made."""
        before = len(self.log.read_text().splitlines()) if self.log.exists() else 0
        arguments = ["-ptx", "-arch=compute_75", *options]
        made = nvcc.compile_source(self.toolkit, Path("set.cu"), Path("out/set.ptx"), arguments)
        step.run([made], self.folder)
        assert step.run([made], self.folder) == 0
        runs = len(self.log.read_text().splitlines()) - before
        return runs, (self.folder / "out/set.ptx").read_text()


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))
    log = tmp_path / "log"
    return Compiler(tmp_path / "one", log), Compiler(tmp_path / "two", log)


def test_another_folder_finds_what_was_compiled(places):
    one, two = places
    runs, text = one.compile()
    assert runs == 1
    assert two.compile() == (0, text)


def test_a_changed_header_source_or_option_is_compiled(places):
    one, two = places
    one.compile()
    two.write("value.cuh", "#define VALUE 2\n")
    runs, text = two.compile()
    assert runs == 1 and ", 2;" in text
    # Both are known now, whichever a folder has.
    one.write("value.cuh", "#define VALUE 2\n")
    assert one.compile() == (0, text)
    one.write("value.cuh", "#define VALUE 1\n")
    assert one.compile()[0] == 0
    assert one.compile("-DOTHER")[0] == 1
    one.write("set.cu", SOURCE + "// more\n")
    assert one.compile()[0] == 1


def test_what_names_its_folder_stays_there(places):
    one, two = places
    assert one.compile("-lineinfo")[0] == 1
    runs, text = two.compile("-lineinfo")
    assert runs == 1 and "/two/set.cu" in text
    hidden = "namespace { __global__ void hidden(int* x) { *x = 3; } }\n"
    hidden += "void* used() { return (void*)hidden; }\n"
    for place in places:
        place.write("set.cu", SOURCE + hidden)
        assert place.compile()[0] == 1


def test_another_compiler_of_the_host_or_other_settings(places, monkeypatch):
    one, two = places
    one.compile()
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DVALUE_TOO")
    assert two.compile()[0] == 1


def test_without_a_cache_each_compiles(places, monkeypatch):
    monkeypatch.setenv("CUPOLA_CACHE_DIR", "none")
    assert [place.compile()[0] for place in places] == [1, 1]


def test_a_damaged_entry_counts_as_none(places, tmp_path):
    one, two = places
    one.compile()
    for entry in (tmp_path / "cache").iterdir():
        entry.write_bytes(entry.read_bytes()[:-3])
    assert two.compile()[0] == 1


def test_a_wrong_size_of_the_cache_is_told(places, monkeypatch):
    monkeypatch.setenv("CUPOLA_CACHE_SIZE", "much")
    with pytest.raises(BuildError, match="CUPOLA_CACHE_SIZE is a number"):
        places[0].compile()


def test_errors_are_not_kept(places):
    one, two = places
    for place in places:
        place.write("value.cuh", "#define VALUE nothing\n")
        with pytest.raises(BuildError, match=r"set.cu\(2\): error"):
            place.compile()
    assert len(one.log.read_text().splitlines()) == 2


def test_builds_at_once_share_it(tmp_path):
    projects = [Project(tmp_path / name) for name in ("a", "b", "c")]
    for project in projects:
        project.environment["CUPOLA_CACHE_DIR"] = str(tmp_path / "cache")
    command = [sys.executable, "setup.py", "build_kernels", "--inplace"]
    running = [
        subprocess.Popen(command, cwd=p.folder, env=p.environment, stdout=subprocess.DEVNULL)
        for p in projects
    ]
    assert [one.wait(300) for one in running] == [0, 0, 0]
    last = Project(tmp_path / "d")
    last.environment["CUPOLA_CACHE_DIR"] = str(tmp_path / "cache")
    last.setup("build_kernels", "--inplace")
    manifests = {(p.built() / "kernels.json").read_text() for p in (*projects, last)}
    assert len(manifests) == 1


def test_a_toolkit_is_asked_once(places):
    one, _ = places
    environment = {"CUDA_HOME": str(one.folder / "home"), "PATH": os.environ["PATH"]}
    home = one.folder / "home" / "bin"
    home.mkdir(parents=True)
    (one.folder / "nvcc").rename(home / "nvcc")
    code = "from cupola.build import toolkit; import sys; print(toolkit.find())"
    said = set()
    for runs in (3, 4):  # --version is asked each time
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        said.add(done.stdout)
        assert len(one.log.read_text().splitlines()) == runs
    assert len(said) == 1 and "from CUDA_HOME" in said.pop()
