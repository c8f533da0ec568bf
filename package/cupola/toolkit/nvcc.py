# cupola/toolkit/nvcc.py - compiles a source with nvcc to a device image, without its host code.
"""NVIDIA's compiler of files with host code, for sources that NVRTC can't compile.

`cupola.build` chooses its nvcc by other rules: what it makes is shipped to other drivers.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cupola.declare.compiler_remedies import with_remedies
from cupola.exceptions import ArgumentValueError, CompileError
from cupola.toolkit.libraries import VARIABLES, Library
from cupola.toolkit.program import Compiled, Program, line_directive

REMEDY = (
    "install a CUDA toolkit of the driver's version and set CUDA_HOME to its folder, or its "
    "wheels (pip install 'cuda-toolkit[nvcc,cudart,cccl]==13.0.*'), and a host compiler (g++)"
)
_FIRST_ERROR = re.compile(
    r"^.+(?:\(\d+\)|:\d+(?::\d+)?): (?:catastrophic |fatal )?error.*$|^nvcc (?:fatal|error).*$",
    re.MULTILINE,
)
_NAME = "cupola_name_"
# nvcc writes the mangled name of what the pointer points to.
_POINTER = re.compile(
    rf"^(?:\.visible )?\.global \.align 8 \.u64 {_NAME}(\d+) = (?:generic\()?([\w$]+)\)?;\n",
    re.MULTILINE,
)


_LINK_TIME = ("-dlto", "--dlink-time-opt")
DEBUG = ("-G", "--device-debug")
_ARCHITECTURE = re.compile(r"^--gpu-architecture=(?:sm|compute)_")


def without_pointers(ptx: bytes) -> bytes:
    """Linked PTX without the pointers that made nvcc compile name expressions."""
    text = ptx.decode(errors="surrogateescape")
    return _POINTER.sub("", text).encode(errors="surrogateescape")


@dataclass(frozen=True)
class Nvcc:
    """The compiler's program."""

    path: str

    def __str__(self) -> str:
        return f"nvcc ({self.path})"

    @property
    def identity(self) -> str:
        """A text for cache keys, which differs for every compiler and host compiler."""
        programs = [self.path, os.environ.get("NVCC_CCBIN") or "gcc"]
        found = [os.path.realpath(path) for path in map(shutil.which, programs) if path]
        marks = [(path, os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in found]
        settings = [os.environ.get(f"NVCC_{when}_FLAGS") for when in ("PREPEND", "APPEND")]
        return f"nvcc {marks} {settings}"

    def compile(self, program: Program) -> Compiled:
        """Compile one program to PTX, and to LTO-IR where an option asks for it, else to a cubin
        where the architecture is one of a GPU; see `cupola.toolkit.program.Compiler`.
        """
        title, expressions = program.title, program.expressions
        options = [word for word in program.options if word not in _LINK_TIME]
        targets = [one if one.startswith("&") else f"&{one}" for one in expressions]
        pointers = "".join(
            f"__device__ void* {_NAME}{place} = (void*)({target});\n"
            for place, target in enumerate(targets)
        )
        line = line_directive(title)
        text = program.text if program.text.startswith(line) else line + program.text
        last = text.count("\n")  # the number of the source's last line
        text += f'\n#line 1 "name_expressions"\n{pointers}' if pointers else "\n"
        # nvcc runs in another folder, so a file of the current folder needs its whole path.
        file = os.path.isfile(program.name)
        beside = os.path.dirname(os.path.abspath(program.name) if file else program.name)
        with tempfile.TemporaryDirectory(prefix="cupola-nvcc-") as folder:
            inside = Path(folder)
            given = inside / "headers"
            given.mkdir()
            for header, content in program.headers.items():
                _write_header(given, header, content)
            (inside / "source.cu").write_text(text, encoding="utf-8")
            ptx, cubin = inside / "source.ptx", inside / "source.cubin"
            searched = [f"-I{beside}"] if os.path.isdir(beside) else []
            words = ["--expt-relaxed-constexpr", f"-I{given}", *searched, *options]
            log = self._run(
                [*words, "-ptx", "-o", str(ptx), str(inside / "source.cu")], folder, title, last
            )
            made = ptx.read_text(encoding="utf-8", errors="surrogateescape")
            names = {expressions[int(place)]: target for place, target in _POINTER.findall(made)}
            made = _POINTER.sub("", made)
            ptx.write_text(made, encoding="utf-8", errors="surrogateescape")
            code = lto = b""
            machine_code = any(word.startswith("--gpu-architecture=sm_") for word in options)
            link_time = len(options) < len(program.options)
            if link_time and any(word in DEBUG for word in options):
                if not machine_code:
                    raise CompileError(
                        f"{title}: options: -G: nvcc makes no LTO-IR with -G, and PTX of several "
                        "sources is linked from LTO-IR: use -lineinfo, write a .cubin, or load the "
                        "sources themselves by cupola.load"
                    )
                link_time = False
            if link_time:  # the pointers stay in it
                out = inside / "source.ltoir"
                words = [_ARCHITECTURE.sub("--gpu-architecture=lto_", word) for word in words]
                self._run(
                    [*words, "-dlto", "-ltoir", "-o", str(out), str(inside / "source.cu")],
                    folder, title, last,
                )  # fmt: skip
                lto = out.read_bytes()
            elif machine_code:
                self._run([*words, "-cubin", "-o", str(cubin), str(ptx)], folder, title, last)
                code = cubin.read_bytes()
        return Compiled(made.encode(errors="surrogateescape"), code, lto, names, log)

    def _run(self, words: Sequence[str], folder: str, title: str, last: int) -> str:
        try:
            done = subprocess.run(
                [self.path, *words], capture_output=True, text=True, errors="replace", check=False
            )
        except OSError as error:
            raise CompileError(f"{title}: {self} can't be run: {error.strerror}") from error
        log = (done.stderr + done.stdout).replace(f"{folder}/source.cu", title).strip()
        log = log.replace("At end of source:", f"{title}({last}):")
        if done.returncode:
            first = _FIRST_ERROR.search(log)
            head = first.group() if first else f"{title}: exit status {done.returncode} of {self}"
            if shutil.which(os.environ.get("NVCC_CCBIN") or "g++") is None:
                head += "\n  nvcc needs a host compiler: install g++, or name one in NVCC_CCBIN"
            raise CompileError(f"{head}\n\n{with_remedies(log)}\n\ncompiled by {self}", log)
        return log


def _write_header(folder: Path, name: str, text: str) -> None:
    path = folder / name
    if os.path.isabs(name) or ".." in Path(name).parts:
        raise ArgumentValueError(f"headers: expected a name without '..', got {name!r}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def find(beside: Library) -> tuple[Nvcc | None, list[str]]:
    """nvcc, or None if it was not found; and a text about each searched place.

    Parameters
    ----------
    beside : Library
        NVRTC: its toolkit is searched after the variables, because the versions agree.
    """
    tried = []
    for place, path in _places(beside):
        if path and os.access(path, os.X_OK) and os.path.isfile(path):
            return Nvcc(path), tried
        tried.append(f"{place}: {f'there is no {path}' if path else 'none'}")
    return None, tried


def _places(beside: Library) -> Iterator[tuple[str, str]]:
    for variable in VARIABLES:
        folder = os.environ.get(variable)
        yield variable, os.path.join(folder, "bin", "nvcc") if folder else ""
    root = os.path.dirname(os.path.dirname(os.path.realpath(beside.path)))
    if os.path.basename(os.path.dirname(root)) == "targets":  # targets/x86_64-linux/lib
        root = os.path.dirname(os.path.dirname(root))
    yield "beside NVRTC", os.path.join(root, "bin", "nvcc")
    yield "PATH", shutil.which("nvcc") or ""
    from cuda import pathfinder

    yield "wheels", pathfinder.find_nvidia_binary_utility("nvcc") or ""
