"""The programs of the folder cuda, compiled by nvcc, on cupola's runtime and the CPU device."""

import os
import shlex
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
    source = FOLDER / f"{name}.cu"
    relocatable = "-rdc=true" in source.read_text().partition("\n")[0]
    done = run(f"{name}-{stream}", source, f"--default-stream={stream}", relocatable=relocatable)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stdout + done.stderr


def test_a_function_that_no_source_defines_is_named(tmp_path):
    source = tmp_path / "alone.cu"
    source.write_text(
        "__device__ int other(int x);\n"
        "__global__ void f(int* x) { *x = other(1); }\n"
        "int main() { f<<<1, 1>>>(nullptr); return cudaGetLastError() != cudaErrorInvalidPtx; }\n"
    )
    done = run("alone", source, relocatable=True)
    assert done.returncode == 0, done.stderr
    for words in ("refused the device code", "nvcc -rdc=true", "'_Z5otheri' is not defined"):
        assert words in done.stderr


def run(name, source, *options, relocatable):
    """The result of a program that nvcc makes of a source."""
    toolkit = images.nvcc()
    options = [*options, "-gencode=arch=compute_75,code=compute_75"]
    # With a cross compiler, which make aarch64 has, nvcc looks for headers of another system.
    options += [f"-I{folder}{part}" for folder in toolkit.include for part in ("", "/cccl")]
    if "CXX" in os.environ:
        options += ["-ccbin", shlex.split(os.environ["CXX"])[0]]
    major = toolkit.version[0]
    # The toolkit's own libraries are not needed, which NVIDIA's wheels lack.
    options.append("-cudadevrt=none")
    if relocatable:
        options += ["-rdc=true", "-cudart=shared"]
        options += [f"-L{folder}" for folder in (PACKAGED / "link" / str(major), PACKAGED)]
    else:
        options += ["-cudart=none", "-Xlinker", PACKAGED / f"libcudart.so.{major}"]
    program = images.compiled(name, source, *options)
    folders = [RUNTIME, Path(cupola.paths.cpu_driver()).parent]
    return subprocess.run(
        [program],
        env={**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(map(os.fspath, folders))},
        capture_output=True,
        text=True,
        timeout=300,
    )
