"""A kernel's known parameters, by source: the image, a declaration, the compiler."""

import pickle

import images
import numpy as np
import pytest
from test_driver import good
from working import refused, refused_argument

import cupola
from cupola.compiler.source_names import declarations, parameter_names
from cupola.toolkit.nvrtc import Nvrtc

# extern "C", without a manifest: the image has sizes, and tells which parameters are floats.
BARE = """
.version 7.0
.target sm_52
.address_size 64
.visible .entry axpy(
    .param .f32 axpy_a, .param .u64 axpy_x, .param .u64 axpy_out, .param .u64 axpy_n)
{
    .reg .pred %p<2>; .reg .b64 %rd<10>; .reg .f32 %f<5>; .reg .b32 %r<2>;
    ld.param.f32 %f1, [axpy_a];
    ld.param.u64 %rd1, [axpy_x];
    ld.param.u64 %rd2, [axpy_out];
    ld.param.u64 %rd3, [axpy_n];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd4, %r1;
    setp.ge.u64 %p1, %rd4, %rd3;
    @%p1 bra DONE;
    shl.b64 %rd5, %rd4, 2;
    add.u64 %rd6, %rd1, %rd5;
    add.u64 %rd7, %rd2, %rd5;
    ld.global.f32 %f2, [%rd6];
    mul.rn.f32 %f3, %f1, %f2;
    st.global.f32 [%rd7], %f3;
DONE:
    ret;
}
.visible .entry several(
    .param .u32 several_i,
    .param .align 4 .b8 several_p[8], .param .align 16 .b8 several_v[16], .param .u16 several_h,
    .param .u32 several_m, .param .u8 several_b)
{
    ret;
}
"""
AXPY = "float a, const float* x, float* out, size_t n"


@pytest.fixture
def kernel(driver):
    return cupola.load(BARE.encode())["axpy"]


def arrays(dtype=np.float32):
    return cupola.to_device(np.arange(8, dtype=dtype)), cupola.zeros(8, dtype)


def check_refusals(kernel, known_by):
    """Each wrong argument is refused with its parameter's name and type."""
    assert kernel.signature.known_by == known_by
    x, out = arrays()
    double, _ = arrays(np.float64)
    refused_argument(kernel, 1, 2.0, double, out, 8, error=TypeError, name="x", got="float64")
    refused_argument(kernel, 3, 2.0, x, out, out, error=TypeError, name="n", got="cupola.Array")
    refused_argument(kernel, 0, x, 2.0, out, 8, error=TypeError, name="a", got="cupola.Array")
    refused_argument(kernel, 1, 2.0, 8.5, out, 8, error=TypeError, name="x", got="float 8.5")
    refused_argument(kernel, 3, 2.0, x, out, -1, error=ValueError, name="n", got="-1")
    refused_argument(kernel, 3, 2.0, x, out, None, error=TypeError, name="n", got="None")
    kernel[1, 8](2.0, n=8, x=x, out=out)
    np.testing.assert_array_equal(out.get(), 2 * np.arange(8, dtype=np.float32))


# -- declared ---------------------------------------------------------------------------------


def test_a_bare_image_tells_sizes_alone(kernel):
    assert kernel.signature.known_by == "image"
    double, out = arrays(np.float64)
    kernel[1, 1](2.0, double, out, 1)  # garbage that nothing can find
    with refused(cupola.ArgumentTypeError, saying=("names", "kernel.declare(")):
        kernel[1, 1](2.0, double, out, n=1)


def test_a_declaration_is_checked_against(kernel):
    assert kernel.declare(AXPY) is kernel
    check_refusals(kernel, "declaration")
    assert str(kernel.signature) == ("axpy(float a, const float* x, float* out, unsigned long n)")
    assert [one.dtype for one in kernel.params] == [np.float32, np.float32, np.float32, np.uint64]
    assert "const float* x" in repr(kernel) and "const float*" in kernel.__doc__


