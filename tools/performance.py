# tools/performance.py - docs/performance.md: the figures that decide whether someone uses cupola.
"""The table of these figures, and the page that is made of it and of the records."""

from __future__ import annotations

from typing import NamedTuple

import charts
from tables import floor, goal, origin, plain, records, table, value, verdict

PAGE = "performance.md"
# Records whose rows are drawn.
ALGORITHMS = "algorithms-nvidia-h200"
CPU_DEVICE = "cpu-device-2-threads-cupola-cpu-device-intel-r-xeon-r-processor"
ALL_CORES = "cpu-device-16-threads-cupola-cpu-device-intel-r-xeon-r-processor"
HEAD = """# Performance
Each figure was measured by a command of [`benchmarks`](../benchmarks), and comes from its record in
[`benchmarks/results`](../benchmarks/results). `make results` makes this page. Do not edit it.

A **floor** is the time of the same work by other means on the same machine, such as a C++ loop over
the driver's function. A figure of 1.1 x takes 1.1 times as long as its floor. A **goal** is a bound
that cupola sets itself. The records have many more figures: a JSON file for each command and
device.

The CPU device runs kernels without a GPU. It is for tests and development.
"""


class Figure(NamedTuple):
    """A row of a record, and what the page calls it."""

    part: str
    record: str  # the name of its file in benchmarks/results, without .json
    row: str
    words: str


