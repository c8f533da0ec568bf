"""cupola.tune: the best variant by clocks that tell the same each time, and by the real one."""

import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree

import images
import numpy as np
import pytest
from tuned_families import (
    EndingClock,
    FormulaClock,
    mode_case,
    mode_family,
    scale_case,
    scale_family,
)
from working import refused

import cupola
from cupola.tuning.measure import CaseRunner
from cupola.tuning.outcomes import Failure
from cupola.tuning.session import Settings
from cupola.tuning.tune import tune_at_first_use, tune_with


@pytest.fixture(autouse=True)
def _compiler(tmp_path, monkeypatch):
    """NVRTC; the cache is the test's own."""
    images.nvrtc()
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))


def journals(folder):
    return sorted((folder / "cache" / "tuning").glob("*.journal"))


def tuned(family, cases, clock, **how):
    store = how.pop("store", False)
    kept = {name: how.pop(name) for name in ("device", "resume", "progress") if name in how}
    return tune_with(family, cases, Settings(clock, **how), store=store, **kept)


def two_cases():
    yield scale_case(16, 24)
    yield scale_case(40, 8, name="high")


@pytest.mark.parametrize("search", ["all", "random", "greedy", "hill-climbing"])
def test_each_search_finds_the_best_of_a_smooth_space(search):
    found = tuned(scale_family(), two_cases, FormulaClock(TX=16, TY=4), search=search)
    assert [row.variant for row in found.rows] == [{"TX": 16, "TY": 4}] * 2
    assert [row.key for row in found.rows] == [(16, 24), (40, 8)]
    for row in found.rows:
        assert row.types == () and row.seconds == pytest.approx(1e-3) and row.spread == 0
        assert row.default_seconds > 2 * row.seconds


def test_the_table_names_each_case_and_its_best():
    found = tuned(scale_family(), two_cases, FormulaClock(TX=16, TY=4))
    lines = str(found).splitlines()
    assert lines[0] == f"scale on {cupola.Device().name}"
    assert lines[1].split()[:3] == ["case", "variant", "time"]
    words = lines[2].split()
    assert words[:6] == ["rows=16", "columns=24", "TX=16", "TY=4", "1", "ms"]
    assert words[-3:] == ["9", "0", "0"]
    assert float(words[-4]) == pytest.approx(
        found.rows[0].seconds / found.rows[0].default_seconds, abs=1e-3
    )
    assert lines[3].startswith("high ") and len(lines) == 4
    assert found.device.name == cupola.Device().name


def test_the_real_clock_finds_a_variant_that_is_no_slower():
    family = scale_family(tunables={"TX": [1, 32], "TY": [1]}, default={"TX": 1, "TY": 1})
    for flush in (True, False):
        found = cupola.tune(family, scale_case(64, 64), flush=flush, store=False, progress=False)
        assert found.rows[0].variant == {"TX": 32, "TY": 1}
        assert 0 < found.rows[0].seconds < found.rows[0].default_seconds
        assert found.rows[0].variants == 2


def test_a_tie_goes_to_the_smaller_footprint():
    """Mode 5 does the same with 32 KiB of shared memory."""
    for modes in ([0, 5], [5, 0]):
        found = tuned(mode_family(modes), mode_case(), FormulaClock())
        assert found.rows[0].variant == {"MODE": 0} and found.rows[0].variants == 2


def test_wrong_and_failing_variants_are_never_chosen():
    """A wrong result, a fault, an endless loop, and an error of the compiler."""
    family = mode_family([0, 1, 2, 3, 4])
    found = tuned(family, mode_case(), FormulaClock(MODE=2), timeout=1.0)
    (case,) = found.cases
    failures = {one.variant[0]: one.failure for one in case.outcomes}
    assert failures[0] is None and found.rows[0].variant == {"MODE": 0}
    assert {mode: one.kind for mode, one in failures.items() if one} == {
        1: "wrong", 2: "fault", 3: "hang", 4: "compile",
    }  # fmt: skip
    assert failures[1].reason == "out[5]: got 6.0, expected 5.0; 3 of 100 elements differ"
    assert "error" in failures[4].reason and "kernel.cu" in failures[4].reason
    assert "no answer within" in failures[3].reason
    text = str(found)
    assert "n=100: MODE=3 hangs: gave no answer" in text
    assert text.splitlines()[2].split()[-3:] == ["1", "1", "3"]


