"""Makes a program that two drivers run differently as small as it can be while they still do."""

import concurrent.futures
import multiprocessing
import os

import numpy as np
from driver_abi import DriverError

from ..driver import Driver
from . import batch
from .program import Program
from .tree import Context

_driver = None


def _begin(environment):
    os.environ.update(environment)


def _outcome(text, launch):
    """The words that a program leaves, or the driver's error."""
    global _driver
    try:
        _driver = _driver or Driver()
        return batch.run(_driver, text, [launch])
    except DriverError as error:
        if _driver:
            _driver.reset()
        return str(error)


class Side:
    """A driver in a process of its own, since its environment says which."""

    def __init__(self, environment):
        context = multiprocessing.get_context("spawn")
        self.pool = concurrent.futures.ProcessPoolExecutor(
            1, mp_context=context, initializer=_begin, initargs=(environment,)
        )

    def run(self, program):
        launch = batch.Launch(program.name, program.grid, program.block_shape)
        return self.pool.submit(_outcome, batch.HEAD + program.text(), launch)


def differs(program, sides):
    one, other = (future.result() for future in [side.run(program) for side in sides])
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) != isinstance(other, str)
    return not np.array_equal(one, other)


def everywhere(blocks):
    """All blocks of a tree, outer ones first."""
    for block in blocks:
        yield block
        for statement in block.statements:
            yield from everywhere(statement.blocks())


def smaller(block):
    """Lists of statements to try in place of a block's own, the greatest steps first."""
    statements = block.statements
    step = len(statements)
    while step:
        for at in range(0, len(statements), step):
            yield statements[:at] + statements[at + step :]
        step //= 2
    for at, statement in enumerate(statements):
        for instead in statement.without():
            yield statements[:at] + instead + statements[at + 1 :]


def shrink(program, wanted):
    """Removes parts of the program as long as it still shows the difference."""
    again = True
    while again:
        again = False
        for block in everywhere(program.blocks()):
            before = block.statements
            for attempt in smaller(block):
                block.statements = attempt
                if wanted(program):
                    again = True
                    break
                block.statements = before
            if again:
                break
    used = program.body.text(Context())
    program.functions = [f for f in program.functions if any(f[0] in line for line in used)]
    return program


def minimised(seed, environments):
    """The program of a seed, made small; None where both drivers give the same."""
    sides = [Side(environment) for environment in environments]
    program = Program(seed)
    if not differs(program, sides):
        return None
    program = shrink(program, lambda p: differs(p, sides))
    return program, [side.run(program).result() for side in sides]
