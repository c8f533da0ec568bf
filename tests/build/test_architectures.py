# tests/build/test_architectures.py - for which devices a build makes code.
import pytest

from cupola.build.architectures import ALL, choose
from cupola.build.error import BuildError

NVCC_13 = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)


def chosen(text, supported=NVCC_13, devices=()):
    environment = {} if text is None else {"CUPOLA_ARCHITECTURES": text}
    return choose(supported, environment, devices)


@pytest.mark.parametrize("text", [None, "", "native", " Native "])
def test_a_build_for_this_machine_takes_its_devices(text):
    assert chosen(text, devices=(90, 86, 90)).cubins == (86, 90)
    assert chosen(text).cubins == ()
    assert chosen(text).options() == ["-gencode=arch=compute_75,code=compute_75"]


def test_the_full_list():
    found = chosen("all")
    assert found.cubins == ALL == (75, 80, 86, 89, 90, 100, 120)
    assert found.note == ""
    assert found.options()[0] == "-gencode=arch=compute_75,code=sm_75"
    assert found.options()[-1] == "-gencode=arch=compute_75,code=compute_75"
    assert len(found.options()) == 8


def test_what_the_compiler_cannot_do_is_left_out_and_said():
    found = chosen("all", supported=(75, 80, 86, 89, 90))
    assert found.cubins == (75, 80, 86, 89, 90)
    assert "sm_100, sm_120" in found.note and "left out" in found.note
    newer = chosen("native", devices=(90, 130))
    assert newer.cubins == (90,) and "sm_130" in newer.note


def test_numbers():
    assert chosen("90, 75,90").cubins == (75, 90)
    assert str(chosen("75,90")) == "PTX compute_75, sm_75 sm_90"


@pytest.mark.parametrize("text", ["75,", "sm_75", "7.5", "all,75", "75 90", "0", "-75", "9999"])
def test_bad_values_are_errors(text):
    with pytest.raises(BuildError, match="CUPOLA_ARCHITECTURES"):
        chosen(text)


def test_what_is_older_than_the_ptx():
    """The environment is for every library; a table is for its own."""
    found = choose(NVCC_13, {"CUPOLA_ARCHITECTURES": "80,90"}, ptx=90)
    assert (found.cubins, found.ptx) == ((90,), 90)
    assert found.note == "left out of CUPOLA_ARCHITECTURES: sm_80 (older than PTX compute_90)"
    assert choose(NVCC_13, {"CUPOLA_ARCHITECTURES": "90"}, ptx=90).note == ""
    assert choose(NVCC_13, {"CUPOLA_ARCHITECTURES": "80"}, ptx=90).cubins == ()
    with pytest.raises(BuildError, match=r"architectures=80,90: sm_80 is older.*compute_90"):
        choose(NVCC_13, {}, otherwise="80,90", ptx=90)


def test_a_number_that_the_compiler_does_not_know_is_an_error():
    with pytest.raises(BuildError, match=r"no code for sm_70.*it knows sm_75"):
        chosen("70,90")


def test_a_compiler_without_the_oldest_is_refused():
    with pytest.raises(BuildError, match="compute_75"):
        chosen("all", supported=(80, 90))
