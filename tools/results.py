# tools/results.py - make docs/results.md and other documents' figures from the records.
"""The page of all figures, made of benchmarks/results/*.json and of nothing else.

`make results` runs it. With ``--check`` nothing is written: the exit status is 1 where a document
differs from the records.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))
records = importlib.import_module("records")

PAGE = ROOT / "docs" / "results.md"
README = ROOT / "README.md"
SAMPLES = ROOT / "docs" / "how-to" / "cuda-programs.md"
OPERATIONS = ROOT / "docs" / "tutorials" / "operations.md"
PYCUDA = ROOT / "docs" / "migrate" / "pycuda-unchanged.md"
ARRAY_API = ROOT / "docs" / "reference" / "array-api.md"
STALE = "**Stale**: what it measures has changed since. "
THEY = " They are stale: what they measure has changed since."
BLOCK = re.compile(r"(?<=<!-- made by tools/results.py -->\n).*?(?=<!-- end -->\n)", re.DOTALL)
HEAD = """# Results
`make results` makes this page of the records in [`benchmarks/results`](../benchmarks/results).
Each record was written by the command that it names. Do not edit the page.

A ratio is a time divided by its floor's time: smaller is better. A floor is the same work by other
means, such as a C++ loop over the driver's function. The worst figures come first. A record is
stale when what it measures has changed since.
"""


def plain(text: str) -> str:
    """A name as Markdown shows it, such as `kernel[grid, block](...)`, which is no link."""
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", text)


def table(headings: list[str], rows: list[list[str]]) -> str:
    rows = [[plain(cell) for cell in row] for row in rows]
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def value(row: records.Row) -> str:
    return f"{records.figure(row.value)} {row.unit}"


def ratio(row: records.Row) -> str:
    return "" if row.ratio is None else f"{row.ratio:.3f}"


def goal(row: records.Row) -> str:
    """With the unit, where the value is meant."""
    if row.goal is None:
        return ""
    return f"{row.goal} {row.unit}" if row.goal.startswith("value") else row.goal


def verdict(row: records.Row) -> str:
    shortfall = row.shortfall()
    if shortfall is None:
        return "no goal"
    return "met" if shortfall <= 1 else f"missed by {shortfall:.2f} x"


def floor(row: records.Row) -> str:
    if row.floor is None or row.floor_value is None:
        return ""
    return f"{records.figure(row.floor_value)} {row.unit}, {row.floor}"


def place(record: records.Record) -> str:
    return record.device + (", stale" if record.stale() else "")


def missed(found: list[records.Record]) -> str:
    pairs = [(row, record) for record in found for row in record.rows if row.met() is False]
    pairs.sort(key=lambda pair: pair[0].rank())
    rows = [
        [
            *(f"{record.title}: {row.what}", value(row), ratio(row), goal(row), verdict(row)),
            *(place(record), record.date),
        ]
        for row, record in pairs
    ]
    return table(["what", "figure", "ratio", "goal", "verdict", "device", "date"], rows)


def section(record: records.Record) -> str:
    rows = sorted(record.rows, key=records.Row.rank)
    notes = any(row.note for row in rows)
    headings = ["what", "figure", "floor", "ratio", "goal", "verdict", *(["note"] if notes else [])]
    cells = [
        [
            *(row.what, value(row), floor(row), ratio(row), goal(row), verdict(row)),
            *([row.note or ""] if notes else []),
        ]
        for row in rows
    ]
    about = plain(", ".join(f"{key} {content}" for key, content in record.host.items()))
    state = STALE if record.stale() else ""
    return "\n".join(
        [
            f"## {plain(record.title)}: {plain(record.device)}",
            f"{state}{record.date}, revision {record.revision}. `{record.command}`. Host: {about}.",
            "",
            table(headings, cells),
        ]
    )


def page(found: list[records.Record]) -> str:
    """The whole text."""
    every = [row for record in found for row in record.rows]
    verdicts = [row.met() for row in every]
    text = [
        HEAD,
        f"{len(every)} figures: {verdicts.count(False)} goals are missed, {verdicts.count(True)} "
        f"are met, {verdicts.count(None)} figures have no goal.",
        "",
    ]
    if False in verdicts:
        text += ["## Missed goals", missed(found), ""]
    ordered = sorted(found, key=lambda record: min(row.rank() for row in record.rows))
    for record in ordered:
        text += [section(record), ""]
    return "\n".join(text)


def pictures(found: list[records.Record]) -> str:
    """README's table: one picture in five ways, on a GPU where that was measured."""
    by_hand = [record for record in found if record.name == "examples"]
    by_hand.sort(key=lambda record: record.device.startswith("cupola CPU device"))
    if not by_hand:
        return "Its times on this machine are what it prints.\n"
    record, times, heading = by_hand[0], {}, ""
    for row in record.rows:
        example, *rest = row.what.split(": ")
        if example == "ptx_by_hand":
            heading, way, column = rest
            times.setdefault(way, {})[column] = row
    rows = [
        [way, *(f"{columns[name].value:g}" for name in ("cold", "warm"))]
        for way, columns in sorted(times.items(), key=lambda item: -item[1]["warm"].value)
    ]
    made = table([heading, "cold, ms", "warm, ms"], rows)
    stale = THEY if record.stale() else ""
    origin = f"Measured on {record.device} on {record.date}, revision {record.revision}.{stale}"
    return f"{made}\n\n{origin}\n"


