"""Rounds and searches, on times that a formula gives."""

import random

import pytest

from cupola.declare.family_table import read
from cupola.tuning.outcomes import Failure, Footprint, Timing, timing
from cupola.tuning.race import Race
from cupola.tuning.search import SEARCHES, neighbours

TABLE = {
    "kernel": "k", "tunables": {"A": [1, 2, 4, 8, 16], "B": [1, 2, 4, 8, 16], "W": ["x", "y", "z"]},
    "default": {"A": 1, "B": 1, "W": "x"}, "grid": 1, "block": 1,
}  # fmt: skip


class Times:
    """A runner whose times are those of a function, with noise of a seed, on a clock of its own."""

    def __init__(self, seconds, noise=0.0, failing=(), registers=lambda variant: 8):
        self.seconds, self.noise, self.failing = seconds, noise, dict(failing)
        self.registers = registers
        self.order = random.Random(0)
        self.launches = []
        self.time = 0.0

    def now(self):
        return self.time

    def compile(self, variants):
        found = []
        for one in variants:
            kind = self.failing.get(one)
            failed = Failure("compile", "line 1") if kind == "compile" else None
            found.append(failed or Footprint(self.registers(one), 64, 0))
        return found

    def check(self, variant):
        kind = self.failing.get(variant)
        return Failure(kind, "reason") if kind in ("wrong", "hang") else None

    def sample(self, variant):
        self.launches.append(variant)
        if self.failing.get(variant) == "late":
            return Failure("fault", "late")
        taken = self.seconds(variant) * (1 + self.noise * self.order.random())
        self.time += taken
        return taken


def raced(times, search="all", table=TABLE, seconds=1e9, seed=0):
    declaration = read(table)
    race = Race(times, declaration.default, seconds, now=times.now)
    assert race.start() is None
    for batch in SEARCHES[search](declaration, race.seconds, random.Random(seed)):
        race.measure(batch)
        if race.is_over:
            break
    race.finish()
    return race


def bowl(variant):
    a, b, word = variant
    return 1e-3 * (1 + abs(a - 4) + abs(b - 8) + (word != "y"))


def test_quartiles():
    assert timing([3.0]) == Timing(3.0, 3.0, 3.0, 1)
    assert timing([1.0, 2.0, 3.0, 4.0, 5.0]) == Timing(3.0, 2.0, 4.0, 5)
    assert timing([1.0, 2.0, 3.0, 4.0, 5.0]).spread == 2.0
    near, far = Timing(1.0, 0.9, 1.1, 4), Timing(1.5, 1.4, 1.6, 4)
    assert near.ties(Timing(1.15, 1.05, 1.25, 4)) and not near.ties(far)


@pytest.mark.parametrize("seed", range(5))
def test_greedy_and_hill_climbing_measure_fewer_variants(seed):
    measured = {}
    for search in SEARCHES:
        race = raced(Times(bowl), search, seed=seed)
        measured[search] = len(race.outcomes)
        if search != "random":
            assert race.best() == (4, 8, "y")
    assert measured["all"] == 75
    assert measured["greedy"] < 30 and measured["hill-climbing"] < 70
    assert measured["random"] >= 20


def test_hill_climbing_leaves_a_hollow():
    """The default is the best of its neighbours."""

    def seconds(variant):
        if variant == (16, 16, "z"):
            return 1e-6
        return 1e-3 if variant == (1, 1, "x") else 3e-3 / (variant[0] * variant[1])

    assert raced(Times(seconds), "hill-climbing").best() == (16, 16, "z")


def test_a_seed_repeats_a_search():
    def order(seed):
        times = Times(bowl)
        raced(times, "random", seed=seed)
        return times.launches

    assert order(1) == order(1) != order(2)


def test_neighbours_differ_in_one_place():
    declaration = read({**TABLE, "restrictions": ["A * B <= 16"]})
    assert neighbours(declaration, (4, 4, "x")) == [
        (2, 4, "x"), (4, 2, "x"), (4, 4, "y"), (4, 4, "z"),
    ]  # fmt: skip
    for search in SEARCHES:
        found = raced(Times(bowl), search, {**TABLE, "restrictions": ["A * B <= 16"]})
        assert all(a * b <= 16 for a, b, _ in found.outcomes)