def test_declared_when_loaded(driver):
    check_refusals(cupola.load(BARE.encode(), signatures={"axpy": AXPY})["axpy"], "declaration")
    with refused(cupola.NotFoundError, saying="axpi"):
        cupola.load(BARE.encode(), signatures={"axpi": AXPY})
    for wrong in (["axpy"], {"axpy": None}, {1: AXPY}):
        with refused(cupola.ArgumentTypeError, saying="signatures"):
            cupola.load(BARE.encode(), signatures=wrong)


def test_declarations_travel(driver):
    module = cupola.load(BARE.encode())
    module["axpy"].declare(AXPY)
    check_refusals(pickle.loads(pickle.dumps(module))["axpy"], "declaration")
    check_refusals(pickle.loads(pickle.dumps(module["axpy"])), "declaration")


def test_a_prepared_launch_outlives_a_declaration(kernel):
    x, out = arrays()
    launch = kernel.prepare(1, 8, 2.0, x, out, 8)
    bound = kernel[1, 8]
    kernel.declare(AXPY)
    launch()
    np.testing.assert_array_equal(out.get(), 2 * np.arange(8, dtype=np.float32))
    bound(3.0, x, out, 8)
    np.testing.assert_array_equal(out.get(), 3 * np.arange(8, dtype=np.float32))
    with refused(cupola.ArgumentTypeError, saying="float64"):
        launch["x"] = arrays(np.float64)[0]


@pytest.mark.parametrize(
    ("declared", "saying"),
    [
        (
            "double a, const float* x, float* out, size_t n",
            ("parameter 0 (a)", "double", "8 bytes", "4 bytes"),
        ),
        ("int a, const float* x, float* out, size_t n", ("parameter 0 (a)", "int", "32-bit float")),
        (
            "float a, const float* x, float* out, double n",
            ("parameter 3 (n)", "double", "64-bit integer"),
        ),
        (
            "float a, const float* x, float* out",
            ("3 parameters are declared", "4, of 4, 8, 8, 8 bytes"),
        ),
        ("float a, const float* x, float* out, int n", ("parameter 3 (n)", "4 bytes", "8 bytes")),
        (
            "float a, float4 x, float* out, size_t n",
            ("parameter 1 (x)", "float4", "16 bytes", "8 bytes"),
        ),
        (
            "float a, const flaot* x, float* out, size_t n",
            ("parameter 1 (", "unknown type flaot", "struct flaot"),
        ),
        ("float a, const float* x, float* x, size_t n", ("two parameters are called x",)),
        ("float a, const float* x, void out, size_t n", ("parameter 2", "void")),
        ("float a, void (*f)(int), float* out, size_t n", ("pointers to functions",)),
        ("float a, const float* x float* out, size_t n", ("unexpected",)),
        ("float a, , float* out, size_t n", ("expected a type",)),
        ("float a, long float x, float* out, size_t n", ("parameter 1",)),
        ("float a, /* x", ("comment",)),
        ("axpy(float a)", ("unknown type axpy",)),
    ],
)
def test_what_does_not_fit_the_image_is_refused(kernel, declared, saying):
    before = kernel.params
    with refused(cupola.ArgumentValueError, saying=("axpy: ", *saying)):
        kernel.declare(declared)
    assert kernel.params == before and kernel.signature.known_by == "image"


def test_structs_and_other_types(driver):
    kernel = cupola.load(BARE.encode())["several"]
    kernel.declare(
        "int i, struct demo::Pair<float, 3> p, float4 v, __half h, enum Mode m, bool b // the last"
    )
    kinds = [(one.name, one.kind, one.type) for one in kernel.params]
    assert kinds == [
        ("i", "integer", "int"),
        ("p", "struct", "demo::Pair<float,3>"),
        ("v", "struct", "float4"),
        ("h", "float", "__half"),
        ("m", "integer", "Mode"),
        ("b", "integer", "bool"),
    ]
    kernel[1, 1](1, bytes(8), bytes(16), 0.5, 3, True)
    given = (1, bytes(8), bytes(16), 0.5, 3, 2)
    refused_argument(kernel, 5, *given, error=ValueError, name="b", got="2")
    with refused(cupola.ArgumentValueError, saying=("parameter 1 (p)", "float2", "offset 4")):
        kernel.declare("int i, float2 p, float4 v, __half h, int m, bool b")


