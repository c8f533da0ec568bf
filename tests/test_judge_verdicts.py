"""Verdicts of the judge on the seen half of the kernels that it is rated with."""

import sys
from pathlib import Path

import judge_set
import pytest
import rotation

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import bench_judge

SLICES = 10
CASES = judge_set.cases("seen")[rotation.number() % SLICES :: SLICES]


@pytest.mark.campaign("six of sixty kernels, each judged within ten seconds or so")
@pytest.mark.parametrize("title", [case.title for case in CASES])
def test_verdict(title):
    case = next(case for case in CASES if case.title == title)
    verdict = bench_judge.judged(case)
    assert verdict.right, f"expected {case.verdict} {case.codes}, got {verdict.text}"