def test_the_text_has_a_few_failures():
    family = mode_family([0, *range(100, 115)])  # all copy
    found = tuned(family, mode_case(), FormulaClock())
    failed = [
        one._replace(failure=Failure("wrong", "reason"), timing=None)
        for one in found.cases[0].outcomes
        if one.variant != (0,)
    ]
    found.cases = (found.cases[0]._replace(outcomes=tuple(failed)),)
    lines = str(found).splitlines()
    assert len(lines) == 3 + 11 and lines[-1] == "n=100: 5 more in Tuning.cases"
    assert all(line.endswith(" is wrong: reason") for line in lines[3:-1])


def test_a_variant_that_ends_its_process():
    clock = EndingClock({"TX": 16, "TY": 4}, TX=16, TY=4)
    found = tuned(scale_family(), two_cases, clock)
    for case in found.cases:
        failure = {one.variant: one.failure for one in case.outcomes}[16, 4]
        assert failure == ("died", "was ended by SIGKILL")
        assert case.row.variants == 8
        assert case.row.variant in ({"TX": 16, "TY": 2}, {"TX": 32, "TY": 4})


def test_an_argument_begins_equal_for_each_variant():
    """The kernel adds to its output: a second launch on one array would be wrong."""
    source = 'extern "C" __global__ void add(int* out) { out[threadIdx.x] += N / N; }\n'
    from cupola.declare.family_table import read
    from cupola.tuning.family import CompiledSource, Family

    table = {"kernel": "add", "tunables": {"N": [1, 2, 3]}, "macros": ["N"], "default": {"N": 1},
             "grid": 1, "block": 8}  # fmt: skip
    x = np.arange(8, dtype=np.int32)
    family = Family(read(table), CompiledSource(source))
    found = cupola.tune(family, cupola.Case([x], {0: x + 1}), store=False, progress=False)
    assert found.rows[0].variants == 3 and found.rows[0].key == ()
    assert str(found).splitlines()[2].startswith("all calls")
    assert (x == np.arange(8)).all()


def test_a_default_that_misses_the_reference_is_an_error(tmp_path):
    for case, saying in (
        (scale_case(8, 8, wrong=1), "rows=8 columns=8: the declared default (TX=8 TY=1) is wrong"),
        (scale_case(8, 8, wrong=1e-3, name="near"), "scale, near: the declared default"),
    ):
        words = ["out[0, 0]: got", "64 of 64 elements differ; nothing was stored"]
        with refused(cupola.ArgumentValueError, saying=[*words, saying]):
            tuned(scale_family(), [scale_case(4, 4), case], FormulaClock(), store=True)
    assert not list((tmp_path / "cache").rglob("*.json"))
    loose = scale_case(8, 8, wrong=1e-3, atol=1e-2)
    assert tuned(scale_family(), loose, FormulaClock()).rows


def test_cases_that_cant_be_measured():
    family = scale_family()
    x = np.zeros((4, 4), np.float32)

    def says(saying, cases, error=cupola.ArgumentValueError):
        with refused(error, saying=saying):
            tuned(family, cases, FormulaClock())

    says("scale: there are no cases", [])
    says("scale: there are no cases", lambda: iter(()))
    says("scale, case 1: expected cupola.Case(arguments, expected), got int", [3],
         cupola.ArgumentTypeError)  # fmt: skip
    says("scale: cases= is a function that yields cases, or a list of them, got int", 3,
         cupola.ArgumentTypeError)  # fmt: skip
    says("got the function dict.clear returned NoneType", {}.clear, cupola.ArgumentTypeError)
    says("two cases have the key rows=4 columns=4", [scale_case(4, 4), scale_case(4, 4)])
    says(["scale, case 1: ", "no argument: the kernel's 4 parameters are x, out, rows, columns"],
         cupola.Case((x, x, 4, 4), {"result": x}))  # fmt: skip
    says("is for an array, and argument 2 (rows) is int", cupola.Case((x, x, 4, 4), {2: x}))
    says(["scale, case 2 (thin): ", "has the shape (4,), and argument 1 (out) has (4, 4)"],
         [scale_case(8, 8), cupola.Case((x, x, 4, 4), {"out": x[0]}, name="thin")])  # fmt: skip
    says("takes 4 arguments", cupola.Case((x, x), {"out": x}), cupola.ArgumentTypeError)


