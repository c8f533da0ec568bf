# tools/compatibility.py - docs/compatibility.md: which tests of other projects pass.
"""The page about the suites of other projects, made of their records."""

from __future__ import annotations

import textwrap

from tables import origin, plain, records, table, verdict

PAGE = "compatibility.md"
HEAD = """# Tests of other projects
Programs and tests that other projects wrote, run with cupola. `make results` makes this page of the
records in [`benchmarks/results`](../benchmarks/results). Do not edit it. Versions of drivers, GPUs,
compilers and Python are [on a page of their own](start/compatibility.md).
"""
# The name of a suite's record, the heading of its section, and what the section says first.
SUITES = [
    (
        "cuda_samples",
        "CUDA samples of NVIDIA",
        "The [CUDA samples](https://github.com/NVIDIA/cuda-samples) for CUDA 13 that need no more "
        "than the runtime API, the driver API and NVRTC, [run without a GPU](how-to/"
        "cuda-programs.md). Their own CMake files build them, and `tools/cuda_samples.py` runs "
        "them.",
    ),
    (
        "cutlass",
        "Examples of CUTLASS for newer GPUs",
        "The examples of [CUTLASS](https://github.com/NVIDIA/cutlass) for Hopper and Blackwell, "
        "each compiled for its target and run at a small size on a [CPU device of that compute "
        "capability](how-to/newer-gpus.md). Each example compares its results with a reference. "
        "`tools/cutlass.py` builds and runs them.",
    ),
    (
        "pycuda_suite",
        "Tests of PyCUDA",
        "The files `test_driver.py`, `test_gpuarray.py` and `test_cumath.py` of PyCUDA's source "
        "distribution, as they are, over [cupola.pycuda](migrate/pycuda-unchanged.md). "
        "`make pycuda-suite` runs them.",
    ),
    (
        "array_api_suite",
        "Tests of the array API standard",
        "The standard's own tests against [cupola.array_api](reference/array-api.md). "
        "`make array-api` runs them.",
    ),
]
PROGRAMS = {"cuda_samples", "cutlass"}  # suites whose rows are programs
WHEELS = """## Frameworks
The wheels of `examples/heat` and `examples/norm`, built once, and tested in environments with these
packages. `make example-wheels` runs the tests."""


def share(record: records.Record) -> records.Row:
    """The row that counts the tests of a suite."""
    return next(row for row in record.rows if row.goal)


def page(found: list[records.Record]) -> str:
    """The whole text. A suite without a record is an error."""
    of_suites = [[one for one in found if one.name == name] for name, _, _ in SUITES]
    wheels = [one for one in found if one.name == "example_wheels"]
    lacking = [row[0] for row, those in zip(SUITES, of_suites, strict=True) if not those]
    lacking += [] if wheels else ["example_wheels"]
    if lacking:
        raise SystemExit(f"benchmarks/results has no record of {', '.join(lacking)}: run them")
    summary = []
    for (_, title, _), those in zip(SUITES, of_suites, strict=True):
        for record in those:
            row = share(record)
            shares = [f"{100 * part:.1f} %" for part in (row.value, row.parsed_goal()[2])]
            summary.append([title, shares[0], f">= {shares[1]}", verdict(row), origin(record)])
    headings = ["suite", "tests that pass", "goal", "verdict", "measured on"]
    text = [HEAD, table(headings, summary), ""]
    for (name, title, words), those in zip(SUITES, of_suites, strict=True):
        text += [f"## {title}", words, ""]
        text += [programs(r) if name in PROGRAMS else suite(r) for r in those]
    return "\n".join([*text, WHEELS, "", frameworks(wheels)])


def programs(record: records.Record) -> str:
    """The programs that do not pass with the reason, then the names of the others."""
    rows = [row for row in record.rows if not row.goal]
    passed = sorted(row.what for row in rows if (row.note or "").startswith("passed"))
    others = [row for row in rows if row.what not in passed]
    others.sort(key=lambda row: (row.note or "", row.what))
    made = table(
        ["program", "s", "result"], [[r.what, f"{r.value:g}", r.note or ""] for r in others]
    )
    names = textwrap.fill(" ".join(passed), 84, break_on_hyphens=False, break_long_words=False)
    return (
        f"On {origin(record)}, {record.host['cores']} cores: {share(record).note}.\n\n{made}\n\n"
        f"These pass:\n\n```text\n{names}\n```\n"
    )


def suite(record: records.Record) -> str:
    """How many tests of a suite pass on a device, and the reasons of the others."""
    reasons: dict[str, list[str]] = {}
    for row in record.rows:
        if not row.goal:
            reasons.setdefault(row.note or "", []).append(row.what.rpartition("::")[2])
    made = table(
        ["result and reason", "tests"],
        [[reason, shortened(names)] for reason, names in sorted(reasons.items())],
    )
    return f"On {origin(record)}: {plain(share(record).note or '')}.\n\n{made}\n"


def shortened(names: list[str]) -> str:
    """Tests without their parameters; a number counts the parameters of a test."""
    plain_names = [name.partition("[")[0] for name in names]
    return ", ".join(
        name if plain_names.count(name) == 1 else f"{name} ({plain_names.count(name)})"
        for name in dict.fromkeys(plain_names)
    )


def frameworks(wheels: list[records.Record]) -> str:
    rows = [
        [row.what, verdict(row), row.note or "", origin(record)]
        for record in wheels
        for row in record.rows
    ]
    headings = ["package, and packages beside it", "no test fails", "tests", "measured on"]
    return table(headings, rows) + "\n"
