"""A slice of the random programs of `make differential`, which are the same in each run."""

import json
import sys

import differential
import pytest

import cupola

PROGRAMS, TOGETHER = 1000, 50


@pytest.mark.parametrize("first", range(0, PROGRAMS, TOGETHER))
def test_random_programs_have_numpys_results(driver, first):
    for seed in range(first, first + TOGETHER):
        differential.Program(seed).run()


def found_by(monkeypatch, function, pattern, **options):
    """Check that programs of a wrong operation fail with a message that repeats the program."""
    wrong = differential.Operation(function, **options)
    monkeypatch.setattr(differential, "OPERATIONS", {"wrong": wrong})
    with pytest.raises(differential.Mismatch, match=pattern) as error:
        for seed in range(40):
            differential.Program(seed).run()
    assert "program " in str(error.value) and "wrong(" in str(error.value)


def test_a_wrong_result_is_found(driver, monkeypatch):
    found_by(monkeypatch, lambda m, c, x: x.sum() + (m is cupola), "got .*, not", types=["f4"])


def test_a_wrong_type_is_found(driver, monkeypatch):
    def function(module, choose, x):
        return x.astype("f4") if module is cupola else x.astype("f8")

    found_by(monkeypatch, function, "got float32.*, not float64")


def test_a_refusal_without_a_reason_is_found(driver, monkeypatch):
    def function(module, choose, x):
        if module is cupola:
            raise cupola.ArgumentTypeError("no")
        return x

    found_by(monkeypatch, function, "is refused: ArgumentTypeError: no")


def test_a_missing_refusal_is_found(driver, monkeypatch):
    def function(module, choose, x):
        if module is not cupola:
            raise ValueError("no")
        return x

    found_by(monkeypatch, function, "NumPy refuses: no")


def test_other_bits_of_another_machine_are_found(driver, monkeypatch, tmp_path, capsys):
    file = tmp_path / "results.json"

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["differential.py", "--programs", "20", *words])
        return differential.main()

    assert run("--record", str(file)) == 0
    assert run("--compare", str(file)) == 0
    there = json.loads(file.read_text())
    seed = next(seed for seed, results in there.items() if results)
    name, _ = there[seed][0]
    there[seed][0][1] = "0" * 16
    file.write_text(json.dumps(there))
    capsys.readouterr()
    assert run("--compare", str(file)) == 1
    assert f"program {seed}: {name} here, {name} there\n1 of " in capsys.readouterr().out
    file.write_text("{}")
    with pytest.raises(SystemExit, match="the same --programs"):
        run("--compare", str(file))
