# tools/reference.py - summary tables for the pages of docs/reference, from docstrings.
"""A table of names and first sentences on each page of docs/reference that autodoc fills.

A checkout shows the directives of autodoc as they are written, so these tables are what a reader
sees there. `make docs` writes them. With ``--check`` nothing is written: the exit status is 1
where a page differs from the docstrings.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
BEGIN, END = "<!-- made by tools/reference.py -->\n", "<!-- end -->\n"
BLOCK = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END) + "\n?", re.DOTALL)
DIRECTIVE = re.compile(
    r"^\.\. (currentmodule|automodule|autofunction|autoclass|autoexception):: (\S+?)(\(\))?$"
    r"((?:\n   .*)*)",
    re.MULTILINE,
)


def first_sentence(thing: object) -> str:
    """Of the docstring, as Markdown for a cell of a table."""
    text = inspect.getdoc(thing) or ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    sentence = re.split(r"(?<=[.:])\s+(?=[A-Z])|::$", paragraph)[0].replace("``", "`")
    return sentence.replace("|", r"\|").rstrip(":")


def looked_up(name: str, module: str) -> tuple[str, object]:
    """The name to show, and the object of a directive's name."""
    for start in (f"{module}.{name}" if module else name, name):
        parts = start.split(".")
        for count in range(len(parts) - 1, 0, -1):
            try:
                found: object = importlib.import_module(".".join(parts[:count]))
                for part in parts[count:]:
                    found = getattr(found, part)
            except (ImportError, AttributeError):
                continue
            return name if start != name else ".".join(parts[-1:]), found
    raise ValueError(f"{module}: there is no {name}")


def members(owner: type, options: str) -> Iterator[tuple[str, object]]:
    """The members of a class that autodoc shows with these options."""
    listed = re.search(r":members:(.*)", options)
    if listed is None:
        return
    names = [name.strip() for name in listed[1].split(",") if name.strip()]
    excluded = re.search(r":exclude-members:(.*)", options)
    left_out = {name.strip() for name in excluded[1].split(",")} if excluded else set()
    found: dict[str, object] = {}
    for base in owner.__mro__ if ":inherited-members:" in options else (owner,):
        if base.__module__.startswith("cupola"):
            found.update({n: v for n, v in vars(base).items() if n not in found})
    chosen = names or sorted(name for name in found if name[0] != "_")
    for name in chosen:
        value = getattr(found.get(name), "__func__", found.get(name))
        # The docstring of a field's default value is the docstring of its type.
        if name not in left_out and (inspect.isroutine(value) or inspect.isdatadescriptor(value)):
            yield name, value


def rows(page: str) -> Iterator[tuple[str, str]]:
    module = ""
    for directive, name, _, options in DIRECTIVE.findall(page):
        if directive == "currentmodule":
            module = name
            continue
        if directive == "automodule":
            module, found = name, importlib.import_module(name)
            if ":members:" in options:
                for each in getattr(found, "__all__", sorted(vars(found))):
                    if each[0] != "_" and inspect.getdoc(getattr(found, each)):
                        yield each, first_sentence(getattr(found, each))
            continue
        shown, found = looked_up(name, module)
        yield shown, first_sentence(found)
        if isinstance(found, type):
            for each, value in members(found, options):
                text = first_sentence(value)
                if text and text != first_sentence(object.__call__):
                    yield f"{shown}.{each}", text


def summary(page: str) -> str:
    """The block with the table of a page; empty where autodoc fills nothing on it."""
    found = dict(rows(page))  # a name that two directives show has one row
    if not found:
        return ""
    lines = ["| name | summary |", "| --- | --- |"]
    lines += [f"| `{name}` | {text} |" for name, text in found.items()]
    return BEGIN + "\n".join(lines) + "\n" + END


def made(page: str) -> str:
    """The page with its table before the first directives."""
    block = summary(page)
    if not block:
        return page
    if BLOCK.search(page):
        return BLOCK.sub(lambda _: block + "\n", page, count=1)
    return page.replace("```{eval-rst}\n", f"{block}\n```{{eval-rst}}\n", 1)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and compare")
    check = parser.parse_args(arguments).check
    status = 0
    for path in sorted(PAGES.glob("*.md")):
        text = path.read_text()
        wanted = made(text)
        if wanted == text:
            continue
        if check:
            print(f"{path.relative_to(ROOT)}: the table is old; run make docs", file=sys.stderr)
            status = 1
        else:
            path.write_text(wanted)
    return status


if __name__ == "__main__":
    sys.exit(main())
