"""tests/judge_set.py - the set of kernels that `cupola judge` is rated with, and runs of it without the judge.

A folder of `judge_cases/seen` or `judge_cases/held_out` is a task: `reference.py`, candidates, and
`index.toml`, which says of each candidate whether it is right. Of a wrong candidate the index also
has the finding's codes that count, a public source of the mistake, and `shown`: a situation in
which the candidate differs from the reference without the judge.
"""

import contextlib
import ctypes
import dataclasses
import json
import math
import os
import runpy
import selectors
import signal
import tempfile
import time
import tomllib
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent / "judge_cases"
PARTS = {"seen": FOLDER / "seen", "held-out": FOLDER / "held_out"}
LAUNCH = ("block", "grid", "shared", "cluster", "workspace", "sizes", "kernels")
PRAGMA = "// cupola:"


@dataclasses.dataclass(frozen=True)
class Case:
    """A candidate, and what the index says of it."""

    part: str
    task: Path
    name: str
    verdict: str
    kind: str
    codes: tuple = ()
    source: str | None = None
    shown: dict | None = None

    @property
    def title(self):
        return f"{self.task.name}/{self.name}"

    @property
    def candidate(self):
        return self.task / f"{self.name}.cu"

    @property
    def reference(self):
        return self.task / "reference.py"


def cases(*parts):
    """Of the parts, or of all parts: the cases in the order of tasks and of each index."""
    found = []
    for part in parts or PARTS:
        for index in sorted(PARTS[part].glob("*/index.toml")):
            for name, fields in tomllib.loads(index.read_text()).items():
                fields["codes"] = tuple(fields.get("codes", ()))
                found.append(Case(part, index.parent, name, **fields))
    return found


def launch_of(source):
    """What the comment lines of a candidate say of its launch."""
    lines = [line.removeprefix(PRAGMA) for line in source.splitlines() if line.startswith(PRAGMA)]
    found = tomllib.loads("\n".join(lines))
    if unknown := set(found) - set(LAUNCH):
        raise ValueError(f"{', '.join(unknown)}: a candidate may say {', '.join(LAUNCH)}")
    return found


def shape(text, sizes):
    """The element type and the lengths of a tensor, as in ``float32[rows, 4]``."""
    dtype, _, lengths = text.rstrip("]").partition("[")
    return np.dtype(dtype), tuple(eval(each, {}, dict(sizes)) for each in lengths.split(","))


SPECIAL = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1e-40, -1e-40, 3e38, -1.5, 1e-30, 1.0, 7.7]
VALUES = ("random", "special", "extreme", "few", "negative", "large", "offset")


