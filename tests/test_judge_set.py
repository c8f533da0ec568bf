"""The kernels that the judge is rated with: half are right, half are wrong."""

import re

import judge_runs
import judge_set
import pytest

CASES = judge_set.cases()
TASKS = sorted({case.task.name for case in CASES})
DRAWN = {case.task.name for case in judge_set.cases("seen", "held-out")}
NUMBERS = {"seen": 30, "held-out": 30, "later": 16}  # of right and of wrong kernels


def test_the_set_is_whole():
    assert list(NUMBERS) == list(judge_set.PARTS)
    for part, number in NUMBERS.items():
        for verdict in ("right", "wrong"):
            found = [case for case in CASES if (case.part, case.verdict) == (part, verdict)]
            assert len(found) == number, f"{part}, {verdict}"
    assert len({case.title for case in CASES}) == 2 * sum(NUMBERS.values())
    assert len({case.task for case in CASES}) == len(TASKS), "two tasks have one name"
    files = {path for folder in judge_set.PARTS.values() for path in folder.glob("*/*.cu")}
    assert files == {case.candidate for case in CASES}


def test_the_seen_half_is_drawn():
    seen = {case.task.name for case in CASES if case.part == "seen"}
    assert seen == judge_set.draw(DRAWN)


def test_each_mistake_has_codes_a_source_and_a_situation():
    for case in CASES:
        assert case.kind, case.title
        if case.verdict == "right":
            assert not case.codes and case.source is None and case.shown is None, case.title
        else:
            assert case.codes and set(case.codes) <= judge_set.CODES, case.title
            assert re.match("https://", case.source) and case.shown["sizes"], case.title


def test_a_candidate_does_not_tell_its_verdict():
    telling = re.compile(r"\b(bug|wrong|mistake|incorrect|race|missing|overflow|cheat)", re.I)
    for case in CASES:
        assert not telling.search(case.candidate.read_text()), case.title
        judge_set.launch_of(case.candidate.read_text())
    with pytest.raises(ValueError, match="rows"):
        judge_set.launch_of("// cupola: rows = 3")


def situations(case):
    """Sizes at the bounds of the task and between them, kinds of values, checks and an order."""
    task = judge_runs.Task(case.task)
    low, high = ({name: bounds[end] for name, bounds in task.sizes.items()} for end in (0, 1))
    some = {
        name: min(high[name], max(low[name], wanted))
        for name, wanted in zip(task.sizes, (33, 47, 37, 29), strict=False)
    }
    yield {"sizes": low}
    if case.task.name == "gather_rows":  # the table has more than 2^31 elements
        high = {"vocabulary": 60000, "width": 40000, "n": 3}
        yield {"sizes": high, "sparse": ["table", "ids"]}
    else:
        yield {"sizes": high}
    for values in judge_runs.VALUES:
        if values != "special" or not task.ranges:
            yield {"sizes": some, "values": values}
    for view in judge_runs.VIEWS if task.operation.get("strided") else ():
        yield {"sizes": some, "view": view}
    yield {"sizes": some, "check": "all"}
    yield {"sizes": some, "seed": 3}


def agrees(case, situation):
    assert judge_runs.outcome(case, situation) == "", f"{case.title}: {situation}"


def differs(case):
    assert judge_runs.outcome(case, case.shown) != "", f"{case.title}: {case.shown}"


def by_title(title):
    return next(case for case in CASES if case.title == title)


def test_some_cases():
    agrees(by_title("row_sums/shuffle"), {"sizes": {"rows": 3, "columns": 40}, "check": "all"})
    for title in ("row_sums/tree", "bfloat16_bits/rounded"):
        differs(by_title(title))


@pytest.mark.campaign("runs each of 152 kernels in several situations")
@pytest.mark.parametrize("task", TASKS)
def test_verdicts(task):
    for case in CASES:
        if case.task.name != task:
            continue
        if case.verdict == "wrong":
            differs(case)
        else:
            for situation in situations(case):
                agrees(case, situation)
