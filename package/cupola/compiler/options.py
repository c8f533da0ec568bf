# cupola/compiler/options.py - one set of options for NVRTC and nvcc: translates each for the other.
"""Options of a compilation, in nvcc's or NVRTC's words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from cupola.exceptions import ArgumentValueError

# nvcc's options with a value, by NVRTC's names.
_VALUES = {
    "-include": "--pre-include",
    "-std": "--std",
    "-maxrregcount": "--maxrregcount",
    "-ftz": "--ftz",
    "-prec-div": "--prec-div",
    "-prec-sqrt": "--prec-sqrt",
    "-fmad": "--fmad",
    "-diag-suppress": "--diag-suppress",
    "-Xptxas": "--ptxas-options",
    "-isystem": "--include-path",
    "--system-include": "--include-path",
}
_FLAGS = {
    "-use_fast_math": "--use_fast_math",
    "-lineinfo": "--generate-line-info",
    "-G": "--device-debug",
    "-w": "--disable-warnings",
    "-restrict": "--restrict",
    "-extended-lambda": "--extended-lambda",
    "--expt-extended-lambda": "--extended-lambda",
    "-expt-extended-lambda": "--extended-lambda",
    "--expt-relaxed-constexpr": "",  # NVRTC's rule
    "-expt-relaxed-constexpr": "",
}
# Say what nvcc makes and links; here the request says that.
_OUTPUTS = re.compile(
    r"-O\d?|-g|-m64|--machine=64|-v|--verbose|-l(?!ineinfo$).+|-L.+|--?cubin|--?ptx|--?fatbin|-c|--compile"
    r"|-dc|--device-c|-cudart=.*|--cudart=.*"
)
_OUTPUTS_WITH_VALUE = ("-L", "-l", "-m", "-code", "-cudart", "--cudart")
# Options for the host's compiler.
_HOST = re.compile(
    r"-Xcompiler=.*|--compiler-options=.*|--compiler-bindir=.*|-ccbin=.*"
    r"|--?allow-unsupported-compiler|-Wno-deprecated-gpu-targets"
)
_HOST_WITH_VALUE = ("-Xcompiler", "--compiler-options", "-ccbin", "--compiler-bindir")
_JOINED = ("-I", "-D", "-U")
# NVRTC's options that do not change what nvcc makes.
_NVRTC_ONLY = re.compile(
    r"-fdevice-syntax-only|--?(?:use-|create-)?pch(?:-.*|=.*)?|--?minimal|--?no-cache|-no-cache"
    r"|--?builtin-move-forward=.*|--?builtin-initializer-list=.*"
)
# Only NVRTC has the modes that these options choose.
_NVRTC_MODE = re.compile(r"--device-as-default-execution-space|-default-device|--?device-int128")


def for_nvrtc(options: Sequence[str]) -> list[str]:
    """The options in NVRTC's words. Those of the host's compiler and the linker are left out;
    NVRTC refuses what it does not know.
    """
    found: list[str] = []
    waiting = list(options)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if _OUTPUTS.fullmatch(word) or _HOST.fullmatch(word):
            continue
        if name in (*_OUTPUTS_WITH_VALUE, *_HOST_WITH_VALUE):
            if not equals:
                _value_after(word, waiting)
        elif name in _VALUES:
            found.append(f"{_VALUES[name]}={value if equals else _value_after(word, waiting)}")
        elif word in _JOINED:
            found.append(word + _value_after(word, waiting))
        elif word in _FLAGS:
            found += [_FLAGS[word]] if _FLAGS[word] else []
        else:
            found.append(word)
    return found


def for_nvcc(options: Sequence[str]) -> list[str]:
    """The options in nvcc's words."""
    found: list[str] = []
    waiting = list(options)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if _OUTPUTS.fullmatch(word) or _NVRTC_ONLY.fullmatch(word):
            continue
        if name in _OUTPUTS_WITH_VALUE:
            if not equals:
                _value_after(word, waiting)
        elif name == "--pre-include":
            found += ["-include", value if equals else _value_after(word, waiting)]
        else:
            found.append(word)
    return found


def are_for_nvrtc(options: Sequence[str]) -> bool:
    """Whether the options ask for a mode that nvcc does not have."""
    return any(_NVRTC_MODE.fullmatch(word) for word in options)


def architecture(options: Sequence[str]) -> tuple[str | None, list[str]]:
    """The architecture among the options, None where they name none, and the other options."""
    found, left, waiting = None, [], list(options)
    names: Mapping[str, str] = {
        "-arch": r"(.*)", "--gpu-architecture": r"(.*)",
        "-gencode": r".*?arch=(\w+).*", "--generate-code": r".*?arch=(\w+).*",
    }  # fmt: skip
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if name not in names:
            left.append(word)
            continue
        read = re.fullmatch(names[name], value if equals else _value_after(word, waiting))
        if read is None:
            raise ArgumentValueError(f"options: expected {name} with arch=compute_90, got {word}")
        if found is not None and found != read[1]:
            raise ArgumentValueError(
                f"options: name one architecture, got {found} and {read[1]}; an image for several "
                "is a .fatbin of cupola compile, or a package's library"
            )
        found = read[1]
    return found, left


def _value_after(word: str, waiting: list[str]) -> str:
    if not waiting:
        raise ArgumentValueError(f"options: {word} needs a value, as the next option or after =")
    return waiting.pop(0)
