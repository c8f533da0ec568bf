# cupola/recording/written_test.py - the pytest file that `replay --test` writes.
"""Writes a test that replays a case."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from cupola.exceptions import ArgumentValueError
from cupola.recording.case import Case

_TEXT = '''"""Replays the launches in {data}, which were recorded on {device}."""

from pathlib import Path

import pytest

from cupola.recording import read, replay

CASE = Path(__file__).with_name("{data}")


@pytest.fixture(scope="module")
def outcomes():
    return replay(CASE, rtol={rtol!r}, atol={atol!r})


@pytest.mark.parametrize("index", range({count}), ids={ids!r})
def test_launch_gives_the_recorded_bytes(outcomes, index):
    assert len(read(CASE).launches) == {count}
    assert outcomes[index].compared
    assert outcomes[index].difference == ""
'''


def write(case: Case, folder: Path, rtol: float, atol: float) -> Path:
    """Write a test and a copy of the case beside it.

    Parameters
    ----------
    case : Case
    folder : Path
        Made where it does not exist.
    rtol, atol : float
        As for `cupola.recording.replay`.

    Returns
    -------
    Path
        The test's file.

    Raises
    ------
    ArgumentValueError
        A file exists already, or the case has nothing to compare.
    """
    if not case.launches or not all(launch.finished for launch in case.launches):
        raise ArgumentValueError(
            f"{case.file} has a launch without the contents after it, so a test has nothing to "
            "compare; record launches that end"
        )
    stem = re.sub(r"\W", "_", Path(case.file).stem)
    test, data = folder / f"test_{stem}.py", folder / f"{stem}.cupola"
    for path in (test, data):
        if path.exists():
            raise ArgumentValueError(f"{path} exists: choose another folder, or remove it")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(case.file, data)
    ids = [f"{launch.index}-{re.sub(r'[^ -~]', '?', launch.title)}" for launch in case.launches]
    device = re.sub(r'[^ -~]|["\\]', "?", case.device["name"])
    test.write_text(
        _TEXT.format(
            data=data.name, device=device, rtol=rtol, atol=atol, count=len(case.launches), ids=ids
        )
    )
    return test
