"""Chosen variants beside the best and the default, and the time to tune beside kernel_tuner

python benchmarks/bench_tuning.py [--out FOLDER] [--tuned N] [--sizes N] [--largest N] [NAME]

NAME is a family of tuning_families.py; by default all of them. Each is tuned at N sizes. Then all
its variants are measured at other sizes, 40 by default. The variant that a call takes there, the
fastest one and the declared default are timed again, in turns: the fastest of many medians is
often one that noise made small. The tables and the cache are the run's own.

kernel_tuner is measured where it is installed with one of its back ends for CUDA. Each tunes one
size in the same space, in a process of its own from its start to its end, with an empty cache of
compilations. The variants that they find are timed again, in turns.
"""

import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import records
from tuning_families import BENCHMARKS, SOURCE, cases, sizes

import cupola

ROUNDS = 21
GOALS = {"mean": "value <= 1.03", "worst": "value <= 1.15", "default": "value <= 0.8"}
TUNED, OTHERS = 0, 1  # seeds


def tune(family, made, **more):
    return cupola.tune(family, made, budget=3600.0, progress=False, resume=False, **more)


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def chosen(family, case):
    """The variant that a call of the family takes."""
    arguments = [
        cupola.to_device(one) if isinstance(one, np.ndarray) else one for one in case.positional
    ]
    return family.choose(*arguments)


def quality(benchmark, tuned, count, largest):
    """Ratios of the chosen variant's times: over the best, and over the default."""
    family = benchmark.family()
    known = sizes(benchmark, tuned, TUNED, largest)
    tune(family, cases(benchmark, known))
    others = [key for key in sizes(benchmark, count, OTHERS, largest) if key not in known]
    made = list(cases(benchmark, others))
    over_best, over_default = [], []
    for case, found in zip(made, tune(family, made, store=False).cases, strict=True):
        timed = [one for one in found.outcomes if one.timing]
        variants = {
            "chosen": family.declaration.variant(chosen(family, case)),
            "best": min(timed, key=lambda one: one.timing.seconds).variant,
            "default": family.declaration.default,
        }
        seconds = timed_again(family, case, dict.fromkeys(variants.values()))
        times = {name: seconds[variant] for name, variant in variants.items()}
        over_best.append(times["chosen"] / times["best"])
        over_default.append(times["chosen"] / times["default"])
    return over_best, over_default


def timed_again(family, case, variants):
    """Median seconds of each variant, in turns."""
    arguments = [
        cupola.to_device(one) if isinstance(one, np.ndarray) else one for one in case.positional
    ]
    call, device = family.call(arguments), cupola.Device()
    begin, end = cupola.Event(timing=True), cupola.Event(timing=True)
    flush = cupola.empty(max(8 << 20, 2 * device.attribute(38)), np.uint8)
    times = {variant: [] for variant in variants}
    for round_ in range(ROUNDS + 3):
        for variant, seconds in times.items():
            flush.fill(round_ % 256)
            begin.record()
            family.launch(variant, call)
            end.record()
            end.synchronize()
            if round_ >= 3:
                seconds.append(end.elapsed_since(begin))
    return {variant: statistics.median(seconds) for variant, seconds in times.items()}


def peer_back_end():
    """kernel_tuner and its back end; None where it is not installed with one."""
    with contextlib.suppress(ImportError):
        import kernel_tuner

        for module, name in (("cupy", "CUPY"), ("cuda.bindings", "NVCUDA"), ("pycuda", "PYCUDA")):
            with contextlib.suppress(ImportError):
                __import__(module)
                return kernel_tuner, name
    return None


def tuned_by_cupola(benchmark, key):
    """The best variant of one size."""
    (row,) = tune(benchmark.family(), cases(benchmark, [key]), store=False).rows
    return [row.variant[name] for name in benchmark.tunables]


def tuned_by_peer(benchmark, key):
    """The variant that kernel_tuner finds."""
    kernel_tuner, back_end = peer_back_end()
    (case,) = cases(benchmark, [key])
    arguments = [np.int32(one) if isinstance(one, int) else one for one in case.positional]
    answer = [None] * len(arguments)
    for place, expected in case.expected.items():
        answer[place] = expected.astype(np.float32)
    by_name = dict(zip(benchmark.key, key, strict=True))
    divided = {
        f"grid_div_{axis}": list(names)
        for axis, (_, names) in zip("xyz", benchmark.grid, strict=False)
    }
    _, environment = kernel_tuner.tune_kernel(
        benchmark.name,
        f"#define {benchmark.name.upper()} 1\n" + SOURCE.read_text(),
        tuple(by_name[size] for size, _ in benchmark.grid),
        arguments,
        benchmark.tunables,
        **{"grid_div_x": [], "grid_div_y": [], **divided},
        restrictions=list(benchmark.restrictions),
        block_size_names=["BX", "BY"],
        answer=answer,
        atol=1e-2,
        lang=back_end,
        quiet=True,
    )
    return [int(environment["best_config"][name]) for name in benchmark.tunables]