def test_errors_of_the_function_name_family_case_and_line():
    def raises():
        yield scale_case(4, 4)
        raise KeyError("rows")

    def wrong():
        yield cupola.Case((1,), {})

    def at_once():
        return [scale_case(4, 4), 1 / 0]

    for function, said, error in (
        (raises, "scale, case 2: the function test_errors_of_the_function_name_family_case_and_line"
         f".<locals>.raises raised KeyError: 'rows' ({__file__}, line ", cupola.ArgumentError),
        (wrong, "scale, case 1: a case has no reference", cupola.ArgumentValueError),
        (at_once, ".<locals>.at_once raised ZeroDivisionError: division", cupola.ArgumentError),
    ):  # fmt: skip
        with refused(error, saying=said) as caught:
            tuned(scale_family(), function, FormulaClock())
        assert caught.value.__cause__ is not None


def test_the_budget_ends_a_variant_that_hangs():
    """The default is measured all the same, and the row of another variant is kept."""
    family = mode_family([0, 3, 5])
    begun = time.monotonic()
    found = tuned(family, mode_case(), FormulaClock(MODE=5), budget=3.0)
    assert time.monotonic() - begun < 8  # the timeout of a first launch is 60 s
    (case,) = found.cases
    assert not case.is_complete and {one.variant for one in case.outcomes} <= {(0,), (5,)}
    assert not any(one.failure for one in case.outcomes) and found.rows[0].default_seconds
    assert "n=100: the budget ended before the search" in str(found)


def test_a_default_that_hangs_gets_the_timeout():
    family = mode_family([3, 0], default={"MODE": 3})
    begun = time.monotonic()
    with refused(cupola.ArgumentValueError, saying="gave no answer within 1 s"):
        tuned(family, mode_case(), FormulaClock(), budget=0.5, timeout=1.0)
    assert time.monotonic() - begun < 6


def test_what_makes_no_case():
    x = np.zeros(4, np.float32)
    with refused(cupola.ArgumentValueError, saying="has no reference"):
        cupola.Case((x,), {})
    with refused(cupola.ArgumentValueError, saying="case 'a' has no reference"):
        cupola.Case((x,), None, name="a")
    with refused(cupola.ArgumentTypeError, saying="copy it with x.get()"):
        cupola.Case((cupola.to_device(x),), {0: x})
    with refused(cupola.ArgumentTypeError, saying="array of Python objects"):
        cupola.Case((np.array([None]),), {0: x})
    with refused(cupola.ArgumentTypeError, saying="the reference of 'y' is an array of Python"):
        cupola.Case((x,), {"y": [None]})
    with refused(cupola.ArgumentTypeError, saying="a tuple, a list or a dict"):
        cupola.Case(3, {0: x})
    with refused(cupola.ArgumentValueError, saying="rtol= is a number of at least 0"):
        cupola.Case((x,), {0: x}, rtol=-1)
    with refused(cupola.ArgumentTypeError, saying="atol= is a number"):
        cupola.Case((x,), {0: x}, atol="1")
    assert repr(cupola.Case((x,), {0: x}, name="a")) == "<cupola.Case a of 1 arguments>"


def test_arguments_of_tune():
    family, case = scale_family(), scale_case(4, 4)

    def says(error, saying, **how):
        with refused(error, saying=saying):
            cupola.tune(how.pop("family", family), case, store=False, **how)

    says(cupola.ArgumentTypeError, "takes a cupola.Family, got int", family=3)
    says(cupola.ArgumentValueError, "budget= is a number of seconds above 0", budget=0)
    says(cupola.ArgumentTypeError, "timeout= is a number of seconds", timeout="1")
    says(cupola.ArgumentValueError, "search='al': expected one of all, random", search="al")
    says(cupola.ArgumentTypeError, "seed= is an int", seed=0.5)
    says(cupola.ArgumentTypeError, "progress= is True for a bar", progress=3)
    says(cupola.ArgumentValueError, "device= is an empty list", device=[])
    says(cupola.ArgumentValueError, "names a device twice", device=[0, 0])


def test_an_early_end_of_the_budget_keeps_the_default():
    found = tuned(scale_family(), two_cases, FormulaClock(TX=16), budget=1e-6)
    assert len(found.cases) == 1 and found.unmeasured
    assert found.rows[0].variants == 1 and not found.cases[0].is_complete
    text = str(found)
    assert "rows=16 columns=24: the budget ended before the search" in text
    assert "the budget ended before the last case" in text


def test_progress_counts_variants():
    seen = []
    tuned(scale_family(), list(two_cases()), FormulaClock(),
          progress=lambda done, total: seen.append((done, total)))  # fmt: skip
    assert seen == [(done, 18) for done in range(1, 19)]


