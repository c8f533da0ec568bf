"""Verdicts of cupola's judge on planted mistakes and on right kernels

python benchmarks/bench_judge.py [--out FOLDER] [--part PART] [--details FILE] [NAME ...]

The kernels are those of tests/judge_cases. PART is seen, held-out, later or all. Each verdict is a
process of its own, one after the other. A mistake counts as found if the verdict is "wrong" and a
finding has one of the codes that the index lists. --details writes each verdict as JSON. Names such
as row_sums/tree choose kernels; no record is written for them.
"""

import dataclasses
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import records

sys.path.append(str(records.ROOT / "tests"))
import judge_set

SECONDS = 300  # the judge has limits of its own; a process that takes longer has no verdict
GOAL_SECONDS = "value <= 10"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The answer of the judge to one case."""

    case: judge_set.Case
    verdict: str  # "none" where the process did not answer
    codes: tuple  # of findings, without advice
    seconds: float
    processor: float  # seconds of all processes of the judge; other programs disturb it little
    text: str

    @property
    def right(self):
        """Whether a mistake was found by a code that counts, or a right kernel was not blamed."""
        if self.case.verdict == "right":
            return self.verdict == "right"
        return self.verdict == "wrong" and not set(self.codes).isdisjoint(self.case.codes)

    def fields(self):
        return {
            "name": self.case.title,
            "part": self.case.part,
            "expected": self.case.verdict,
            "kind": self.case.kind,
            "verdict": self.verdict,
            "codes": self.codes,
            "counted codes": self.case.codes,
            "as expected": self.right,
            "seconds": round(self.seconds, 2),
            "processor seconds": round(self.processor, 2),
            "text": self.text,
        }


def processor_seconds():
    """Of the child processes that have ended, and of their child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def judged(case):
    """The verdict of a process of its own, which the interface of the command line gives."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "verdict.json")
        command = [sys.executable, "-m", "cupola", "judge", case.candidate]
        command += ["--against", case.reference, "--json", answer]
        start, used = time.monotonic(), processor_seconds()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            text = done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            text = f"no verdict within {SECONDS} s"
        seconds, used = time.monotonic() - start, processor_seconds() - used
        said = json.loads(answer.read_text()) if answer.exists() else {}
    findings = said.get("findings", [])
    codes = tuple(dict.fromkeys(one["code"] for one in findings if not one.get("advice")))
    return Verdict(case, said.get("verdict", "none"), codes, seconds, used, text[-4000:])


def rows(title, verdicts):
    """Counts against the goals of a part, and times; only names of the seen part are notes."""
    wrong = [each for each in verdicts if each.case.verdict == "wrong"]
    right = [each for each in verdicts if each.case.verdict == "right"]
    found = [each for each in wrong if each.right]
    blamed = [each for each in right if not each.right]
    unnamed = [each for each in wrong if each.verdict == "wrong" and not each.right]
    seconds = [each.seconds for each in verdicts]

    def names(listed):
        seen = [each.case.title for each in listed if each.case.part == "seen"]
        return ", ".join(seen) or None

    missed = [each for each in wrong if not each.right]
    made = [
        records.Row(
            f"{title}: mistakes found of {len(wrong)}", len(found), "",
            goal=f"value >= {len(wrong)}", note=names(missed),
        ),
        records.Row(
            f"{title}: mistakes found by another code alone", len(unnamed), "", note=names(unnamed)
        ),
        records.Row(
            f"{title}: right kernels blamed of {len(right)}", len(blamed), "",
            goal="value <= 0", note=names(blamed),
        ),
    ]  # fmt: skip
    median = statistics.median(seconds)
    made.append(records.Row(f"{title}: median time to a verdict", median, "s", goal=GOAL_SECONDS))
    used = statistics.median(each.processor for each in verdicts)
    made.append(records.Row(f"{title}: median processor time of a verdict", used, "s"))
    return [*made, records.Row(f"{title}: longest time to a verdict", max(seconds), "s")]


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--part", choices=[*judge_set.PARTS, "all"], default="all")
    parser.add_argument("--details", type=Path, help="a file for the verdicts as JSON")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these kernels")
    options = parser.parse_args()
    parts = list(judge_set.PARTS) if options.part == "all" else [options.part]
    chosen = judge_set.cases(*parts)
    if options.names:
        unknown = set(options.names) - {case.title for case in chosen}
        if unknown:
            parser.error(f"no kernel of this part: {', '.join(sorted(unknown))}")
        chosen = [case for case in chosen if case.title in options.names]
    verdicts = []
    for case in chosen:
        found = judged(case)
        verdicts.append(found)
        mark = "" if found.right else "   <- not as expected"
        codes = ", ".join(found.codes)
        print(f"{found.seconds:6.1f} s  {case.title}: {found.verdict} {codes}{mark}", flush=True)
        if options.details:
            fields = [each.fields() for each in verdicts]
            options.details.write_text(json.dumps(fields, indent=1) + "\n")
    if options.names:
        return
    groups = {part: [each for each in verdicts if each.case.part == part] for part in parts}
    if len(parts) > 1:
        groups["all"] = verdicts
    made = [row for title, group in groups.items() for row in rows(title, group)]
    for row in made:
        print(records.line(row), flush=True)
    if options.out:  # the file of --details is no part of the command that a record names
        arguments = ["--part", options.part]
        records.write(options.out, records.made(__file__, __doc__, made, arguments=arguments))


if __name__ == "__main__":
    main()
