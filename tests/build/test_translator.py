# tests/build/test_translator.py - Cython in a process that stays: modules one after the other.
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("Cython")
from cupola.build import executor, translator
from cupola.build.error import BuildError

ARGUMENTS = ["-3", "--cplus", "-I."]


def translate(root, names, start=None):
    with translator.Translator(root) as cython:
        steps = [cython.step(Path(f"{n}.pyx"), Path(f"out/{n}.cpp"), ARGUMENTS) for n in names]
        if start:
            start(cython)
        return executor.run(steps, root)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "shared.pxd").write_text("cdef inline int one(): return 1\n")
    (tmp_path / "a.pyx").write_text("from shared cimport one\ndef a(): return one()\n")
    (tmp_path / "b.pyx").write_text("def b(): return 'b'\n")
    return tmp_path


def test_modules_are_those_of_a_process_of_their_own(tree, monkeypatch):
    monkeypatch.setenv("CUPOLA_BUILD_JOBS", "1")
    assert translate(tree, "ab") == 2
    for name in "ab":
        command = [sys.executable, "-m", "cython", *ARGUMENTS, f"{name}.pyx", "-o", "alone.cpp"]
        subprocess.run(command, cwd=tree, check=True)
        alone = (tree / "alone.cpp").read_text()
        assert (tree / "out" / f"{name}.cpp").read_text() == alone


def test_what_a_module_cimports_makes_it_again(tree):
    assert translate(tree, "ab") == 2
    assert translate(tree, "ab") == 0
    (tree / "shared.pxd").write_text("cdef inline int one(): return 11\n")
    assert translate(tree, "ab") == 1


def test_an_error_names_its_line_and_others_go_on(tree, monkeypatch):
    monkeypatch.setenv("CUPOLA_BUILD_KEEP_GOING", "1")
    monkeypatch.setenv("CUPOLA_BUILD_JOBS", "1")
    (tree / "a.pyx").write_text("def a():\n    return missing\n")
    with pytest.raises(BuildError) as caught:
        translate(tree, "ab")
    assert str(caught.value).splitlines()[0].startswith("a.pyx:2:")
    assert not (tree / "out" / "a.cpp").exists() and (tree / "out" / "b.cpp").exists()


def test_another_thread_may_take_the_last_process(tree):
    class Taken(list):
        def __len__(self):
            return 1  # as seen before the other took it

    def take(cython):
        cython._idle = Taken()

    assert translate(tree, "b", take) == 1


def test_a_process_that_ends_is_an_error(tree):
    def end(cython):
        worker = cython._start()
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        cython._idle.append(worker)

    with pytest.raises(BuildError, match="ended with status -9"):
        translate(tree, "b", end)
