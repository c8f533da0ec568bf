"""Tables [[tool.cupola.variants]]: read with their lines, divided into libraries, merged."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cupola.build import families, family_manifest, family_merge, kernels, tables, variants
from cupola.build.error import BuildError
from cupola.declare.stored_family import families_of
from cupola.exceptions import ImageError

TEXT = """\
[project]
name = "heat"

[[tool.cupola.kernels]]
library = "heat.kernels"
sources = ["heat.cu"]
options = ["--use_fast_math"]

[[tool.cupola.variants]]
name = "heat.step"
kernel = "step<{x}, {TX}>"
tunables = { TX = [16, 32, 2048], UNROLL = [1, 4], REGISTERS = [32, 64] }
default = { TX = 32, UNROLL = 4, REGISTERS = 64 }
macros = ["UNROLL"]
types = { x = { float32 = "float", float64 = "double" } }
grid = ["ceildiv(n, TX)"]
block = ["TX"]
doc = "One step."
"""
OPTIONS = 'options = ["-maxrregcount={REGISTERS}"]\nmacros'


def read(text):
    try:
        import tomllib
    except ModuleNotFoundError:
        from setuptools.compat.py310 import tomllib
    return tables.libraries(tomllib.loads(text)["tool"]["cupola"], text)


def names(found):
    return [one.library for one in found]


def test_macros_have_a_library_for_each_value_but_the_default():
    declared, other = read(TEXT)
    assert names([declared, other]) == ["heat.kernels", "heat._kernels_step_UNROLL1_REGISTERS32"][
        :1
    ] + ["heat._kernels_step_UNROLL1"]
    assert declared.options == ("--use_fast_math", "-DUNROLL=4")
    assert other.options == ("--use_fast_math", "-DUNROLL=1")
    assert declared.selects and other.variants_alone and not declared.variants_alone
    (family,) = declared.families
    assert not other.families and family.library == "heat.kernels"
    assert family.libraries[16, 1, 32] == "heat._kernels_step_UNROLL1"
    assert family.libraries[16, 4, 32] == "heat.kernels"
    kernel_names = set(declared.variants[0].kernels)
    assert kernel_names == {
        f"step<{element}, {width}>" for element in ("float", "double") for width in (16, 32)
    }
    assert set(family.faults) == {(2048, u, r) for u in (1, 4) for r in (32, 64)}
    assert "2,048 threads along x" in next(iter(family.faults.values()))


def test_options_have_a_library_for_each_value():
    declared, *others = read(TEXT.replace("macros", OPTIONS))
    assert names(others) == [
        f"heat._kernels_step_UNROLL{unroll}_REGISTERS{registers}"
        for unroll in (1, 4)
        for registers in (32, 64)
    ]
    assert others[0].options[1:] == ("-DUNROLL=1", "-maxrregcount=32")
    # A library without another kernel has the default's, so that it has one.
    assert list(declared.variants[0].kernels) == ["step<float, 32>", "step<double, 32>"]


def test_a_family_of_launches_compiles_nothing_more():
    text = TEXT.replace('macros = ["UNROLL"]\n', "").replace("step<{x}, {TX}>", "step<{x}>")
    (declared,) = read(text)
    assert list(declared.variants[0].kernels) == ["step<float>", "step<double>"]
    assert declared.options == ("--use_fast_math",)


def test_words_choose_kernels_and_libraries():
    text = TEXT.replace("step<{x}, {TX}>", "{HOW}_{x}").replace(
        'name = "heat.step"', 'name = "heat.step"\nlibrary = "heat.{HOW}"'
    )
    text = text.replace("UNROLL = [1, 4]", 'HOW = ["kernels", "fast"]').replace(
        "UNROLL = 4", 'HOW = "kernels"'
    )
    text = text.replace('macros = ["UNROLL"]\n', "")
    more = '[[tool.cupola.kernels]]\nlibrary = "heat.fast"\nsources = ["fast.cu"]\n'
    first, second = read(text + more)
    assert list(first.variants[0].kernels) == ["kernels_float", "kernels_double"]
    assert list(second.variants[0].kernels) == ["fast_float", "fast_double"]
    assert first.families and not second.families


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"TX": 16, "TY": -8}, "TX16_TYm8"),
        ({"HOW": "fast"}, "HOWfast"),
        ({}, "options"),
    ],
)
def test_names_of_libraries_are_readable(values, name):
    assert families._spelled(values) == name


@pytest.mark.parametrize(
    "values", [{"HOW": "a_Bc", "B": "d"}, {"HOW": "Mode::a"}, {"HOW": "a" * 80}]
)
def test_values_that_could_be_spelled_alike_have_names_of_their_own(values):
    name = families._spelled(values)
    assert len(name) == 16 and int(name, 16) >= 0
    assert name == families._spelled(dict(reversed(values.items())))
    assert name != families._spelled({**values, "HOW": values["HOW"] + "x"})


def test_the_module():
    (declared, _) = read(TEXT)
    text = families.module_text(declared)
    compile(text, "families.py", "exec")
    assert text.startswith(families.MARK) and '_from_library("heat.kernels", name)' in text
    stub = families.stub_text(declared)
    compile(stub, "families.pyi", "exec")
    assert 'step: _Family\n"""One step."""' in stub


WRONG = [
    ("TX = 32,", "TX = 8,", 13, "default: TX = 8 is none of its values"),
    ("block = ", "blocks = ", 17, "blocks: this is an unknown key: did you mean 'block'"),
    ('name = "heat.step"', 'name = "step"', 10, "name: 'step': write package.name"),
    ('name = "heat.step"', 'name = "heat.in"', 10, "name: in is a keyword of Python"),
    ('name = "heat.step"', 'name = "cold.step"', 10, "the package cold has 0 kernel libraries"),
    (
        'name = "heat.step"',
        'name = "heat.step"\nlibrary = "heat.kernel"',
        11,
        "library: 'heat.kernel' is no kernel library of the package heat: heat.kernels",
    ),
    (
        "TX = 32,",
        "TX = 2048,",
        13,
        "default: TX=2048 UNROLL=4 REGISTERS=64: it has a block of 2,048 threads along x; the "
        "range is 1 to 1,024; 8 other variants can run",
    ),
    ('block = ["TX"]', 'block = ["TX", 64]', 13, "it has a block of 2,048 threads; at most 1,024"),
    ('block = ["TX"]', 'block = ["TX * 128"]', 13, "and no variant can run"),
    ('block = ["TX"]', 'block = ["TX - 32"]', 13, "a block of 0 threads along x"),
    (
        'block = ["TX"]',
        'block = ["TX"]\nrestrictions = ["TX < 4"]',
        18,
        "they exclude each of the 12 variants: none meets 'TX < 4'",
    ),
    (
        'doc = "One step."',
        TEXT[TEXT.index("[[tool.cupola.variants") :],
        19,
        "name: there are two families of this name",
    ),
    (
        'doc = "One step."',
        TEXT[TEXT.index("[[tool.cupola.variants") :]
        .replace("heat.step", "heat.other")
        .replace("UNROLL = 4", "UNROLL = 1"),
        23,
        "macros: the default has UNROLL=1, and that of heat.step UNROLL=4",
    ),
    (
        'options = ["--use_fast_math"]',
        "lto = true",
        9,
        "library: heat.kernels has lto = true: its users link its kernels",
    ),
    (
        'options = ["--use_fast_math"]',
        'compiler = "numba"\ninstances = [{ function = "f" }]',
        15,
        "macros: this is for nvcc, and the compiler of heat.kernels is numba",
    ),
]


@pytest.mark.parametrize(("old", "new", "line", "words"), WRONG, ids=lambda value: str(value)[:24])
def test_a_wrong_table_names_line_and_key(old, new, line, words):
    assert old in TEXT
    with pytest.raises(BuildError) as raised:
        read(TEXT.replace(old, new, 1))
    said = str(raised.value)
    assert said.startswith(f"pyproject.toml, line {line}: [[tool.cupola.variants]]"), said
    assert words in said


def test_tables_that_are_no_tables():
    with pytest.raises(BuildError, match="must be a list: write tables"):
        families.from_tables({"name": "heat.step"}, [])
    with pytest.raises(BuildError, match=r"known are .*\[\[tool.cupola.variants\]\]"):
        tables.libraries({"variant": []}, "")


def test_defaults_of_a_package_are_in_one_library():
    second = TEXT[TEXT.index("[[tool.cupola.variants") :].replace("heat.step", "heat.other")
    more = '[[tool.cupola.kernels]]\nlibrary = "heat.fast"\nsources = ["fast.cu"]\n'
    text = (TEXT + second + more).replace(
        'name = "heat.step"', 'name = "heat.step"\nlibrary = "heat.kernels"'
    )
    text = text.replace('name = "heat.other"', 'name = "heat.other"\nlibrary = "heat.fast"')
    with pytest.raises(BuildError, match=r"all families of heat become heat\.families") as raised:
        read(text)
    assert "heat.fast has the default, and heat.kernels that of heat.step" in str(raised.value)


@pytest.fixture
def sources(tmp_path):
    """A library of two sources, of which one has the template."""
    (tmp_path / "heat.cu").write_text("// __global__ void step(int)\nint x;")
    (tmp_path / "other.cu").write_text(
        "template <class T, int N>\n__global__ void __launch_bounds__(32)\nstep(T* x) {}"
    )
    return tmp_path


def test_the_source_of_a_template(sources):
    text = TEXT.replace('["heat.cu"]', '["*.cu"]')
    declared = read(text)[0].expand(sources)
    requested = variants.requested(declared, sources)
    assert set(requested.instances.values()) == {"other.cu"}
    assert requested.texts() == {
        "other.cu": "__device__ auto* cupola_variant_0 = &step<float, 16>;\n"
        "__device__ auto* cupola_variant_1 = &step<double, 16>;\n"
        "__device__ auto* cupola_variant_2 = &step<float, 32>;\n"
        "__device__ auto* cupola_variant_3 = &step<double, 32>;\n"
    }
    (sources / "heat.cu").write_text("template <class T, int N> __global__ void step(T* x) {}")
    with pytest.raises(BuildError, match=r"heat.cu and other.cu has the kernel template 'step'"):
        variants.requested(declared, sources)
    named = text.replace("macros", 'source = "heat.cu"\nmacros')
    declared = read(named)[0].expand(sources)
    assert set(variants.requested(declared, sources).instances.values()) == {"heat.cu"}
    declared = read(named.replace("heat.cu", "cold.cu"))[0].expand(sources)
    with pytest.raises(BuildError, match=r"line 14.*source: 'cold.cu' is no source of heat"):
        variants.requested(declared, sources)


PTX = """\
.version 9.0
.target sm_75
.address_size 64
.visible .entry _Z4stepILi16EEvPf
(
	.param .u64 _Z4stepILi16EEvPf_param_0
)
;
.visible .global .align 8 .u64 cupola_variant_0 = _Z4stepILi16EEvPf;
.global .align 4 .u32 counter;
.visible .entry _Z4stepILi16EEvPf(
	.param .u64 _Z4stepILi16EEvPf_param_0
)
{
	ret;
}
"""


def test_instances_are_named_by_variables_that_are_left_out():
    text, marked = variants.unmarked(PTX)
    assert marked == {0: "_Z4stepILi16EEvPf"}
    assert text.count(".entry") == 1 and "cupola_variant" not in text and "counter" in text
    assert variants.unmarked(text) == (text, {})


def test_only_refusals_of_shared_memory_drop_kernels():
    line = (
        "ptxas error   : Entry function '_Z1f' uses too much shared data (0x19000 bytes, 0xc000 "
        "max)"
    )
    assert variants.refusals(line) == {
        "_Z1f": "102,400 bytes of static shared memory; at most 49,152 are possible"
    }
    assert variants.refusals(f"{line}\nptxas fatal   : Ptx assembly aborted due to errors") == {}
    assert variants.refusals("") == {}


def test_messages_name_the_variant():
    (declared, other) = read(TEXT)
    requested = variants.Requested(
        declared.variants, False, dict.fromkeys(declared.variants[0].kernels, "heat.cu")
    )
    said = requested.explain(
        'heat.cu(3): error: no\n  detected during:\n    instantiation of "void inner<T,N>(T *) '
        '[with T=double, N=16]" at line 9\n    instantiation of "void step<T,N>(T *) [with '
        'T=double, N=16U]"'
    )
    assert said.startswith("pyproject.toml, line 11: [[tool.cupola.variants]] heat.step: kernel: ")
    assert "the variant TX=16 UNROLL=4 REGISTERS=32 (step<double, 16>) does not compile: " in said
    said = requested.explain("x.cu(4): error: cannot deduce auto\n auto* cupola_variant_2 = &s<3>;")
    assert "TX=32 UNROLL=4 REGISTERS=32 (step<float, 32>) does not compile" in said
    said = requested.explain('x.cu(4): error: identifier "step" is undefined')
    assert "heat.cu has no kernel template 'step'" in said
    assert requested.explain("heat.cu(3): error: expected a ;") == ""
    alone = variants.Requested(other.variants, True)
    assert "variants with UNROLL=1 do not compile: " in alone.explain("heat.cu(3): error: x")


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


@pytest.mark.parametrize(("change", "words"), HOSTILE, ids=lambda value: str(value)[:30])
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
    assert json.dumps(family_merge.merged(parts, every)) == json.dumps(of_targets(*every))
    assert family_merge.merged([{}, {}], every) == {}
    (one,) = family_merge.merged(parts, ["sm_80"])["families"]
    assert list(one["dropped"]) == ["sm_80"]


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


def described(resources, refused=None, text=TEXT):
    """The entry of a manifest, for kernels with these resources by target."""
    (declared, *others) = read(text)
    (family,) = declared.families
    built = family_manifest._Built(
        {
            "kernels": [
                {"name": name, "demangled": name, "resources": used}
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
            {"name": name, "demangled": name, "resources": used(9)}
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


def test_kernels_of_a_table_have_no_keys_for_families():
    with pytest.raises(BuildError, match="unknown key 'families'"):
        kernels.from_tables([{"library": "heat.kernels", "sources": ["a.cu"], "families": []}])
