"""Families in manifests: described, read though hostile, and merged."""

import copy
import json

import pytest
from family_tables import TEXT, names, read
from hypothesis import given, settings
from hypothesis import strategies as st

from cupola.build import family_manifest, family_merge, variants
from cupola.build.error import BuildError
from cupola.declare.stored_family import families_of
from cupola.exceptions import ImageError


def stored():
    """A family as a manifest has it."""
    return {
        "table": {
            "name": "heat.step", "library": "heat.kernels", "kernel": "step<{x}, {TX}>",
            "tunables": {"TX": [16, 32]}, "default": {"TX": 16}, "grid": [1], "block": ["TX"],
            "types": {"x": {"float32": "float", "float64": "double"}},
        },
        "variants": [
            {"variant": [16], "library": "heat.kernels",
             "kernels": {"float32": "a", "float64": "b"}},
            {"variant": [32], "library": "heat._kernels_step_TX32", "kernels": {"float32": "c"}},
        ],
        "dropped": {"sm_75": [{"variant": [32], "types": "float64", "reason": "too large"}]},
    }  # fmt: skip


def test_families_of_a_manifest():
    (step,) = families_of({"families": [stored()]}, "kernels.json").values()
    assert step.declaration.kernel_of((32,), ("float64",)) == "step<double, 32>"
    assert step.variants[16,].kernels == {("float32",): "a", ("float64",): "b"}
    assert step.variants[32,].library == "heat._kernels_step_TX32"
    assert step.dropped == {"sm_75": {((32,), ("float64",)): "too large"}}
    assert families_of({}, "kernels.json") == {}


HOSTILE = [
    (lambda one: one.clear(), "KeyError"),
    (lambda one: one["table"].update(grid=["__import__('os')"]), "grid"),
    (lambda one: one["table"].update(tunables={"TX": list(range(300))}), "one to 256 values"),
    (lambda one: one["variants"][0].update(library="os.path"), "'os.path' is no library of the"),
    (lambda one: one["variants"][0].update(library="heat.a/../b"), "is no library of the package"),
    (lambda one: one["variants"][0].update(variant=[64]), "the declaration has no variant [64]"),
    (lambda one: one["variants"][0].update(variant=[True]), "a variant of [True]"),
    (lambda one: one["variants"][0].update(kernels={"int8": "a"}), "no types 'int8'"),
    (lambda one: one["variants"][0].update(kernels={"float32": 5}), "a text is expected"),
    (lambda one: one["variants"].append(one["variants"][0]), "two entries for TX=16"),
    (lambda one: one["variants"].pop(0), "its default is not among its variants"),
    (lambda one: one.update(dropped={"75": []}), "'75' is no target"),
    (lambda one: one["dropped"]["sm_75"][0].update(reason=""), "a text is expected"),
    (lambda one: one["table"].update(name="step"), "is no library of the package"),
    (lambda one: one["table"].update(name="heat.s tep"), "expected a name of its own"),
]


@pytest.mark.parametrize(("change", "words"), HOSTILE, ids=[words[:30] for _, words in HOSTILE])
def test_a_hostile_manifest_is_named(change, words):
    family = stored()
    change(family)
    with pytest.raises(ImageError) as raised:
        families_of({"families": [family]}, "heat/kernels.json")
    assert "the manifest heat/kernels.json is malformed: family " in str(raised.value)
    assert words in str(raised.value)


def test_two_families_of_one_name_and_no_list():
    for given_, words in (
        (stored(), "a list is expected"),
        ([stored(), stored()], "name of its own"),
    ):
        with pytest.raises(ImageError, match=words):
            families_of({"families": given_}, "kernels.json")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