@pytest.mark.parametrize(
    ("spelled", "type_name", "dtype"),
    [
        ("unsigned", "unsigned int", np.uint32),
        ("long long int unsigned", "unsigned long long", np.uint64),
        ("std::int16_t", "short", np.int16),
        ("volatile signed char", "signed char", np.int8),
        ("uchar", "unsigned char", np.uint8),
        ("double const", "double", np.float64),
        ("half", "__half", np.float16),
    ],
)
def test_types_as_c_spells_them(kernel, spelled, type_name, dtype):
    kernel.declare(f"float a, {spelled} * __restrict__ x, float out[], size_t")
    one = kernel.params[1]
    assert (one.kind, one.type, one.dtype) == ("pointer", type_name, dtype)
    assert one.const is ("const" in spelled)
    assert kernel.params[2].kind == "pointer" and kernel.params[3].name == ""


FITTING_VECTORS = {
    "float4": ["f4", "c8", "f4,f4,f4,f4"],
    "float2": ["f4", "c8"],
    "float3": ["f4", "f4,f4,f4"],
    "cuDoubleComplex": ["f8", "c16"],
    "int2": ["i4"],
    "uint4": ["u4"],
    "uchar4": ["u1", "i1", "?", "u4", "i4"],
    "longlong2": ["i8"],
    "half2": ["f2"],
}


@pytest.mark.parametrize("vector", FITTING_VECTORS)
def test_vectors_have_elements_of_their_parts(kernel, vector):
    """A pointer to float4 takes float32, and no float64."""
    kernel.declare(f"float a, const {vector}* x, {vector}* out, size_t n")
    taken = FITTING_VECTORS[vector]
    for dtype in taken:
        array = cupola.zeros(48, dtype)
        kernel.prepare(1, 1, 1.0, array, array, 0)
        kernel[1, 1](1.0, cupola.In(np.zeros(48, dtype)), array, 0)
    fitting = {np.dtype(one).kind: np.dtype(one).name for one in reversed(taken)}
    usual = {"uchar4": "uint8"}.get(vector, np.dtype(taken[0]).name)
    spelled = {"cuDoubleComplex": "double2"}.get(vector, vector)
    for dtype in {"f2", "f4", "f8", "i4", "u4", "i8", "c8", "c16", "f4,f4"} - set(taken):
        array, name = cupola.zeros(48, dtype), str(np.dtype(dtype))
        wanted = fitting.get("c", usual) if array.dtype.kind == "c" else usual
        if array.itemsize == 8 and vector in ("float2", "int2") and array.dtype.names:
            continue  # a struct of the vector's size
        refused_argument(kernel, 1, 1.0, array, array, 0, error=TypeError, name="x",
                         got=(spelled, name, f"x.astype('{wanted}')"))  # fmt: skip
        given = cupola.In(np.zeros(48, dtype))
        refused_argument(kernel, 1, 1.0, given, array, 0, error=TypeError, name="x",
                         got=(spelled, name, f"cupola.In(array.astype('{wanted}'))"))  # fmt: skip


def test_remedies_of_other_elements(kernel):
    """The remedy of each message makes the launch work."""
    kernel.declare(AXPY)
    x, out = arrays()
    host = np.arange(8.0)
    refused_argument(kernel, 1, 2.0, cupola.to_device(host), out, 8, error=TypeError, name="x",
                     got=("float64", "const float", "x.astype('float32')"))  # fmt: skip
    refused_argument(kernel, 1, 2.0, cupola.In(host), out, 8, error=TypeError, name="x",
                     got=("float64", "cupola.In(array.astype('float32'))"))  # fmt: skip
    refused_argument(kernel, 2, 2.0, x, cupola.Out(host), 8, error=TypeError, name="out",
                     got=("y = array.astype('float32')", "cupola.Out(y)"))  # fmt: skip
    kernel[1, 8](2.0, cupola.In(host.astype("float32")), out, 8)
    np.testing.assert_array_equal(out.get(), 2 * host)
    for given, element in [
        (cupola.to_device(host[:1]), "x.get().ravel()[0]"),
        (host[:1], "numpy.asarray(x).ravel()[0]"),
        ([3.0], "numpy.asarray(x).ravel()[0]"),
    ]:
        refused_argument(kernel, 0, given, x, out, 8, error=TypeError, name="a",
                         got=("no pointer", element))  # fmt: skip
        kernel[1, 8](eval(element, {"x": given, "numpy": np}), x, out, 8)


