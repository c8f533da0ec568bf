"""tests/judge_runs.py - runs a candidate of the judge's set on the CPU device, without the judge.

A situation is a table of an index: `sizes`, and optionally

- `values`: one of VALUES, for the inputs
- `check`: checks of the CPU device, `seed`: of its orders, `launches`: more than one
- `same`: inputs that are one array, `view`: one of VIEWS for strided inputs
- `sparse`: a table that is 0 but in the rows that another input names
- `prints`: bytes on standard output, `seconds`: until the candidate counts as endless
"""

import ctypes
import json
import math
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from judge_set import cases, launch_of

SEED = 7
SPECIAL = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1e-40, -1e-40, 3e38, -1.5, 1e-30, 1.0, 7.7]
VALUES = ("random", "special", "extreme", "few", "negative", "large", "zeros")
VIEWS = {"every second": (0, 2), "from the second": (1, 1)}  # first column, step


def shape(text, sizes):
    """The element type and the lengths of a tensor, as in ``float32[rows, 4]``."""
    dtype, _, lengths = text.rstrip("]").partition("[")
    lengths = lengths.replace("*shape", "shape").split(",")
    return np.dtype(dtype), tuple(eval(each.strip(), {}, dict(sizes)) for each in lengths)


def filled(rng, dtype, lengths, values, bounds):
    """An array with values of one kind, random ones within the bounds of the task."""
    real = dtype.kind == "f"
    limits = np.finfo(dtype) if real else np.iinfo(dtype)
    low, high = bounds or ((-3, 3) if real else (limits.min, int(limits.max) + 1))
    count = math.prod(lengths)
    made = rng.uniform(low, high, count) if real else rng.integers(low, high, count, dtype=dtype)
    if values == "special" and real:
        made[rng.random(count) < 0.2] = rng.choice(SPECIAL)
        made[: len(SPECIAL)] = SPECIAL[:count]
    elif values == "extreme" and not real:
        ends = [limits.min, limits.max, limits.min + 1, limits.max - 1, 0, 1]
        made[:] = rng.choice(np.array([min(max(e, low), high - 1) for e in ends], dtype), count)
    elif values == "few" and not real:
        made[:] = rng.integers(max(low, 0), min(high, max(low, 0) + 4), count)
    elif values == "negative" and low < 0:
        made = -np.abs(made) if real else -(np.abs(made) // 2) - 1
    elif values == "large" and bounds is None and real:
        made = np.abs(made) * 40 + 60
    elif values == "zeros" and low <= 0:
        made[:] = 0
    return made.astype(dtype).reshape(lengths)


class Task:
    """A reference, and the inputs that its author allows."""

    def __init__(self, folder):
        given = runpy.run_path(str(folder / "reference.py"))
        self.operation, self.reference = given["operation"], given["reference"]
        self.sizes, self.ranges = given.get("sizes", {"shape": (0, 5000)}), given.get("ranges", {})
        self.made = given.get("inputs")
        self.rtol, self.atol = given.get("rtol", 1e-5), given.get("atol", 1e-6)
        self.mutated = self.operation.get("mutates", [])

    def bounds(self, name, sizes):
        def value(bound):
            return eval(bound, {}, dict(sizes)) if isinstance(bound, str) else bound

        return tuple(map(value, self.ranges[name])) if name in self.ranges else None

    def inputs(self, rng, situation):
        """Arrays and scalars by name."""
        sizes, values = situation["sizes"], situation.get("values", "random")
        made = self.made(rng, sizes) if self.made else {}
        table, rows = situation.get("sparse", (None, None))
        for name, text in self.operation["inputs"].items():
            if name not in made and name != table:
                made[name] = filled(rng, *shape(text, sizes), values, self.bounds(name, sizes))
        for name, kind in self.operation.get("scalars", {}).items():
            low, high = self.bounds(name, sizes)
            made[name] = rng.uniform(low, high) if kind == "float" else int(rng.integers(low, high))
        if table is not None:
            dtype, lengths = shape(self.operation["inputs"][table], sizes)
            made[rows][-1] = lengths[0] - 1
            made[table] = np.zeros(lengths, dtype)
            made[table][made[rows]] = rng.integers(1, 100, (len(made[rows]), lengths[1]))
        for name in (same := situation.get("same", []))[1:]:
            made[name] = made[same[0]]
        return made

    def expected(self, inputs):
        """The outputs, then the inputs that the operation changes."""
        own = {name: inputs[name].copy() for name in self.mutated}
        with np.errstate(all="ignore"):
            found = self.reference(**{**inputs, **own})
        return found if isinstance(found, tuple) else (found,)

    def equal(self, found, expected):
        """Whether an array is the reference's, within the tolerances of the task."""
        if found.dtype != expected.dtype or found.shape != expected.shape:
            return False
        if found.dtype.kind != "f":
            return np.array_equal(found, expected)
        zeros = (found == 0) & (expected == 0)
        if self.atol == 0 and (np.signbit(found) != np.signbit(expected))[zeros].any():
            return False
        return np.allclose(found, expected, self.rtol, self.atol, equal_nan=True)


def prefilled(arrays):
    """Arrays of the same shapes and types, with bytes that no reference returns."""
    made = [np.zeros_like(each, order="C") for each in arrays]
    for each in made:
        each.view(np.uint8)[...] = 0x7B
    return made


def on_device(array, view):
    """A copy on the device, as a view of a wider array where the situation has one."""
    import cupola

    if view is None:
        return cupola.to_device(array)
    first, step = VIEWS[view]
    part = np.s_[:, first : first + step * array.shape[1] : step]
    wide = np.zeros((array.shape[0], first + step * array.shape[1]), array.dtype)
    wide[part] = array
    return cupola.to_device(wide)[part]


def run(case, situation):
    """Launches a candidate on the CPU device; the text says what is wrong, and may be empty.

    The process should be a new one: a check holds for all kernels of a process, and a fault ends
    its context.
    """
    check = situation.get("check", "")
    os.environ.update(CUPOLA_DRIVER="cpu", CUPOLA_CPU_MODE="ahead", CUPOLA_CPU_CHECK=check)
    os.environ["CUPOLA_CPU_SEED"] = str(situation.get("seed", ""))
    import cupola

    task, source = Task(case.task), case.candidate.read_text()
    declaration = {**task.operation, **launch_of(source)}
    module = cupola.compile(source, options=["-lineinfo"], name=f"{case.name}.cu")
    operation = cupola.op(module[declaration.pop("kernels")], **declaration)
    rng = np.random.default_rng(SEED)
    for _ in range(situation.get("launches", 1)):
        inputs = task.inputs(rng, situation)
        if said := launched(task, operation, inputs, situation):
            return said
    if check:
        driver = ctypes.CDLL(cupola.paths.cpu_driver())
        return "finding" if driver.cupola_cpu_findings() else ""
    return ""


def launched(task, operation, inputs, situation):
    """One launch; what differs, or an empty text."""
    expected = task.expected(inputs)
    arrays = {name: each for name, each in inputs.items() if isinstance(each, np.ndarray)}
    given = dict(inputs)
    out = prefilled(expected[: len(task.operation["outputs"])])
    if "sparse" not in situation:  # the CPU device uses NumPy's memory in place
        strided = task.operation.get("strided", [])
        for name, array in arrays.items():
            given[name] = on_device(array, situation.get("view") if name in strided else None)
        for name in (same := situation.get("same", []))[1:]:
            given[name] = given[same[0]]
        out = [on_device(each, None) for each in out]
    # Without `out` the check of initialisation knows that nothing has written the outputs.
    chosen = {} if "check" in situation or not out else {"out": out[0] if out[1:] == [] else out}
    results = operation(**given, **chosen)
    results = () if results is None else results if isinstance(results, tuple) else (results,)
    found = [*results, *(given[name] for name in task.mutated)]
    found = [each if isinstance(each, np.ndarray) else each.get() for each in found]
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        if not task.equal(one, other):
            return f"result {number} differs"
    if "sparse" not in situation:
        for name in set(arrays) - set(task.mutated):
            if given[name].get().tobytes() != arrays[name].tobytes():
                return f"input {name} is written"
    return ""


def outcome(case, situation):
    """The same in a process of its own; the text may also be that of an error.

    "timeout" stands for a process that takes too long, and "prints" for enough standard output.
    """
    with tempfile.TemporaryDirectory() as folder:
        said, printed = Path(folder, "said"), Path(folder, "printed")
        command = [sys.executable, __file__, case.title, json.dumps(situation), said]
        try:
            with printed.open("wb") as file:
                subprocess.run(
                    command, stdout=file, stderr=subprocess.DEVNULL,
                    timeout=situation.get("seconds", 60),
                )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "timeout"
        if printed.stat().st_size >= situation.get("prints", math.inf):
            return "prints"
        return said.read_text() if said.exists() else "error: the process ended"


def main():
    title, situation, said = sys.argv[1:]
    case = next(each for each in cases() if each.title == title)
    try:
        found = run(case, json.loads(situation))
    except Exception as error:
        found = f"error: {error}"
    Path(said).write_text(found)


if __name__ == "__main__":
    main()
