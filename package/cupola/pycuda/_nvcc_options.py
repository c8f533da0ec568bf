# cupola/pycuda/_nvcc_options.py - nvcc's options as NVRTC has them.
"""Options of nvcc, translated for NVRTC."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Options with a value that NVRTC has under the long name.
_VALUES = {
    "-std": "--std",
    "--std": "--std",
    "-maxrregcount": "--maxrregcount",
    "--maxrregcount": "--maxrregcount",
    "-ftz": "--ftz",
    "--ftz": "--ftz",
    "-prec-div": "--prec-div",
    "--prec-div": "--prec-div",
    "-prec-sqrt": "--prec-sqrt",
    "--prec-sqrt": "--prec-sqrt",
    "-fmad": "--fmad",
    "--fmad": "--fmad",
    "-include": "--pre-include",
    "-diag-suppress": "--diag-suppress",
    "--diag-suppress": "--diag-suppress",
}
_FLAGS = {
    "-use_fast_math": "--use_fast_math",
    "--use_fast_math": "--use_fast_math",
    "-lineinfo": "--generate-line-info",
    "--generate-line-info": "--generate-line-info",
    "-G": "--device-debug",
    "--device-debug": "--device-debug",
    "-w": "--disable-warnings",
    "--disable-warnings": "--disable-warnings",
    "--extended-lambda": "--extended-lambda",
    "--restrict": "--restrict",
    "-restrict": "--restrict",
    "--expt-relaxed-constexpr": "",
    "--extra-device-vectorization": "--extra-device-vectorization",
}
# For the host's compiler, the linker and ptxas: NVRTC does without. Linking sets the option for
# relocatable code.
_IGNORED = re.compile(
    r"-O\d?|-g|-m64|--machine=64|-v|--verbose|-rdc=.*|--relocatable-device-code=.*|-l.+|-L.+|-Xptxas=.*|-Xcompiler=.*"
    r"|--ptxas-options=.*|--compiler-options=.*|-cubin|--cubin|-ptx|--ptx|-c|-dc|-cudart=.*"
    r"|--allow-unsupported-compiler|-Wno-deprecated-gpu-targets|--compiler-bindir=.*"
)
_IGNORED_WITH_VALUE = {
    "-Xptxas",
    "-Xcompiler",
    "-ccbin",
    "--ptxas-options",
    "--compiler-options",
    "--compiler-bindir",
    "-L",
    "-l",
    "-m",
    "-code",
}


def translated(options: Sequence[str]) -> tuple[list[str], str | None]:
    """NVRTC's options, and the architecture among nvcc's.

    Raises
    ------
    ValueError
        For an option that NVRTC can't do.
    """
    found: list[str] = []
    arch = None
    waiting = [word for option in options for word in option.split()]
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if name in ("-arch", "--gpu-architecture"):
            arch = value if equals else _next(word, waiting)
        elif name in ("-gencode", "--generate-code"):
            read = re.search(r"arch=(\w+)", value if equals else _next(word, waiting))
            arch = read[1] if read else arch
        elif name in _IGNORED_WITH_VALUE and not equals:
            _next(word, waiting)
        elif name in _VALUES:
            found.append(f"{_VALUES[name]}={value if equals else _next(word, waiting)}")
        elif word in ("-I", "-D", "-U"):
            found.append(word + _next(word, waiting))
        elif word.startswith(("-I", "-D", "-U", "--include-path=", "--define-macro=")):
            found.append(word)
        elif word in _FLAGS:
            found += [_FLAGS[word]] if _FLAGS[word] else []
        elif not _IGNORED.fullmatch(word) and not name.startswith("-code"):
            raise ValueError(
                f"NVRTC, which compiles in place of nvcc, has no option {word}; known are -D, -I, "
                f"-U, -arch, {', '.join(sorted({*_VALUES, *_FLAGS}))}"
            )
    return found, arch


def _next(word: str, waiting: list[str]) -> str:
    if not waiting:
        raise ValueError(f"the option {word} needs a value")
    return waiting.pop(0)
