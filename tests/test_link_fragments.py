"""cupola.link: kernels of a package, linked with functions of its user."""

import shutil
import sys
from collections import namedtuple
from importlib import import_module
from pathlib import Path

import images
import numpy as np
import pytest
from working import refused

import cupola
from cupola import __main__ as command
from cupola import compiler
from cupola.build import executor, image, library
from cupola.build.architectures import Architectures
from cupola.build.kernels import Kernels
from cupola.build.targets import Target
from cupola.compiler import fragments
from cupola.compiler import link as linking
from cupola.compiler.request import Request
from cupola.compiler.request import Target as Wanted
from cupola.compiler.source_files import source_of
from cupola.image import manifest as manifests
from cupola.image.reader import read_image, read_kernels
from cupola.toolkit import libraries, nvjitlink, nvrtc
from cupola.toolkit.program import Program

# Two libraries: one leaves a comparison and a variable open, the other uses the first one's own.
PICK = """
extern "C" __device__ bool less(const float& a, const float& b);
extern __device__ float scale;
namespace made { __device__ float twice(float x) { return 2 * x; } }
template <class T> __global__ void pick(const T* x, T* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) out[i] = less(x[i], x[i + 1]) ? x[i] * scale : x[i + 1];
}
template __global__ void pick<float>(const float*, float*, int);
"""
USE = """
namespace made { __device__ float twice(float x); }
__device__ int rounded(float x, int step);
extern "C" __global__ void use(const float* x, int* out) {
    out[threadIdx.x] = rounded(made::twice(x[threadIdx.x]), 3);
}
"""
LESS = 'extern "C" __device__ bool less(const float& a, const float& b) { return a < b; }\n'
GREATER = LESS.replace("a < b", "a > b")
SCALE = "__device__ float scale = 10;\n"
ROUNDED = "__device__ int rounded(float x, int step) { return int(x) / step * step; }\n"
X = np.array([3, 1, 2, 5, 4], np.float32)
PICKED = np.array([1, 10, 20, 4], np.float32)  # by LESS and SCALE


def _made(root, name, source, target=None):
    """The image of a library, which the tests build once."""
    folder = root / name
    folder.mkdir()
    (folder / "kernels.cu").write_text(source)
    steps = image.steps(
        images.nvcc(), Architectures((target or Target(90),), (target or Target(75),)),
        [Path("kernels.cu")], Path("kernels.fatbin"), Path("kernels.json"), folder, packed=True,
        lto=True,
    )  # fmt: skip
    executor.run(steps, folder)
    return folder


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("fragments")
    return {name: _made(root, name, text) for name, text in (("pick", PICK), ("use", USE))}


@pytest.fixture(autouse=True)
def _tools(tmp_path, monkeypatch):
    try:
        libraries.load("nvrtc")
        libraries.load("nvJitLink")
    except cupola.MissingFileError as error:
        pytest.skip(" ".join(str(error).split()))
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def package(built, tmp_path, monkeypatch):
    """A package with both libraries."""
    folder = tmp_path / "packages" / "tests_link_package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    for name, made in built.items():
        for suffix in (".fatbin", ".json"):
            shutil.copy(made / f"kernels{suffix}", folder / f"{name}{suffix}")
        import json

        kernels = Kernels(f"{folder.name}.{name}", ["kernels.cu"], lto=True)
        manifest = json.loads((made / "kernels.json").read_text())
        (folder / f"{name}.py").write_text(library.module_text(kernels, manifest))
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.delenv("CUPOLA_PATH", raising=False)
    yield folder
    for name in (folder.name, *(f"{folder.name}.{one}" for one in built)):
        sys.modules.pop(name, None)


@pytest.fixture
def pick(package):
    return import_module("tests_link_package.pick")


@pytest.fixture
def use(package):
    return import_module("tests_link_package.use")


def picked(module, name="pick"):
    out = cupola.empty(4, np.float32)
    module[name][1, 32](cupola.to_device(X), out, 5)
    return out.get()


@pytest.mark.parametrize("lto", [True, False])
def test_a_users_function_in_a_packages_kernel(driver, pick, lto):
    module = cupola.link([pick, LESS + SCALE], lto=lto)
    assert np.array_equal(picked(module), PICKED)
    other = cupola.link([pick, GREATER, SCALE], lto=lto)
    assert np.array_equal(picked(other), [30, 2, 5, 50])
    assert module.kernels == other.kernels == ("_Z4pickIfEvPKT_PS0_i",)
    assert module.globals["scale"].get(np.float32)[0] == 10
    # For a GPU, the image is machine code; for the CPU device, PTX.
    assert module.image.startswith(b"\x7fELF") == (driver == "cuda")


