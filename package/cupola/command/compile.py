# cupola/command/compile.py - python -m cupola compile FILE.cu -o FILE.
"""Compiles CUDA C++ to an image: PTX and cubins with NVRTC, fatbins with nvcc."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

from cupola.exceptions import ArgumentValueError, MissingFileError

HELP = "compile CUDA C++ to PTX, a cubin or a fatbin"
EPILOG = """\
The output's suffix chooses the format:
  .ptx     PTX, by NVRTC; by default for the oldest architecture that NVRTC supports
  .cubin   machine code, by NVRTC; by default for the GPU of this machine
  .fatbin  PTX for compute_75 and machine code for each --arch, by nvcc; a manifest (.json) with
           the names and types of the kernels' parameters is written beside it

  cupola compile saxpy.cu -o saxpy.ptx
  cupola compile saxpy.cu -o saxpy.cubin --arch sm_90 --option=--fmad=false
  cupola compile saxpy.cu -o saxpy.fatbin --arch sm_80,sm_90"""

SUFFIXES = (".ptx", ".cubin", ".fatbin")
ARCHITECTURE = re.compile(r"(sm|compute)_(\d{2,3}[af]?)")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the compiler's options."""
    add = parser.add_argument
    add("source", type=Path, metavar="FILE.cu", help="the CUDA C++ source")
    add("-o", "--output", type=Path, required=True, metavar="FILE",
        help="the image to write: FILE.ptx, FILE.cubin or FILE.fatbin")  # fmt: skip
    add("--arch", metavar="ARCH",
        help="compute_75 for PTX, sm_90 for a cubin, sm_80,sm_90 for a fatbin")  # fmt: skip
    add("-I", "--include", action="append", default=[], metavar="FOLDER",
        help="a folder of headers; may be repeated")  # fmt: skip
    add("--option", action="append", default=[], metavar="OPTION",
        help="a compiler option, as in --option=--fmad=false; may be repeated")  # fmt: skip
    add("--name", action="append", default=[], metavar="EXPRESSION",
        help="a template instance to compile, as in 'axpy<float>'; may be repeated (for a fatbin, "
        "instantiate it in the source instead)")  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Write the image, and say what it is."""
    suffix = options.output.suffix
    if suffix not in SUFFIXES:
        raise ArgumentValueError(
            f"--output {options.output}: expected a file name that ends in {', '.join(SUFFIXES)}"
        )
    if not options.source.is_file():
        raise MissingFileError(f"no such file: {options.source} (in {Path.cwd()})")
    architectures = named(options.arch)
    make = fatbin if suffix == ".fatbin" else by_nvrtc
    log = make(options, architectures)
    if log:
        print(log, file=sys.stderr)
    from cupola.image.contents import read

    found = read(options.output)
    code = ", ".join(f"{part.what} for {part.architecture}" for part in found.parts)
    kernels = ", ".join(kernel.title for kernel in found.kernels) or "no kernel"
    print(f"{options.output}: {code}; {options.output.stat().st_size:,} bytes; {kernels}")


def named(text: str | None) -> list[tuple[str, str]]:
    """("sm", "90") of each architecture."""
    found = []
    for word in text.split(",") if text else ():
        read = ARCHITECTURE.fullmatch(word.strip())
        if read is None:
            raise ArgumentValueError(
                f"--arch {text}: expected sm_90 (machine code) or compute_90 (PTX), for example"
            )
        found.append((read[1], read[2]))
    return found


def by_nvrtc(options: argparse.Namespace, architectures: list[tuple[str, str]]) -> str:
    """A cubin or PTX; what the compiler warned of."""
    from cupola.compiler import build
    from cupola.compiler.front_end import FrontEnd
    from cupola.compiler.request import Request, Source, Target
    from cupola.toolkit.nvrtc import nvrtc

    nvrtc_ = FrontEnd(nvrtc())
    wanted = "sm" if options.output.suffix == ".cubin" else "compute"
    if len(architectures) > 1 or any(kind != wanted for kind, _ in architectures):
        raise ArgumentValueError(
            f"{options.output} holds {'machine code' if wanted == 'sm' else 'PTX'} of one "
            f"architecture, as in --arch {wanted}_90, got {options.arch}; a .fatbin holds several"
        )
    if architectures:
        number = architectures[0][1]
    elif wanted == "compute":
        number = str(nvrtc_.architectures[0])
    else:
        number = str(present())
    path = str(options.source)
    try:
        text = options.source.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ArgumentValueError(f"{path} is not UTF-8: {error}") from None
    request = Request(
        (Source(path, text, path),),
        Target(f"{wanted}_{number}", wanted == "sm"),
        tuple(options.option),
        nvrtc_.folders(options.include),
        tuple(options.name),
        {},
    )
    built = build(request, nvrtc_, cache=True)
    options.output.write_bytes(built.image)
    return built.log


def present() -> int:
    """The newest of this machine's devices, 90 for 9.0."""
    from cupola.build.architectures import present_devices

    found = present_devices()
    if not found:
        raise ArgumentValueError(
            "machine code needs an architecture, and this machine has no NVIDIA GPU to take it "
            "from; pass it, as in --arch sm_90"
        )
    return found[-1]


def fatbin(options: argparse.Namespace, architectures: list[tuple[str, str]]) -> str:
    """A fatbin and its manifest, as a package's build makes them."""
    from cupola.build import executor, image, toolkit
    from cupola.build.architectures import Architectures, present_devices

    if any(kind != "sm" or not number.isdigit() for kind, number in architectures):
        raise ArgumentValueError(
            f"--arch {options.arch}: for a fatbin, expected architectures of machine code, as in "
            "sm_80,sm_90; PTX for compute_75 is always included"
        )
    if options.name:
        raise ArgumentValueError(
            "--name does not work for a .fatbin; instantiate the template in the source"
        )
    numbers = {int(number) for _, number in architectures} or set(present_devices())
    code = Architectures(tuple(sorted(numbers)))
    words = [*options.option, *(f"-I{folder}" for folder in options.include)]
    with tempfile.TemporaryDirectory(prefix="cupola-compile-") as folder:
        made = Path(folder) / options.output.name
        manifest = made.with_suffix(".json")
        steps = image.steps(
            toolkit.find(), code, [options.source], made, manifest, Path.cwd(), options=words,
            package=f"cupola compile {options.source.name}",
        )  # fmt: skip
        executor.run(steps, Path.cwd())
        options.output.write_bytes(made.read_bytes())
        options.output.with_suffix(".json").write_bytes(manifest.read_bytes())
    return ""
