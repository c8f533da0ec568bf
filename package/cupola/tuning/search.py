# cupola/tuning/search.py - which variants are measured, and in which order.
"""Searches: generators of batches of variants, which end early where nothing improves."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from os import cpu_count

from cupola.declare.family import FamilyDeclaration, Variant

_PATIENCE = 20  # variants without a better one, after which a random search ends
_PART = 10  # or the number of variants divided by this, if that is more
_RESTARTS = 4  # of hill-climbing without a better variant
_BATCH = max(4, cpu_count() or 1)  # variants that are compiled at a time

# The median of a variant that was measured, infinity where it failed, None where it was not.
Seconds = Callable[[Variant], "float | None"]
Search = Callable[[FamilyDeclaration, Seconds, random.Random], Iterator[list[Variant]]]


def search_all(
    declaration: FamilyDeclaration, seconds: Seconds, order: random.Random
) -> Iterator[list[Variant]]:
    """Each variant. The order is random, so that a budget's end leaves a fair sample."""
    return _batches(_shuffled(declaration, order))


def search_random(
    declaration: FamilyDeclaration, seconds: Seconds, order: random.Random
) -> Iterator[list[Variant]]:
    """Variants in random order, until many of them in a row have not been better."""
    variants = _shuffled(declaration, order)
    patience = max(_PATIENCE, len(variants) // _PART)
    best, idle = _known(declaration.default, seconds), 0
    for batch in _batches(variants):
        yield batch
        for one in batch:
            found = _known(one, seconds)
            best, idle = (found, 0) if found < best else (best, idle + 1)
        if idle >= patience:
            return


def search_greedy(
    declaration: FamilyDeclaration, seconds: Seconds, order: random.Random
) -> Iterator[list[Variant]]:
    """One tunable at a time from the default on, until a pass over all tunables does not help."""
    best = declaration.default
    while True:
        start = best
        for place, values in enumerate(declaration.tunables.values()):
            batch = _allowed(declaration, (_with(best, place, value) for value in values))
            yield batch
            best = min([best, *batch], key=lambda one: _known(one, seconds))
        if best == start:
            return


def search_hill_climbing(
    declaration: FamilyDeclaration, seconds: Seconds, order: random.Random
) -> Iterator[list[Variant]]:
    """From the default to its best neighbour and on; then from random variants."""
    starts = _shuffled(declaration, order)
    here, best, idle = declaration.default, float("inf"), 0
    while True:
        yield [here]
        while True:
            batch = neighbours(declaration, here)
            yield batch
            after = min([here, *batch], key=lambda one: _known(one, seconds))
            if after == here:
                break
            here = after
        found = _known(here, seconds)
        best, idle = (found, 0) if found < best else (best, idle + 1)
        starts = [one for one in starts if seconds(one) is None]
        if not starts or idle >= _RESTARTS:
            return
        here = starts.pop()


SEARCHES: dict[str, Search] = {
    "all": search_all,
    "random": search_random,
    "greedy": search_greedy,
    "hill-climbing": search_hill_climbing,
}


def neighbours(declaration: FamilyDeclaration, variant: Variant) -> list[Variant]:
    """The allowed variants that differ in one tunable: numbers by one place of the list, words by
    any.
    """
    found = []
    for place, values in enumerate(declaration.tunables.values()):
        at = values.index(variant[place])
        near = values[max(0, at - 1) : at + 2] if isinstance(values[0], int) else values
        found += [_with(variant, place, value) for value in near if value != variant[place]]
    return _allowed(declaration, iter(found))


def _allowed(declaration: FamilyDeclaration, variants: Iterator[Variant]) -> list[Variant]:
    return [one for one in variants if declaration.allows(one)]


def _with(variant: Variant, place: int, value: int | str) -> Variant:
    return (*variant[:place], value, *variant[place + 1 :])


def _known(variant: Variant, seconds: Seconds) -> float:
    """Infinity where it is not known."""
    found = seconds(variant)
    return float("inf") if found is None else found


def _shuffled(declaration: FamilyDeclaration, order: random.Random) -> list[Variant]:
    variants = list(declaration.variants)
    order.shuffle(variants)
    return variants


def _batches(variants: list[Variant]) -> Iterator[list[Variant]]:
    for start in range(0, len(variants), _BATCH):
        yield variants[start : start + _BATCH]
