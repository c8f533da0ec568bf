# tests/build/test_architectures.py - for which devices a build makes code.
import pytest

from cupola.build.architectures import choose, full_list
from cupola.build.error import BuildError
from cupola.build.targets import read

LISTED = "75 80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121"
NVCC_13 = tuple(map(read, LISTED.split()))


def targets(text):
    return tuple(map(read, text.split()))


def chosen(text, supported=NVCC_13, devices=(), **given):
    environment = {} if text is None else {"CUPOLA_ARCHITECTURES": text}
    return choose(supported, environment, devices, **given)


def said(found):
    return " ".join(map(str, found.cubins)), " ".join(map(str, found.ptx))


@pytest.mark.parametrize("text", [None, "", "native", " Native "])
def test_a_build_for_this_machine_takes_its_devices(text):
    assert said(chosen(text, devices=(90, 86, 90))) == ("86 90", "75 90")
    assert said(chosen(text)) == ("", "75")
    assert chosen(text).options() == ["-gencode=arch=compute_75,code=compute_75"]


def test_the_full_list():
    found = chosen("all")
    assert said(found) == ("75 80 86 89 90 100 120", "75 120")
    assert found.note == ""
    assert found.options()[0] == "-gencode=arch=compute_75,code=sm_75"
    assert found.options()[-2:] == [
        "-gencode=arch=compute_75,code=compute_75",
        "-gencode=arch=compute_120,code=compute_120",
    ]
    assert len(found.options()) == 9


def test_the_full_list_of_aarch64_has_jetsons():
    assert targets("75 80 86 87 89 90 100 110 120") == tuple(full_list("linux-aarch64"))
    assert targets("75 80 86 89 90 100 120") == tuple(full_list("linux-x86_64"))


def test_generations():
    """Machine code of array kernels is for these targets."""
    assert chosen("all").generations == [*targets("75 80 90 100 120")]
    jetsons = chosen("75,80,86,87,89,90,100,110,120").generations
    assert jetsons == [*targets("75 80 87 90 100 110 120")]
    assert chosen("86,87,89,90a,110f").generations == [*targets("86 87 90a 110f")]


def test_what_the_compiler_cannot_do_is_left_out_and_said():
    found = chosen("all", supported=targets("50 75 80 86 89 90 90a"))  # nvcc 12.4
    assert said(found) == ("75 80 86 89 90", "75 90")
    assert "sm_100, sm_120" in found.note and "left out" in found.note
    newer = chosen("native", devices=(90, 130))
    assert said(newer) == ("90", "75 90") and "sm_130" in newer.note


def test_lists():
    assert said(chosen("90, 75,90")) == ("75 90", "75 90")
    assert str(chosen("75,90")) == "PTX compute_75 compute_90, sm_75 sm_90"
    assert said(chosen("75,90a,100f")) == ("75 90a 100f", "75")
    assert said(chosen(None, otherwise="75,80,90a", ptx=targets("75 80"))) == ("75 80 90a", "75 80")


def test_a_table_of_specific_targets():
    """Its sources have instructions that no other target has."""
    own = {"otherwise": "90a"}
    assert said(chosen(None, **own)) == ("90a", "90a")
    assert chosen(None, **own).options() == [
        "-gencode=arch=compute_90a,code=sm_90a",
        "-gencode=arch=compute_90a,code=compute_90a",
    ]
    for text in ("all", "90", "75,90a,100f", "75,90"):
        assert said(chosen(text, **own)) == ("90a", "90a"), text
    assert said(chosen("native", devices=(90,), **own)) == ("90a", "90a")
    left = chosen("75,80", **own)
    assert said(left) == ("", "90a") and "left out: sm_90a" in left.note
    assert said(chosen("103", otherwise="90a,100f")) == ("100f", "90a 100f")


@pytest.mark.parametrize(
    "text", ["75,", "sm_75", "7.5", "all,75", "75 90", "0", "-75", "9999", "90b", "a90", "90aa"]
)
def test_bad_values_are_errors(text):
    with pytest.raises(BuildError, match="CUPOLA_ARCHITECTURES"):
        chosen(text)


