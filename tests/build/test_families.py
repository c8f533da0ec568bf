"""Tables [[tool.cupola.variants]]: read with their lines, and divided into libraries."""

import pytest
from family_tables import TEXT, names, read

from cupola.build import families, kernels, tables, variants
from cupola.build.error import BuildError

OPTIONS = 'options = ["-maxrregcount={REGISTERS}"]\nmacros'


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


def test_kernels_of_a_table_have_no_keys_for_families():
    with pytest.raises(BuildError, match="unknown key 'families'"):
        kernels.from_tables([{"library": "heat.kernels", "sources": ["a.cu"], "families": []}])
