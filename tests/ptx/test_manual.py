# ruff: noqa: E501 - PTX text is wide
"""Compares the manual's index of instructions with the table; sample forms cover the rest."""

import os
import re
import subprocess

import driver_abi
import pytest

from . import manual, statements, table
from .assembler import Assembler
from .test_targets import TARGETS, refusals

TOP = ".version 9.0\n.target sm_90a\n.address_size 64\n"
HEAD = """.visible .entry k(.param .u64 pa) { .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .b16 %h<8>; .reg .f32 %f<8>;
.reg .f64 %g<8>; .reg .pred %p<8>; .reg .b128 %q<8>; """


def entries():
    """(section, name, wanted) of each instruction of the index."""
    for entry in re.split(r"[|\n]", manual.INDEX):
        section, *names = entry.split() or [None]
        for name in names:
            yield section, name.strip("[]"), not name.startswith("[")


def sections():
    """The table's rows: (section, mnemonic)."""
    for path in sorted((table.PTX / "table").glob("*.inc")):
        for line in path.read_text().splitlines():
            if found := re.match(r'FORM\("([^"]+)".*"([0-9.]+)"\)$', line):
                yield found[2], found[1]


def begins(mnemonic, name):
    """Whether a row's mnemonic is the name, or goes on from it; some have more in front of a word."""
    return mnemonic == name or mnemonic.startswith(name + ".") or name.startswith(mnemonic + ".")


def test_the_index_is_in_the_table():
    rows = set(sections())
    missing = [
        f"{section} {name}"
        for section, name, wanted in entries()
        if wanted and not any(begins(m, name) and s == section for s, m in rows)
    ]
    print("\n".join(missing))
    assert not missing


def test_the_table_is_in_the_index():
    """Each row's section is the manual's, of an instruction that begins as the row does."""
    index = {}
    for section, name, _ in entries():
        index.setdefault(section, []).append(name)
    strange = [
        f"{section} {mnemonic}"
        for section, mnemonic in sections()
        if not any(begins(mnemonic, name) for name in index.get(section, []))
    ]
    assert not strange


def text_of(form):
    return TOP + HEAD + form + " ret; }\n"


def test_forms(load):
    """Those that stand for others are taken."""
    kernels = [HEAD.replace(" k(", f" k{n}(") + f + " ret; }\n" for n, f in enumerate(manual.FORMS)]
    load(TOP + "".join(kernels))


@pytest.mark.parametrize("form", manual.NEWER)
def test_newer_forms_are_refused(form, driver):
    with pytest.raises(driver_abi.DriverError):
        driver.load(text_of(form))


def test_ptxas_takes_the_forms(tmp_path, ptxas):
    source = tmp_path / "forms.ptx"
    kernels = [HEAD.replace(" k(", f" k{n}(") + f + " ret; }\n" for n, f in enumerate(manual.FORMS)]
    source.write_text(TOP + "".join(kernels))
    command = [ptxas, "-arch=sm_90a", "-O0", source, "-o", tmp_path / "forms.cubin"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def missing(target):
    """The statements that the CPU device lacks for a target, as kernels, and their versions."""
    chosen = [(since, text) for _, since, t, text in manual.MISSING if t == target]
    return [since for since, _ in chosen], [
        statements.kernel(n, text) for n, (_, text) in enumerate(chosen)
    ]


MISSING_TARGETS = sorted({target for _, _, target, _ in manual.MISSING})


@pytest.mark.skipif("CUPOLA_TEST_DRIVER" in os.environ, reason="says what the CPU device lacks")
@pytest.mark.parametrize("target", MISSING_TARGETS)
def test_missing_forms_are_refused_with_their_line(target, newer_devices):
    _, lines = missing(target)
    head = f".version 9.5\n.target {target}\n.address_size 64\n"
    said = newer_devices(TARGETS[target]).run(refusals, head, lines)
    assert all(why and "line 4" in why for why in said), list(zip(lines, said, strict=True))


@pytest.mark.parametrize("target", MISSING_TARGETS)
def test_ptxas_takes_missing_forms(target, tmp_path, ptxas):
    """Those of the versions that the assembler reads."""
    since, lines = missing(target)
    assembler = Assembler(ptxas, tmp_path, target)
    head = ".version {}.{}\n.target {}\n.address_size 64\n"
    known = [
        n for n in range(86, 96) if assembler.run(head.format(*divmod(n, 10), target))[0] is None
    ]
    old = [line for line, n in zip(lines, since, strict=True) if n <= max(known)]
    refused = assembler.verdicts(old, head.format(*divmod(max(known), 10), target))
    assert refused == [None] * len(old), list(zip(old, refused, strict=True))