def test_a_compiler_knows_better(driver):
    kernel = images.module("ptx")["store<int>"]
    assert kernel.signature.known_by == "compiler"
    with refused(cupola.ArgumentValueError, saying=("parameter 0 (out)", "the compiler has")):
        kernel.declare("float* out, int value")
    kernel.declare("int* out, int value")
    assert kernel.signature.known_by == "compiler"
    assert [one.name for one in kernel.params] == ["out", "value"]
    assert images.module("described")["axpy"].signature.known_by == "manifest"


# -- compiled ---------------------------------------------------------------------------------

SOURCE = """
extern "C" __global__ void axpy(float a, const float* __restrict__ x, float* out, size_t n) {
    if (threadIdx.x < n) out[threadIdx.x] = a * x[threadIdx.x];
}
"""


@pytest.fixture
def nvrtc(driver, tmp_path, monkeypatch):
    images.nvrtc()
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))


def test_a_compiled_kernel_of_c_is_checked(nvrtc, monkeypatch):
    asked, real = [], Nvrtc.compile

    def counted(self, *arguments):
        asked.append(arguments)
        return real(self, *arguments)

    monkeypatch.setattr(Nvrtc, "compile", counted)
    for _ in range(2):  # the second comes from the cache, types and all
        module = cupola.compile(SOURCE)
        assert len(asked) == 2
        check_refusals(module["axpy"], "compiler")
        assert module.kernels == ("axpy",)
    check_refusals(pickle.loads(pickle.dumps(module))["axpy"], "compiler")


def test_compiled_from_several_sources(nvrtc):
    other = 'extern "C" __global__ void other(double* y) { *y = 1; }'
    module = cupola.compile([SOURCE, other])
    check_refusals(module["axpy"], "compiler")
    assert str(module["other"].signature) == "other(double* y)"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#define KERNEL(name) extern \"C\" __global__ void name(int* out, short n) {}\nKERNEL(f)",
         "f(int*, short)"),
        ("#define LIST const int* x\nextern \"C\" __global__ void f(LIST, bool b) {}",
         "f(const int*, bool b)"),
        ("namespace one { namespace two { extern \"C\" __global__ void f(float* x) {} } }",
         "f(float* x)"),
        ("struct Pair { int a, b; };\nextern \"C\" { __global__ void f(Pair p, Pair* q) {} }",
         "f(Pair p, Pair* q)"),
        ("#ifdef A\nextern \"C\" __global__ void f(int first) {\n#else\n"
         "extern \"C\" __global__ void f(long long second) {\n#endif\n}", "f(long long)"),
        ("template <class T> struct View { T* p; int n; };\n"
         "extern \"C\" __global__ void f(View<float> v, int (*g)(int)) {}",
         "f(View<float> v, int (*)(int) g)"),
        ("__global__ void f(const double* x, unsigned n) {}",
         "f(const double* x, unsigned int n)"),
        ("#include \"k.h\"", "f(float*, size)"),
    ],
)  # fmt: skip
def test_how_kernels_are_written(nvrtc, source, expected):
    headers = {"k.h": 'extern "C" __global__ void f(float* x, unsigned long n) {}'}
    module = cupola.compile(source, headers=headers)
    kernel = module["f"]
    assert kernel.signature.known_by == "compiler"
    if "k.h" in source:  # headers are not scanned for names
        assert str(kernel.signature) == "f(float*, unsigned long)"
    else:
        assert str(kernel.signature) == expected


