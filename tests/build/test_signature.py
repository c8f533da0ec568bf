# tests/build/test_signature.py - what the compiler is read to say of kernels' parameters.
import json
import re
import subprocess

import numpy as np
import pytest

from cupola.build import manifest, toolkit
from cupola.build.error import BuildError
from cupola.build.intermediate import Declaration, read_declarations
from cupola.build.merge import merge
from cupola.image import reader
from cupola.image.manifest import dtype_of

SOURCE = """
#include <cstdint>
#include <cstdio>
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef float* Samples;
typedef void (*Function)(int);
namespace shape {
struct Corner { short x; float y[3]; };
template <class T> struct Vector { T v[3]; int n; };
}
union Number { int i; float f; };
struct Bits { unsigned a : 3, b : 7; int c; };
struct Base { char tag; double weight; };
struct Nothing {};
struct Derived : Base, Nothing {
    float m[2][3]; Number number; Bits bits; __half h; bool flag; Derived* next;
};
struct Big { double m[4][4]; int64_t k; };
struct Copied { int a; __host__ __device__ Copied(const Copied& o) : a(o.a) {} };
enum Color { red = -1, green };

extern "C" __global__ void __launch_bounds__(128, 2) every(
    const size_t n, uint64_t u, int8_t i8, Samples samples, volatile int* spinning, Function call,
    float (*rows)[3], float decayed[3], const __grid_constant__ Big big, Color color,
    __nv_bfloat16 bf, const __half2* h2, cuFloatComplex z, wchar_t w, unsigned char uc,
    void (*back)(float*, int)) {
    if (n == 1) samples[0] = u;
}
extern "C" __global__ void unused(int a, float* __restrict__ b, const Derived* __restrict__ const d,
                                  Derived, int, bool yes, shape::Vector<shape::Corner> v) {}
extern "C" __global__ void used(float* out, Derived d) { *out = d.m[1][2] + d.weight + d.bits.b; }
extern "C" __global__ void __cluster_dims__(1) copied(Copied c, int lambda) {
    if (c.a) asm("exit;");
}
namespace ns {
namespace { struct Hidden { int q; };
__global__ void inner(Hidden h, int) { if (h.q) asm("exit;"); } }
template <class... A> __global__ void pack(int* out, A... rest) { *out = sizeof...(rest); }
template __global__ void pack<int, float>(int*, int, float);
template <int... I> __global__ void numbers(shape::Vector<double> in, int* out) { *out = in.n; }
template __global__ void numbers<1, 2>(shape::Vector<double>, int*);
}
void host() { ns::inner<<<1, 1>>>({}, 1); }
extern "C" __global__ void none() {}
static __global__ void own(int first) { if (first) asm("exit;"); }
__device__ const char said[] = "a \\"__global__ void\\" in text";
__device__ int my__global__x(int x) { return x + said[0]; }
extern "C" __global__ void telling(int code) {
    if (code) printf("__global__ of %d %s", my__global__x(code), said);
}
void other() { own<<<1, 1>>>(1); }
"""
ARCHITECTURE = "-arch=sm_90"


def nvcc(folder, source, output, *options):
    command = [toolkit.find().nvcc, "-std=c++17", ARCHITECTURE, "-o", output, *options, source]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (folder / output).read_bytes()


DEBUG = ("-G", "-cubin", "--keep", "--keep-dir", ".")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signature")
    (folder / "k.cu").write_text(SOURCE)
    nvcc(folder, "k.cu", "k.fatbin", "-fatbin", "-no-compress")
    nvcc(folder, "k.cu", "k.cubin", "-cubin")
    nvcc(folder, "k.cu", "k.debug.cubin", *DEBUG)
    return folder


def described(folder, declarations=True):
    read = [folder / name for name in ("k.fatbin", "k.cubin", "k.debug.cubin")]
    image, reference, debug = (path.read_bytes() for path in read)
    texts = [(folder / "k.cudafe1.gpu").read_text()] if declarations else []
    return manifest.describe(image, reference, [debug], "13.0", "t", texts)


@pytest.fixture(scope="session")
def kernels(folder):
    # The description as a file stores it.
    written = json.loads(json.dumps(described(folder)))
    return {kernel["demangled"]: kernel for kernel in written["kernels"]}


