# tools/instructions.py - docs/reference/instructions.md, from the table of instructions.
"""Writes which instructions of PTX the CPU device takes, for which targets, and which it refuses.

`make docs` runs this. With ``--check`` nothing is written: the exit status is 1 where the page
differs from the table.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "instructions.md"
sys.path.append(str(ROOT / "tests"))

from ptx import manual, table  # noqa: E402 - the readers of the tests

CHAPTERS = {
    "integer": "Integers",
    "real": "Floating point",
    "compare": "Comparisons, logic and shifts",
    "convert": "Conversions",
    "move": "Data movement",
    "async": "Asynchronous copies, mbarriers, multimem",
    "matrix": "Matrices",
    "tcgen05": "Tensor memory",
    "sync": "Synchronisation and atomics",
    "control": "Control flow and the stack",
    "texture": "Textures and surfaces",
    "video": "Video instructions",
}
HEAD = """# Instructions of PTX on the CPU device
<!-- made by tools/instructions.py -->
The CPU device takes these instructions of PTX, with the modifiers of the PTX manual. Each row names
the first version of PTX, and the targets that have the instruction, as NVIDIA's assembler has them.
Targets before `sm_80` are not told apart. [Targets of PTX](limits.md#targets-of-ptx) has the rules.
An instruction without a row is refused when the module is loaded, with its line.
"""
REFUSED = """The CPU device refuses these statements, and forms like them with other types and
modifiers. The registers stand for any operands.

| statement | PTX | first target |
| --- | --- | --- |
"""


def targets(name: str) -> str:
    """A set of targets, in words."""
    if name == "any_target":
        return "all"
    numbers = re.findall(r"\d+[af]?", name)
    if "_to_" in name:
        return f"`sm_{numbers[0]}` to `sm_{numbers[-1]}`"
    if not numbers[-1][-1].isalpha():
        return f"`sm_{numbers[0]}` and newer"
    return ", ".join(f"`sm_{one}`" for one in numbers)


def types_of(row: table.Row) -> Iterator[str]:
    """The types of a row. Those of matrices are modifiers, of which the factors' types count."""
    yield from row.types
    for slot in row.axes if row.chapter in ("matrix", "tcgen05") else ():
        if slot.name.startswith(("kind_", "a_", "ab_", "stored_")):
            for choice in slot.choices:
                yield choice.split(".")[0 if choice.startswith("kind::") else -1]


def rows(chapter: str) -> Iterator[str]:
    """The rows of a chapter: one for each version and set of targets of a mnemonic."""
    found: dict[tuple[str, int, str], dict[str, None]] = {}
    for row in table.rows():
        if row.chapter == chapter:
            types = found.setdefault((row.mnemonic, row.since, row.targets), {})
            types.update(dict.fromkeys(types_of(row)))
    for (mnemonic, since, named), types in found.items():
        listed = ", ".join(types)
        yield f"| `{mnemonic}` | {listed} | {version(since)} | {targets(named)} |"


def version(since: int) -> str:
    """A version of PTX."""
    return f"{since // 10}.{since % 10}"


def _joined(text: str) -> str:
    """The text with a line for each paragraph, as the other pages have it."""
    return re.sub(r"(?<=[a-z.,])\n(?=[A-Za-z`\[])", " ", text)


def page() -> str:
    """The whole page."""
    chapters = {row.chapter for row in table.rows()}
    if chapters != set(CHAPTERS):
        raise ValueError(f"chapters without a title: {sorted(chapters ^ set(CHAPTERS))}")
    parts = [_joined(HEAD)]
    for chapter, title in CHAPTERS.items():
        parts.append(
            f"\n## {title}\n| instruction | types | PTX | targets |\n| --- | --- | --- | --- |\n"
        )
        parts += [f"{row}\n" for row in rows(chapter)]
    parts.append(f"\n## Refused forms\n{_joined(REFUSED)}")
    for _, since, target, statement in manual.MISSING:
        parts.append(f"| `{statement}` | {version(since)} | `{target}` |\n")
    return "".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and compare")
    if parser.parse_args().check:
        if PAGE.read_text() == page():
            return 0
        print(f"{PAGE.relative_to(ROOT)} differs from the table: run make docs")
        return 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