ALONE = {"cupola": tuned_by_cupola, "kernel_tuner": tuned_by_peer}


def alone(project, benchmark, key):
    """Seconds of a new process that tunes one size, and the variant that it finds."""
    command = [sys.executable, __file__, "--alone", project, benchmark.name, "--key"]
    start = time.perf_counter()
    done = subprocess.run([*command, *map(str, key)], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{project}: {done.stdout}{done.stderr}")
    return seconds, tuple(json.loads(done.stdout.splitlines()[-1]))


def beside_the_peer(benchmark, largest, found):
    """Rows of the time to tune one size, and of the quality."""
    family = benchmark.family()
    (key,) = sizes(benchmark, 1, OTHERS, largest)
    with new_cache():
        ours, variant = alone("cupola", benchmark, key)
    what = f"{benchmark.name}: a process that tunes {len(family.variants)} variants at one size"
    if found is None:
        return [records.Row(what, ours, "s", note="kernel_tuner is not installed")]
    with new_cache():
        theirs, other = alone("kernel_tuner", benchmark, key)
    (case,) = cases(benchmark, [key])
    times = timed_again(family, case, dict.fromkeys([variant, other]))
    return [
        records.Row(what, ours, "s", "kernel_tuner", theirs, ours / theirs, "ratio <= 1.0"),
        records.Row(f"{benchmark.name}: the variant that tuning finds", times[variant] * 1e6, "us",
                    "kernel_tuner's", times[other] * 1e6, times[variant] / times[other],
                    "ratio <= 1.03"),
    ]  # fmt: skip


@contextlib.contextmanager
def new_cache():
    """An empty cache, with the tables of this run alone."""
    before = {name: os.environ.get(name) for name in ("CUPOLA_CACHE_DIR", "CUPOLA_TUNE")}
    with tempfile.TemporaryDirectory(prefix="cupola-tuning-") as folder:
        os.environ |= {"CUPOLA_CACHE_DIR": folder, "CUPOLA_TUNE": "tables"}
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def run(options):
    chosen_ones = [one for one in BENCHMARKS if one.name in (options.names or [one.name])]
    rows, best, default, found = [], [], [], peer_back_end()
    for benchmark in chosen_ones:
        with new_cache():
            over_best, over_default = quality(
                benchmark, options.tuned, options.sizes, options.largest
            )
        best, default = best + over_best, default + over_default
        print(f"{benchmark.name}: {len(over_best)} sizes measured", file=sys.stderr, flush=True)
        name = f"{benchmark.name}, {len(over_best)} sizes not tuned: chosen over"
        rows += [
            records.Row(f"{name} best, mean", mean(over_best), "x"),
            records.Row(f"{name} best, worst", max(over_best), "x"),
            records.Row(f"{name} default, mean", mean(over_default), "x"),
        ]
        rows += beside_the_peer(benchmark, options.largest, found)
    name = f"all families, {len(best)} sizes not tuned: chosen over"
    return [
        *rows,
        records.Row(f"{name} best, mean", mean(best), "x", goal=GOALS["mean"]),
        records.Row(f"{name} best, worst", max(best), "x", goal=GOALS["worst"]),
        records.Row(f"{name} default, mean", mean(default), "x", goal=GOALS["default"]),
    ]


def main():
    parser = records.parser(__doc__)
    add = parser.add_argument
    add("--tuned", type=int, default=24, help="sizes of each family that are tuned")
    add("--sizes", type=int, default=40, help="other sizes of each family")
    add("--largest", type=int, help="the largest size of an axis, for a slow device")
    add("names", nargs="*", metavar="NAME", choices=[*(one.name for one in BENCHMARKS), []],
        help="only these families")  # fmt: skip
    add("--alone", choices=ALONE, help="only tune one size, and print the best variant")
    add("--key", type=int, nargs="*", help="the size")
    options = parser.parse_args()
    if options.alone:
        (benchmark,) = (one for one in BENCHMARKS if one.name in options.names)
        print(json.dumps(ALONE[options.alone](benchmark, tuple(options.key))))
        return
    records.publish(options.out, __file__, __doc__, run(options))


if __name__ == "__main__":
    main()
