"""A short slice of `make fuzz`: what reads untrusted bytes, under ASan and UBSan."""

import datetime
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 15
FILES = 3  # whose kernels are compiled


def test_a_slice_of_fuzzing_finds_nothing():
    command = [sys.executable, ROOT / "tools" / "fuzz.py", "--slice", "--seconds", str(SECONDS)]
    answer = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert answer.returncode == 0, answer.stdout[-4000:]
    assert "8 fuzzers ran, 0 found something" in answer.stdout
    counts = [int(n) for n in re.findall(r"(\d+) inputs, the slowest", answer.stdout)]
    assert len(counts) == 8 and all(n > 100 for n in counts), answer.stdout[-2000:]
    # Inputs that do not load do not test execution: enough of them must load.
    loaded, inputs = map(int, re.search(r"ran: (\d+) of (\d+) inputs", answer.stdout).groups())
    assert loaded > 100, f"{loaded} of {inputs}"


def test_what_was_found_runs_as_machine_code():
    """A few of the committed inputs, other ones each day: no program may end the process."""
    folders = [ROOT / "tests" / "fuzz" / kind / "run_fuzz" for kind in ("corpus", "seeds")]
    files = sorted(file for folder in folders for file in folder.iterdir())
    first = datetime.date.today().toordinal() * FILES
    some = [files[(first + n) % len(files)] for n in range(FILES)]
    answer = subprocess.run(
        [sys.executable, Path(__file__).with_name("machine_code.py"), *some],
        env={
            **os.environ,
            "CUPOLA_CPU_MODE": "compile",
            "CUPOLA_CPU_TIMEOUT": "20",
            "PYTHONPATH": str(ROOT / "tests"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert answer.returncode == 0, f"{some}: {answer.stdout[-4000:]}"
    assert f"{FILES} inputs" in answer.stdout
