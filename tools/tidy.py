# tools/tidy.py - run clang-tidy on csrc, quietly; a file that passed is not checked again.
"""``tidy.py CLANG_TIDY [FILE...]``: findings in these files, or in all of csrc and its headers.

Sources of a folder are read as one where their flags are the same, as the build compiles them
(csrc/recipe.py): by itself each would take ten times as long, nearly all of it for headers.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fuzz import ROOT, setup_module

PASSED = ROOT / "build" / "tidy"
# misc-unused-alias-decls and misc-unused-using-decls check these only in the first source.
ALIAS = re.compile(r"^\s*(?:using\s+(?:typename\s+)?[\w:]*?(\w+);|namespace\s+(\w+)\s*=)", re.M)


def everywhere() -> bytes:
    """Digest of all headers and the checks: headers are few, and simple is right."""
    digest = hashlib.sha256()
    for path in [ROOT / ".clang-tidy", *sorted((ROOT / "csrc").rglob("*.h*"))]:
        digest.update(f"\0{path}\0".encode() + path.read_bytes())
    return digest.digest()


def commands() -> dict[str, tuple[str, ...]]:
    """Each source's flags, by what `setup.py compile_commands` wrote."""
    flags = {}
    for entry in json.loads((ROOT / "build" / "compile_commands.json").read_text()):
        text = re.sub(r" (?:-MMD|(?:-MF|-c|-o) \S+)(?= |$)", "", entry["command"])
        flags[entry["file"]] = tuple(shlex.split(text)[1:])
    return flags


def groups(sources: Sequence[str], flags: dict[str, tuple[str, ...]]) -> Iterator[list[str]]:
    """Sources that can be read as one, so many at most as the build takes together."""
    recipe = setup_module().recipe
    alike: dict[object, list[str]] = {}
    for source in sources:
        alone = source if source in recipe.APART else None
        alike.setdefault((Path(source).parent, flags[source], alone), []).append(source)
    for group in alike.values():
        count = -(-len(group) // recipe.TOGETHER)
        yield from (group[part::count] for part in range(count))


def unused(source: str) -> Iterator[str]:
    """Names that are brought in and never used."""
    text = re.sub(r"//.*", "", (ROOT / source).read_text())
    for found in ALIAS.finditer(text):
        name = found[1] or found[2]
        if not re.search(rf"\b{name}\b", text[: found.start()] + text[found.end() :]):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{source}:{line}: error: '{name}' is brought in and never used"


def check(clang_tidy: str, group: list[str], flags: tuple[str, ...]) -> bool:
    """Whether nothing is found in these sources; what is, is printed."""
    *before, source = group
    included = [part for path in before for part in ("-include", path)]
    command = [clang_tidy, "--quiet", source, "--", *flags, *included]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    found = "\n".join(line for path in group for line in unused(path))
    if done.returncode or found:
        print(f"{found}\n{done.stdout}" if done.returncode else found, flush=True)
    return not (done.returncode or found)


def main() -> int:
    clang_tidy, *named = sys.argv[1:]
    flags, common = commands(), everywhere()
    marks, stale = {}, []
    for source in named or sorted(flags):
        text = (ROOT / source).read_bytes() + "\0".join(flags[source]).encode()
        marks[source] = hashlib.sha256(common + text).hexdigest()
        mark = PASSED / source.replace("/", "_")
        if not (mark.is_file() and mark.read_text() == marks[source]):
            stale.append(source)
    PASSED.mkdir(parents=True, exist_ok=True)

    def passes(group: list[str]) -> bool:
        passed = check(clang_tidy, group, flags[group[0]])
        for source in group if passed else ():
            (PASSED / source.replace("/", "_")).write_text(marks[source])
        return passed

    # Sources that take longest come last in the order of names.
    ordered = sorted(
        groups(stale, flags), key=lambda group: not re.search("/(interpreter|isa)/", group[0])
    )
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return 0 if all(list(pool.map(passes, ordered))) else 1


if __name__ == "__main__":
    sys.exit(main())