def parameters(kernels, name):
    (found,) = [kernel for text, kernel in kernels.items() if re.search(rf"\b{name}", text)]
    return found["parameters"]


def test_every_kind(kernels):
    found = parameters(kernels, "every")
    assert [(p["name"], p["kind"], p["type"], p["offset"], p["size"]) for p in found] == [
        ("n", "integer", "unsigned long", 0, 8),
        ("u", "integer", "unsigned long", 8, 8),
        ("i8", "integer", "signed char", 16, 1),
        ("samples", "pointer", "float*", 24, 8),
        ("spinning", "pointer", "int*", 32, 8),
        ("call", "pointer", "void (*)()", 40, 8),
        ("rows", "pointer", "float [3]*", 48, 8),
        ("decayed", "pointer", "float*", 56, 8),
        ("big", "struct", "Big", 64, 136),
        ("color", "integer", "Color", 200, 4),
        ("bf", "float", "bfloat16", 204, 2),
        ("h2", "pointer", "const __half2*", 208, 8),
        ("z", "struct", "float2", 216, 8),
        ("w", "integer", "int", 224, 4),
        ("uc", "integer", "unsigned char", 228, 1),
        ("back", "pointer", "void (*)()", 232, 8),
    ]
    by_name = {p["name"]: p for p in found}
    assert by_name["color"]["signed"] is True and by_name["uc"]["signed"] is False
    assert by_name["h2"]["const"] is True and by_name["samples"]["const"] is False
    assert by_name["big"]["dtype"] == {
        "names": ["m", "k"],
        "formats": [["<f8", [4, 4]], "<i8"],
        "offsets": [0, 128],
        "itemsize": 136,
    }
    assert by_name["bf"]["notes"] == ["this is a bfloat16, by its bits"]
    assert by_name["call"]["element"] is None and by_name["rows"]["element"] is None


def test_parameters_that_are_never_used(kernels):
    found = parameters(kernels, "unused")
    assert [(p["name"], p["kind"], p["type"]) for p in found] == [
        ("a", "integer", "int"),
        ("b", "pointer", "float*"),
        ("d", "pointer", "const Derived*"),
        (None, "struct", "Derived"),
        (None, "integer", "int"),
        ("yes", "integer", "bool"),
        ("v", "struct", "shape::Vector<shape::Corner>"),
    ]
    assert [p.get("restrict") for p in found[:3]] == [None, True, True]
    assert found[2]["const"] is True and found[2]["element"]["type"] == "Derived"


def test_unions_bit_fields_and_bases(kernels):
    _, derived = parameters(kernels, "used")
    dtype = dtype_of(derived["dtype"])
    assert dtype.itemsize == derived["size"]
    names = ("Base", "m", "number", "bits", "h", "flag", "next")
    assert dtype.names == names
    assert dtype["Base"].names == ("tag", "weight") and dtype["Base"].fields["weight"][1] == 8
    assert dtype["m"] == np.dtype(("f4", (2, 3)))
    assert dtype["number"] == np.dtype("V4")
    assert dtype["bits"].names == ("a_b", "c") and dtype["bits"]["a_b"] == np.dtype("V2")
    assert dtype["flag"] == np.bool_ and dtype["h"] == np.float16
    assert dtype["next"] == np.uint64
    assert derived["notes"] == [
        "number is a union, by its bytes",
        "bits.a is bits 0 to 2 from byte 0",
        "bits.b is bits 3 to 9 from byte 0",
    ]


def test_templates_namespaces_and_packs(kernels):
    assert [p["name"] for p in parameters(kernels, "pack<int, float>")] == ["out", "rest", "rest"]
    (vector, out) = parameters(kernels, "numbers<1, 2>")
    assert (vector["name"], vector["type"]) == ("in", "shape::Vector<double>")
    assert out["name"] == "out"
    hidden, unnamed = parameters(kernels, "inner")
    assert (hidden["name"], unnamed["name"], hidden["size"]) == ("h", None, 4)
    assert [p["name"] for p in parameters(kernels, "own")] == ["first"]
    assert [p["name"] for p in parameters(kernels, "copied")] == ["c", "lambda"]
    assert parameters(kernels, "none") == []


