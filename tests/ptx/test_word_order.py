"""The words of an opcode in random orders: the parser takes and refuses those that ptxas does."""

import os
import random
from collections import defaultdict

import driver_abi
import pytest
import rotation

from . import device_process, statements, table
from .assembler import Assembler

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
ROWS = 250
OF_WARP = ".sync.aligned"
# The newest PTX that the toolkit's assembler takes.
NEWEST = 90


def accepts(texts):
    """For each text, whether the device of this process loads it."""
    driver, found = device_process.driver(), []
    for text in texts:
        try:
            driver.load(text).unload()
            found.append(True)
        except driver_abi.DriverError:
            found.append(False)
    return found


def head(row):
    # Rows that every sm_90 has, and those of sm_90a.
    target = "sm_90a" if row.targets in table.ON_SM_90 else table.NEWER[row.targets][0]
    return f".version 9.0\n.target {target}\n.address_size 64\n"


def disordered(row, random_):
    """Statements: one in the manual's order, and two whose words are in others."""
    spellings = list(row.opcodes())
    opcode, _, t, t2 = random_.choice(spellings)
    statement = statements.statement(row, opcode, t, t2)
    name = row.mnemonic.removesuffix(OF_WARP)
    words = opcode[len(name) + 1 :].split(".")
    if statement is None or len(words) < 2:
        return []
    found = [statement]
    moved = words[:]
    moved.insert(random_.randrange(len(words)), moved.pop(random_.randrange(len(words))))
    for order in (moved, random_.sample(words, len(words))):
        found.append(".".join([name, *order]) + statement[len(opcode) :])
    return found


def test_random_orders(tmp_path, ptxas, newer_devices):
    random_ = random.Random(rotation.number())
    rows = [r for r in table.rows() if r.since <= NEWEST and r.targets != "sm_100a_to_121a"]
    by_head = defaultdict(list)
    for row in random_.sample(rows, ROWS):
        by_head[head(row), row.capability].append(disordered(row, random_))
    compared = 0
    for (of_target, capability), groups in by_head.items():
        texts = [text for group in groups for text in group]
        lines = [statements.kernel(n, text) for n, text in enumerate(texts)]
        target = of_target.split()[3]
        said = iter(Assembler(ptxas, tmp_path, target).verdicts(lines, of_target))
        taken = iter(newer_devices(capability).run(accepts, [of_target + line for line in lines]))
        for group in groups:
            verdicts = [(text, next(said), next(taken)) for text in group]
            if not verdicts or verdicts[0][1] is not None or not verdicts[0][2]:
                continue  # operands that do not suit, or a modifier that needs another one
            for text, reason, ours in verdicts[1:]:
                assert ours == (reason is None), (of_target, text, reason)
                compared += 1
    assert compared > ROWS
