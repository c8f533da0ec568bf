# tools/toolkits.py - builds a package with several CUDA toolkits, and asks an older ptxas.
"""``toolkits.py [RELEASE...]``: tests of builds with nvcc of these releases (13.0 and 13.5).

The toolkits are NVIDIA's wheels, below build/toolkits. Wheels of nvcc exist since 13.0; those of
12.4 and 12.8 have ptxas alone. It must take the PTX that a newer nvcc wrote for compute_75.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "toolkits"
COMPILERS = {
    release: (f"nvidia-cuda-nvcc=={release}.*", f"nvidia-cuda-runtime=={release}.*",
              "nvidia-cuda-cccl", f"nvidia-nvtx=={release}.*")
    for release in ("13.0", "13.5")
}  # fmt: skip
ASSEMBLERS = ("12.4", "12.8")
TESTS = ("tests/build/test_targets.py", "tests/build/test_manifest.py")
SOURCE = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n'


def install(name: str, *wheels: str) -> Path:
    """The folder into which pip has installed the wheels."""
    folder = FOLDER / name
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
        subprocess.run([*pip, *wheels], check=True)
        (folder / "complete").touch()
    return folder


def program(folder: Path, name: str) -> Path:
    """The program of a toolkit in the folder of its wheels."""
    return next(path for path in sorted(folder.rglob(name)) if path.parent.name == "bin")


def check_assemblers(nvcc: Path) -> None:
    """Raise unless older assemblers take the PTX of an nvcc in its lowest version."""
    from cupola.image import ptx_version

    source, text = FOLDER / "twice.cu", FOLDER / "twice.ptx"
    source.write_text(SOURCE)
    subprocess.run([nvcc, "-ptx", "-arch=compute_75", "-o", text, source], check=True)
    lower, [(_, found)] = ptx_version.lowered(text.read_bytes())
    text.write_bytes(lower)
    for release in ASSEMBLERS:
        ptxas = program(install(f"ptxas-{release}", f"nvidia-cuda-nvcc-cu12=={release}.*"), "ptxas")
        output = FOLDER / "twice.cubin"
        subprocess.run([ptxas, "-arch=sm_75", "-o", output, text], check=True)
        print(f"ptxas {release} takes PTX {found.needed / 10} of {nvcc}", flush=True)


def main(releases: list[str]) -> int:
    """Test each toolkit; returns the exit status."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed = 0
    for release in releases or COMPILERS:
        nvcc = program(install(release, *COMPILERS[release]), "nvcc")
        check_assemblers(nvcc)
        environment = {**os.environ, "CUDA_HOME": str(nvcc.parents[1])}
        command = [sys.executable, "-m", "pytest", "-q", "--driver=cpu", *TESTS]
        failed |= subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
