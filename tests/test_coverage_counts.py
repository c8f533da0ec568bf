"""Counts of coverage equal counters that the kernels of tests/control_flow.cu have by hand."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import images
import numpy as np
import pytest

import cupola
import cupola.coverage

SOURCE = Path(__file__).with_name("control_flow.cu")
LINES = SOURCE.read_text().splitlines()
HITS = {
    int(found[1]): number
    for number, text in enumerate(LINES, 1)
    if (found := re.search(r"\bHIT\((\d+)\);", text))
}
KERNELS = re.findall(r"^KERNEL\((\w+)\)", SOURCE.read_text(), re.MULTILINE)
N = 100
# In `inlined_again`, which has two inlined copies in one kernel: see docs/how-to/coverage.md.
NOT_EXACT_WITH_G = {61, 62}

EXACT = ("-lineinfo", "-Xcicc", "-O0")


def launch(image, *kernels):
    """The hand-made counters, after the kernels have run on this process's device."""
    x = np.random.default_rng(3).integers(-4, 17, N).astype(np.int32)
    hits = cupola.zeros(len(HITS), np.uint64)
    module = cupola.load(image)
    for name in kernels:
        module[name][3, 64](hits, cupola.to_device(x), N)
    return hits.get().tolist()


def image(options):
    name = "control_flow" + "".join(options).replace("-", "") + ".ptx"
    return images.compiled(name, SOURCE, "-ptx", "-arch=compute_75", *options)


def counted(ptx, file, *kernels, **variables):
    """The same on the CPU device, in a process of its own: hand-made counters, and lines."""
    command = [sys.executable, __file__, ptx, *kernels]
    environment = {**os.environ, **variables, "CUPOLA_DRIVER": "cpu"}
    environment["CUPOLA_CPU_COVERAGE"] = str(file)
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), cupola.coverage.read(file).report()


def test_the_kernels_are_many_and_each_counter_is_one():
    assert len(KERNELS) >= 30
    assert sorted(HITS) == list(range(len(HITS))) and len(set(HITS.values())) == len(HITS)


@pytest.mark.parametrize("options", [("-G",), EXACT], ids=["G", "O0"])
def test_counts_equal_counters_made_by_hand(options, driver, tmp_path):
    """On a GPU, its own counters."""
    own = launch(image(options), *KERNELS)
    by_hand, report = counted(image(options), tmp_path / "counts", *KERNELS)
    file = report.files[str(SOURCE)]
    recorded = {k: file.lines[number].lanes for k, number in HITS.items()}
    inexact = NOT_EXACT_WITH_G if options == ("-G",) else set()
    assert own == by_hand
    assert {k: n for k, n in enumerate(own) if k not in inexact} == {
        k: n for k, n in recorded.items() if k not in inexact
    }
    assert all((own[k] > 0) == (recorded[k] > 0) for k in HITS)
    assert sum(n > 0 for n in own) > len(own) - 4


def test_machine_code_counts_the_same(tmp_path):
    """The lanes of lines and sides. Time slices decide how warps divide."""
    few = {"nested_loops", "large_switch", "barriers"}
    text = re.sub(
        r"^KERNEL\((\w+)\) .*?^}$",
        lambda found: found[0] if found[1] in few else "\n" * found[0].count("\n"),
        SOURCE.read_text(),
        flags=re.MULTILINE | re.DOTALL,
    )
    (tmp_path / "few.cu").write_text(text)
    ptx = images.compiled("few.ptx", tmp_path / "few.cu", "-ptx", "-arch=compute_75", *EXACT)
    found = []
    for mode in ("interpret", "compile"):
        by_hand, report = counted(ptx, tmp_path / mode, *sorted(few), CUPOLA_CPU_MODE=mode)
        file = report.files[str(tmp_path / "few.cu")]
        lines = {number: line.lanes for number, line in file.lines.items()}
        sides = {n: [branch.sides for branch in each] for n, each in file.branches.items()}
        found.append((by_hand, lines, sides))
    assert found[0] == found[1] and sum(found[1][0]) > 1000


def test_sides_of_branches_equal_counters_made_by_hand(tmp_path):
    """Where a side leads to a line that counts itself, and nothing else does."""
    by_hand, report = counted(image(EXACT), tmp_path / "counts", *KERNELS)
    file = report.files[str(SOURCE)]
    lines = {number: k for k, number in HITS.items()}
    reached = {}
    for number, branches in file.branches.items():
        for branch in branches:
            for to, lanes in branch.sides:
                if to in lines and re.search(r"(?<!do) {$", LINES[to - 2]):
                    reached.setdefault(to, []).append((number, lanes))
    single = {to: sides[0][1] for to, sides in reached.items() if len(sides) == 1}
    assert len(single) > 25
    assert single == {to: by_hand[lines[to]] for to in single}


if __name__ == "__main__":
    print(json.dumps(launch(*sys.argv[1:])))
