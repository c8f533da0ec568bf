"""Each instruction of libcu++'s cuda::ptx is text for NVIDIA's assembler and for the CPU device."""

import os

import images
import pytest

from . import cuda_ptx
from .assembler import Assembler
from .test_targets import TARGETS, refusals

HEADERS = "cuda/__ptx/instructions/generated"
# Targets that a statement may name, in the order in which one of them is chosen. The CPU device
# has no newer target.
CHOICE = ("SM_100a", "SM_103a", "SM_110a", "SM_90a")
# Words of statements that the CPU device lacks, with reasons. Only headers of CUDA 13.3 and newer
# have them.
LACKING = {"fabric": "these address logical endpoints, which the CPU device does not have"}
NEWEST = 95  # the version of PTX that the CPU device's modules have here


def folder():
    """Of the toolkit's libcu++."""
    roots = [root for include in images.nvcc().include for root in (include / "cccl", include)]
    return next(root / HEADERS for root in roots if (root / HEADERS).is_dir())


def target_of(statement):
    """A target of the statement; None if only targets newer than the CPU device's have it."""
    for target in CHOICE:
        if target in statement.targets:
            return target.lower()
    plain = [int(t[3:]) for t in statement.targets if t[3:].isdigit()]
    return ("sm_90a" if min(plain) <= 90 else "sm_100a") if plain else None


def chosen():
    found = {}
    for each in cuda_ptx.statements(folder()):
        if target_of(each):
            found.setdefault((target_of(each), each.text), each)
    return list(found.values())


STATEMENTS = chosen()
USED = sorted({target_of(each) for each in STATEMENTS})


def of(target):
    return [each for each in STATEMENTS if target_of(each) == target]


def head(target, version=NEWEST):
    return ".version {}.{}\n.target {}\n.address_size 64\n".format(*divmod(version, 10), target)


def test_the_headers_are_read():
    assert len(STATEMENTS) > 1500
    assert {"tcgen05_mma", "cp_async_bulk_tensor", "mbarrier_try_wait", "tcgen05_ld"} <= {
        each.file for each in STATEMENTS
    }


@pytest.mark.parametrize("target", USED)
def test_ptxas_takes_each_statement(target, tmp_path, ptxas):
    assembler = Assembler(ptxas, tmp_path, target)
    newest = max(n for n in range(80, NEWEST + 1) if assembler.run(head(target, n))[0] is None)
    lines = [cuda_ptx.kernel(n, s.text) for n, s in enumerate(of(target)) if s.version <= newest]
    refused = assembler.verdicts(lines, head(target, newest))
    assert not [pair for pair in zip(lines, refused, strict=True) if pair[1]]


@pytest.mark.skipif("CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several targets")
@pytest.mark.parametrize("target", USED)
def test_the_cpu_device_decodes_each_statement(target, newer_devices):
    lines = [cuda_ptx.kernel(n, each.text) for n, each in enumerate(of(target))]
    said = newer_devices(TARGETS[target]).run(refusals, head(target), lines)
    refused = {each.text: why for each, why in zip(of(target), said, strict=True) if why}
    lacking = {each.text for each in of(target) if any(word in each.text for word in LACKING)}
    assert not {text: why for text, why in refused.items() if text not in lacking}
    assert lacking == set(refused)
