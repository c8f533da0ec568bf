# cupola/judging/__init__.py - verdicts on kernels.
"""`judge` gives a `Verdict`, which has a `Finding` for each thing that is wrong."""

from __future__ import annotations

from cupola.judging.codes import CODES, Code
from cupola.judging.judgement import judge
from cupola.judging.process import Limits
from cupola.judging.verdict import Finding, Verdict

__all__ = ["CODES", "Code", "Finding", "Limits", "Verdict", "judge"]
