"""tests/judge_set.py - the kernels that `cupola judge` is rated with, and their index.

A folder of `judge_cases/seen`, `held_out` or `later` is a task: `reference.py`, candidates, and
`index.toml`, which says of each candidate whether it is right. Of a wrong candidate the index also
has the codes of findings that count, a public source of the mistake, and `shown`: a situation that
shows the mistake without the judge (`judge_runs.py`).
"""

import dataclasses
import random
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10
    from setuptools.compat.py310 import tomllib

FOLDER = Path(__file__).resolve().parent / "judge_cases"
PARTS = {"seen": FOLDER / "seen", "held-out": FOLDER / "held_out", "later": FOLDER / "later"}
LAUNCH = ("block", "grid", "shared", "cluster", "workspace", "sizes", "kernels")
COMMENT = "// cupola:"
CODES = {
    *("compile-error", "launch-error", "wrong-result", "wrong-result-at-edge", "not-deterministic"),
    *("depends-on-order", "memory", "race", "uninitialised", "barrier", "writes-input", "exit"),
    *("writes-outside", "output-not-written", "output-constant", "nan-swallowed", "special-values"),
    *("overflow", "aliasing", "view", "block-size", "timeout", "memory-limit", "output-limit"),
    "touches-process",
}
SEED = 20261129  # of the draw


@dataclasses.dataclass(frozen=True)
class Case:
    """A candidate, and its entry of the index."""

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
    """The cases of the parts, or of all parts, in the order of tasks and of each index."""
    found = []
    for part in parts or PARTS:
        for index in sorted(PARTS[part].glob("*/index.toml")):
            for name, fields in tomllib.loads(index.read_text()).items():
                fields["codes"] = tuple(fields.get("codes", ()))
                found.append(Case(part, index.parent, name, **fields))
    return found


def draw(tasks):
    """The seen half of the tasks of the first two parts, drawn before a kernel was written."""
    tasks = sorted(tasks)
    return set(random.Random(SEED).sample(tasks, len(tasks) // 2))


def launch_of(source):
    """The launch that the comment lines of a candidate choose."""
    lines = [line.removeprefix(COMMENT) for line in source.splitlines() if line.startswith(COMMENT)]
    found = tomllib.loads("\n".join(lines))
    if unknown := set(found) - set(LAUNCH):
        raise ValueError(f"{', '.join(unknown)}: a candidate may choose {', '.join(LAUNCH)}")
    return found
