# tools/results.py - make the pages of figures, their pictures, and other documents' tables.
"""Writes what the documents say of benchmarks/results/*.json, and nothing else.

`make results` runs it. With ``--check`` nothing is written: the exit status is 1 where a document
differs from the records. benchmarks/compare.py compares two sets of records.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import compatibility
import performance
import shipping
from tables import ROOT, records, table

DOCS = ROOT / "docs"
README = ROOT / "README.md"
OPERATIONS = DOCS / "tutorials" / "operations.md"
BLOCK = re.compile(r"(?<=<!-- made by tools/results.py -->\n).*?(?=<!-- end -->\n)", re.DOTALL)


def comparison(found: list[records.Record]) -> str:
    """One operation by three projects: lines, binaries, and the host time of a call."""
    counts = [record for record in found if record.name == "authoring"]
    if not counts:
        return "There is no record of them yet.\n"
    record = counts[0]
    rows = {row.what: row for row in record.rows}
    peers = {
        "tvm-ffi": "torch, tvm-ffi: op(x, y, a)",
        "huggingface/kernels": "torch: op(x, y, a)",
    }
    # The newest record of a GPU; one of the CPU device where that is the only one.
    calls = [one for one in found if one.name == "ops"]
    calls.sort(key=lambda one: (not one.device.startswith("cupola CPU device"), one.date))
    timed = {row.what: row for row in calls[-1].rows} if calls else {}
    cells = []
    for name in ("cupola", *peers):
        row = timed.get(peers.get(name, ""))
        if name == "cupola":
            call = "1"
        elif row is None or row.ratio is None:
            call = "not measured"
        else:
            call = f"{1 / row.ratio:.2f}"
        binaries = rows[f"{name}: binaries"]
        lines = rows[f"{name}: lines"]
        cells.append([name, f"{lines.value:g}", f"{binaries.value:g}", call, lines.note or ""])
    headings = ["project", "lines", "binaries", "host time of a call", "lines were"]
    counted = f"`{record.command}` counted on {record.date}, revision {record.revision}."
    text = [table(headings, cells), "", counted]
    if timed:
        text.append(
            f"Host times are of `{calls[-1].command}` on {calls[-1].device}, {calls[-1].date}, "
            f"revision {calls[-1].revision}."
        )
    return "\n".join(text) + "\n"


def filled(path: Path, block: str) -> str:
    """A document with its figures."""
    text = path.read_text()
    if len(BLOCK.findall(text)) != 1:
        raise SystemExit(f"{path.name} has no place for the figures")
    return BLOCK.sub(lambda _: block, text)


def documents() -> dict[Path, str]:
    """The text of each file that is made of the records."""
    files = records.by_file()
    found = list(files.values())
    made = performance.pictures(files)
    made[performance.PAGE] = performance.page(files)
    made[compatibility.PAGE] = compatibility.page(found)
    return {DOCS / name: text for name, text in made.items()} | {
        README: filled(README, performance.headlines(files)),
        OPERATIONS: filled(OPERATIONS, comparison(found)),
        shipping.PAGE: filled(shipping.PAGE, shipping.sizes(found)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    wanted = documents()
    differing = [p for p, text in wanted.items() if not p.is_file() or p.read_text() != text]
    for path in differing:
        print(f"results: {path.relative_to(ROOT)} {'differs' if options.check else 'written'}")
        if not options.check:
            path.write_text(wanted[path])
    return 1 if options.check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
