# cupola/judging/verdict.py - the findings about a candidate, as text, JSON and JUnit.
"""`Verdict` and `Finding`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from cupola.judging.codes import CODES
from cupola.version import __version__

FORMAT, VERSION = "cupola verdict", 1
_STATUS = {"right": 0, "wrong": 1, "refused": 2}


@dataclass
class Finding:
    """Something that was found about a candidate.

    Attributes
    ----------
    code : str
        A stable name; the documentation lists all.
    text : str
        The observation.
    line : int
        The line of the candidate; 0 where none is known.
    sizes : dict of str to int
        The smallest sizes that were seen to show it; empty where it depends on none.
    case : str
        The file that replays it (`cupola.recording.replay`); "" where none was written.
    check : str
        The complete report of a check of the CPU device.
    file : str
        The source that has the line, where the candidate is an operation; else "".
    """

    code: str
    text: str
    line: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    case: str = ""
    check: str = ""
    file: str = ""

    @property
    def advice(self) -> bool:
        """Whether the verdict does not depend on it."""
        return not CODES[self.code].verdict

    @property
    def remedy(self) -> str:
        """The text of the code on how to repair the kernel."""
        return CODES[self.code].remedy

    def described(self) -> dict[str, Any]:
        """The finding for JSON."""
        return {
            "code": self.code, "title": CODES[self.code].text, "text": self.text,
            "line": self.line, "remedy": self.remedy, "advice": self.advice, "sizes": self.sizes,
            "case": self.case, "check": self.check, "file": self.file,
        }  # fmt: skip


class Refused(Exception):
    """The candidate can't be judged, for the reason of a finding."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding = finding


@dataclass
class Verdict:
    """The result of `cupola.judge`.

    Attributes
    ----------
    verdict : str
        ``right``, ``wrong`` or ``refused``.
    candidate : str
        The candidate's file, ``candidate.cu``, or the operation, ``heat:step``.
    findings : list of Finding
    runs : int
        The launches that were judged.
    seconds : float
    about : dict
        Tolerances, coverage, resources, what was cut off from the processes, and which cases ran.
    """

    verdict: str
    candidate: str
    findings: list[Finding]
    runs: int = 0
    seconds: float = 0.0
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The exit status of the command: 0 right, 1 wrong, 2 refused."""
        return _STATUS[self.verdict]

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the findings that make the verdict, each once."""
        return tuple(dict.fromkeys(one.code for one in self.findings if not one.advice))

    def __str__(self) -> str:
        lines = [f"{self.candidate}: {self.verdict} ({self.runs} launches, {self.seconds:.1f} s)"]
        for one in self.findings:
            where = f"{one.file or self.candidate}:{one.line}: " if one.line else ""
            sizes = ", ".join(f"{name} = {size}" for name, size in one.sizes.items())
            lines.append(f"  {'advice' if one.advice else 'finding'} {one.code}: {where}{one.text}")
            lines += [f"    sizes: {sizes}"] if sizes else []
            lines += [f"    replay: python -m cupola replay {one.case}"] if one.case else []
            lines.append(f"    remedy: {one.remedy}")
        return "\n".join(lines)

    def json(self) -> str:
        """The verdict as a text in JSON."""
        told = {
            "format": FORMAT, "version": VERSION, "cupola": __version__, "verdict": self.verdict,
            "candidate": self.candidate, "runs": self.runs, "seconds": round(self.seconds, 3),
            "findings": [one.described() for one in self.findings], **self.about,
        }  # fmt: skip
        return json.dumps(told, indent=1)

    def junit(self) -> str:
        """The verdict as a report of JUnit: a test case for each code."""
        found = [one for one in self.findings if not one.advice]
        suite = ElementTree.Element(
            "testsuite", name="cupola judge", tests=str(max(len(found), 1)),
            failures=str(len(found) if self.verdict == "wrong" else 0),
            errors=str(len(found) if self.verdict == "refused" else 0), time=f"{self.seconds:.3f}",
        )  # fmt: skip
        kind = "failure" if self.verdict == "wrong" else "error"
        for one in found:
            case = ElementTree.SubElement(
                suite, "testcase", classname=self.candidate, name=one.code
            )
            place = f"{one.file or self.candidate}:{one.line}"
            text = f"{place}: {one.text}\n{one.check}\n{one.remedy}"
            ElementTree.SubElement(case, kind, type=one.code, message=one.text).text = _clean(text)
        if not found:
            ElementTree.SubElement(suite, "testcase", classname=self.candidate, name="right")
        return ElementTree.tostring(suite, encoding="unicode")


def _clean(text: str) -> str:
    """The text without characters that XML does not have."""
    return "".join(one if one in "\n\t" or one >= " " else "?" for one in text)