def test_a_source_that_does_not_bear_the_question(nvrtc):
    taken = SOURCE + "__device__ int cupola_signature;"
    kernel = cupola.compile(taken)["axpy"]
    assert kernel.signature.known_by == "image"
    assert [one.name for one in kernel.params] == ["a", "x", "out", "n"]
    # The stub cannot name one of the kernels; the other kernel is still described.
    hidden = '#define HIDE namespace hidden {\nHIDE\nextern "C" __global__ void f(int* x) {}\n}'
    module = cupola.compile(SOURCE + hidden)
    check_refusals(module["axpy"], "compiler")
    assert module["f"].signature.known_by == "image"


def test_names_of_templates_and_overloads(nvrtc):
    source = """
    template <class T> __global__ void fill(T* out, T value) { *out = value; }
    namespace deep { __global__ void f(int* one) {} }
    __global__ void f(int* two, int three) {}
    __global__ void g(int* x) {}
    namespace deep { __global__ void g(int* y) {} }
    """
    module = cupola.compile(source, name_expressions=["fill<float>", "deep::f", "deep::g"])
    shown = {
        name: [one.name for one in module[name].params]
        for name in ("fill<float>", "deep::f", "f(int*, int)", "g(int*)", "deep::g")
    }
    assert shown == {
        "fill<float>": ["out", "value"],
        "deep::f": ["one"],
        "f(int*, int)": ["two", "three"],
        "g(int*)": [""],
        "deep::g": [""],
    }


# -- the scan of a source -----------------------------------------------------------------------

SCANNED = r"""
#define RESTRICT __restrict__
#define CALLED y
/* void k(int wrong) { */
extern "C" __global__ void __launch_bounds__(256, 2) k(float a, const float* RESTRICT x,
    struct Pair p, Vec<float, 3> v, int (*fn)(int), int arr[4], const foo::Bar & b, unsigned,
    const Foo, foo::Bar, unsigned CALLED, __grid_constant__ const Params q, T... rest) // }
{ k(1, 2); if (a) { } }
namespace outer { inline namespace v1 {} namespace mid::inner {
extern "C" { __global__ void nested(int i = f(1, 2)); }
} }
const char* s = "void text(int z) {"; char c = '{'; auto r = R"x(void text(int z) {})x";
#if A
__global__ void branch(int a) {
#else
__global__ void branch(int b) {
#endif
}
__global__ void none() {} __global__ void none2(void) {}
"""


def test_what_the_scan_finds():
    wanted = {"k", "nested", "text", "branch", "none", "none2"}
    found = declarations(SCANNED, wanted)
    assert set(found) == wanted - {"text"}
    (k,) = found["k"]
    expected = ("a", "x", "p", "v", "fn", "arr", "b", "", "", "", "", "q", "rest")
    assert (k.names, k.namespace, k.defined) == (expected, "", True)
    (nested,) = found["nested"]
    assert (nested.names, nested.namespace) == (("i",), "outer::mid::inner")
    assert parameter_names(found["branch"], 1) == []
    assert found["none"][0].names == found["none2"][0].names == ()


@pytest.mark.parametrize(
    "piece",
    ["(", "{", "/*", '"', "'", 'R"', "namespace a {", "k(", "a ", "extern ", "#\\\n", "k(a,b) ;"],
)
def test_the_scan_ends_on_any_text(piece):
    for count in (1, 1000, 20_000):
        assert isinstance(declarations(piece * count, {"k"}), dict)


def test_many_declarations_end_without_recursion():
    """On a small stack, which a call for each of them would overflow."""
    code = f"""
    import threading
    import cupola

    def declare():
        kernel = cupola.load({str(images.ptx())!r})["increment"]
        for _ in range(80000):
            kernel.declare("int* values, int n")
        del kernel
        print("released")

    threading.stack_size(1 << 21)  # Python 3.13 recurses 10,000 times
    thread = threading.Thread(target=declare)
    thread.start()
    thread.join()
    """
    assert good(code, CUPOLA_DRIVER="cpu").stdout == "released\n"
