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
def test_program(name, stream):
    toolkit = images.nvcc()
    options = [f"--default-stream={stream}", "-gencode=arch=compute_75,code=compute_75"]
    options += [f"-I{folder}" for folder in toolkit.include]
    source, major = FOLDER / f"{name}.cu", toolkit.version[0]
    # The toolkit's own libraries are not needed, which NVIDIA's wheels lack.
    options.append("-cudadevrt=none")
    if "-rdc=true" in source.read_text().partition("\n")[0]:
        options += ["-rdc=true", "-cudart=shared", f"-L{PACKAGED / 'link' / str(major)}"]
    else:
        options += ["-cudart=none", "-Xlinker", PACKAGED / f"libcudart.so.{major}"]
    program = images.compiled(f"{name}-{stream}", source, *options)
    folders = [RUNTIME, Path(cupola.paths.cpu_driver()).parent]
    done = subprocess.run(
        [program],
        env={**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(map(os.fspath, folders))},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stdout + done.stderr
