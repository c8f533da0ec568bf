"""cupola.tune goes on where an earlier process was killed or interrupted."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import images
import numpy as np
import pytest
from tuned_families import FormulaClock, SlowClock, mode_case, mode_family, scale_case, scale_family

import cupola
from cupola.declare.tuning_table import DeviceRecord
from cupola.tuning.journal import Journal
from cupola.tuning.outcomes import Failure, Footprint, Outcome, Timing
from cupola.tuning.session import Settings
from cupola.tuning.tune import tune_with

# The second case is slow from its fifth variant on.
SLOW = """
import sys
from pathlib import Path
from tuned_families import SlowClock, scale_case, scale_family
from cupola.tuning.session import Settings
from cupola.tuning.tune import tune_with

def report(done, total):
    if done == 14:
        Path(sys.argv[1] + ".slow").touch()
    print(done, flush=True)

cases = [scale_case(n, n) for n in (4, 8, 12)]
settings = Settings(SlowClock(sys.argv[1], TX=16, TY=2), timeout=100.0)
tune_with(scale_family(), cases, settings, progress=report)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """NVRTC; the cache is the test's own."""
    images.nvrtc()
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def stopped(log, how):
    """Tune in a process that gets a signal while it measures the second case."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, log], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=images.SOURCE.parent,
    )  # fmt: skip
    for line in process.stdout:
        if line == "14\n":
            break
    time.sleep(0.2)
    process.send_signal(how)
    return process.communicate(timeout=60)[1], process.returncode


def launches(log):
    """How often variants were timed, but the default: it also lets the clocks rise for a time."""
    lines = log.read_text().splitlines() if log.exists() else []
    return sum(line != str({"TX": 8, "TY": 1}) for line in lines)


def all_cases():
    return [scale_case(n, n) for n in (4, 8, 12)]


def tables(cache):
    return [json.loads(path.read_text()) for path in (cache / "tuning").glob("*.json")]


def journals(cache):
    return list((cache / "tuning").glob("*.journal"))


def tuned(family, cases, clock, **how):
    return tune_with(family, cases, Settings(clock), **how)


def test_a_killed_tuning_goes_on_where_it_was(tmp_path, cache):
    log = tmp_path / "log"
    _, status = stopped(log, signal.SIGKILL)
    assert status == -signal.SIGKILL and not tables(cache)
    (journal,) = journals(cache)
    with open(journal, "ab") as file:
        file.write(b"\n[[], [8, 8], [32")  # torn
    os.unlink(f"{log}.slow")
    before = launches(log)
    found = tuned(scale_family(), all_cases(), SlowClock(str(log), TX=16, TY=2), store=True)
    resumed = launches(log) - before
    assert [row.variant for row in found.rows] == [{"TX": 16, "TY": 2}] * 3
    assert [row.variants for row in found.rows] == [9, 9, 9]
    (table,) = tables(cache)
    assert [row["key"] for row in table["families"][0]["rows"]] == [[4, 4], [8, 8], [12, 12]]
    assert not journals(cache)  # the table has all of it
    log.unlink()
    tuned(scale_family(), all_cases(), SlowClock(str(log), TX=16, TY=2), store=False)
    assert resumed < 0.75 * launches(log)


def test_the_measuring_process_ends_with_a_killed_one(tmp_path):
    def measuring():
        found = subprocess.run(["pgrep", "-f", "worker_process"], capture_output=True, text=True)
        return set(found.stdout.split())

    before = measuring()
    stopped(tmp_path / "log", signal.SIGKILL)
    for _ in range(100):
        if measuring() <= before:
            return
        time.sleep(0.1)
    raise AssertionError(measuring() - before)


def test_ctrl_c_keeps_what_was_measured(tmp_path, cache):
    text, status = stopped(tmp_path / "log", signal.SIGINT)
    assert "KeyboardInterrupt" in text and status not in (0, None)
    (table,) = tables(cache)
    (row,) = table["families"][0]["rows"]
    assert row["key"] == [4, 4] and row["variant"] == {"TX": 16, "TY": 2}
    assert row["variants"] == 9 and row["default_seconds"] > row["seconds"]
    assert journals(cache)


def test_a_finished_case_is_not_measured_again(tmp_path, cache):
    log = tmp_path / "log"
    stopped(log, signal.SIGKILL)
    os.unlink(f"{log}.slow")
    clock, at = SlowClock(str(log), TX=16, TY=2), launches(log)
    first = tuned(scale_family(), scale_case(4, 4), clock, store=False)
    assert launches(log) == at and first.rows[0].variants == 9
    assert not journals(cache)  # it came to its end
    again = tuned(scale_family(), scale_case(4, 4), clock, store=False)
    assert launches(log) > at and again.rows[0].variant == first.rows[0].variant


def test_resume_is_refused(tmp_path, cache):
    log = tmp_path / "log"
    stopped(log, signal.SIGKILL)
    os.unlink(f"{log}.slow")
    clock, at = SlowClock(str(log), TX=16, TY=2), launches(log)
    tuned(scale_family(), scale_case(4, 4), clock, store=False, resume=False)
    assert launches(log) > at


def test_a_changed_case_is_measured_again(tmp_path, cache):
    log = tmp_path / "log"
    stopped(log, signal.SIGKILL)
    os.unlink(f"{log}.slow")
    log.unlink()
    cases = all_cases()
    for case in cases:
        case.rtol = 0.5
    tuned(scale_family(), cases, SlowClock(str(log), TX=16, TY=2), store=True)
    again = launches(log)
    log.unlink()
    tuned(scale_family(), cases, SlowClock(str(log), TX=16, TY=2), store=False, resume=False)
    assert launches(log) == again


def test_the_digest_of_a_case():
    def case(value=1.0, expected=2.0, dtype=np.float32, **how):
        x = np.full(4, value, dtype)
        return cupola.Case((x, 4), {0: np.full(4, expected)}, **how).digest

    assert case() == case() == case(name="of another name")
    different = [
        case(), case(value=3.0), case(expected=3.0), case(dtype=np.float64), case(rtol=0.1),
        case(atol=0.1),
    ]  # fmt: skip
    assert len(set(different)) == len(different)


DEVICE = DeviceRecord("a", "9.0", 1 << 30, 13000, 1000)


def test_a_journal_of_other_code_is_not_read(cache):
    outcome = Outcome((0,), None, Footprint(8, 64, 0), Timing(1.0, 1.0, 1.0, 3))
    failed = Outcome((1,), Failure("wrong", "out[0]: got 1, expected 2"), None, None)
    family, key = mode_family([0, 1]), ((), (100,), "digest")
    journal = Journal(family, DEVICE, ["clock"], True)
    journal.append(key, outcome)
    journal.append(key, failed)
    same = Journal(family, DEVICE, ["clock"], True)
    assert same.known(key) == [outcome, failed] and not same.is_complete(key)
    same.complete(key)
    assert Journal(family, DEVICE, ["clock"], True).is_complete(key)
    for other in (
        (mode_family([0, 1, 2]), DEVICE, ["clock"]),
        (scale_family(), DEVICE, ["clock"]),
        (family, dataclasses.replace(DEVICE, driver=13010), ["clock"]),
        (family, DEVICE, ["another"]),
    ):
        assert Journal(*other, True).known(key) == []
    assert Journal(family, DEVICE, ["clock"], False).known(key) == []
    assert not journals(cache)


def test_a_journal_that_others_wrote_is_left_out_line_by_line():
    key = ((), (1,), "digest")
    journal = Journal(mode_family([0, 1]), DEVICE, [], True)
    journal.append(key, Outcome((0,), None, Footprint(8, 64, 0), Timing(1, 1, 1, 3)))
    with open(journal.path, "ab") as file:
        file.write(b'\n5\n[]\n[1, 2]\nnull\n[[], [1], 5, 6, 7, 8]\n\xff\n{"a": 1}\n')
    assert len(Journal(mode_family([0, 1]), DEVICE, [], True).known(key)) == 1


def test_a_variant_that_hung_is_measured_again():
    key = ((), (1,), "digest")
    journal = Journal(mode_family([0, 1]), DEVICE, [], True)
    journal.append(key, Outcome((0,), Failure("hang", "gave no answer"), None, None))
    journal.append(key, Outcome((1,), Failure("wrong", "out[0]"), None, None))
    (known,) = Journal(mode_family([0, 1]), DEVICE, [], True).known(key)
    assert known.failure.kind == "wrong"


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_a_journal_that_is_no_file_is_not_read(kind):
    path = Journal(mode_family([0, 1]), DEVICE, [], True).path
    os.makedirs(os.path.dirname(path))
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    else:
        os.symlink("/dev/zero", path)
    assert Journal(mode_family([0, 1]), DEVICE, [], True).known(((), (1,), "digest")) == []


def test_lines_of_no_measurement_are_left_out():
    journal = Journal(mode_family([0, 1]), DEVICE, [], True)
    os.makedirs(os.path.dirname(journal.path))
    lines = [
        '[[], [1], "d", [0], null, [8, 64, 0], [-1.0, 1, 1, 3]]',
        '[[], [1], "d", [0], null, [8, 64, 0], [NaN, 1, 1, 3]]',
        '[[], [1], "d", [7], null, [8, 64, 0], [1.0, 1, 1, 3]]',
        '[[], [1], "d", [0], ["odd", "x"], null, null]',
        "[" * 100_000,
    ]
    Path(journal.path).write_text("\n".join(lines))
    assert Journal(mode_family([0, 1]), DEVICE, [], True).known(((), (1,), "d")) == []


def test_without_a_cache_nothing_is_written(monkeypatch, cache):
    monkeypatch.setenv("CUPOLA_CACHE_DIR", "none")
    found = tuned(mode_family([0, 5]), mode_case(), FormulaClock())
    assert found.file is None and found.rows and not cache.exists()


def test_rows_that_no_table_takes_stay_in_the_journal(tmp_path, cache):
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match="measurements of scale are not kept"):
        found = tuned(
            scale_family(), scale_case(4, 4), FormulaClock(), store=tmp_path / "file" / "tuning"
        )
    assert found.file is None and journals(cache)


def test_rows_go_into_a_folder_and_keep_those_of_other_keys(tmp_path):
    place = tmp_path / "heat" / "tuning"
    clock = FormulaClock(TX=16, TY=2)
    for n in (4, 8, 4):
        found = tuned(scale_family(), scale_case(n, n), clock, store=place)
    table = json.loads(Path(found.file).read_text())
    assert os.path.dirname(found.file) == str(place)
    (family,) = table["families"]
    assert table["format"] == 1 and table["device"]["name"] == cupola.Device().name
    assert [row["key"] for row in family["rows"]] == [[4, 4], [8, 8]]
    assert family["name"] == "scale" and family["tunables"] == ["TX", "TY"]
    assert family["key"] == ["rows", "columns"] and family["digest"] == found.digest
