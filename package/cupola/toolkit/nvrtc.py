# cupola/toolkit/nvrtc.py - compiles programs with NVRTC, called through ctypes.
"""NVIDIA's run-time compiler.

Compilation takes milliseconds to seconds and is cached, so ctypes is fast enough; its calls release
the GIL. No library has to be linked, and libcupola.so does not depend on a compiler.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from typing import Any

from cupola.declare.compiler_remedies import with_remedies
from cupola.exceptions import CompileError, Error
from cupola.toolkit import libraries
from cupola.toolkit.program import Compiled, Program

_SIZE = [c_void_p, POINTER(c_size_t)]
_TEXT = [c_void_p, c_char_p]
_PROTOTYPES: dict[str, list[Any]] = {
    "nvrtcVersion": [POINTER(c_int), POINTER(c_int)],
    "nvrtcGetNumSupportedArchs": [POINTER(c_int)],
    "nvrtcGetSupportedArchs": [POINTER(c_int)],
    "nvrtcCreateProgram": [
        POINTER(c_void_p), c_char_p, c_char_p, c_int, POINTER(c_char_p), POINTER(c_char_p),
    ],
    "nvrtcDestroyProgram": [POINTER(c_void_p)],
    "nvrtcAddNameExpression": [c_void_p, c_char_p],
    "nvrtcGetLoweredName": [c_void_p, c_char_p, POINTER(c_char_p)],
    "nvrtcCompileProgram": [c_void_p, c_int, POINTER(c_char_p)],
    "nvrtcGetProgramLogSize": _SIZE,
    "nvrtcGetProgramLog": _TEXT,
    "nvrtcGetPTXSize": _SIZE,
    "nvrtcGetPTX": _TEXT,
    "nvrtcGetCUBINSize": _SIZE,
    "nvrtcGetCUBIN": _TEXT,
    "nvrtcGetLTOIRSize": _SIZE,
    "nvrtcGetLTOIR": _TEXT,
}  # fmt: skip
_WRONG_OPTION = re.compile(r"^nvrtc: error: (.+)$", re.MULTILINE)
_FIRST_ERROR = re.compile(r"^.+(?:\(\d+\)|\"\]): (?:catastrophic )?error.*$", re.MULTILINE)
# NVRTC puts name expressions into a file of its own, in alphabetical order.
_NAME_EXPRESSION = re.compile(
    r"^__nv_name_map\(\d+\)(: .*\n *#pragma nv_mangled_name (.*))$", re.MULTILINE
)


class Nvrtc:
    """The loaded compiler; see `nvrtc`."""

    def __init__(self, found: libraries.Library) -> None:
        self.found = found
        self._calls = found.calls(_PROTOTYPES, "NVRTC 11.4")
        self._error_text = found.library["nvrtcGetErrorString"]
        self._error_text.argtypes, self._error_text.restype = [c_int], c_char_p
        major, minor, count = c_int(), c_int(), c_int()
        self._call("nvrtcVersion", byref(major), byref(minor))
        self.version = major.value, minor.value
        self._call("nvrtcGetNumSupportedArchs", byref(count))
        listed = (c_int * count.value)()
        self._call("nvrtcGetSupportedArchs", listed)
        self.architectures = tuple(sorted(listed))  # 75 for compute_75

    def __str__(self) -> str:
        return f"NVRTC {self.version[0]}.{self.version[1]} ({self.found.path})"

    @property
    def identity(self) -> str:
        """The compiler's identity, for cache keys."""
        return f"NVRTC {self.version} {self.found.identity}"

    def _call(self, name: str, *arguments: Any) -> None:
        status = self._calls[name](*arguments)
        if status:
            text = self._error_text(status).decode(errors="replace")
            raise Error(f"{name} of {self.found.path} failed: {text} ({status})")

    def _get(self, what: str, program: c_void_p) -> bytes:
        size = c_size_t()
        self._call(f"nvrtcGet{what}Size", program, byref(size))
        content = ctypes.create_string_buffer(size.value)
        if size.value:
            self._call(f"nvrtcGet{what}", program, content)
        return content.raw

    def compile(self, program: Program) -> Compiled:
        """Compile one program; see `cupola.toolkit.program.Compiler`."""
        handle = c_void_p()
        count = len(program.headers)
        texts = (c_char_p * count)(*[text.encode() for text in program.headers.values()])
        names = (c_char_p * count)(*[one.encode() for one in program.headers])
        self._call(
            "nvrtcCreateProgram",
            byref(handle),
            program.text.encode(),
            program.name.encode(),
            count,
            texts,
            names,
        )
        try:
            spelled = [expression.encode() for expression in program.expressions]
            for expression in spelled:
                self._call("nvrtcAddNameExpression", handle, expression)
            words = [option.encode() for option in program.options]
            given = (c_char_p * len(words))(*words)
            status = self._calls["nvrtcCompileProgram"](handle, len(words), given)
            log = self._get("ProgramLog", handle).rstrip(b"\0").decode(errors="replace").strip()
            log = log.replace(program.name, program.title)
            log = _NAME_EXPRESSION.sub(r'name_expressions=["\2"]\1', log)
            if status:
                raise self._failure(status, program.title, log)
            return self._take(handle, spelled, log)
        finally:
            self._calls["nvrtcDestroyProgram"](byref(handle))

    def _take(self, program: c_void_p, expressions: Sequence[bytes], log: str) -> Compiled:
        lowered = {}
        for expression in expressions:
            text = c_char_p()
            self._call("nvrtcGetLoweredName", program, expression, byref(text))
            lowered[expression.decode()] = (text.value or b"").decode()
        ptx = self._get("PTX", program).rstrip(b"\0")
        cubin, ltoir = self._get("CUBIN", program), self._get("LTOIR", program)
        return Compiled(ptx, cubin, ltoir, lowered, log)

    def _failure(self, status: int, name: str, log: str) -> CompileError:
        first = _FIRST_ERROR.search(log)
        said = _WRONG_OPTION.search(log)
        if first:
            head = first.group()
        elif said:
            head = f"{name}: options: {said[1]}: expected an option of NVRTC or nvcc"
        else:
            head = f"{name}: {self._error_text(status).decode(errors='replace')}"
        return CompileError(f"{head}\n\n{with_remedies(log)}\n\ncompiled by {self}", log)


@functools.cache
def nvrtc() -> Nvrtc:
    """The compiler, found and loaded at the first call.

    Raises
    ------
    MissingFileError
        Where it is not found; see `cupola.toolkit.libraries.load`.
    """
    return Nvrtc(libraries.load("nvrtc"))
