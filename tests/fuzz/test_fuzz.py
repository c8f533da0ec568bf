"""A short slice of `make fuzz`: what reads untrusted bytes, under ASan and UBSan."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 15


def test_a_slice_of_fuzzing_finds_nothing():
    command = [sys.executable, ROOT / "tools" / "fuzz.py", "--slice", "--seconds", str(SECONDS)]
    answer = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert answer.returncode == 0, answer.stdout[-4000:]
    assert "4 fuzzers ran, 0 found something" in answer.stdout
    counts = [int(n) for n in re.findall(r"(\d+) inputs", answer.stdout)]
    assert len(counts) == 4 and all(n > 100 for n in counts), answer.stdout[-2000:]