def test_rounds_are_interleaved():
    times = Times(lambda variant: 1e-3, registers=lambda variant: variant[0])
    race = raced(times, table={**TABLE, "tunables": {"A": [1, 2, 3]}, "default": {"A": 2}})
    assert race.best() == (1,)  # equal times: the fewest registers
    last = times.launches[-9:]
    assert len({*last}) == 3 and last[:3] == last[3:6] == last[6:]


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.2])
def test_noise_does_not_choose_a_slow_variant(noise):
    race = raced(Times(bowl, noise))
    assert bowl(race.best()) <= (1 + noise) * bowl((4, 8, "y"))


def test_of_equal_variants_the_nearest_to_the_default_is_best():
    assert raced(Times(lambda variant: 1e-3)).best() == (1, 1, "x")
    few = Times(lambda variant: 1e-3, registers=lambda variant: 8 - (variant[2] == "y"))
    assert raced(few).best() == (1, 1, "y")


def test_no_slower_variant_takes_the_place_of_the_default():
    def found(seconds):
        # Noise ties all of them; the variant with the fewest registers is not the default.
        fewer = lambda variant: variant[0]
        times = Times(lambda variant: seconds[variant[0]], 0.5, registers=fewer)
        table = {**TABLE, "tunables": {"A": [1, 2, 3]}, "default": {"A": 2}}
        race = raced(times, table=table)
        default = race.outcomes[2,].timing.seconds
        return race.outcomes[race.best()].timing.seconds <= default

    assert all(found({1: 1 + 0.01 * k, 2: 1.0, 3: 1.0}) for k in range(20))


def test_a_slow_variant_gets_one_round():
    times = Times(lambda variant: 1.0 if variant[0] == 16 else 1e-3)
    race = raced(times)
    assert {race.outcomes[16, b, "x"].timing.rounds for b in (1, 2, 4)} == {1}
    assert times.launches.count((16, 1, "x")) == 2


def test_a_disturbed_launch_excludes_no_variant():
    times = Times(bowl)
    disturbed = {}

    def seconds(variant):
        first = variant not in disturbed
        disturbed[variant] = True
        return bowl(variant) * (50 if first else 1)

    times.seconds = seconds
    assert raced(times).best() == (4, 8, "y")


def test_a_precise_race_ends_early():
    def launches(noise):
        times = Times(bowl, noise)
        race = raced(times)
        return race.outcomes[race.best()].timing.rounds

    assert launches(0) == 3 + 10  # those of all variants, and the least of the last ones
    assert 13 < launches(0.3) <= 103


def test_failures_are_never_the_best():
    failing = {(4, 8, "y"): "wrong", (4, 8, "x"): "compile", (4, 8, "z"): "hang",
               (4, 4, "y"): "late"}  # fmt: skip
    race = raced(Times(bowl, failing=failing))
    assert bowl(race.best()) == 5e-3 - 1e-3 * 2
    kinds = {one: race.outcomes[one].failure.kind for one in failing}
    assert kinds == {**failing, (4, 4, "y"): "fault"}
    assert all(race.outcomes[one].timing is None for one in failing)


def test_a_budget_ends_the_race():
    times = Times(bowl)
    race = raced(times, seconds=0.5)
    assert 0.5 <= times.time < 0.7 and race.is_over
    assert 1 < len(race.outcomes) < 75 and race.outcomes[1, 1, "x"].timing


def test_a_default_that_fails_is_told_at_the_start():
    for kind in ("wrong", "compile"):
        race = Race(Times(bowl, failing={(1, 1, "x"): kind}), (1, 1, "x"), 1e9)
        assert race.start().kind == kind
    race = Race(Times(bowl, failing={(1, 1, "x"): "late"}), (1, 1, "x"), 1e9)
    assert race.start() == Failure("fault", "late")