def places(value, path=()):
    """The path of each value in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items if isinstance(value, (dict, list)) else ():
        yield from (
            places(inner, (*path, key)) if isinstance(inner, (dict, list)) else [(*path, key)]
        )


PLACES = list(places([stored()]))[1:]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
def test_any_change_of_a_manifest_is_read_or_refused(changes):
    found = [stored()]
    for path, value in changes:
        at = found
        try:
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = copy.deepcopy(value)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change removed it
    try:
        read_ = families_of({"families": json.loads(json.dumps(found))}, "kernels.json")
    except ImageError as error:
        assert "kernels.json is malformed" in str(error)
    else:
        for one in read_.values():
            assert set(one.variants) <= set(one.declaration.variants)
            assert one.declaration.default in one.variants


def of_targets(*targets):
    """The family of a build for these targets, where 90 has what others drop."""
    one = stored()
    one["dropped"] = {target: one["dropped"]["sm_75"] for target in targets if target != "sm_90"}
    if "sm_90" in targets:
        one["variants"][1]["kernels"]["float64"] = "d"
    return {"families": [one]}


def test_a_merge_is_what_one_build_would_have():
    parts = [of_targets("sm_80", "sm_75"), of_targets("sm_90")]
    family_merge.compare(*parts, ("one", "two"))
    every = ["sm_75", "sm_80", "sm_90"]
    assert json.dumps(family_merge.merged(parts)) == json.dumps(of_targets(*every))
    assert family_merge.merged([{}, {}]) == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda one: one["table"].update(name="heat.new"), "the family heat."),
        (lambda one: one["table"].update(grid=[2]), "different tables of the family heat.step"),
        (lambda one: one["variants"][0]["kernels"].update(float32="z"), "for the variant [16]"),
        (lambda one: one["variants"][1].update(library="heat.kernels"), "for the variant [32]"),
    ],
    ids=["name", "table", "kernel", "library"],
)
def test_differing_families_are_not_merged(change, words):
    first, other = of_targets("sm_75"), of_targets("sm_80")
    change(other["families"][0])
    with pytest.raises(BuildError) as raised:
        family_merge.compare(first, other, ("one.whl", "two.whl"))
    assert words in str(raised.value) and "one.whl" in str(raised.value)
    assert "build both of the same sources" in str(raised.value)


PARAMETERS = [
    {"name": "x", "kind": "pointer", "type": "float*", "size": 8},
    {"name": "n", "kind": "integer", "type": "int", "size": 4},
    {"name": "rate", "kind": "float", "type": "float", "size": 4},
]


def described(resources, refused=None, text=TEXT):
    """The entry of a manifest, for kernels with these resources by target."""
    (declared, *others) = read(text)
    (family,) = declared.families
    built = family_manifest._Built(
        {
            "kernels": [
                {"name": name, "demangled": name, "resources": used, "parameters": PARAMETERS}
                for name, used in resources.items()
            ]
        },
        variants.Outcome({}, refused or {}),
    )
    return family_manifest._described(family, dict.fromkeys(names([declared, *others]), built))


PLAIN = (
    TEXT.replace("step<{x}, {TX}>", "step{TX}")
    .replace("2048", "1024")
    .replace('types = { x = { float32 = "float", float64 = "double" } }\n', "")
)


def used(registers, *targets):
    about = {"registers": registers, "shared": 1024}
    return dict.fromkeys(targets or ("sm_75", "sm_90a"), about)


def test_registers_of_a_block_drop_variants():
    found = described({"step16": used(255), "step32": used(32), "step1024": used(65)}, text=PLAIN)
    assert list(found["dropped"]) == ["sm_75", "sm_90a"]
    lost = found["dropped"]["sm_75"]
    assert {tuple(one["variant"][:1]) for one in lost} == {(1024,)} and len(lost) == 4
    assert lost[0]["reason"] == "65 registers for each of 1,024 threads; a block has 65,536"
    assert {one["variant"][0] for one in found["variants"]} == {16, 32}
    # 64 registers are allocated for 57 and more.
    assert not described(
        {"step16": used(255), "step32": used(32), "step1024": used(64)}, text=PLAIN
    )["dropped"]


def test_shared_memory_of_a_block_drops_variants():
    text = PLAIN.replace("doc =", 'shared = "TX * 256"\ndoc =').replace("1024]", "256, 1024]")
    few = {f"step{width}": used(9) for width in (16, 32, 256, 1024)}
    found = described(few, text=text)["dropped"]
    assert {one["variant"][0] for one in found["sm_75"]} == {256, 1024}
    assert {one["variant"][0] for one in found["sm_90a"]} == {1024}
    reason = found["sm_75"][0]["reason"]
    assert reason == "66,560 bytes of shared memory; a block has 65,536"
    with pytest.raises(BuildError, match=r"line 13.*-16 bytes of dynamic shared memory"):
        read(TEXT.replace("doc =", 'shared = "16 - TX"\ndoc ='))
    with pytest.raises(BuildError, match=r"default: .* no launch: it divides by zero"):
        read(TEXT.replace('"TX"]', '"TX / (TX - 32)"]'))


def test_a_family_without_its_default_is_refused():
    for resources, words in (
        (
            {"step16": used(9), "step32": used(9, "sm_75"), "step1024": used(9)},
            "sm_90a: the source",
        ),
        (
            {"step16": used(9), "step1024": used(9)},
            "there is no kernel 'step32'; there are step1024",
        ),
    ):
        with pytest.raises(BuildError) as raised:
            described(resources, text=PLAIN)
        assert words in str(raised.value) and "line " in str(raised.value)
    few = {name: used(9) for name in ("step16", "step32", "step1024")}
    refused = {"sm_75": {"step32": "60,000 bytes"}}
    with pytest.raises(
        BuildError, match="can't run on sm_75: 60,000 bytes; choose another default"
    ):
        described(few, refused, PLAIN)
    every = {"sm_75": dict.fromkeys(few, "60,000 bytes")}
    with pytest.raises(BuildError, match="60,000 bytes; no variant is left"):
        described(few, every, PLAIN)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("ceildiv(n, TX)", "ceildiv(m, TX)", 15, "grid: 'm' is no size and no parameter of the "
         "kernel: known are x, n, rate"),
        ('block = ["TX"]', 'block = ["TX"]\nshared = "4 * rates"', 17,
         "shared: 'rates' is no size and no parameter of the kernel: did you mean 'rate'?"),
        ('block = ["TX"]', 'block = ["TX"]\nsizes = { length = "size(y)" }', 17,
         "sizes.length: size(y): 'y' is no parameter of the kernel: known are x, n, rate"),
        ('block = ["TX"]', 'block = ["TX"]\nsizes = { length = "n" }\nkey = ["lengtx"]', 18,
         "key: 'lengtx' is no size and no parameter of the kernel: did you mean 'length'?"),
        ("ceildiv(n, TX)", "ceildiv(x, TX)", 15, "grid: 'x': the parameter x of the kernel is of "
         "the kind pointer: expected an integer, or a length as in shape(x, 0)"),
        ("ceildiv(n, TX)", "size(n)", 15, "grid: 'size(n)': the parameter n of the kernel is of "
         "the kind integer: expected an array"),
    ],
)  # fmt: skip
def test_names_that_the_kernel_does_not_have(old, new, line, words):
    few = {name: used(9) for name in ("step16", "step32", "step1024")}
    assert old in PLAIN
    with pytest.raises(BuildError) as raised:
        described(few, text=PLAIN.replace(old, new))
    said = f"pyproject.toml, line {line}: [[tool.cupola.variants]] heat.step: {words}"
    assert str(raised.value) == said


def test_sources_for_some_targets_leave_the_others_without_the_family():
    few = {name: used(9, "sm_90a") for name in ("step16", "step32", "step1024")}
    found = described({**few, "other": used(9)}, text=PLAIN)
    assert len(found["variants"]) == 12
    assert {one["reason"] for one in found["dropped"]["sm_75"]} == {family_manifest._ABSENT}


def test_kernels_of_other_compilers_are_named_by_their_manifest(tmp_path):
    text = PLAIN.replace('macros = ["UNROLL"]\n', "").replace("UNROLL = [1, 4]", 'HOW = ["k", "f"]')
    text = text.replace("UNROLL = 4", 'HOW = "k"').replace(
        'name = "heat.step"', 'name = "heat.step"\nlibrary = "heat.{HOW}"'
    )
    text = text.replace("heat.kernels", "heat.k")
    text += '[[tool.cupola.kernels]]\nlibrary = "heat.f"\nsources = ["fast.cu"]\n'
    first, _ = read(text)
    place = tmp_path / "heat.k/k.json"
    other = tmp_path / "heat.f/f.json"
    assert family_manifest.inputs(first.families, place) == [
        place.with_name("k.variants.json"),
        other,
        other.with_name("f.variants.json"),
    ]
    manifest = {
        "format": 1,
        "kernels": [
            {"name": name, "demangled": name, "resources": used(9), "parameters": PARAMETERS}
            for name in ("step16", "step32", "step1024")
        ],
    }
    for one in (place, other):
        one.parent.mkdir()
        one.with_name(f"{one.stem}.variants.json").write_text(variants.outcome_text({}, {}))
    other.write_text(json.dumps(manifest))
    found = family_manifest.store(manifest, first.families, place)
    assert list(found) == ["format", "families", "kernels"]
    (step,) = families_of(found, "k.json").values()
    assert step.variants[16, "f", 32].library == "heat.f"
    assert step.variants[16, "k", 32] == ("heat.k", {(): "step16"})
    assert family_manifest.store(manifest, (), place) is manifest