def test_without_intermediate_files_only_what_is_sure_is_said(folder, kernels):
    without = {k["demangled"]: k["parameters"] for k in described(folder, False)["kernels"]}
    assert [p["name"] for p in without["used"]] == ["out", "d"]
    for name, kernel in kernels.items():
        for one, known in zip(without[name], kernel["parameters"], strict=True):
            assert (one["offset"], one["size"]) == (known["offset"], known["size"])
            assert one["kind"] in (known["kind"], "unknown")


FIRST = """
__device__ int helper(int);
extern "C" __global__ void first(int* x, int unused) { *x = helper(3); }
"""
SECOND = """
__device__ __noinline__ int helper(int k) {
    int v[40];
    for (int i = 0; i < k; ++i) v[i * 7 % 40] = i;
    return v[k];
}
extern "C" __global__ void second(float f, int* y) { *y = helper(*y); }
"""


def test_sources_that_are_linked(tmp_path):
    """Device code of several sources: a debug cubin for each, and the linked one's stack."""
    debug, texts = [], []
    for name, source in (("a", FIRST), ("b", SECOND)):
        (tmp_path / f"{name}.cu").write_text(source)
        nvcc(tmp_path, f"{name}.cu", f"{name}.cubin", "-rdc=true", "-cubin")
        debug.append(nvcc(tmp_path, f"{name}.cu", f"{name}.debug.cubin", "-rdc=true", *DEBUG))
        texts.append((tmp_path / f"{name}.cudafe1.gpu").read_text())
    linked = nvcc(tmp_path, "b.cubin", "linked.cubin", "-dlink", "-cubin", "a.cubin")
    image = nvcc(tmp_path, "b.cubin", "linked.fatbin", "-dlink", "-fatbin", "-no-compress",
                 "a.cubin")  # fmt: skip
    found = manifest.describe(image, linked, debug, "13.0", "t", texts)["kernels"]
    assert [(k["name"], [p["name"] for p in k["parameters"]]) for k in found] == [
        ("first", ["x", "unused"]),
        ("second", ["f", "y"]),
    ]
    for kernel in found:  # the array of the function that is called
        assert kernel["resources"]["sm_90"]["local"] >= 160
    with pytest.raises(BuildError, match="second is in none of"):
        manifest.describe(image, linked, debug, "13.0", "t", texts[:1])


def kernel(*sizes):
    return reader.Kernel("k", [reader.Parameter(8 * i, size) for i, size in enumerate(sizes)])


def integer(name, size=4):
    return {"name": name, "kind": "integer", "type": "int", "size": size, "signed": True}


@pytest.mark.parametrize(
    ("declared", "described"),
    [
        ([Declaration("a", "int")], []),  # one declaration for two parameters
        ([Declaration("a", "int"), Declaration("b", "int")], [integer("c")]),
        ([Declaration("a", "int"), Declaration("b", "int")], [integer("b"), integer("a")]),
        ([Declaration("a", "int"), Declaration("b", "int")], [integer("a", 8)]),
        ([Declaration("a", "int"), Declaration("b", "long")], []),
        ([Declaration("a", "int"), Declaration("b", "float", pointer=True)], [integer("b")]),
        ([Declaration("a", "int"), Declaration("b", "float")], [integer("b")]),
    ],
)
def test_sources_that_contradict_each_other(declared, described):
    with pytest.raises(BuildError, match="kernel k: "):
        merge(kernel(4, 4), described, declared)


def test_intermediate_files_of_another_form():
    for text in ("__global__ void f(int a", "__global__ void;", "__global__ {", "__global__"):
        with pytest.raises(BuildError, match="intermediate file"):
            read_declarations(text)
    assert read_declarations("__global__ extern void f(int);") == {}
    for said in ('"__global__"', '"a \\"__global__ void f(int a){"', "my__global__", "__global__x"):
        assert read_declarations(f"char* s = {said};\n") == {}
    text = '# 1 "__global__ k.cu"\n__global__ void f(\n# 2 "x"\nint\n# 3 ")"\n a){'
    assert read_declarations(text.partition("\n")[2]) == {"f": [Declaration("a", "int")]}
