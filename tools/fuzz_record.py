# tools/fuzz_record.py - how much has been fuzzed: benchmarks/results/fuzz.json adds up.
"""Rows of inputs and of coverage for each fuzzer, and of all inputs that are PTX."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "benchmarks"))
records = importlib.import_module("records")
RECORD = records.FOLDER / "fuzz.json"
PTX = ("ptx_fuzz", "run_fuzz")
TITLE = "Inputs that the fuzzers have run, over all runs"
ALL = "PTX, all fuzzers"


def add(name: str, inputs: int, edges: int) -> None:
    """Add a fuzzer's inputs to those recorded; its coverage replaces the last run's."""
    rows = {row.what: row for row in (records.read(RECORD).rows if RECORD.exists() else [])}

    def count(what: str, goal: str | None = None) -> None:
        before = rows[what].value if what in rows else 0
        rows[what] = records.Row(what, before + inputs, "inputs", goal=goal)

    count(name)
    edge = f"{name}, coverage of the last run"
    rows[edge] = records.Row(edge, edges, "edges")
    if name in PTX:
        count(ALL, "value >= 100000000")
    script = ROOT / "tools" / "fuzz.py"
    made = records.made(script, TITLE, list(rows.values()), device=records.processor())
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(made.text())