def test_launches_are_checked_by_the_manifest(driver, pick):
    kernel = cupola.link([pick, LESS + SCALE])["pick"]
    assert [one.name for one in kernel.params] == ["x", "out", "n"]
    with refused(cupola.ArgumentError, saying=("(x)", "const float")):
        kernel[1, 32](cupola.zeros(5, np.int32), cupola.zeros(5, np.float32), 5)


def test_libraries_define_functions_for_each_other(driver, pick, use):
    module = cupola.link([use, pick, LESS, SCALE, ROUNDED])
    assert np.array_equal(picked(module), PICKED)
    out = cupola.empty(5, np.int32)
    module["use"][1, 5](cupola.to_device(X), out)
    assert out.get().tolist() == [6, 0, 3, 9, 6]
    assert [one.name for one in module["use"].params] == ["x", "out"]


def test_fragments_are_files_bytes_and_texts(driver, pick, package, tmp_path):
    (tmp_path / "less.cu").write_text(LESS)
    ptx = cupola.compile(SCALE, options=["-rdc=true"], arch="compute_75").image
    (tmp_path / "scale.ptx").write_bytes(ptx)
    for less in (tmp_path / "less.cu", str(tmp_path / "less.cu")):
        for scale in (ptx, tmp_path / "scale.ptx", str(tmp_path / "scale.ptx"), bytearray(ptx)):
            assert np.array_equal(picked(cupola.link([pick, less, scale])), PICKED)
    file = package / "pick.fatbin"
    module = cupola.link([file, LESS, SCALE])
    assert np.array_equal(picked(module), PICKED)
    assert module["pick"].params[0].name == "x"  # the name is in the manifest beside it


def test_kernels_of_sources_are_in_the_module(driver, pick):
    own = 'extern "C" __global__ void own(int value, int* out) { *out = value; }'
    module = cupola.link([pick, LESS + SCALE + own])
    out = cupola.zeros((), np.int32)
    module["own"][1, 1](7, out)
    assert out.get() == 7


def test_the_cache(driver, pick, monkeypatch):
    calls, real = [], linking.link

    def counted(*arguments):
        calls.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(compiler, "link_sources", counted)
    first = cupola.link([pick, LESS + SCALE])
    assert cupola.link([pick, LESS + SCALE]).image == first.image and len(calls) == 1
    cupola.link([pick, GREATER + SCALE])
    cupola.link([pick, LESS + SCALE], cache=False)
    assert len(calls) == 3
    cupola.link([pick, LESS + SCALE], lto=False)
    assert len(calls) == 4


def test_a_launch_without_a_link(driver, pick, package):
    saying = ("less(const float*, const float*)", "float scale", "cupola.link([tests_link_package.")
    with refused(cupola.ImageError, saying=saying):
        pick.pick  # noqa: B018
    with refused(cupola.ImageError, saying=saying):
        pick.load()
    with refused(cupola.ImageError, saying="pathlib.Path("):
        cupola.load(str(package / "pick.fatbin"))
    assert "pick" in dir(pick)


@pytest.mark.parametrize(
    ("sources", "saying"),
    [
        ([SCALE], ("pick uses bool less(", "no fragment defines it", "'functions.cu'")),
        ([LESS], ("pick uses float scale", "no fragment defines it")),
        ([LESS.replace('extern "C"', ""), SCALE],
         ("less(float const&, float const&)", 'extern "C"')),
        ([LESS.replace("const float&", "float"), SCALE],
         ("fragment.1.cu: less is a function with parameters of (4, 4) bytes",
          "declares bool less(const float*, const float*)", "(8, 8) bytes")),
        ([LESS, SCALE, LESS], ("linking failed", "less")),
        ([LESS, SCALE.replace("float scale = 10", "int scale() { return 1; }")], ("scale",)),
        ([LESS.replace("return", "return return"), SCALE], ("fragment.1.cu(1): error",)),
    ],
)  # fmt: skip
def test_functions_that_do_not_fit(driver, pick, sources, saying):
    with refused(cupola.CompileError, saying=saying):
        cupola.link([pick, *sources])


def test_other_parameters_of_a_mangled_name(driver, use, pick):
    other = ROUNDED.replace("int step", "long step")
    saying = ("use uses int rounded(float, int)", "fragment.2.cu defines rounded(float, long)")
    with refused(cupola.CompileError, saying=saying):
        cupola.link([use, pick, other + LESS + SCALE])


@pytest.mark.parametrize(
    ("fragments", "saying"),
    [
        ([], "at least one fragment"),
        ("less.cu", "a list of fragments"),
        (b"less.cu", "a list of fragments"),
        ([5], "fragments[0] is of the type int"),
        ([np], "the module numpy, which is no library of kernels"),
        (5, "a list of fragments"),
    ],
)
def test_what_is_no_fragment(driver, fragments, saying):
    with refused(cupola.ArgumentTypeError, TypeError, saying=saying):
        cupola.link(fragments)