def filled(rng, dtype, lengths, values, bounds):
    """An array of one of VALUES, within the bounds of the task."""
    count = math.prod(lengths)
    if dtype.kind == "f":
        low, high = bounds or (-3, 3)
        made = rng.uniform(low, high, count)
        if values == "special":
            made[rng.random(count) < 0.2] = rng.choice(SPECIAL)
            made[: len(SPECIAL)] = SPECIAL[:count]
        elif values == "large":
            made = np.abs(made) * 40 + 60
        elif values == "offset":
            made += 3000
    else:
        limits = np.iinfo(dtype)
        low, high = bounds or (limits.min, limits.max + 1)
        made = rng.integers(low, high, count, dtype=dtype)
        if values == "extreme":
            ends = [limits.min, limits.max, limits.min + 1, limits.max - 1, 0, 1]
            made[:] = rng.choice(np.array(ends, dtype), count)
        elif values == "few":
            made[:] = rng.integers(0, 4, count)
    if values == "negative":
        made = -np.abs(made) - 1 if dtype.kind == "f" else -(np.abs(made) // 2) - 1
    return made.astype(dtype).reshape(lengths)


class Task:
    """A reference, and the inputs that its author allows."""

    def __init__(self, folder):
        given = runpy.run_path(str(folder / "reference.py"))
        self.operation, self.reference = given["operation"], given["reference"]
        self.sizes, self.ranges = given.get("sizes", {}), given.get("ranges", {})
        self.made = given.get("inputs")
        self.rtol, self.atol = given.get("rtol", 1e-5), given.get("atol", 1e-6)
        self.mutated = self.operation.get("mutates", [])

    def bounds(self, name, sizes):
        if name not in self.ranges:
            return None
        return tuple(
            eval(each, {}, dict(sizes)) if isinstance(each, str) else each
            for each in self.ranges[name]
        )

    def inputs(self, rng, sizes, values):
        """Arrays and scalars by name."""
        made = self.made(rng, sizes) if self.made else {}
        for name, text in self.operation["inputs"].items():
            if name not in made:
                bounds = self.bounds(name, sizes)
                made[name] = filled(rng, *shape(text, sizes), values, bounds)
        for name, kind in self.operation.get("scalars", {}).items():
            if name not in made:
                low, high = self.bounds(name, sizes) or (0, 4)
                real = kind.startswith("float")
                made[name] = float(rng.uniform(low, high)) if real else int(rng.integers(low, high))
        return made

    def expected(self, inputs):
        """The outputs, then the inputs that the operation changes."""
        with np.errstate(all="ignore"):
            found = self.reference(**{name: np.copy(v) if isinstance(v, np.ndarray) else v
                                      for name, v in inputs.items()})  # fmt: skip
        return found if isinstance(found, tuple) else (found,)

    def differs(self, found, expected):
        """Whether an array is not the reference's, within the task's tolerances."""
        if found.dtype != expected.dtype or found.shape != expected.shape:
            return True
        if found.dtype.kind != "f":
            return not np.array_equal(found, expected)
        if self.atol == 0 and self.rtol == 0:  # also the sign of zero
            nan = np.isnan(found) & np.isnan(expected)
            same = (found == expected) & (np.signbit(found) == np.signbit(expected))
            return not (nan | same).all()
        return not np.allclose(found, expected, self.rtol, self.atol, equal_nan=True)


def prefilled(task, inputs):
    """Arrays for the outputs with bytes that no reference returns; none without outputs."""
    import cupola

    outputs = task.operation.get("outputs", {})
    made = [np.full_like(one, 0) for one in task.expected(inputs)[: len(outputs)]]
    for one in made:
        one.view(np.uint8)[...] = 0x7B
    filled = tuple(map(cupola.to_device, made))
    return filled[0] if len(filled) == 1 else filled or None


def run(case, situation):
    """Launches a candidate on the CPU device; what is wrong with the outcome, or an empty text.

    The process should be a new one: a check holds for all kernels of a process, and a fault ends
    its context.
    """
    check = situation.get("check")
    os.environ.update(CUPOLA_DRIVER="cpu", CUPOLA_CPU_MODE="ahead", CUPOLA_CPU_CHECK=check or "")
    if "seed" in situation:
        os.environ["CUPOLA_CPU_SEED"] = str(situation["seed"])
    import cupola

    task, source = Task(case.task), case.candidate.read_text()
    declaration = {**task.operation, **launch_of(source)}
    kernels = declaration.pop("kernels")
    module = cupola.compile(source, options=["-lineinfo"], name=f"{case.name}.cu")
    operation = cupola.op(module[kernels], **declaration)
    rng = np.random.default_rng(20261129)
    for _ in range(situation.get("launches", 1)):
        inputs = task.inputs(rng, situation["sizes"], situation.get("values", "random"))
        if same := situation.get("same"):
            inputs.update(dict.fromkeys(same, inputs[same[0]]))
        expected = task.expected(inputs)
        given = {n: cupola.to_device(v) if isinstance(v, np.ndarray) else v
                 for n, v in inputs.items()}  # fmt: skip
        if same:
            given.update(dict.fromkeys(same, given[same[0]]))
        results = operation(**given, **({} if check else {"out": prefilled(task, inputs)}))
        results = () if results is None else results if isinstance(results, tuple) else (results,)
        found = [each.get() for each in (*results, *(given[name] for name in task.mutated))]
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            if task.differs(one, other):
                return f"result {number} differs"
        for name, before in inputs.items():
            if name not in task.mutated and isinstance(before, np.ndarray):
                if given[name].get().tobytes() != before.tobytes():
                    return f"input {name} is written"
    if check:
        driver = ctypes.CDLL(cupola.paths.cpu_driver())
        return "finding" if driver.cupola_cpu_findings() else ""
    return ""


def outcome(case, situation, seconds=60):
    """The same in a process of its own: the text, "timeout", or "error: " and the text of it.

    With `prints` in the situation, so many bytes on standard output are an outcome, too.
    """
    with tempfile.TemporaryFile() as printed:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(printed.fileno(), 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                said = run(case, situation)
            except BaseException as error:
                said = f"error: {error}"
            os.write(writing, json.dumps(said).encode())
            os._exit(0)
        os.close(writing)
        said = _answer(reading, child, seconds)
        if "prints" in situation and os.fstat(printed.fileno()).st_size >= situation["prints"]:
            return "prints"
    return said


def _answer(reading, child, seconds):
    end, said = time.monotonic() + seconds, b""
    with contextlib.closing(os.fdopen(reading, "rb", 0)) as pipe, selectors.DefaultSelector() as one:
        one.register(pipe, selectors.EVENT_READ)
        while one.select(max(0, end - time.monotonic())):
            if not (more := pipe.read(65536)):
                break
            said += more
        else:
            os.kill(child, signal.SIGKILL)
            said = b'"timeout"'
    os.waitpid(child, 0)
    return json.loads(said or b'"error: the process ended"')
