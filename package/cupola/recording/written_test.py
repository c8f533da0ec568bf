# cupola/recording/written_test.py - the pytest file that `replay --test` writes.
"""Writes a test that replays a case."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

from cupola.exceptions import ArgumentValueError
from cupola.recording.case import Case

_TEXT = '''"""Replays the launches in {data}, which were recorded on {device}."""

from pathlib import Path

import pytest

from cupola.recording import read, replay

FOLDER = Path(__file__).parent
CASE = FOLDER / "{data}"
IMAGE = {image}
# Launches that ended when they were recorded. The others failed, and have to end now.
COMPARED = {compared!r}


@pytest.fixture(scope="module")
def outcomes():
    return replay(CASE, rtol={rtol!r}, atol={atol!r}, image=IMAGE)


@pytest.mark.parametrize("index", range({count}), ids={ids!r})
def test_a_recorded_launch(outcomes, index):
    assert len(read(CASE).launches) == {count}
    assert index < len(outcomes), "an earlier launch failed"
    assert outcomes[index].error == ""
    assert outcomes[index].difference == ""
    assert outcomes[index].compared == COMPARED[index]
'''


def write(case: Case, folder: Path, rtol: float, atol: float, image: Path | None = None) -> Path:
    """Write a test and a copy of the case beside it.

    Parameters
    ----------
    case : Case
    folder : Path
        Made where it does not exist.
    rtol, atol : float
        As for `cupola.recording.replay`.
    image : Path, optional
        The file with the kernels that the test runs; the recorded ones by default. The test names
        it by its path from the folder.

    Returns
    -------
    Path
        The test's file.

    Raises
    ------
    ArgumentValueError
        A file exists already, or the test could not pass or not fail.
    """
    failed = [one for one in case.launches if not one.finished]
    if not case.launches:
        raise ArgumentValueError(f"{case.file} has no launches: a test has nothing to run")
    if failed and image is None:
        raise ArgumentValueError(
            f"launch {failed[0].index} of {case.file} did not end when it was recorded, and the "
            "recorded kernel fails in a test, too: name the repaired one with --image"
        )
    if image is not None and not image.is_file():
        raise ArgumentValueError(f"{image}: there is no such file for the test to load")
    stem = re.sub(r"\W", "_", Path(case.file).stem)
    test, data = folder / f"test_{stem}.py", folder / f"{stem}.cupola"
    for path in (test, data):
        if path.exists():
            raise ArgumentValueError(f"{path} exists: choose another folder, or remove it")
    place = None if image is None else os.path.relpath(image.resolve(), folder.resolve())
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(case.file, data)
    ids = [f"{launch.index}-{re.sub(r'[^ -~]', '?', launch.title)}" for launch in case.launches]
    device = re.sub(r'[^ -~]|["\\]', "?", case.device["name"])
    text = _TEXT.format(
        data=data.name, device=device, rtol=rtol, atol=atol, count=len(case.launches), ids=ids,
        image=None if place is None else f"FOLDER / {json.dumps(place)}",
        compared=[one.finished for one in case.launches],
    )  # fmt: skip
    test.write_text(text)
    return test
