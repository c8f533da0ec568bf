"""Each call returns what NVIDIA's runtime returned on an H100, as the records say.

The programs run on cupola's runtime over the CPU device, or with ``--driver=cuda`` over NVIDIA's
driver. contract.py tells how to record, and which programs may differ.
"""

import json
import os
import subprocess

import pytest

import cupola.paths

from . import contract
from .places import RUNTIME

RUNTIMES = {major: RUNTIME / f"libcudart.so.{major}" for major in contract.RECORDS}
LIBRARIES = list(RUNTIMES.values())

versions = pytest.mark.parametrize("major", RUNTIMES)


@pytest.fixture(scope="module")
def records():
    return {major: json.loads(file.read_text()) for major, file in contract.RECORDS.items()}


@pytest.fixture(scope="module")
def answers(driver):
    """The answers of cupola's runtime, by version and program."""
    library = os.fspath(cupola.paths.cpu_driver()) if driver == "cpu" else ""
    return {major: contract.ask(os.fspath(file), library) for major, file in RUNTIMES.items()}


@pytest.fixture(scope="module")
def otherwise(driver):
    """The programs that may differ over this driver."""
    other = contract.NVIDIA_DRIVER if driver == "cpu" else contract.CPU_DEVICE
    return {name for name, reason in contract.OTHERWISE.items() if not reason.startswith(other)}


def difference(recorded, answer, driver):
    """How an answer differs from NVIDIA's; None if it does not."""
    if "transcript" not in answer:
        if driver != "cpu" and "transcript" not in recorded:
            return None  # NVIDIA's driver crashes, whichever runtime calls it
        return f"the program did not end by itself: {answer['ended']}"
    found = answer["transcript"]
    if found and found[-1][0] == "ended by":
        return f"the program failed:\n{found[-1][1]}"
    if "transcript" not in recorded:
        return None  # NVIDIA's runtime crashes
    expected = recorded["transcript"]
    for number, (theirs, ours) in enumerate(zip(expected, found, strict=False)):
        if theirs != ours:
            before = found[number - 1] if number else "the start"
            return f"call {number}, after {before}: expected {theirs}, got {ours}"
    if len(expected) != len(found):
        return f"expected {len(expected)} calls, got {len(found)}"
    return None


@versions
@pytest.mark.parametrize("program", contract.programs())
def test_program(program, major, records, answers, otherwise, driver):
    if program in otherwise:
        return
    if program not in records[major]:
        name = contract.RECORDS[major].name
        pytest.fail(f"{name} lacks {program}: record it as contract.py says", pytrace=False)
    if differs := difference(records[major][program], answers[major][program], driver):
        pytest.fail(differs, pytrace=False)


@pytest.mark.parametrize("program", contract.OTHERWISE)
def test_a_program_of_otherwise_differs(program, records, answers, otherwise, driver):
    """In one version at least."""
    assert program in contract.programs(), f"remove {program} from OTHERWISE: it does not exist"
    assert contract.OTHERWISE[program], f"OTHERWISE has no reason for {program}"
    if program in otherwise:
        differ = [
            difference(records[major].get(program, {}), answers[major][program], driver)
            for major in RUNTIMES
        ]
        assert any(differ), f"remove {program} from OTHERWISE: it agrees"


def test_otherwise_is_sorted():
    assert list(contract.OTHERWISE) == sorted(contract.OTHERWISE)


@versions
def test_each_record_has_a_program(major, records):
    gone = records[major].keys() - contract.programs().keys()
    assert not gone, f"remove from {contract.RECORDS[major].name} what is no program: {gone}"


def implemented(library):
    """The functions that a library defines. Weak definitions return that they are not supported."""
    command = ["nm", "-D", "--defined-only", library]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {words[-1].partition("@")[0] for words in lines if words[-2] == "T"}


@versions
def test_every_function_is_called_by_a_program(major, records):
    called = {name for one in records[major].values() for name in one.get("called", ())}
    defined = implemented(RUNTIMES[major])
    assert len(defined) > 350
    assert sorted(defined - called) == []
