"""Misuse gets the error that NVIDIA's driver gives, recorded in misuse/h200.json."""

import json

import pytest

from .misuse import CASES, RECORD, ask, lone

# Where the CPU device says something else, and why.
OTHERWISE = {
    "cuThreadExchangeStreamCaptureMode: unknown": "there it takes any number for a mode",
    "cuModuleLoad: a folder": "there it is out of memory",
    "cuLibraryLoadData: nonsense": "there the error comes when a kernel is looked up",
    "foreign: an event as a stream": "there a stream that never was is one whose context has ended",
}


@pytest.fixture(scope="module")
def found(started):
    return ask()


def test_the_record_has_every_case(found):
    assert set(json.loads(RECORD.read_text())) == set(found) and len(CASES) > 600
    assert set(OTHERWISE) <= set(found)


def test_answers_are_nvidias(found, started):
    """A case that crashes NVIDIA's driver returns an error on the CPU device."""
    wrong = {}
    for case, there in json.loads(RECORD.read_text()).items():
        here = found[case]
        if started.on_hardware and lone(case):
            right = here != 0  # the result depends on what replaced the object in memory
        elif there == "crash":
            right = started.on_hardware or (isinstance(here, int) and here != 0)
        else:
            right = here == there or (case in OTHERWISE and not started.on_hardware)
        if not right:
            wrong[case] = {"NVIDIA's": there, "this one": here}
    assert wrong == {}


def test_what_is_otherwise_is_so(found, started):
    """OTHERWISE names no case whose results agree."""
    if started.on_hardware:
        pytest.skip("it is about the CPU device")
    record = json.loads(RECORD.read_text())
    assert [case for case in OTHERWISE if found[case] == record[case]] == []
