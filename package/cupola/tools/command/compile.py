# cupola/tools/command/compile.py - python -m cupola compile FILE.cu -o FILE.
"""Compiles CUDA C++ to an image: PTX and cubins as `cupola.compile`, fatbins with nvcc."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

from cupola.exceptions import ArgumentValueError, MissingFileError
from cupola.tools.command.values import word

HELP = "compile CUDA C++ to PTX, a cubin or a fatbin"
EPILOG = """\
The output's suffix chooses the format:
  .ptx     PTX, by NVRTC; by default for the oldest architecture that NVRTC supports
  .cubin   machine code, by NVRTC; by default for the GPU of this machine
  .fatbin  PTX and machine code for each --arch, by nvcc; a manifest (.json) with
           the names and types of the kernels' parameters is written beside it
Sources with host code or host headers are compiled by nvcc for each format. Several sources are
compiled separately and linked; PTX and cubins are linked by nvJitLink.

  cupola compile saxpy.cu -o saxpy.ptx
  cupola compile saxpy.cu -o saxpy.cubin --arch sm_90 --option=--fmad=false
  cupola compile caller.cu called.cu -o both.ptx -DN=4
  cupola compile saxpy.cu -o saxpy.fatbin --arch sm_80,sm_90"""

SUFFIXES = (".ptx", ".cubin", ".fatbin")
_MACRO = re.compile(r"[A-Za-z_]\w*(?:\(.*?\))?(?:=.*)?", re.ASCII | re.DOTALL)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the compiler's options."""
    add = parser.add_argument
    add("sources", type=Path, nargs="+", metavar="FILE.cu", help="the CUDA C++ sources")
    add("-o", "--output", type=Path, required=True, metavar="FILE",
        help="the image to write: FILE.ptx, FILE.cubin or FILE.fatbin")  # fmt: skip
    add("--arch", "-arch", type=word, metavar="ARCH",
        help="compute_75 for PTX, sm_90 for a cubin, sm_80,sm_90 for a fatbin")  # fmt: skip
    add("-I", "--include", action="append", default=[], metavar="FOLDER",
        help="a folder of headers; may be repeated")  # fmt: skip
    add("-D", dest="macros", type=macro, action="append", default=[], metavar="NAME[=VALUE]",
        help="a macro; may be repeated")  # fmt: skip
    add("--option", type=word, action="append", default=[], metavar="OPTION",
        help="a compiler option, as in --option=--fmad=false; may be repeated")  # fmt: skip
    add("--name", type=word, action="append", default=[], metavar="EXPRESSION",
        help="a template instance to compile, as in 'axpy<float>'; may be repeated (for a fatbin, "
        "instantiate it in the source instead)")  # fmt: skip
    add("--link", type=Path, action="append", default=[], metavar="FILE",
        help="an object, archive, cubin or LTO-IR to link; not for a fatbin, and for PTX only "
        "LTO-IR; may be repeated")  # fmt: skip
    add("--no-cache", action="store_true", help="do not use the cache of compilations")


def run(options: argparse.Namespace) -> None:
    """Write the image, and say what it is."""
    suffix = options.output.suffix
    from cupola.compiler.arguments import (
        asked_architecture,
        folders_of,
        options_of,
        require_folders,
    )
    from cupola.compiler.request import include_folders

    if suffix not in SUFFIXES:
        raise ArgumentValueError(
            f"--output {options.output}: expected a file name that ends in {', '.join(SUFFIXES)}"
        )
    for source in options.sources:
        if not source.is_file():
            raise MissingFileError(f"no such file: {source} (in {Path.cwd()})")
    folders_of(options.include, "--include")
    require_folders("--option", include_folders(options.option))
    words = [*options.option, *(f"-D{macro}" for macro in options.macros)]
    arch, given = asked_architecture(options.arch, options_of(words))
    architectures = named(arch, suffix)
    make = fatbin if suffix == ".fatbin" else one_image
    log = make(options, architectures, given)
    if log:
        print(log, file=sys.stderr)
    from cupola.image.contents import read

    found = read(options.output)
    code = ", ".join(f"{part.what} for {part.architecture}" for part in found.parts)
    kernels = ", ".join(kernel.title for kernel in found.kernels) or "no kernel"
    print(f"{options.output}: {code}; {options.output.stat().st_size:,} bytes; {kernels}")


