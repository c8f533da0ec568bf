"""tests/documents.py - finds the code blocks of the documents, and runs each kind.

A block runs, or the line before it is ``<!-- not run: REASON -->``. Blocks of one page share a
folder and their Python names, and run from top to bottom:

- python: runs. With a first line such as ``# setup.py`` it is a file.
- python PEER: runs in a process of its own where the library PEER is installed.
- sh: runs. console: runs each line after ``$``, and compares the output with the lines below it;
  ``...`` stands for any text, a line of ``...`` for any lines.
- other languages: a file, which the first line names.
- text, and no language: a diagram, a message or output. It is no code.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FENCE = re.compile(
    r"^(?P<mark><!-- not run: (?P<reason>[^\n]+) -->\n)?```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NO_CODE = {"", "text"}
FILES = {"c", "cmake", "cpp", "cuda", "cython", "toml", "yaml"}
PEERS = {"ctypes", "cuda.core", "cupy", "numba", "pycuda"}
NAMED = re.compile(r"(?:#|//|/\*) ([\w./-]+\.\w+)(?= |\n)")
OPEN = "<!-- not run"


class Block(NamedTuple):
    language: str
    peer: str
    line: int
    text: str
    reason: str | None

    @property
    def file(self) -> str | None:
        """The name that the first line gives it."""
        named = NAMED.match(self.text)
        return named[1] if named and self.language in {*FILES, "python"} else None


def pages() -> list[str]:
    """All documents with code, by their paths in the tree."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def blocks(page: str) -> list[Block]:
    """Those of a page, in order; an unknown kind is an error."""
    text = (ROOT / page).read_text()
    found = []
    for one in FENCE.finditer(text):
        language, _, peer = one["info"].partition(" ")
        if language.startswith("{"):  # a directive of the site
            continue
        line = text[: one.start("text")].count("\n")
        found.append(Block(language, peer, line, one["text"], one["reason"]))
    assert text.count("```") == 2 * len(FENCE.findall(text)), f"{page}: a block is not closed"
    marks = sum(1 for one in FENCE.finditer(text) if one["mark"])
    assert text.count(OPEN) == marks, f"{page}: a mark without a reason, or without a block"
    return found


def problem(block: Block) -> str | None:
    """The problem of a block, or None. Each block must run or give a reason why it does not."""
    if block.reason is not None:
        return None if len(block.reason) > 10 else "its reason says nothing"
    if block.language == "python":
        return None if block.peer in {"", *PEERS} else f"no such library: {block.peer}"
    if block.peer:
        return f"{block.language} {block.peer}: a second word is for python alone"
    if block.language in {*NO_CODE, "sh", "console"}:
        return None
    if block.language in FILES:
        return None if block.file else "its first line names no file"
    return f"unknown language {block.language}"


def write(block: Block, folder: Path) -> None:
    """The file that a block is."""
    path = folder / block.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text)


def environment(tools: Path, **more: str) -> dict[str, str]:
    """One in which `python`, `cupola` and `cythonize` are those of this interpreter."""
    tools.mkdir(exist_ok=True)
    modules = {"python": "", "cupola": " -m cupola", "cythonize": " -m Cython.Build.Cythonize"}
    for name, module in modules.items():
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{module} "$@"\n')
        (tools / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name != "PKG_CONFIG_PATH"}
    path = os.pathsep.join([str(tools), os.environ["PATH"], os.path.dirname(sys.executable)])
    return {**kept, "PATH": path, "COLUMNS": "100", **more}


def shell(commands: str, folder: Path, variables: dict[str, str]) -> str:
    """Run the commands, and return their output; the first that fails is an error."""
    done = subprocess.run(
        ["bash", "-euc", commands],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout}"
    return done.stdout


def pattern(output: str) -> str:
    """A regular expression for the output in a console block."""
    lines = []
    for line in output.splitlines():
        if line.strip() == "...":
            lines.append(r"(?:[^\n]*\n)*?")
        else:
            lines.append(r"[^\n]*".join(map(re.escape, line.rstrip().split("..."))) + r"[ ]*\n")
    return "".join(lines)


def console(text: str, folder: Path, variables: dict[str, str]) -> None:
    """Each command, and its output beside the one that is shown."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert not parts[0].strip() and len(parts) > 1, "a console block begins with a command"
    for part in parts[1:]:
        command, _, expected = part.partition("\n")
        printed = shell(command, folder, variables)
        assert re.fullmatch(pattern(expected), printed), f"$ {command}\n{printed}"


def run(page: str, folder: Path, variables: dict[str, str]) -> list[str]:
    """All blocks of a page that run here; what its sh blocks print."""
    names: dict[str, object] = {}
    printed = []
    for block in blocks(page):
        if block.reason is not None or block.peer or block.language in NO_CODE:
            continue
        if block.file is not None:
            write(block, folder)
        elif block.language == "sh":
            printed.append(shell(block.text, folder, variables))
        elif block.language == "console":
            console(block.text, folder, variables)
        else:
            exec(compile("\n" * block.line + block.text, ROOT / page, "exec"), names)
    return printed
