"""The programs of the folder cuda, compiled by nvcc, on cupola's runtime and the CPU device."""

import os
import subprocess
from pathlib import Path

import images
import pytest

import cupola.paths

from .places import PACKAGED, RUNTIME

FOLDER = Path(__file__).parent / "cuda"

pytestmark = pytest.mark.cpu_only(reason="contract.py compares the runtime on a GPU")


@pytest.mark.parametrize("stream", ["legacy", "per-thread"])
@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.cu")))
def test_program(tmp_path, name, stream):
    toolkit, program = images.nvcc(), tmp_path / name
    options = ["-std=c++17", f"--default-stream={stream}", "-o", program]
    options += ["-gencode=arch=compute_75,code=compute_75"]
    options += [f"-I{folder}" for folder in toolkit.include]
    # The toolkit's own libraries are not needed, which NVIDIA's wheels lack.
    options += ["-cudart=none", "-cudadevrt=none"]
    options += ["-Xlinker", PACKAGED / f"libcudart.so.{toolkit.version[0]}"]
    command = [toolkit.nvcc, *options, FOLDER / f"{name}.cu"]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    folders = [RUNTIME, Path(cupola.paths.cpu_driver()).parent]
    done = subprocess.run(
        [program],
        env={**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(map(os.fspath, folders))},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stdout + done.stderr
