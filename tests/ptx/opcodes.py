"""Which rows of the instruction table an opcode is of, and the opcodes of a PTX text."""

import functools
import re

from . import table

OPCODE = re.compile(r"(?:^|[;\s{}])([a-z][a-z0-9_]*(?:[.:]+\w+)*)(?=[ ;])")


@functools.cache
def rows_by_word():
    rows = {}
    for row in table.rows():
        rows.setdefault(row.mnemonic.split(".")[0], []).append(row)
    return rows


def words_of(choices):
    return {word for choice in choices for word in choice.split(".")}


@functools.cache
def vocabulary(row):
    axes = [words_of(a.choices) for a in row.axes]
    return words_of([row.mnemonic]).union(row.types, row.types2, *axes)


def is_spelling(row, words):
    """Whether words, those of an opcode in their order, are one of the row."""
    there = set(words)
    if not words_of([row.mnemonic]) <= there <= vocabulary(row):
        return False
    asked = [a for a in row.axes if not a.optional]
    if not all(any(words_of([c]) <= there for c in a.choices) for a in asked):
        return False
    first = [words.index(t) for t in row.types if t in there]
    if not row.types2:
        return bool(first) or not row.types
    return any(t in words[at + 1 :] for at in first for t in row.types2)


@functools.cache
def rows_of(opcode):
    """The rows that an opcode is of; more than one where only the operands tell."""
    words = opcode.split(".")
    return [r for r in rows_by_word().get(words[0], ()) if is_spelling(r, words)]


@functools.lru_cache(8)
def opcodes_of(text):
    return frozenset(o for o in OPCODE.findall(text) if rows_of(o))