@pytest.mark.parametrize("installed", [True, False])
def test_a_bar_needs_a_terminal_and_tqdm(monkeypatch, installed, capfd):
    if not installed:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    found = tuned(mode_family([0, 5]), mode_case(), FormulaClock(), progress=True)
    assert found.rows[0].variants == 2 and capfd.readouterr() == ("", "")


def test_a_change_of_the_clock_is_noted():
    found = tuned(mode_family([0, 5]), mode_case(), FormulaClock())
    for clocks, noted in ((None, False), ((1900, 1980), False), ((1000, 1980), True)):
        found.cases = (found.cases[0]._replace(clocks=clocks),)
        assert ("n=100: the clock changed from 1000 to 1980 MHz" in str(found)) == noted


@pytest.mark.cpu_only(reason="the clock of a GPU is that of NVML")
def test_the_cpu_device_has_no_clock():
    assert CaseRunner(scale_family(), 0, FormulaClock()).sm_clock() is None


def test_a_picture_over_two_tunables(tmp_path):
    family = mode_family([0, 1, 4])
    found = tuned(family, mode_case(), FormulaClock())
    found.picture(tmp_path / "one.svg")
    texts = [one.text for one in xml.etree.ElementTree.parse(tmp_path / "one.svg").iter()]
    assert {"MODE", "0", "1", "4", "1.00", "wrong", "compile"} <= set(texts)
    family = scale_family(restrictions=["TX * TY <= 64"])
    found = tuned(family, two_cases, FormulaClock(TX=16, TY=1))
    found.picture(tmp_path / "two.svg", x="TY", y="TX")
    texts = [one.text for one in xml.etree.ElementTree.parse(tmp_path / "two.svg").iter()]
    assert {"TX", "TY", "32", "1.00", "excluded"} <= set(texts)
    for how, saying in (
        ({"x": "TZ"}, "x='TZ' is no tunable"),
        ({"y": "TZ"}, "y='TZ' is no tunable"),
        ({"x": "TX", "y": "TX"}, "both 'TX'"),
    ):
        with refused(cupola.ArgumentValueError, saying=saying):
            found.picture(tmp_path / "none.svg", **how)
    with refused(cupola.ArgumentValueError, saying="is a .svg file"):
        found.picture(tmp_path / "none.png")


def test_a_call_is_tuned_at_its_first_use():
    family = mode_family([0, 1, 2, 5])
    x = cupola.to_device(np.arange(64, dtype=np.float32))
    out = cupola.zeros(64, np.float32)
    row = tune_at_first_use(family, family.call((x, out, 64)), 10.0)
    assert row.key == (64,) and row.variants == 2 and row.variant["MODE"] in (0, 5)
    assert not out.get().any()  # the process has its own copy
    assert tune_at_first_use(family, family.call((x.address, out, 64)), 10.0) is None
    assert tune_at_first_use(family, family.call((object(), out, 64)), 10.0) is None


SEVERAL = """
import cupola, json, re, sys
from tuned_families import DeviceClock, scale_case, scale_family
from cupola.tuning.session import Settings
from cupola.tuning.tune import tune_with
cases = [scale_case(rows, 8) for rows in range(1, 9)]
clock = DeviceClock(sys.argv[1], TX=32, TY=1)
found = tune_with(scale_family(), cases, Settings(clock), device=[0, 2, 1], store=False)
used = set(re.findall("'device': (\\\\d)", open(sys.argv[1]).read()))
print(json.dumps([sorted(used), [[row.key, row.variant] for row in found.rows]]))
for devices in ([0, 7], [0, 1, 0]):
    try:
        tune_with(scale_family(), cases, Settings(clock), device=devices, store=False)
    except cupola.Error as error:
        print(error)
"""


def test_several_devices_share_the_cases(tmp_path):
    """Each case is measured once, on one of three CPU devices."""
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, tmp_path / "log"], capture_output=True, text=True,
        check=True, cwd=images.SOURCE.parent,
        env={**os.environ, "CUPOLA_CPU_DEVICES": "3", "CUPOLA_DRIVER": "cpu"},
    )  # fmt: skip
    found, missing, twice = done.stdout.splitlines()
    used, rows = json.loads(found)
    assert used == ["0", "1", "2"]
    assert rows == [[[n, 8], {"TX": 32, "TY": 1}] for n in range(1, 9)]
    assert "7" in missing and "device= names a device twice" in twice
