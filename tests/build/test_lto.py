# tests/build/test_lto.py - libraries whose kernels users link with functions of their own.
import json
from pathlib import Path

import pytest

from cupola.build import executor, image, toolkit
from cupola.build.architectures import Architectures
from cupola.build.error import BuildError
from cupola.build.image_merge import Library, merge
from cupola.build.intermediate import read_prototype
from cupola.build.targets import Target
from cupola.image.ptx_functions import Symbol, symbols
from cupola.image.reader import is_packed, read_fatbin

SOURCE = """
struct Pair { float key; int id; };
extern "C" __device__ bool less(const float& a, const float& b);
__device__ Pair joined(Pair a, const Pair* b, int n);
extern __device__ float scale;
extern __constant__ float table[4];
__device__ float kept[100];
__device__ __noinline__ float own(float x) { return x * scale + table[1]; }
extern "C" __global__ void pick(const float* x, float* out, int n) {
    __shared__ float memory[64];  // a section without bytes in relocatable code, as `kept`
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    memory[threadIdx.x] = kept[threadIdx.x] += x[i];
    __syncthreads();
    if (i + 1 < n) out[i] = memory[63 - threadIdx.x] + less(x[i], x[i + 1]) ? own(x[i]) : x[i + 1];
    if (i > 1000000) printf("%d", i);
}
__global__ void join(Pair* x) { extern __shared__ Pair s[]; x[0] = joined(x[1], s, 4); }
"""


def built(root, source, cubins=(80, 90), **options):
    (root / "kernels.cu").write_text(source)
    steps = image.steps(
        toolkit.find(),
        Architectures(tuple(map(Target, cubins)), (Target(75), Target(90))),
        [Path("kernels.cu")],
        Path("out/kernels.fatbin"),
        Path("out/kernels.json"),
        root,
        package="test 1",
        packed=True,
        lto=True,
        **options,
    )
    executor.run(steps, root)
    return root / "out"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return built(tmp_path_factory.mktemp("lto"), SOURCE)


def test_the_image_has_lto_ir_and_ptx(folder):
    packed = (folder / "kernels.fatbin").read_bytes()
    assert is_packed(packed)
    entries = read_fatbin(packed)
    assert sorted((one.kind, one.target) for one in entries) == [
        ("ltoir", "75"), ("ltoir", "80"), ("ltoir", "90"), ("ptx", "75"), ("ptx", "90"),
    ]  # fmt: skip
    assert all(one.payload[:4] == b"\xedCN\x7f" for one in entries if one.kind == "ltoir")
    # The PTX is written for older drivers, as in other libraries.
    assert min(one.version for one in entries if one.kind == "ptx") < "8"


def test_the_manifest_names_what_is_open(folder):
    manifest = json.loads((folder / "kernels.json").read_text())
    assert manifest["architectures"] == {"cubin": [], "ptx": [75, 90], "ltoir": [75, 80, 90]}
    assert {one["name"]: one["declaration"] for one in manifest["open"]} == {
        "less": "bool less(const float*, const float*)",
        "_Z6joined4PairPKS_i": "Pair joined(Pair, Pair const*, int)",
        "scale": "float scale",
        "table": "float table",
    }
    kernels = {kernel["name"]: kernel for kernel in manifest["kernels"]}
    assert [one["name"] for one in kernels["pick"]["parameters"]] == ["x", "out", "n"]
    assert all(kernel["resources"] == {} for kernel in kernels.values())


def test_a_library_without_open_functions_has_none_in_its_manifest(tmp_path):
    made = built(tmp_path, 'extern "C" __global__ void one(int* x) { *x = 1; }', cubins=())
    manifest = json.loads((made / "kernels.json").read_text())
    assert "open" not in manifest and manifest["architectures"]["ltoir"] == [75]


def test_symbols_of_a_text():
    text = """
    .version 8.0
    .target sm_75
    // .extern .func commented();
    .extern .func (.param .b32 r) less(.param .b64 a, .param .align 4 .b8 b[12]);
    .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
    .visible .func done(.param .b16 a) { ret; }
    .weak .func (.param .f64 r) weak() { ret; }
    .func own() { ret; }
    .extern .func nothing
    ;
    .visible .const .align 4 .f32 ready[2] = {0f00000000, 0f00000000};
    .extern .global .align 4 .b8 wanted[16];
    .extern .shared .align 4 .b8 memory[];
    .visible .func less_not
    """
    found = symbols(text)
    assert found == {
        "less": Symbol("less", False, "(8, 12) -> (4)"),
        "done": Symbol("done", True, "(2) -> ()"),
        "weak": Symbol("weak", True, "() -> (8)"),
        "nothing": Symbol("nothing", False, "() -> ()"),
        "ready": Symbol("ready", True),
        "wanted": Symbol("wanted", False),
    }
    both = symbols(".extern .func f();\n.visible .func f() {\nret;\n}\n.extern .func f();")
    assert both["f"].defined


def test_prototypes():
    text = """
___device__(extern  __no_sc__) __nv_bool less(const float *, struct Box **, unsigned int);
___device__(extern  __no_sc__) void nothing(void);
extern  __constant__  __var_used__ unsigned int mask;
static void other(int);
"""
    less = read_prototype(text, "less")
    assert (less.result, less.parameters) == ("bool", ("const float*", "Box**", "unsigned int"))
    assert (read_prototype(text, "nothing").parameters) == ()
    assert read_prototype(text, "mask").result == "unsigned int"
    assert read_prototype(text, "other") is None and read_prototype(text, "les") is None


def test_operations_need_complete_kernels(tmp_path):
    from cupola.build.kernels import Kernels
    from cupola.build.operations import from_tables

    kernels = Kernels("a.kernels", ["kernels.cu"], lto=True)
    table = {
        "name": "a.pick", "kernels": {"float32": "pick"}, "inputs": {"x": "T[n]"},
        "outputs": {"out": "T[n]"}, "arguments": ["x", "out", "n"], "grid": ["n"],
        "block": [32],
    }  # fmt: skip
    (library,) = from_tables([table], [kernels])
    with pytest.raises(BuildError, match=r"operation a\.pick: .* no source defines bool less"):
        built(tmp_path, SOURCE, operations=library.operations)


def test_libraries_of_other_targets_are_merged(tmp_path):
    def library(*cubins):
        """nvcc writes its working folder into LTO-IR, so all wheels are built in one folder."""
        out = built(tmp_path, SOURCE, cubins)
        image, text = (out / f"kernels{suffix}" for suffix in (".fatbin", ".json"))
        return Library(f"for {cubins}", image.read_bytes(), text.read_bytes())

    merged, notes = merge([library(80), library(90)], [False, False])
    assert not notes
    whole = library(80, 90)
    assert (merged.image, merged.text) == (whole.image, whole.text)
