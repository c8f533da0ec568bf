"""tools/cutlass.py: what it runs, and how it judges a program by status and output."""

import importlib
import os
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "tools"))
cutlass, programs = map(importlib.import_module, ("cutlass", "programs"))
EXAMPLE = cutlass.Example("100a", "70_blackwell_gemm/70_blackwell_fp16_gemm.cu", "--m=1")
UNCHECKED = cutlass.Example("90a", "cute/unchecked.cu", waived="it checks nothing")
REFUSED = "cupola: PTX line 3: unsupported form of an instruction: 'tcgen05.cp'\\n    tcgen05.cp;"


def judged(folder, text, status=0, example=EXAMPLE):
    """The verdict about a program that prints a text."""
    program = folder / "program"
    program.write_text(f"#!/bin/sh\nprintf '%b\\n' \"{text}\"\nexit {status}\n")
    program.chmod(0o755)
    result = cutlass.judge(example, program, dict(os.environ))
    return result.verdict, result.why


@pytest.mark.parametrize(
    ("text", "status", "expected"),
    [
        ("  Disposition: Passed", 0, ("passed", "")),
        ("Execution is successful.", 0, ("passed", "")),
        (" [OK]  kernel", 0, ("passed", "")),
        ("  Disposition: Failed", 0, ("failed", "Disposition: Failed")),
        ("first: Passed\\nsecond: Failed", 0, ("failed", "second: Failed")),
        ("  Disposition: Passed", 3, ("failed", "Disposition: Passed")),
        ("This example requires a GPU", 0, ("failed", "This example requires a GPU")),
        ("", 0, ("failed", "no output")),
        (REFUSED, 1, ("failed", "unsupported form of an instruction: 'tcgen05.cp'")),
    ],
)  # fmt: skip
def test_a_program_passes_if_it_says_so(tmp_path, text, status, expected):
    assert judged(tmp_path, text, status) == expected


def test_a_program_that_checks_nothing_is_waived(tmp_path):
    assert judged(tmp_path, "1 GFlop/s", 0, UNCHECKED) == ("waived", "it checks nothing")
    assert judged(tmp_path, "no kernel", 1, UNCHECKED) == ("failed", "no kernel")


def test_a_program_runs_on_the_device_of_its_target(tmp_path):
    verdict, why = judged(tmp_path, "$CUPOLA_CPU_COMPUTE_CAPABILITY $1")
    assert (verdict, why) == ("failed", "10.0 --m=1")


def test_a_program_that_takes_too_long_fails(tmp_path):
    status, seconds, _ = programs.run(Path("/bin/sleep"), ["9"], dict(os.environ), 0.1)
    assert status is None and seconds == 0.1


def test_the_share_leaves_out_waived_programs():
    rows = [programs.Result(verdict, 1).row(verdict) for verdict in ("passed", "failed", "waived")]
    share = programs.share("share", rows, 0.4, "")
    assert (share.value, share.note, share.met()) == (0.5, "1 of 2", True)


def test_each_example_is_compiled_for_its_target_alone():
    names = [example.name for example in cutlass.EXAMPLES]
    assert len(set(names)) == len(names)
    for example in cutlass.EXAMPLES:
        words = cutlass.command(example, Path("checkout"), Path(example.name))
        target = f"-gencode=arch=compute_{example.target},code=compute_{example.target}"
        assert [word for word in map(str, words) if "-gencode" in word] == [target]
    assert {example.capability for example in cutlass.EXAMPLES} == {"9.0", "10.0", "10.3", "12.0"}
