"""CUPOLA_RECORD records launches of a program with cupola; `replay --test` makes tests of them."""

import os
import subprocess
import sys

import images
import numpy as np
import pytest
from command_line import cli

from cupola.recording import read, replay

OWN = """
import sys, cupola
x = cupola.ones(64, 'float32')
scale = cupola.load(sys.argv[1])['scale']
blocks = 2 if len(sys.argv) == 2 else 1 << 20  # far beyond a GPU's pool
for _ in range(4): scale[blocks, 32](x, 2.0, blocks * 32)
"""


def own(value, *arguments, folder):
    command = [sys.executable, "-c", OWN, images.SCALE, *arguments]
    return subprocess.run(
        command, env={**os.environ, "CUPOLA_RECORD": value}, capture_output=True, text=True,
        cwd=folder,
    )  # fmt: skip


def test_the_variable(tmp_path):
    done = own("case-%p.cupola,kernel=sc*,launches=1:3,limit=1MiB", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("case-*.cupola")
    case = read(path)
    assert len(case.launches) == 2 and case.complete
    assert case.array(case.launches[0].memory[0].before.data).view(np.float32)[0] == 2
    assert [one.difference for one in replay(path)] == ["", ""]


def test_the_variable_for_faults(tmp_path):
    assert own("fault", folder=tmp_path).returncode == 0
    assert not list(tmp_path.iterdir())
    own("fault", "beyond", folder=tmp_path)
    (launch,) = read(tmp_path / "fault.cupola").launches
    assert launch.error and not launch.finished
    done = cli("replay", tmp_path / "fault.cupola")
    assert "fails as when it was recorded" in done.stdout and done.returncode == 0


@pytest.mark.parametrize("value", ["a,b=1", ",fault", "a,launches=1", "a,limit=x", "a,kernel="])
def test_an_invalid_variable_is_an_error(value, tmp_path):
    done = own(value, folder=tmp_path)
    assert done.returncode == 1 and "CUPOLA_RECORD is" in done.stderr


def written(case, folder, *options):
    """Write a test, and run it: what pytest prints."""
    done = cli("replay", case, "--test", folder, *options)
    assert done.returncode == 0, done.stderr
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "."]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True
    ).stdout


def test_a_written_test_passes(tmp_path):
    own("case.cupola,launches=0:2", folder=tmp_path)
    path, folder = tmp_path / "case.cupola", tmp_path / "made"
    assert "2 passed" in written(path, folder)
    assert sorted(one.name for one in folder.glob("[!.]*")) == ["case.cupola", "test_case.py"]
    path.unlink()
    again = cli("replay", folder / "case.cupola", "--test", folder)
    assert again.returncode == 1 and "exists: choose another folder" in again.stderr


def test_a_written_test_of_other_kernels(tmp_path):
    own("case.cupola,launches=0:1", folder=tmp_path)
    path, image = tmp_path / "case.cupola", tmp_path / "kernels/scale.ptx"
    refused = cli("replay", path, "--test", tmp_path / "none", "--image", image)
    assert refused.returncode == 1 and "no such file for the test to load" in refused.stderr
    assert not (tmp_path / "none").exists()
    image.parent.mkdir()
    image.write_text(images.SCALE.read_text())
    folder = tmp_path / "a/made"
    assert "1 passed" in written(path, folder, "--image", image)
    image.write_text(images.SCALE.read_text().replace("mul.rn.f32", "add.rn.f32"))
    assert "1 failed" in written(path, tmp_path / "other", "--image", image)
    assert 'FOLDER / "../../kernels/scale.ptx"' in (folder / "test_case.py").read_text()


def test_a_written_test_of_a_launch_that_failed(tmp_path):
    own("fault", "beyond", folder=tmp_path)
    path = tmp_path / "fault.cupola"
    refused = cli("replay", path, "--test", tmp_path / "none")
    assert refused.returncode == 1 and "name the repaired one with --image" in refused.stderr
    image = tmp_path / "scale.ptx"
    image.write_text(images.SCALE.read_text())
    assert "1 failed" in written(path, tmp_path / "before", "--image", image)
    image.write_text(
        images.SCALE.read_text().replace("setp.ge.u32 %p, %r4, %r0", "setp.ge.u32 %p, %r4, 64")
    )
    assert "1 passed" in written(path, tmp_path / "after", "--image", image)