def test_more_that_is_no_fragment(driver, pick, tmp_path):
    loaded = cupola.compile('extern "C" __global__ void f() {}')
    with refused(cupola.ArgumentTypeError, saying="linked already: give its source"):
        cupola.link([pick, loaded])
    with refused(cupola.NotFoundError, FileNotFoundError, saying="missing.ptx"):
        cupola.link([pick, "missing.ptx"])
    with refused(cupola.NotFoundError, FileNotFoundError, saying="missing.cu"):
        cupola.link([pick, "missing.cu"])
    with refused(cupola.CompileError, saying="fragments[1]"):
        cupola.link([pick, b"neither PTX nor anything else", LESS + SCALE])


def for_gpu(made, sources, number=90, *, lto=True, title="pick"):
    """The image for a GPU, which a machine without a GPU can make, too."""
    target = Wanted(f"sm_{number}", True)
    content = (made / "kernels.fatbin").read_bytes()
    entry = linking.linkable(title, content, target, lto=lto)
    request = Request(
        tuple(source_of(text, None, f"{i}.cu") for i, text in enumerate(sources)),
        target, (), (), (), {}, ((title, entry.payload),), nvjitlink.nvjitlink(), lto=lto,
    )  # fmt: skip
    return compiler.build(request, nvrtc.nvrtc(), cache=False).image, entry


def test_the_function_is_inlined_for_a_gpu(driver, built):
    code, entry = for_gpu(built["pick"], [LESS, SCALE])
    assert (entry.kind, entry.target) == ("ltoir", "90")
    assert {kernel.name for kernel in read_kernels(code)} == {"_Z4pickIfEvPKT_PS0_i"}
    assert b".text.less" not in code and b".text._Z4pick" in code
    kept = LESS.replace("__device__", "__device__ __noinline__")
    code, _ = for_gpu(built["pick"], [kept, SCALE])
    assert b"less" in code  # a function that is not inlined is found in the code
    code, entry = for_gpu(built["pick"], [LESS, SCALE], lto=False)
    assert (entry.kind, entry.target) == ("ptx", "75") and b"less" in code
    _, entry = for_gpu(built["pick"], [LESS, SCALE], number=80)
    assert (entry.kind, entry.target) == ("ltoir", "75")


Gpu = namedtuple("Gpu", "compute_capability index name", defaults=(0, "a GPU"))


def linked_for_gpu(images, *sources, capability=(9, 0), arch=None, lto=True):
    """The request of `cupola.link` for a GPU, and the image, which a machine without a GPU can
    make.
    """
    read = [source_of(text, None, f"{i}.cu") for i, text in enumerate(sources)]
    request, by = fragments.request_of(
        read, images, Gpu(capability), cpu=False, lto=lto, options=(), include=(),
        name_expressions=(), headers=None, arch=arch,
    )  # fmt: skip
    return request, compiler.build(request, by, cache=False).image


def shipped(folder):
    """The library of a package, in the form that `cupola.link` uses."""
    manifest = manifests.read(str(folder / "kernels.json"))
    content = (folder / "kernels.fatbin").read_bytes()
    return fragments.LinkedImage(folder.name, content, manifest.open, str(manifest.head["toolkit"]))


def test_links_for_a_gpu(driver, built):
    request, code = linked_for_gpu([shipped(built["pick"])], LESS, SCALE)
    assert (request.target.architecture, request.linked_as) == ("sm_90", request.target)
    assert {kernel.name for kernel in read_kernels(code)} == {"_Z4pickIfEvPKT_PS0_i"}
    _, text = linked_for_gpu([shipped(built["pick"])], LESS, SCALE, arch="compute_90")
    assert b".entry _Z4pick" in text and b"call" not in text and b".func" not in text
    _, code = linked_for_gpu([shipped(built[name]) for name in built], LESS, SCALE, ROUNDED)
    assert {kernel.name for kernel in read_kernels(code)} == {"_Z4pickIfEvPKT_PS0_i", "use"}
    with refused(cupola.CompileError, saying="no fragment defines it"):
        linked_for_gpu([shipped(built["pick"])], SCALE)


def test_ptx_and_machine_code_beside_lto_ir(driver, built):
    for target in ("compute_75", "sm_90"):
        words = [f"--gpu-architecture={target}", "-rdc=true"]
        made = nvrtc.nvrtc().compile(Program(SCALE, "a.cu", "a.cu", words))
        other = fragments.LinkedImage("scale", made.ptx if target == "compute_75" else made.cubin)
        _, code = linked_for_gpu([shipped(built["pick"]), other], LESS)
        assert len(read_kernels(code)) == 1 and b"scale" in code and b".text.less" not in code


