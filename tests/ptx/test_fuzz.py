"""Random programs: NVIDIA's assembler takes them, and they have every row that they can have."""

import re
import shutil
import subprocess

import pytest

from . import table
from .generate import batch, forms


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


@pytest.mark.skipif(not shutil.which("ptxas"), reason="no ptxas")
def test_nvidias_assembler_takes_them(tmp_path):
    file = tmp_path / "programs.ptx"
    file.write_text(batch.of_seeds(range(40))[0])
    command = ["ptxas", "-arch=sm_90", "-O1", str(file), "-o", str(tmp_path / "programs.cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
