"""Names of a caller's parameters and structs, beside those of the generated source."""

import re

import images
import numpy as np
import pytest
from working import refused

import cupola
from cupola.declare import elementwise_definition, reduction_definition, scan_definition
from cupola.declare.c_types import WORDS
from cupola.declare.kernel_definition import HEADER, source

# From the former collisions; the other names come from the source itself.
KNOWN = {"value", "total", "chunks", "combined", "neutral", "task", "partial", "inner", "kept"}
KNOWN |= {"layout", "offsets", "a0", "view0", "flat", "strided", "start", "before", "write", "map"}
BATCH = 16  # names of a kernel: the parameters of its strided form have 4 KiB at most


@pytest.fixture(autouse=True)
def _compiler():
    images.nvrtc()


def definitions():
    """A definition of each maker, which has all parts of the generated source."""
    yield elementwise_definition.define("k", "const T* p, T* q", "q[i] = p[i]", {})
    yield reduction_definition.define("k", "const T* p, T* q", "p[i]", "a + b", "0", {})
    yield scan_definition.define(
        "k", "const T* p, T* q", "p[i]", "a + b", "0", {}, segment="i == 0"
    )
    yield scan_definition.define("k", "const T* p, T* q", "p[i]", "a + b", None, {})


def names_in_the_source():
    """Identifiers of the generated code and of its header, and the same without the prefix."""
    text = source((one, {"T": "float32"}) for one in definitions())
    text = re.sub(r"//.*|\"[^\"\n]*\"|^#.*$", "", text + HEADER.read_text(), flags=re.MULTILINE)
    found = set(re.findall(r"\b[A-Za-z_]\w*", text)) | KNOWN
    return sorted(found | {name.removeprefix("cupola_") for name in found})


def is_free(name, reserved):
    return name not in {*WORDS, *reserved} and not name.startswith(("cupola", "__"))


def names_beside(reserved):
    """Names for inputs: those behind the prefix, and all others of the source."""
    free = [name for name in names_in_the_source() if is_free(name, {*reserved, "T", "p", "q"})]
    prefixed = KNOWN | {name.removeprefix("cupola_") for name in names_in_the_source()}
    prefixed -= set(names_in_the_source()) - KNOWN
    inputs = [name for name in free if name in prefixed]
    assert len(inputs) >= 15 and len(free) > 100
    return inputs, [name for name in free if name not in inputs]


MODULES = {
    "elementwise": elementwise_definition,
    "reduction": reduction_definition,
    "scan": scan_definition,
}


@pytest.mark.parametrize("maker", [
    "elementwise", "reduction",
    pytest.param("scan", marks=pytest.mark.campaign("NVRTC takes minutes for this many names")),
])  # fmt: skip
def test_an_input_may_have_any_name_of_the_source(maker, driver):
    inputs, numbers = names_beside(MODULES[maker].RESERVED)
    batches = [(inputs[at : at + BATCH], []) for at in range(0, len(inputs), BATCH)]
    x = cupola.to_device(np.arange(40, dtype=np.float32))[::-2]
    for arrays, scalars in [*batches, (["p"], numbers)]:
        declared = [f"const float* {name}" for name in arrays]
        declared += [f"float {name}" for name in scalars] + ["float* q"]
        terms = " + ".join([f"{name}[i]" for name in arrays] + scalars)
        made = {
            "elementwise": lambda p, t: cupola.elementwise(p, f"q[i] = {t}", "k"),
            "reduction": lambda p, t: cupola.reduction(p, t, "a + b", "0", "k"),
            "scan": lambda p, t: cupola.scan(p, t, "a + b", "0", "k"),
        }[maker](", ".join(declared), terms)
        host = x.get() * len(arrays) + len(scalars)
        expected = {"elementwise": host, "reduction": host.sum(), "scan": host.cumsum()}[maker]
        found = made(*[x] * len(arrays), *[1.0] * len(scalars))
        np.testing.assert_array_equal(found.get(), expected)


def test_results_and_numbers_may_have_any_name_of_the_source(driver):
    x = cupola.to_device(np.arange(8, dtype=np.float32))
    for names in (sorted(KNOWN - {"a0"}), ["view", "Chunks", "reduce", "first_task", "memcpy"]):
        numbers = ", ".join(f"float {name}" for name in names)
        total = " + ".join(names)
        for result in names[:1]:
            other = numbers.replace(f"float {result}", "float q")
            parameters = f"{other}, const float* p, float* {result}"
            rest = re.sub(rf"\b{result}\b", "q", total)
            made = cupola.reduction(parameters, f"p[i] * ({rest})", "a + b", "0", "k")
            assert float(made(*[1.0] * len(names), x)) == 28 * len(names)


@pytest.mark.parametrize("name", ["flat", "flat_totals", "total"])
def test_a_preamble_may_define_any_name_of_the_source(name, driver):
    x = cupola.to_device(np.arange(4, dtype=np.float32))
    preamble = f"__device__ float {name}(float x) {{ return 2 * x; }}"
    arguments = ("const float* p, float* q", f"{name}(p[i])", "a + b", "0", "k")
    assert float(cupola.reduction(*arguments, preamble=preamble)(x)) == 12
    assert cupola.scan(*arguments, preamble=preamble)(x).get().tolist() == [0, 2, 6, 12]
    variable = f"__device__ float {name} = 3;"
    made = cupola.elementwise(
        "const float* p, float* q", f"q[i] = {name} * p[i]", "k", preamble=variable
    )
    assert made(x).get().tolist() == [0, 3, 6, 9]


@pytest.mark.parametrize("name", ["int", "class", "xor", "co_await", "INFINITY", "NAN", "cupola_x"])
def test_words_of_the_language_are_refused(name):
    for maker, code in (
        (cupola.elementwise, ("q[0] = 1",)),
        (cupola.reduction, ("p[i]", "a + b", "0")),
        (cupola.scan, ("p[i]", "a + b", "0")),
    ):
        for parameters in (f"const float* {name}, float* q", f"float {name}, float* q"):
            with refused(cupola.ArgumentValueError, saying=(repr(name), "use another name")):
                maker(parameters, *code, "k")
        with refused(cupola.ArgumentValueError, saying=(f"a struct has the name {name!r}",)):
            maker("const float* p, float* q", *code, "k", structs={name: np.dtype("i4")})