def samples(found: list[records.Record]) -> str:
    """The table of NVIDIA's samples: those that do not pass with the reason, then the others."""
    of_samples = [record for record in found if record.name == "cuda_samples"]
    if not of_samples:
        return "There is no record of them yet.\n"
    record = of_samples[0]
    share = next(row for row in record.rows if row.goal)
    rows = [row for row in record.rows if not row.goal]
    passed = sorted(row.what for row in rows if (row.note or "").startswith("passed"))
    others = [row for row in rows if row.what not in passed]
    others.sort(key=lambda row: (row.note or "", row.what))
    made = table(
        ["sample", "s", "result"], [[r.what, f"{r.value:g}", r.note or ""] for r in others]
    )
    stale = THEY if record.stale() else ""
    names = textwrap.fill(" ".join(passed), 98, break_on_hyphens=False, break_long_words=False)
    return (
        f"On {record.date}, revision {record.revision}, {record.host['cores']} cores: {share.note}."
        f"{stale}\n\n{made}\n\nThese pass:\n\n```text\n{names}\n```\n"
    )


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
    calls = [one for one in found if one.name == "ops"]
    calls.sort(key=lambda one: (one.device.startswith("cupola CPU device"), one.stale()))
    timed = {row.what: row for row in calls[0].rows} if calls else {}
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
    text = [table(headings, cells), "", f"`{record.command}` counted on {record.date}."]
    if timed:
        text.append(
            f"Host times are of `{calls[0].command}` on {calls[0].device}, {calls[0].date}."
        )
    stale = record.stale() or (bool(timed) and calls[0].stale())
    return "\n".join(text) + (THEY if stale else "") + "\n"


def suite(found: list[records.Record], name: str) -> str:
    """For each device, how many tests of a suite pass, and the reasons of the others."""
    parts = []
    for record in found:
        if record.name != name:
            continue
        share = next(row for row in record.rows if row.goal)
        reasons: dict[str, list[str]] = {}
        for row in record.rows:
            if not row.goal:
                reasons.setdefault(row.note or "", []).append(row.what.rpartition("::")[2])
        stale = THEY if record.stale() else ""
        made = table(
            ["result and reason", "tests"],
            [[reason, shortened(names)] for reason, names in sorted(reasons.items())],
        )
        parts.append(
            f"On {record.device}, {record.date}, revision {record.revision}: {share.note}.{stale}"
            f"\n\n{made}\n"
        )
    return "\n".join(parts) or "There is no record of them yet.\n"


def shortened(names: list[str]) -> str:
    """Tests without their parameters, each with its number."""
    plain_names = [name.partition("[")[0] for name in names]
    return ", ".join(
        name if plain_names.count(name) == 1 else f"{name} ({plain_names.count(name)})"
        for name in dict.fromkeys(plain_names)
    )


def filled(path: Path, block: str) -> str:
    """A document with its figures."""
    text = path.read_text()
    if len(BLOCK.findall(text)) != 1:
        raise SystemExit(f"{path.name} has no place for the figures")
    return BLOCK.sub(lambda _: block, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    found = records.all_records()
    wanted = {
        PAGE: page(found),
        README: filled(README, pictures(found)),
        SAMPLES: filled(SAMPLES, samples(found)),
        OPERATIONS: filled(OPERATIONS, comparison(found)),
        PYCUDA: filled(PYCUDA, suite(found, "pycuda_suite")),
        ARRAY_API: filled(ARRAY_API, suite(found, "array_api_suite")),
    }
    differing = [p for p, text in wanted.items() if not p.is_file() or p.read_text() != text]
    for path in differing:
        print(f"results: {path.relative_to(ROOT)} {'differs' if options.check else 'written'}")
        if not options.check:
            path.write_text(wanted[path])
    for record in found:
        if record.stale():
            print(f"results: {record.name} of {record.device} is stale: run {record.command}")
    return 1 if options.check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