def test_a_link_for_a_gpu_without_sources_and_without_a_compiler(driver, built, monkeypatch):
    words = ["--gpu-architecture=compute_75", "-rdc=true", "-dlto"]
    made = nvrtc.nvrtc().compile(Program(LESS + SCALE, "a.cu", "a.cu", words))
    monkeypatch.setattr(fragments, "nvrtc", None)
    opaque = fragments.LinkedImage("less.ltoir", made.ltoir)
    _, code = linked_for_gpu([shipped(built["pick"]), opaque])
    assert len(read_kernels(code)) == 1 and b".text.less" not in code
    opaque.content = b"\xedCN\x7f" + bytes(500)
    with refused(cupola.CompileError, saying="less.ltoir"):
        linked_for_gpu([shipped(built["pick"]), opaque])


def test_lto_ir_for_one_architecture(driver, built, tmp_path):
    special = shipped(_made(tmp_path, "special", PICK, target=Target(90, "a")))
    request, code = linked_for_gpu([special], LESS, SCALE)
    assert request.target.architecture == "sm_90a"
    assert read_image(code).entries[0].target == "90a"
    saying = ("special: no LTO-IR to link for sm_100", "9.0 alone")
    with refused(cupola.CompileError, saying=saying):
        linked_for_gpu([special], LESS, SCALE, capability=(10, 0))


def test_targets_without_lto_ir(driver, built, tmp_path):
    packed = (built["pick"] / "kernels.fatbin").read_bytes()
    with refused(cupola.CompileError, saying=("no LTO-IR to link for sm_70", "lto=False")):
        linking.linkable("pick", packed, Wanted("sm_70", True), lto=True)
    with refused(cupola.CompileError, saying=("no PTX to link for sm_70",)):
        linking.linkable("pick", packed, Wanted("sm_70", True), lto=False)
    with refused(cupola.CompileError, saying="pick: "):
        linking.linkable("pick", packed[:300], Wanted("sm_90", True), lto=True)
    assert linking.linkable("x", b"\x7fELF anything", Wanted("sm_90", True), lto=True) is None


def test_what_nvjitlink_does_not_read(driver, pick):
    from cupola.core.linking import _separated

    one = _separated([pick])[1][0].image
    one.entry = linking.linkable("pick", one.content, Wanted("sm_90", True), lto=True)
    linker = nvjitlink.nvjitlink()
    fragments.require_lto(one, linker)
    major, minor = linker.version
    for release in (f"{major}.{minor + 1}.5", f"{major + 1}.0.1", f"{major - 1}.8.2"):
        one.toolkit = release
        short = ".".join(release.split(".")[:2])
        saying = (f"CUDA {short}", "nvidia-nvjitlink", "lto=False")
        with refused(cupola.CompileError, saying=saying):
            fragments.require_lto(one, linker)
    one.entry = next(e for e in read_image(one.content).entries if e.kind == "ptx")
    with refused(cupola.CompileError, saying=("has no LTO-IR", "lto = true")):
        fragments.require_lto(one, linker)


def test_the_cpu_device_asks_for_lto_ir_too(driver, built):
    """A program that runs on the CPU device must also run on a GPU."""
    fragments.require_lto(shipped(built["pick"]), None)
    image = images.fatbin("compute_75", "sm_90").read_bytes()
    with refused(cupola.CompileError, saying=("plain has no LTO-IR", "lto = true", "lto=False")):
        fragments.require_lto(fragments.LinkedImage("plain", image, {}), None)


def test_inspect_shows_what_is_open(built, capsys):
    import json

    path = str(built["pick"] / "kernels.fatbin")
    command.main(["inspect", path])
    said = capsys.readouterr().out
    assert "LTO-IR for lto_90" in said
    assert "complete after cupola.link with a source of less; scale" in said
    command.main(["inspect", path, "--json"])
    assert json.loads(capsys.readouterr().out)["open"] == ["less", "scale"]
    command.main(["inspect", path, "--devices", "--json"])
    ((_, rows),) = json.loads(capsys.readouterr().out).items()
    (row,) = rows.values()
    assert row["9.0"] == "lto_90 (linked)" and row["8.0"] == "lto_75 (linked)"
    assert row["CPU device"] == "compute_75 (linked)"


@pytest.mark.parametrize(
    "given", [5, [5], [{}], [{"name": "f"}], [{"name": "f", "declaration": 5}], {"name": "f"}]
)
def test_a_hostile_manifest(given):
    import json

    text = json.dumps({"format": 1, "open": given, "kernels": []}).encode()
    with refused(cupola.ImageError, saying="place.json is malformed"):
        _ = manifests.Manifest(text, "place.json").open


def test_a_linked_module_can_be_pickled(driver, pick):
    import pickle

    module = pickle.loads(pickle.dumps(cupola.link([pick, LESS + SCALE])))
    assert np.array_equal(picked(module), PICKED)
    assert module["pick"].params[2].name == "n"
