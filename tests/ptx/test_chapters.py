"""The manual's chapters without instructions: a form of each section, asked of both assemblers."""

import re

import driver_abi
import numpy as np
import pytest

from . import chapters
from .assembler import Assembler

TITLES = dict(
    entry.strip().split(" ", 1) for entry in re.split(r"[|\n]", chapters.SECTIONS) if entry.strip()
)
COMPUTE = [s for s, form in chapters.FORMS.items() if form.value is not None]
REFUSED = [s for s, form in chapters.FORMS.items() if form.refused]


def test_each_section_has_a_form():
    described = {*chapters.FORMS, *chapters.WITHOUT}
    assert set(TITLES) == described
    assert not set(chapters.FORMS) & set(chapters.WITHOUT)
    assert len(chapters.FORMS) > 80


@pytest.mark.parametrize("section", chapters.FORMS)
def test_the_form_is_taken_or_refused(section, driver):
    form = chapters.FORMS[section]
    if driver.on_hardware and (form.reason or form.only_cpu):
        pytest.skip("ptxas has another verdict")
    if not form.refused:
        driver.load(form.text()).unload()
        return
    with pytest.raises(driver_abi.DriverError) as error:
        driver.load(form.text())
    assert driver.on_hardware or form.refused in error.value.log, error.value.log


def test_ptxas_gives_the_same_verdict(tmp_path, ptxas):
    assembler = Assembler(ptxas, tmp_path, "sm_90a")
    wrong = []
    for section, form in chapters.FORMS.items():
        said, _ = assembler.run(form.text())
        refused = bool(form.only_cpu or (form.refused and not form.reason))
        if (said is not None) != refused:
            wrong.append(f"{section} {TITLES[section]}: {said}")
    print("\n".join(wrong))
    assert not wrong


@pytest.mark.parametrize("section", COMPUTE)
def test_the_form_computes_its_value(section, driver, load):
    form = chapters.FORMS[section]
    if form.only_cpu:
        driver.skip_on_hardware(f"ptxas refuses it: {form.only_cpu}")
    out = np.full(32, 0xDEAD, np.uint32)
    load(form.text()).run("k", 1, 32, [out])
    assert list(out) == list(np.broadcast_to(form.value, 32).astype(np.uint32))