def macro(text: str) -> str:
    """A macro's definition, for argparse."""
    if not _MACRO.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected NAME or NAME=VALUE; a name has letters, digits and _, and begins "
            "with no digit"
        )
    return text


# What --arch takes, by the suffix of the output.
_TARGETS = {
    ".fatbin": "for a fatbin, expected architectures of machine code, as in --arch sm_80,sm_90; "
    "PTX for compute_75 is always included",
    ".cubin": "for a cubin, expected one architecture of machine code, as in --arch sm_90",
    ".ptx": "for PTX, expected one target, as in --arch compute_90",
}


def named(text: str | None, suffix: str) -> list[tuple[str, str]]:
    """("sm", "90") of each architecture, for an output with the suffix."""
    from cupola.compiler.request import ARCHITECTURE

    found = []
    for one in text.split(",") if text else ():
        read = ARCHITECTURE.fullmatch(one.strip())
        if read is None:
            raise ArgumentValueError(f"--arch {text}: {_TARGETS[suffix]}")
        found.append((read[1], read[2] + read[3]))
    return found


def one_image(
    options: argparse.Namespace, architectures: list[tuple[str, str]], words: tuple[str, ...]
) -> str:
    """A cubin or PTX; returns the compiler's warnings."""
    from cupola.compiler import build
    from cupola.compiler.arguments import request_of, target_of
    from cupola.compiler.front_end import FrontEnd
    from cupola.compiler.lines import with_lines
    from cupola.compiler.link import LTO_IR
    from cupola.toolkit.nvrtc import nvrtc

    compiler = FrontEnd(nvrtc())
    machine_code = options.output.suffix == ".cubin"
    wanted = "sm" if machine_code else "compute"
    if len(architectures) > 1 or (machine_code and any(kind != "sm" for kind, _ in architectures)):
        raise ArgumentValueError(
            f"{options.output} holds {'machine code' if machine_code else 'PTX'} of one "
            f"architecture, as in --arch {wanted}_90, got {options.arch}; a .fatbin holds several"
        )
    if architectures:
        number = architectures[0][1]  # sm_90 gives PTX for compute_90, as with nvcc
    else:
        number = str(present() if machine_code else compiler.architectures[0])
    request = request_of(
        options.sources,
        target_of(f"{wanted}_{number}", compiler, "--arch"),
        compiler,
        options=words if machine_code else with_lines(words),
        include=options.include,
        name_expressions=options.name,
        link=options.link,
    )
    if not machine_code:
        for path, content in request.objects:
            if not content.startswith(LTO_IR):
                raise ArgumentValueError(
                    f"--link {path}: PTX is linked from sources and LTO-IR alone, and this is "
                    "another format: write a .cubin"
                )
    built = build(request, compiler, cache=not options.no_cache)
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


def fatbin(
    options: argparse.Namespace, architectures: list[tuple[str, str]], words: tuple[str, ...]
) -> str:
    """A fatbin and its manifest, as a package's build makes them."""
    from cupola.build import executor, image, toolkit
    from cupola.build.architectures import choose
    from cupola.compiler.options import for_nvcc

    if any(kind != "sm" for kind, _ in architectures):
        raise ArgumentValueError(f"--arch {options.arch}: {_TARGETS['.fatbin']}")
    if options.name:
        raise ArgumentValueError(
            "--name does not work for a .fatbin; instantiate the template in the source"
        )
    if options.link:
        raise ArgumentValueError(
            "--link does not work for a .fatbin; give the sources, which are linked, or write a "
            ".cubin"
        )
    compiler = toolkit.find()
    listed = ",".join(number for _, number in architectures)
    code = choose(compiler.architectures(), {}, otherwise=listed or "native")
    given = [*for_nvcc(words), *(f"-I{folder}" for folder in options.include)]
    with tempfile.TemporaryDirectory(prefix="cupola-compile-") as folder:
        made = Path(folder) / options.output.name
        manifest = made.with_suffix(".json")
        steps = image.steps(
            compiler, code, options.sources, made, manifest, Path.cwd(), options=given,
            package=f"cupola compile {' '.join(one.name for one in options.sources)}",
            relocatable=len(options.sources) > 1,
        )  # fmt: skip
        executor.run(steps, Path.cwd())
        options.output.write_bytes(made.read_bytes())
        options.output.with_suffix(".json").write_bytes(manifest.read_bytes())
    return ""