# Figures in the order of the page. README.md shows those of HEADLINES.
FIGURES = [
    Figure("launch", "launch-nvidia-h200", "kernel[grid, block](...)",
           "a checked launch with five arguments"),
    Figure("launch", "launch-nvidia-h200", "prepared launch()",
           "a launch whose arguments were checked before"),
    Figure("launch", "graph-nvidia-h100-80gb-hbm3", "run(), nodes: 10",
           "a launch of a graph of 10 nodes"),
    Figure("launch", "cudart-nvidia-h100-80gb-hbm3",
           "kernel<<<1, 1>>>(five arguments): cupola's runtime",
           "a launch of a CUDA program by cupola's libcudart"),
    Figure("launch", "pycuda-nvidia-h200", "kernel(..., block, grid): cupola",
           "a launch of a PyCUDA program by cupola.pycuda"),
    Figure("launch", "link-nvidia-h200", "|a| < |b|: cupola.link",
           "a shipped sort with a comparison of its user, linked by LTO"),
    Figure("operations", "ops-nvidia-h200", "torch: op(x, y, a)",
           "an operation on PyTorch tensors"),
    Figure("operations", "ops-nvidia-h200", "torch, tvm-ffi: op(x, y, a, out=out)",
           "an operation on PyTorch tensors, with an output given"),
    Figure("operations", "ops-nvidia-h200", "jax: jit of op(x, y, a)",
           "an operation in a jit of JAX"),
    Figure("arrays", "elementwise-nvidia-h100-80gb-hbm3", "x + y: cupola",
           "x + y of 1 GiB arrays"),
    Figure("arrays", "elementwise-nvidia-h100-80gb-hbm3", "x[::2] + y[::2]: cupola",
           "x[::2] + y[::2] of 1 GiB arrays"),
    Figure("arrays", "elementwise-nvidia-h100-80gb-hbm3", "host time, 32 elements: x + y: cupola",
           "host time of x + y, 32 elements"),
    Figure("arrays", "reduce-nvidia-h100-80gb-hbm3", "sum: cupola", "sum of a 1 GiB array"),
    Figure("arrays", "copy-nvidia-h100-80gb-hbm3", "256 MiB to the device, pageable, cupola",
           "copy of 256 MiB from pageable memory to the device"),
    Figure("algorithms", "algorithms-nvidia-h200", "sort: cupola", "sort of 1 GiB of float32"),
    Figure("algorithms", "algorithms-nvidia-h200", "scan: cupola", "cumsum of 1 GiB of float32"),
    Figure("algorithms", "algorithms-nvidia-h200",
           "matmul of 4096 x 4096, float16: cupola with cuBLAS",
           "product of matrices of 4096 x 4096, float16, with cuBLAS"),
    Figure("algorithms", "algorithms-nvidia-h200", "random.random, float32: cupola",
           "random numbers, 1 GiB of float32"),
    Figure("tuning", "tuning-nvidia-h200",
           "all families, 200 sizes not tuned: chosen over best, mean",
           "the variant of a table over the best one, mean of 200 sizes"),
    Figure("tuning", "tuning-nvidia-h200",
           "all families, 200 sizes not tuned: chosen over best, worst",
           "the variant of a table over the best one, worst of 200 sizes"),
    Figure("tuning", "tuning-nvidia-h200",
           "all families, 200 sizes not tuned: chosen over default, mean",
           "the variant of a table over the declared default, mean of 200 sizes"),
    Figure("tuning", "tuning-nvidia-h200",
           "matmul: a process that tunes 96 variants at one size",
           "tuning of 96 variants of a matrix product, beside kernel_tuner"),
    Figure("tuning", "tuned-nvidia-h200", "first call of a new process by cupola",
           "the first call of a process with a shipped table, beside Triton's cache"),
    Figure("start", "import-cupola-cpu-device-intel-r-xeon-r-processor",
           "import cupola, after numpy", "import cupola, after NumPy"),
    Figure("start", "start-cupola-cpu-device-intel-r-xeon-r-processor", "cupola over both",
           "start of Python to a kernel's result, beyond importing NumPy and the same work in C++"),
    Figure("start", "elementwise-nvidia-h100-80gb-hbm3", "first use in a process: x + x: cupola",
           "the first x + x of a process"),
    Figure("build", "build-amd-epyc", "again, nothing changed",
           "a second build of a package of 32 kernels, nothing changed"),
    Figure("CPU device", CPU_DEVICE, "all 49 kernels, default: geometric mean",
           "49 kernels beside OpenMP loops on 2 threads, geometric mean of ratios"),
    Figure("CPU device", CPU_DEVICE, "all 49 kernels, default: slowest",
           "49 kernels beside OpenMP loops on 2 threads, slowest"),
    Figure("CPU device", ALL_CORES, "all 49 kernels, default: geometric mean",
           "49 kernels beside OpenMP loops on 16 threads, geometric mean of ratios"),
    Figure("CPU device", ALL_CORES, "all 49 kernels, default: slowest",
           "49 kernels beside OpenMP loops on 16 threads, slowest"),
    Figure("CPU device", "cpu-calls-cupola-cpu-device-intel-r-xeon-r-processor",
           "the call that launches an empty kernel", "a launch of an empty kernel"),
    Figure("CPU device", "machine-code-cupola-cpu-device-intel-r-xeon-r-processor",
           "kernels compiled within 1 s", "kernels that are compiled within 1 s"),
    Figure("CPU device", "algorithms-cupola-cpu-device-amd-epyc",
           "sort of 16777216: cupola", "sort of 16,777,216 elements beside NumPy"),
    Figure("scaling", "pipeline-devices-2-x-nvidia-h200",
           "fused, bound by the kernel: speed of two devices over one",
           "a pipeline on two GPUs, speed over one GPU"),
    Figure("scaling", "nccl-2-x-nvidia-h200", "all-reduce of 1 GiB of float32: cupola.nccl",
           "all-reduce of 1 GiB on two GPUs"),
    Figure("scaling", "heat-ranks-2-x-nvidia-h200",
           "16384 x 16384 points of float32, a step: 2 ranks, device pointers",
           "a step of the heat equation on two MPI ranks, a GPU each"),
    Figure("scaling", "cluster-cupola-cpu-device-amd-epyc", "a task: device arrays",
           "a Dask task over device arrays, beside one over NumPy arrays"),
]  # fmt: skip
HEADLINES = [
    "a checked launch with five arguments",
    "a launch of a PyCUDA program by cupola.pycuda",
    "an operation on PyTorch tensors",
    "an operation on PyTorch tensors, with an output given",
    "host time of x + y, 32 elements",
    "sort of 1 GiB of float32",
    "the variant of a table over the best one, mean of 200 sizes",
    "product of matrices of 4096 x 4096, float16, with cuBLAS",
    "import cupola, after NumPy",
    "49 kernels beside OpenMP loops on 2 threads, geometric mean of ratios",
    "49 kernels beside OpenMP loops on 16 threads, geometric mean of ratios",
]
PICTURES = [
    ("performance-floors.svg", "Figures that have a floor, as multiples of it."),
    ("performance-algorithms.svg", "Algorithms by CUB, cupola, CuPy and torch."),
    ("performance-cpu-device.svg", "Kernels on the CPU device beside OpenMP loops."),
]


class Found(NamedTuple):
    """A figure of the table with its row, and with the record that has the row."""

    figure: Figure
    row: records.Row
    record: records.Record


def looked_up(files: dict[str, records.Record], figures: list[Figure] = FIGURES) -> list[Found]:
    """The figures with their rows. A row that no record has is an error."""
    found, missing = [], []
    for figure in figures:
        record = files.get(figure.record)
        row = next((r for r in record.rows if r.what == figure.row), None) if record else None
        if record is None or row is None:
            lacking = "row" if record else "record"
            missing.append(f"{figure.words}: no {lacking} {figure.record}.json: {figure.row}")
        else:
            found.append(Found(figure, row, record))
    if missing:
        raise SystemExit(
            "tools/performance.py lists figures that benchmarks/results does not have. Measure "
            "them, or change the list:\n" + "\n".join(missing)
        )
    return found


