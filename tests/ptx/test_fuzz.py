"""Random programs leave the bits that a GPU left, interpreted and as machine code.

NVIDIA's assembler accepts them. They use every row of the table that random programs can use. The
small programs are those that NVIDIA's compiler (13.0) gives other bits when it optimises; theirs
were recorded without optimisation.
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import pytest
import rotation

from . import table
from .generate import batch, forms, kept
from .generate.minimise import everywhere, shrink
from .generate.program import Program

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = sorted((HERE / "recorded").glob("*programs.npz"))


@pytest.fixture(scope="module")
def text():
    return batch.of_seeds(range(1200))[0]


def test_programs_are_the_same_each_time():
    assert batch.of_seeds([7, 8])[0] == batch.of_seeds([7, 8])[0]
    assert batch.of_seeds([7])[0] != batch.of_seeds([8])[0]


def test_every_row_is_in_a_program_or_has_a_reason(text):
    made = set(re.findall(r"(?:^|[;\s{])([a-z][a-z0-9_]*(?:[.:]+[\w]+)*)[ ;]", text))
    first = {}
    for opcode in made:
        first.setdefault(opcode.split(".")[0], []).append(opcode)
    missing = []
    for row in table.rows():
        words = row.mnemonic.split(".")
        there = any(
            all(word in opcode.split(".") for word in words) for opcode in first.get(words[0], [])
        )
        if not there and not forms.excluded(row):
            missing.append(f"{row.chapter}:{row.line} {row.mnemonic}")
    assert not missing


def test_reasons_are_of_rows_that_there_are():
    mnemonics = {row.mnemonic for row in table.rows()}
    assert set(forms.MNEMONICS) <= mnemonics
    assert mnemonics >= forms.COMPOSED
    assert set(forms.CHAPTERS) <= {row.chapter for row in table.rows()}


def test_nvidias_assembler_takes_them(tmp_path, ptxas):
    file = tmp_path / "programs.ptx"
    file.write_text(batch.of_seeds(range(40))[0])
    command = [ptxas, "-arch=sm_90", "-O1", str(file), "-o", str(tmp_path / "programs.cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def differing(driver, file):
    """(names of recorded programs that leave other bits here, number of recorded programs)"""
    names, programs = [], 0
    for text, launches, digests in kept.load(file)[1]:
        got = batch.digests(batch.run(driver, text, launches))
        names += [x.name for x, a, b in zip(launches, got, digests, strict=True) if a != b]
        programs += len(launches)
    return names, programs


@pytest.mark.parametrize("file", RECORDED, ids=lambda f: f.stem)
def test_recorded_programs(file, driver):
    names, programs = differing(driver, file)
    assert programs >= 300
    assert not names, f"other than {kept.load(file)[0]}"


@pytest.mark.skipif("CUPOLA_TEST_DRIVER" in os.environ, reason="of the CPU device alone")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="one level alone")
@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_every_level_leaves_the_same(level):
    """The build and the processor decide which levels exist; the oldest always exists."""
    call = "from ptx.test_fuzz import *; from ptx.driver import Driver; print(*[differing(Driver(), f)[0] for f in RECORDED])"  # fmt: skip  # noqa: E501
    environment = {**os.environ, "CUPOLA_CPU_LEVEL": level, "CUPOLA_CPU_MODE": "interpret"}
    command = [sys.executable, "-c", call]
    done = subprocess.run(command, cwd=HERE.parent, env=environment, capture_output=True, text=True)
    if level != "x86-64-v2" and "CUPOLA_CPU_LEVEL" in done.stderr:
        pytest.skip("not there")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["[]"] * len(RECORDED)


def test_what_was_made_small_is_kept(tmp_path, driver):
    everything, [program] = batch.of_seeds([7])
    given = int(batch.digests(batch.run(driver, everything, [program]))[0])
    file = tmp_path / "cases" / "seven.ptx"
    kept.write_case(file, program, "a device", given, "word 3 was 0x1, on a device 0x2")
    text, launch, digest = kept.read_case(file)
    assert digest == given
    assert int(batch.digests(batch.run(driver, text, [launch]))[0]) == given


PROGRAMS = 6  # a compiler takes 9 s for each, with the users' flags


@pytest.mark.skipif("CUPOLA_TEST_DRIVER" in os.environ, reason="of the CPU device alone")
@pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++"))), reason="no compiler")
@pytest.mark.campaign("machine code of random programs")
def test_machine_code_agrees(tmp_path):
    """Each change compiles other programs."""

    def run(command, mode, *more):
        environment = {
            **os.environ,
            "CUPOLA_CACHE_DIR": str(tmp_path),
            "CUPOLA_CPU_MODE": mode,
            "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")]),
        }
        words = [sys.executable, "-m", "ptx.fuzz", command, str(tmp_path / "digests.npz"), *more]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=1800)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    each = ("--batch", str(PROGRAMS), "--jobs", "1")
    first = 1_000_000 + PROGRAMS * (rotation.number() % 2**29)  # below 2**32
    count = ("--programs", str(PROGRAMS), "--first", str(first))
    run("record", "interpret", *count, *each)
    assert f"{PROGRAMS} programs" in run("compare", "compile", *count, *each)


def test_a_program_is_made_small():
    program = next(p for p in map(Program, range(100)) if "shfl.sync" in p.text())
    before = sum(len(b.statements) for b in everywhere(program.blocks()))
    small = shrink(program, lambda p: "shfl.sync" in p.text())
    after = sum(len(b.statements) for b in everywhere(small.blocks()))
    assert "shfl.sync" in small.text() and after < before and after <= 3
