"""The files that a package ships for its kernels, built as for a wheel, and their bytes there."""

import os
import subprocess
import tempfile
import zlib
from pathlib import Path

import records

TARGETS = (75, 80, 86, 89, 90, 100, 120)


def run_in(folder, command, **variables):
    """Runs a command, and ends with its output where it fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout[-4000:]}\nfailed: {' '.join(map(str, command))}")


def deflated(paths):
    """Bytes of files in a wheel, without its own metadata."""
    return sum(len(zlib.compress(path.read_bytes(), 6)) for path in paths)


def of_package(folder, python):
    """Bytes of what cupola.build makes of a project for TARGETS: images, manifests and modules.
    Machine code for the CPU device is left out. The interpreter `python` has the compilers.
    """
    with tempfile.TemporaryDirectory() as name:
        made = Path(name, "made")
        command = [python, "-m", "cupola", "build", folder, "--work", Path(name, "work")]
        run_in(
            folder,
            [*command, "--into", made],
            CUPOLA_ARCHITECTURES=",".join(map(str, TARGETS)),
            CUPOLA_CACHE_DIR="none",
            PYTHONPATH=str(records.ROOT / "package"),
        )
        return deflated(path for path in made.rglob("*") if path.is_file())
