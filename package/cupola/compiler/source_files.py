# cupola/compiler/source_files.py - tells files from texts, and reads the sources of a compilation.
"""The sources of a request: files and texts.

One rule holds for each function that takes a source. An `os.PathLike` object is a file. A string is
a file if it is one line, without ``;``, ``{``, ``}`` and ``#``, that ends in a suffix of CUDA C++.
Any other string is text. Whether the file exists does not matter.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Sequence
from typing import Any

from cupola.compiler.request import Source
from cupola.exceptions import ArgumentTypeError, ArgumentValueError, CompileError, MissingFileError

RULE = "a string of one line that ends in .cu is the path of a file, and any other string is text"
USUAL_NAME = "kernel.cu"
_FILE = re.compile(r"[^\n\0;{}#]*\.(?:cuh?|c|cc|cpp|cxx|h|hh|hpp|hxx)")
_IMAGE = re.compile(r"[^\n\0;{}#]*\.(?:ptx|cubin|fatbin|ltoir|o|a|so)")
_WORD = re.compile(r"[^\s;{}#()]+")  # no program has one word alone
# NVRTC searches the folder of a source's name first. For a text that must not be the current
# folder, so this folder is used, which is always empty.
_NOWHERE = "/dev/null/"


def is_file(source: str) -> bool:
    """Whether a string is the path of a source, by the rule."""
    return _FILE.fullmatch(source) is not None


def is_image(source: str) -> bool:
    """Whether a string is the path of an image, by its suffix."""
    return _IMAGE.fullmatch(source) is not None


def sources_of(source: Any, name: str | None) -> tuple[Source, ...]:
    """One source, or those of a sequence."""
    if isinstance(source, (str, os.PathLike, Source)) or not isinstance(source, Sequence):
        return (source_of(source, name, USUAL_NAME),)
    if not source or isinstance(source, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"compile takes source code, or paths, got {source!r}")
    if len(source) == 1:
        return (source_of(source[0], name, USUAL_NAME),)
    if name is not None:
        raise ArgumentTypeError("name is for one source; of several, each has its own")
    stem, suffix = os.path.splitext(USUAL_NAME)
    found = tuple(
        source_of(one, None, f"{stem}.{place}{suffix}") for place, one in enumerate(source)
    )
    files = [one.name for one in found if not one.name.startswith(_NOWHERE)]
    for name in files:
        if files.count(name) > 1:
            raise ArgumentValueError(
                f"the list of sources has {name} {files.count(name)} times: each file is compiled "
                "and linked once, so name it once"
            )
    return found


def source_of(source: Any, name: str | None, usual: str) -> Source:
    """One source; `usual` is the name of a text without a name."""
    if name is not None and (not isinstance(name, str) or "\0" in name or not name):
        raise ArgumentTypeError(f"name is a text, got {name!r}")
    if isinstance(source, Source):
        return source if name is None else dataclasses.replace(source, title=name)
    try:
        path = os.fspath(source)
    except TypeError:
        path = None
    if not isinstance(path, str):
        raise ArgumentTypeError(
            f"compile takes source code as str, or a path, got {type(source).__name__}"
        )
    if is_image(path):
        raise ArgumentTypeError(
            f"{path} is an image, not a source: cupola.load({path!r}) loads it, and "
            f"link=[pathlib.Path({path!r})] links it with a source"
        )
    if isinstance(source, str) and not is_file(source):
        if _WORD.fullmatch(source):
            raise ArgumentValueError(
                f"{source!r} is no CUDA C++ and no path by its suffix ({RULE}): write the suffix, "
                f"or pathlib.Path({source!r})"
            )
        title = name or usual
        beside = title if os.path.dirname(title) else _NOWHERE + title
        return Source(title, _text(source, "source"), beside)
    return Source(name or path, _text(_content(path, isinstance(source, str)), path), path)


def _content(path: str, by_rule: bool) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        said = f"; {RULE}" if by_rule else ""
        raise MissingFileError(f"there is no source {path} (in {os.getcwd()}){said}") from None
    except OSError as error:
        raise CompileError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CompileError(f"{path} is no UTF-8 text: {error}") from error
    except ValueError as error:
        raise ArgumentValueError(f"{path!r} can't be a path: {error}") from None


def _text(text: str, what: str) -> str:
    if "\0" in text:
        raise ArgumentValueError(f"{what} contains a NUL character")
    return text
