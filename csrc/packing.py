# csrc/packing.py - files that a build writes itself: the arrays' image, the text that kernels' C++
# begins with, what tools read.
"""What `recipe.py` makes without a compiler."""

from __future__ import annotations

import json
import re
import shlex
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


def pack_arrays(
    build: Any, root: Path, target: Path, texts: Sequence[Path], fatbins: Sequence[Path]
) -> None:
    """Write `target` for csrc/runtime/array/array_kernels.cpp: a table, then the pieces.

    The texts of a group are one packed text, in which a kernel's place is given.
    """
    kernels = [
        (name, group, text.encode())
        for group, path in enumerate(texts)
        for name, text in build.ptx.cut((root / path).read_text()).items()
    ]
    # Kernels of a template, for one type after another, are compressed best.
    kernels.sort(key=lambda kernel: (kernel[1], kernel[0].rpartition("_")[0], len(kernel[2])))
    codes = [(root / path).read_bytes() for path in fatbins] or [b""] * len(texts)
    head = struct.calcsize("=16sQQ") + 32 * len(codes) + 72 * len(kernels)
    pieces, end = [], -head % 16 + head

    def place(data: bytes) -> bytes:
        nonlocal end
        where = struct.pack("=QQ", end if data else 0, len(data))
        pieces.append(data + bytes(-len(data) % 16))
        end += len(pieces[-1])
        return where

    table = struct.pack("=16sQQ", b"cupola arrays 2", len(codes), len(kernels))
    rows = b""
    for group, code in enumerate(codes):
        whole = b""
        for name, _, text in (kernel for kernel in kernels if kernel[1] == group):
            rows += struct.pack("=48sQQQ", name.encode(), group, len(whole), len(text))
            whole += text
        table += place(code) + place(packed_text(build, whole))
    table += rows
    (root / target).write_bytes(table + bytes(-head % 16) + b"".join(pieces))


def packed_text(build: Any, ptx: bytes) -> bytes:
    """A packed fatbin with a text alone: a tenth of the text."""
    image = build.image
    return image.reader.pack(image.fatbins.of_ptx(ptx, image.PTX.number))


def write_entries(ptx: Path, target: Path) -> None:
    """The declarations of a PTX text's kernels, which describe them beside machine code.

    They are a hundredth of the text, which cupola.arrays would read at its first use.
    """
    heads = re.findall(r"\.entry \w+\([^)]*\)", ptx.read_text())
    target.write_text("\n".join(f".visible {head};" for head in heads) + "\n")


def gather_headers(csrc: Path, first: str = "cpu/emitted/emitted.hpp") -> str:
    """A header and all that it includes of csrc, as one text; system headers stay as they are."""
    seen: set[str] = set()

    def lines(name: str) -> Iterator[str]:
        if name in seen and name.endswith(".hpp"):
            return
        seen.add(name)
        for line in (csrc / name).read_text().splitlines():
            if included := re.match(r'\s*#\s*include\s*"([^"]+)"', line):
                yield from lines(included[1])
            elif line.strip() and not re.match(r"\s*//|\s*#\s*pragma once", line):
                yield line

    return "\n".join(lines(first)) + "\n"


def write_compile_commands(steps: Sequence[Any], root: Path) -> None:
    """build/compile_commands.json, for clang-tidy and editors: each source once."""
    entries: dict[str, dict[str, str]] = {}
    for step in steps:
        if step.depfile and step.inputs[0].suffix == ".cpp":
            source = str(step.inputs[0])
            command = {"directory": str(root), "command": shlex.join(step.command)}
            entries.setdefault(source, {"file": source, **command})
    text = json.dumps(list(entries.values()), indent=1)
    path = root / "build" / "compile_commands.json"
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