def of_sources(text, listed="80 90a", **given):
    return chosen(text, source_targets={"a.cu": targets(listed)}, **given)


def test_targets_of_sources_are_added():
    """The code for 9.0a has all kernels, so the code for 9.0 is left out."""
    assert said(of_sources("all")) == ("75 80 86 89 90a 100 120", "75 80 90a 120")
    assert said(of_sources("all", "87 100f")) == ("75 80 86 87 89 90 100f 120", "75 87 100f 120")
    assert said(of_sources(None, "90a", otherwise="75")) == ("75 90a", "75 90a")
    assert said(of_sources("75")) == ("75", "75 80 90a")
    assert "left out: sm_80, sm_90a" in of_sources("75").note
    assert said(of_sources("90")) == ("90a", "75 80 90 90a")
    assert said(of_sources("native", devices=(89, 90))) == ("89 90a", "75 80 90 90a")
    assert said(of_sources("all", ptx=targets("75"))) == ("75 80 86 89 90a 100 120", "75")
    assert said(of_sources("all", general=False)) == ("80 90a", "80 90a")


def test_targets_of_sources_that_are_refused():
    with pytest.raises(BuildError, match=r"a.cu: .* no code for sm_101.*before 13.0 knows sm_101"):
        of_sources("all", "101")
    with pytest.raises(BuildError, match="sm_90 and sm_90a are for the same devices"):
        chosen("all", source_targets={"a.cu": targets("90"), "b.cu": targets("90a")})
    with pytest.raises(BuildError, match=r"ptx = 75: no source is for compute_75.*of a.cu"):
        of_sources("all", ptx=targets("75"), general=False)


def test_compilers_that_know_a_target():
    old = targets("50 75 80 86 89 90 90a")  # nvcc 12.4
    assert "nvcc 12.8 and newer knows sm_100, sm_120" in chosen("all", supported=old).note
    with pytest.raises(BuildError, match=r"sm_103a; it knows .*; nvcc 12.9 and newer knows sm_103"):
        chosen("103a", supported=old)
    with pytest.raises(BuildError, match=r"nvcc before 13.0 knows sm_70"):
        chosen("70")
    with pytest.raises(BuildError, match=r"no code for sm_400; it knows [^;]*$"):
        chosen("400")


@pytest.mark.parametrize(
    "text", ["90,90a", "75,100,100f", "120f,120", "103,103a", "121,120f", "100f,103", "110,110f"]
)
def test_two_targets_for_the_same_devices(text):
    with pytest.raises(BuildError, match=r"are for the same devices.*remove one of them"):
        chosen(text)


def test_what_is_older_than_the_ptx():
    """The environment is for every library; a table is for its own."""
    level = {"ptx": targets("90")}
    found = chosen("80,90", **level)
    assert said(found) == ("90", "90")
    assert found.note == "left out of CUPOLA_ARCHITECTURES: sm_80 (older than PTX compute_90)"
    assert chosen("90", **level).note == ""
    assert chosen("80", **level).cubins == ()
    with pytest.raises(BuildError, match=r"architectures=80,90: sm_80 is older.*compute_90"):
        chosen(None, otherwise="80,90", **level)


def test_a_target_that_the_compiler_does_not_know_is_an_error():
    with pytest.raises(BuildError, match=r"no code for sm_70.*it knows sm_75"):
        chosen("70,90")
    with pytest.raises(BuildError, match=r"no code for sm_100f.*it knows sm_75"):
        chosen("100f", supported=targets("75 80 90 90a"))


def test_a_compiler_without_the_oldest_is_refused():
    with pytest.raises(BuildError, match="cannot make PTX for compute_75"):
        chosen("all", supported=targets("80 90"))
    with pytest.raises(BuildError, match="cannot make PTX for compute_100f"):
        chosen(None, supported=targets("75 90"), otherwise="100f")