def rows_of(found: list[Found]) -> str:
    rows = [
        [
            f"{one.figure.part}: {one.figure.words}",
            *(value(one.row), floor(one.row), goal(one.row), verdict(one.row), origin(one.record)),
        ]
        for one in found
    ]
    return table(["what", "figure", "floor", "goal", "verdict", "measured on"], rows)


def origins(found: list[Found]) -> str:
    used = {one.figure.record: one.record for one in found}
    return "\n".join(
        f"- `{record.command}`. {plain(record.title)}. {origin(record)}. "
        f"{record.host['processor']}, {record.host['cores']} cores, load "
        f"{record.host['load at the start']} at the start."
        for record in used.values()
    )


def page(files: dict[str, records.Record], figures: list[Figure] = FIGURES) -> str:
    """The whole text: missed goals first, the worst of them at the top."""
    found = looked_up(files, figures)
    missed = sorted((f for f in found if f.row.met() is False), key=lambda f: f.row.rank())
    met = [f for f in found if f.row.met()]
    without = [f for f in found if f.row.met() is None]
    text = [
        HEAD,
        f"{len(found)} figures: {len(missed)} goals are missed, {len(met)} are met, "
        f"figures without a goal: {len(without)}.\n",
    ]
    for heading, part in (
        ("Missed goals", missed),
        ("Goals that are met", met),
        ("Figures without a goal", without),
    ):
        if part:
            text.append(f"## {heading}\n{rows_of(part)}\n")
    text.append("## Pictures")
    text += [f"{words}\n\n![{words}]({name})\n" for name, words in PICTURES]
    text.append(f"## How each was measured\n{origins(found)}\n")
    return "\n".join(text)


def headlines(files: dict[str, records.Record]) -> str:
    """README's table."""
    chosen = [one for one in looked_up(files) if one.figure.words in HEADLINES]
    if len(chosen) != len(HEADLINES):
        raise SystemExit("tools/performance.py: HEADLINES has words that FIGURES does not have")
    rows = [
        [
            one.figure.words,
            *(value(one.row), floor(one.row), verdict(one.row)),
            *(one.record.device, one.record.date),
        ]
        for one in chosen
    ]
    return table(["what", "figure", "beside", "goal", "device", "date"], rows) + "\n"


def pictures(files: dict[str, records.Record]) -> dict[str, str]:
    """The pictures by the names of their files."""
    return dict(
        zip(
            [name for name, _ in PICTURES],
            [of_floors(looked_up(files)), of_algorithms(files), of_cpu_device(files)],
            strict=True,
        )
    )


def of_floors(found: list[Found]) -> str:
    """The figures that have a ratio, in the order of the table."""
    legend = {"goal met": charts.BLUE, "goal missed": charts.ORANGE, "no goal": charts.GRAY}
    colors = {True: charts.BLUE, False: charts.ORANGE, None: charts.GRAY}
    rows = [
        charts.Bar(one.figure.words, one.row.ratio, colors[one.row.met()])
        for one in found
        if one.row.ratio is not None
    ]
    return charts.bars(PICTURES[0][1], "time as a multiple of the floor's", rows, legend=legend)


def of_algorithms(files: dict[str, records.Record]) -> str:
    """Each algorithm by each library, as a multiple of CUB's time."""
    record = files[ALGORITHMS]
    legend = {"cupola": charts.BLUE, "cupy": charts.ORANGE, "torch": charts.GREEN}
    rows = [
        charts.Bar(row.what, row.ratio, legend[row.what.rpartition(": ")[2]])
        for row in record.rows
        if row.ratio is not None
        and "CUB from C++" in (row.floor or "")
        and row.what.rpartition(": ")[2] in legend
    ]
    order = list(legend)
    rows.sort(key=lambda bar: (bar.label.partition(": ")[0], order.index(bar.label.split(": ")[1])))
    unit = f"time as a multiple of CUB's, {record.device}"
    return charts.bars(PICTURES[1][1], unit, rows, legend=legend)


def of_cpu_device(files: dict[str, records.Record]) -> str:
    """Each kernel of the CPU device in its default mode, the slowest first."""
    record = files[CPU_DEVICE]
    rows = [
        charts.Bar(
            row.what.removesuffix(", default"), row.ratio, goal=row.goal and row.parsed_goal()[2]
        )
        for row in record.rows
        if row.ratio is not None and row.floor and row.what.endswith(", default")
    ]
    rows.sort(key=lambda bar: -bar.value)
    legend = {"the CPU device": charts.BLUE, "goal": charts.ORANGE}
    return charts.bars(
        PICTURES[2][1], "time as a multiple of the loop's", rows, height=15, legend=legend
    )
