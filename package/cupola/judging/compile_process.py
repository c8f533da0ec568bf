# cupola/judging/compile_process.py - the process that compiles a candidate, to PTX alone.
"""Compiles a source with nvcc, or NVRTC where no nvcc is; no host code of the source is built."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cupola.exceptions import CompileError, Error
from cupola.judging.advice import PROCESSORS
from cupola.judging.process import serve
from cupola.toolkit import nvcc
from cupola.toolkit.nvrtc import nvrtc
from cupola.toolkit.program import Compiled, Program
from cupola.toolkit.ptxas import parse_report

_MARKER = re.compile(r'^# \d+ "((?:[^"\\]|\\.)*)"(?: \d)*$', re.MULTILINE)
# Folders of the system's headers.
_SYSTEM = ("/usr/include", "/usr/local/include", "/usr/lib/gcc", "/usr/lib/llvm", "/usr/lib/clang")
_DIRECTIVE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)\s*(?:include\w*|import)\b(.*)$", re.MULTILINE)
_PLAIN = re.compile(r'\s*(?:<([^<>]+)>|"([^"]+)")\s*(?://.*|/\*.*)?$')


class RefusedInclude(Exception):
    """A source includes a file that is no header of the toolkit or of the given folders."""


@dataclass(frozen=True)
class _WatchedNvcc(nvcc.Nvcc):
    """nvcc, whose preprocessed source shows each file that was read."""

    folders: tuple[str, ...] = ()

    def _run(self, words: Sequence[str], folder: str, title: str, last: int) -> str:
        try:
            return super()._run([*words, "--keep", "--keep-dir", folder], folder, title, last)
        finally:
            allowed = (*self.folders, folder, *_SYSTEM, os.path.realpath(folder))
            for path in Path(folder).glob("*.ii"):
                for name in set(_MARKER.findall(path.read_text(errors="replace"))):
                    _require_allowed(name, title, allowed)


def _require_allowed(name: str, title: str, allowed: Sequence[str]) -> None:
    if name == title or name.startswith("<") or not name or name == "name_expressions":
        return
    real = os.path.realpath(name)
    if not any(real.startswith(os.path.realpath(one) + os.sep) for one in allowed):
        raise RefusedInclude(name)


def _require_plain(text: str) -> None:
    """Refuse an include whose file only a preprocessor could tell, or that leaves the folders."""
    joined = re.sub(r"(\\|\?\?/)[ \t]*\n", "", text)
    joined = re.sub(r"/\*.*?\*/", " ", joined, flags=re.DOTALL)
    for rest in _DIRECTIVE.findall(joined):
        plain = _PLAIN.match(rest)
        name = (plain[1] or plain[2]) if plain else rest.strip()
        if not plain or name.startswith("/") or ".." in name.split("/"):
            raise RefusedInclude(name)


def build(header: dict[str, Any], pieces: list[bytearray]) -> tuple[dict[str, Any], list[bytes]]:
    """Compile the source of a request."""
    text = pieces[0].decode(errors="replace")
    options = [
        f"--gpu-architecture={header['architecture']}", "-lineinfo", *header["options"],
        *(f"-I{folder}" for folder in header["include"]),
    ]  # fmt: skip
    program = Program(
        text, header["title"], header["title"], options, expressions=header["expressions"]
    )
    try:
        made, compiler = _compile(program, tuple(header["include"]))
    except RefusedInclude as error:
        return {"refused": str(error)}, []
    except CompileError as error:
        return {"error": _own_lines(error.log or str(error), header["title"])}, []
    except Error as error:
        return {"unusable": str(error)}, []
    told = {"names": made.names, "compiler": compiler, "resources": _resources(made.ptx)}
    return told, [made.ptx]


def _resources(ptx: bytes) -> dict[str, dict[str, dict[str, int]]]:
    """The report of ptxas on each kernel, by target; empty without ptxas."""
    found, _ = nvcc.find(nvrtc().found)
    program = None if found is None else os.path.join(os.path.dirname(found.path), "ptxas")
    Path("resources.ptx").write_bytes(ptx)
    told: dict[str, dict[str, dict[str, int]]] = {}
    if program is None or not os.access(program, os.X_OK):
        return told
    for target in PROCESSORS:
        done = subprocess.run(
            [program, "-v", f"-arch={target}", "-o", os.devnull, "resources.ptx"],
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        # PTX for a newer target than this one is refused.
        for name, one in parse_report(done.stderr.splitlines(), target):
            told.setdefault(name, {})[target] = {
                "registers": one.registers, "shared": one.shared, "local": one.local,
                "spills": (one.spill_stores or 0) + (one.spill_loads or 0),
            }  # fmt: skip
    return told


def _compile(program: Program, include: tuple[str, ...]) -> tuple[Compiled, str]:
    library = nvrtc()
    found, _ = nvcc.find(library.found)
    if found is not None:
        toolkit = os.path.dirname(os.path.dirname(os.path.realpath(found.path)))
        folders = (*include, toolkit, *library.found.headers())
        return _WatchedNvcc(found.path, folders).compile(program), "nvcc"
    _require_plain(program.text)
    words = [*program.options, *(f"-I{one}" for one in library.found.headers())]
    asked = Program(program.text, program.name, program.title, words, {}, program.expressions)
    return library.compile(asked), "NVRTC"


def _own_lines(log: str, title: str) -> str:
    """The messages about the candidate's own lines: others could quote files of the machine."""
    place = re.compile(rf"{re.escape(title)}(\(|:\d)|nvcc |ptxas")
    own = [line for line in log.splitlines() if place.match(line)]
    own.sort(key=lambda line: "error" not in line)  # warnings follow
    return re.sub(r"/\S*/source\.ptx", "the PTX", "\n".join(own[:40]))


if __name__ == "__main__":
    serve(int(sys.argv[1]), {"compile": build})
