# cupola/command/run.py - python -m cupola run PROGRAM.py ...
"""Runs a program on the driver that cupola would choose."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HELP = "run any Python program that uses CUDA; without a GPU, on the CPU device"
EPILOG = """\
With a usable GPU, the program runs unchanged. On the CPU device these variables are set for it and
for the processes that it starts:
  LD_LIBRARY_PATH   begins with the folder of the CPU device's libcuda.so.1 and, where the machine
                    has NVRTC, with a libnvrtc.so that returns PTX in place of a cubin
  CUPOLA_DRIVER     cpu
  PYTHONPATH        begins with a sitecustomize.py: cuda.pathfinder finds that libnvrtc.so and does
                    not find nvJitLink, so that programs link through the driver
  PATH              begins with an nvcc that writes PTX in place of a cubin
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --cpu and the program with its arguments."""
    parser.add_argument(
        "--cpu", action="store_true", help="use the CPU device even where there is a GPU"
    )
    parser.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="PROGRAM ...",
        help="a file, or -- and other arguments of python (-m module, -c text)",
    )


def run(options: argparse.Namespace) -> int:
    """The program's exit status."""
    if options.program[:1] == ["--"]:
        del options.program[0]
    if not options.program:
        raise OSError("no program to run: python -m cupola run PROGRAM.py ...")
    if not (options.cpu or _on_cpu()):
        return _call(options.program, dict(os.environ))
    with tempfile.TemporaryDirectory(prefix="cupola-run-") as folder:
        return _call(options.program, environment(Path(folder)))


def environment(folder: Path) -> dict[str, str]:
    """This process's environment for programs on the CPU device; files for it go into `folder`."""
    from cupola import paths

    values = {**os.environ, "CUPOLA_DRIVER": "cpu"}
    here = Path(__file__).parent
    site = folder / "site"
    site.mkdir()
    shutil.copy(here / "run_site.py", site / "sitecustomize.py")
    libraries = str(Path(paths.cpu_driver()).parent)
    if found := _nvrtc():
        place_nvrtc(found, folder / "lib")
        libraries = f"{folder / 'lib'}{os.pathsep}{libraries}"
        values["CUPOLA_RUN_NVRTC"] = found
    first = {"LD_LIBRARY_PATH": libraries, "PYTHONPATH": site}
    compiler = shutil.which("nvcc")
    if compiler:
        front = folder / "bin" / "nvcc"
        front.parent.mkdir()
        front.write_text(f"#!{sys.executable}\n" + (here / "run_nvcc.py").read_text())
        front.chmod(0o755)
        values["CUPOLA_RUN_NVCC"] = compiler
        first["PATH"] = front.parent
    for name, path in first.items():
        rest = values.get(name)
        values[name] = f"{path}{os.pathsep}{rest}" if rest else str(path)
    return values


def place_nvrtc(found: str, folder: Path) -> None:
    """Put cupola's NVRTC into `folder`, under the names that a program loads it by."""
    from cupola import library

    name = _soname(found)
    made = Path(library.FOLDER, "run", name)
    folder.mkdir()
    if not made.exists():
        known = ", ".join(sorted(path.name for path in made.parent.iterdir()))
        print(
            f"cupola run: {found} is {name}, but cupola replaces only {known}. A program that "
            "asks NVRTC for a cubin gets machine code, which the CPU device refuses.",
            file=sys.stderr,
        )
        return
    (folder / name).symlink_to(made)
    (folder / "libnvrtc.so").symlink_to(name)


def _nvrtc() -> str | None:
    """NVIDIA's library, found as programs find it; another `cupola run` may have done so."""
    from cupola import toolkit
    from cupola.exceptions import MissingFileError

    if known := os.environ.get("CUPOLA_RUN_NVRTC"):
        return known
    try:
        return toolkit.load("nvrtc").path
    except MissingFileError:
        return None


def _soname(path: str) -> str:
    """libnvrtc.so.13 for libnvrtc.so.13.0.88, of which programs have only the first."""
    return ".".join(os.path.basename(os.path.realpath(path)).split(".")[:3])


def _on_cpu() -> bool:
    import cupola

    return cupola.driver.info().kind == "cpu"


def _call(program: list[str], values: dict[str, str]) -> int:
    status = subprocess.call([sys.executable, *program], env=values)
    return status if status >= 0 else 128 - status  # as a shell tells a signal
