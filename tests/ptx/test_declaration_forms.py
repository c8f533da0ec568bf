# ruff: noqa: E501 - tables are wide
"""Declarations as a grammar makes them: ptxas and the CPU device take the same ones.

A run asks for one slice of them, which goes on with each commit; CUPOLA_TEST_DECLARATIONS=all asks
for each value, each pair of values and thousands of mixtures.
"""

import os
import re

import driver_abi
import pytest
import rotation

from .assembler import HEAD, Assembler
from .generate import declarations

SLICES, MIXED, BATCH = 16, 400, 100
EVERY = os.environ.get("CUPOLA_TEST_DECLARATIONS") == "all"
KERNEL = "\n.visible .entry last() { ret; }\n"

# Where the two differ: what the one that refuses says, and the reason.
LAXER = [  # the CPU device takes it
    ("Type of argument|Alignment of argument|Inconsistent state space for parameter", "arguments are compared by size: linked texts, joined as text, differ in the rest"),
    ("Inconsistent redefinition of variable", "a function's linkage may change between declaration and definition, as joined texts have it"),
    ("Unresolved extern", "what no call uses is not looked for"),
    ("32-bit address", "older compilers took 32-bit registers as global addresses; they are extended with zeros"),
    ("Initial value type mismatch", "an address in a variable of 64 bits, or a byte of one in 8, whatever type it has, fits"),
    ("must be at module or entry parameter", "a texture of a function is one of the module with a scope"),
    ("Invalid directive '.noreturn'", "the directive changes nothing"),
    ("'.maxnctapersm directive' not supported", "texts of PTX 2.0 have it"),
]  # fmt: skip
STRICTER = [  # ptxas takes it
    ("cannot hold an address|got an address of 64 bits|expected (a register of type )?.u16|no form of mov.u32", "part of an address: what the loader stores is not written down"),
    ("is not a power of two up to 16384", "ptxas takes up to 2 GiB; 16384 is known to load on a GPU"),
    ("more than 65536 variables", "each is a variable of its own"),
    ("type .(texref|surfref|samplerref) is not supported", "the driver's interface has no argument of that kind"),
    (".samplerref needs", "the manual has them in texmode_independent alone"),
    ("a .param variable cannot be a vector|a .pred variable must be a register", "a prototype with a parameter that no function can have"),
    ("expected an integer register of 32 or 64 bits", "an address of 16 bits or in a float leads nowhere"),
    ("is declared twice", "one name in two state spaces: an access could lie outside of the variable"),
    ("for a result, got|(argument|result) [0-9]+: .*, got an? (integer|floating-point) constant", "a constant takes no result, and none of 128 bits is defined"),
    ("type .(u16x2|s16x2|e5m2x2|e4m3x2|bf16x2|e4m3|e5m2) is not supported", "the manual has it for instructions alone; ptxas overlooks it in unused variables"),
    ("cannot use an array element", "an instruction without a meaning for it"),
    ("cannot have an initialiser|or have an initialiser", "the manual has no constant of that type"),
    ("expected a register(?! of type| or a .param)", "an address where no register of its width may stand"),
]  # fmt: skip


def known(table, message):
    return any(re.search(pattern, message) for pattern, _ in table)


def chosen():
    cases = declarations.cases(4000 if EVERY else MIXED)
    return cases if EVERY else cases[rotation.number() % SLICES :: SLICES]


@pytest.fixture(scope="module")
def verdicts(ptxas, started, tmp_path_factory):
    """(text, why the CPU device refuses it, why ptxas does)."""
    lines = [declarations.numbered(case, n) for n, case in enumerate(chosen())]
    device = []
    for line in lines:
        try:
            started.load(HEAD + line + KERNEL).unload()
            device.append(None)
        except driver_abi.DriverError as error:
            # NVIDIA's driver also gives the other code for text that ptxas refuses.
            codes = [driver_abi.INVALID_PTX, driver_abi.INVALID_IMAGE]
            assert error.code in codes[: 1 + started.on_hardware], line
            device.append(error.log)
    assembler = Assembler(ptxas, tmp_path_factory.mktemp("declarations"))
    answers = [None] * len(lines)
    # A refused form may hide later forms: forms that should be accepted are loaded together.
    for refused in (False, True):
        numbers = [n for n, why in enumerate(device) if (why is not None) == refused]
        for at in range(0, len(numbers), BATCH):
            part = numbers[at : at + BATCH]
            for n, why in zip(part, assembler.verdicts([lines[n] for n in part]), strict=True):
                answers[n] = why
    return list(zip(lines, device, answers, strict=True))


@pytest.fixture(autouse=True)
def cpu_device(started):
    if started.on_hardware:
        pytest.skip("NVIDIA's driver has ptxas in it")


def test_both_take_the_same(verdicts):
    different = []
    for line, device, ptxas in verdicts:
        if device is None and ptxas is not None and not known(LAXER, ptxas):
            different.append(f"only the CPU device takes {line}\n    ptxas: {ptxas}")
        if ptxas is None and device is not None and not known(STRICTER, device):
            different.append(f"only ptxas takes {line}\n    CPU device: {device}")
    print("\n".join(different))
    assert not different


def test_many_are_taken_and_many_refused(verdicts):
    taken = sum(device is None and ptxas is None for _, device, ptxas in verdicts)
    refused = sum(device is not None and ptxas is not None for _, device, ptxas in verdicts)
    assert taken > len(verdicts) // 8 and refused > len(verdicts) // 8


def test_cases_are_the_same_each_time():
    assert declarations.cases(50) == declarations.cases(50)
