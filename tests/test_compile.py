"""CUDA C++ compiled at run time, by NVRTC itself."""

import pickle
import shutil
import threading

import images
import numpy as np
import pytest
from working import refused

import cupola
from cupola.toolkit import libraries

SOURCE = r"""
#ifndef FACTOR
#define FACTOR 1
#endif
template <class T>
__global__ void axpy(T a, const T* x, T* y) {
    y[threadIdx.x] += a * x[threadIdx.x] * FACTOR;
}
namespace inner {
__constant__ float table[4];
__global__ void look(float* out) { out[threadIdx.x] = table[threadIdx.x]; }
}
extern "C" __global__ void plain(float a, long long b, double* out) { *out = a + b; }
"""


@pytest.fixture(autouse=True)
def _nvrtc(tmp_path, monkeypatch):
    """NVRTC; without one these tests are skipped. The cache is the test's own."""
    images.nvrtc()
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))


def written(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def axpy(kernel, factor=1, dtype=np.float32):
    x = np.arange(8, dtype=dtype)
    y = cupola.to_device(np.ones(8, dtype))
    kernel[1, 8](dtype(3), cupola.to_device(x), y)
    np.testing.assert_array_equal(y.get(), 1 + 3 * factor * x)


def value(source, **how):
    """The value that a kernel named `f` stores."""
    out = cupola.zeros((), np.int32)
    cupola.compile(source, **how)["f"][1, 1](out)
    return int(out.get())


STORE = 'extern "C" __global__ void f(int* out) { *out = VALUE; }\n'


@pytest.mark.parametrize("cached", [False, True])
def test_templates_by_the_names_that_were_asked_for(driver, cached):
    expressions = ["axpy<float>", "axpy< double >", "inner::look", "&inner::table"]
    for _ in range(2):
        module = cupola.compile(SOURCE, name_expressions=expressions, cache=cached)
        axpy(module["axpy<float>"])
        axpy(module["axpy< double >"], dtype=np.float64)
        assert module["axpy<float>"] is module["void axpy<float>(float, float const*, float*)"]
        out = cupola.zeros(4, np.float32)
        module.globals["&inner::table"].set(np.arange(4, dtype=np.float32))
        assert module.globals["inner::table"].address == module.globals["&inner::table"].address
        module["inner::look"][1, 4](out)
        np.testing.assert_array_equal(out.get(), range(4))
        assert "axpy<int>" not in module


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("texture<float, 2> there;", "cudaTextureObject_t, read it by"),
        ("texture<float, 1, cudaReadModeElementType> there;", "a cupola.Texture"),
        ("surface<void, 2> there;", "type cudaSurfaceObject_t, and pass a cupola.Surface"),
    ],
)
def test_references_to_textures_and_surfaces_name_their_successors(line, says):
    with pytest.raises(cupola.CompileError, match=says):
        cupola.compile(f'{line}\nextern "C" __global__ void f() {{}}')


def test_parameters_are_known_from_the_compiler(driver):
    kernel = cupola.compile(SOURCE)["plain"]
    assert [str(one) for one in kernel.params] == ["float a", "long long b", "double* out"]
    out = cupola.zeros((), np.float64)
    kernel[1, 1](2.5, 40, out)
    assert out.get() == 42.5
    with refused(cupola.ArgumentError, saying="plain"):
        kernel[1, 1](2.5, 40.5, out)


def test_options(driver):
    axpy(cupola.compile(SOURCE, name_expressions=["axpy<float>"], options=["-DFACTOR=5"])[
        "axpy<float>"], 5)  # fmt: skip
    assert value(STORE, options=["--define-macro=VALUE=7", "--std=c++20"]) == 7
    # In PTX the option is seen: a product and a sum stay two instructions.
    fused = 'extern "C" __global__ void f(float* x) { x[0] = x[0] * x[1] + x[2]; }'
    contracted = cupola.compile(fused, arch="compute_75").image
    apart = cupola.compile(fused, arch="compute_75", options=["--fmad=false"]).image
    assert b"fma.rn.f32" in contracted and b"fma.rn.f32" not in apart


def test_headers(driver, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    written(first, "a.h", '#include "deep/b.h"\n')
    written(first, "deep/b.h", '#include "c.h"\n')
    written(first, "deep/c.h", "#define VALUE 3\n")
    written(second, "a.h", "#define VALUE 4\n")
    source = '#include "a.h"\n' + STORE
    assert value(source, include=[first, second]) == 3
    assert value(source, include=str(second)) == 4
    assert value(source, options=[f"-I{first}"]) == 3
    assert value(source, options=["-I", str(second)]) == 4
    assert value(source, headers={"a.h": "#define VALUE 5\n"}, include=first) == 5
    assert value(STORE, options=[f"--pre-include={first / 'a.h'}"]) == 3
    path = written(first, "source.cu", source)
    assert value(path, include=second) == 3  # its own folder goes first
    with refused(cupola.CompileError, saying="a.h"):
        cupola.compile(source)


def test_the_current_folder_is_none_of_a_texts_own(driver, tmp_path, monkeypatch):
    written(tmp_path, "a.h", "#define VALUE 3\n")
    monkeypatch.chdir(tmp_path)
    with refused(cupola.CompileError, saying="a.h"):
        cupola.compile('#include "a.h"\n' + STORE)
    assert value('#include "a.h"\n' + STORE, include=".") == 3


def test_a_texts_name_may_have_a_folder(driver, tmp_path):
    written(tmp_path, "a.h", "#define VALUE 3\n")
    assert value('#include "a.h"\n' + STORE, name=str(tmp_path / "source.cu")) == 3


def test_strange_names(driver):
    for name in ('a "b".cu', "a\\b.cu", "größe.cu", "-x", "a'b"):
        assert value(STORE, options=["-DVALUE=1"], name=name) == 1
        with refused(cupola.CompileError) as caught:
            cupola.compile("int f(", name=name)
        assert str(caught.value).startswith(f"{name}(1): error")


def test_the_toolkits_headers(driver):
    if not libraries.load("nvrtc").headers():
        pytest.skip("the compiler came without CUDA's headers")
    source = "#include <cuda_fp16.h>\n#define VALUE __half2int_rn(__float2half(6.f))\n" + STORE
    assert value(source) == 6


def test_architectures(driver):
    module = cupola.compile(STORE, options=["-DVALUE=1"], arch="compute_75")
    assert b".target sm_75" in module.image
    module = cupola.compile(STORE, options=["-DVALUE=1", "-arch=compute_80"])
    assert b".target sm_80" in module.image
    usual = cupola.compile(STORE, options=["-DVALUE=1"]).image
    major, minor = cupola.Device().compute_capability
    if driver == "cpu":
        assert f".target sm_{major}{minor}".encode() in usual
        assert (
            cupola.compile(STORE, options=["-DVALUE=1"], arch=f"sm_{major}{minor}").image == usual
        )
    else:
        assert usual[:4] == b"\x7fELF"
    newest = cupola.compiler.nvrtc().architectures[
        -1
    ]  # NVRTC before 12.8 knows none that is newer than 9.0
    if 10 * major + minor < newest:
        for kind in ("compute", "sm"):
            saying = [f"arch is '{kind}_{newest}'", f"capability {major}.{minor}", "leave it out"]
            with refused(cupola.ArgumentValueError, saying=saying) as caught:
                cupola.compile(STORE, options=["-DVALUE=1"], arch=f"{kind}_{newest}")
            value(STORE, options=["-DVALUE=1"], arch=str(caught.value).split("'")[-2])


@pytest.mark.parametrize("asked", ["compute_30", "sm_30", "sm_999", "compute_999"])
def test_an_architecture_that_nvrtc_lacks_is_answered_with_one_for_the_device(driver, asked):
    with refused(cupola.ArgumentValueError, saying=[asked, "NVRTC", "leave it out"]) as caught:
        cupola.compile(STORE, options=["-DVALUE=1"], arch=asked)
    given = str(caught.value).split("'")[-2]
    assert given.partition("_")[0] == asked.partition("_")[0]
    assert value(STORE, options=["-DVALUE=7"], arch=given) == 7


def test_errors_begin_with_file_and_line(driver, tmp_path):
    wrong = STORE.replace("VALUE", "nothing")
    path = written(tmp_path, "wrong.cu", "\n\n" + wrong)
    for source, name, place in (
        (wrong, None, "kernel.cu(1): error: "),
        ("\n" + wrong, "mine.cu", "mine.cu(2): error: "),
        (path, None, f"{path}(3): error: "),
        ('#line 70 "other.cu"\n' + wrong, None, "other.cu(70): error: "),
        ('#include "none.h"\n', None, "kernel.cu(1): catastrophic error: "),
    ):
        with refused(cupola.CompileError, saying=("error", "NVRTC")) as caught:
            cupola.compile(source, name=name)
        first = str(caught.value).splitlines()[0]
        assert first.startswith(place) and first in caught.value.log
        again = pickle.loads(pickle.dumps(caught.value))
        assert (str(again), again.log) == (str(caught.value), caught.value.log)
    with refused(cupola.CompileError, saying=("kernel.cu", "--no-such-option")):
        cupola.compile(STORE, options=["--no-such-option"])
    with refused(cupola.CompileError, saying="nowhere") as caught:
        cupola.compile(SOURCE, name_expressions=["axpy<float>", "nowhere<int>"])
    assert str(caught.value).startswith('name_expressions=["nowhere<int>"]: error')
    assert "__nv_name_map" not in str(caught.value)


def test_a_template_without_instances_names_the_remedy(driver):
    source = "template <class T> __global__ void f(T* x) { *x = 1; }"
    with refused(cupola.UnknownNameError, saying=("no kernels at all", "name_expressions=")):
        cupola.compile(source)["f"]
    x = cupola.zeros(1, np.float32)
    cupola.compile(source, name_expressions=["f<float>"])["f<float>"][1, 1](x)
    assert x.get() == 1


def test_warnings_are_kept(driver):
    source = STORE.replace("{", "{ int unused;")
    for _ in range(2):  # the second comes from the cache
        log = cupola.compile(source, options=["-DVALUE=1"]).log
        assert "kernel.cu(1): warning" in log and "unused" in log
    assert cupola.compile(STORE, options=["-DVALUE=1"]).log == ""


def test_load_takes_sources(driver, tmp_path, monkeypatch):
    written(tmp_path, "value.h", "#define VALUE 8\n")
    path = written(tmp_path, "source.cu", '#include "value.h"\n' + STORE)
    monkeypatch.setenv("CUPOLA_PATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path.parent)
    for module in (
        cupola.load(path),
        cupola.load(str(path)),
        cupola.load("source"),
        cupola.load("source.cu", package=tmp_path.name),
    ):
        out = cupola.zeros((), np.int32)
        module["f"][1, 1](out)
        assert out.get() == 8
        assert module.name == str(path)
    shutil.copy(images.SCALE, tmp_path / "source.ptx")
    assert "scale" in cupola.load("source")  # an image goes before a source
    with refused(cupola.NotFoundError, FileNotFoundError, saying="other.cu"):
        cupola.load(tmp_path / "other.cu")
    with refused(cupola.NotFoundError, FileNotFoundError, saying="other.cu"):
        cupola.compile(tmp_path / "other.cu")


def test_each_module_has_variables_of_its_own(driver):
    source = '__device__ int n; extern "C" __global__ void f() { ++n; }'
    one, two = cupola.compile(source), cupola.compile(source)
    one["f"][1, 1]()
    assert one.globals["n"].get(np.int32)[0] == 1
    assert two.globals["n"].get(np.int32)[0] == 0


def test_compiled_modules_travel(driver):
    module = cupola.compile(SOURCE, name_expressions=["axpy<float>"])
    taken = pickle.loads(pickle.dumps(module))
    axpy(taken["axpy<float>"])
    assert taken["plain"].params == module["plain"].params


@pytest.mark.parametrize(
    "how",
    [
        {"source": 5},
        {"source": b"int i;"},
        {"source": "int i;\0"},
        {"options": "-DVALUE=1"},
        {"options": [5]},
        {"options": 5},
        {"include": 5},
        {"include": [5]},
        {"name_expressions": "f"},
        {"name_expressions": ["f\0"]},
        {"headers": ["a.h"]},
        {"headers": {"a.h": 5}},
        {"headers": {"a.h\0": ""}},
        {"arch": 90},
        {"arch": "sm90"},
        {"arch": "sm_75", "options": ["-arch=sm_80"]},
        {"name": ""},
        {"name": 5},
        {"device": "gpu"},
    ],
    ids=repr,
)
def test_wrong_arguments(driver, how):
    with refused(cupola.ArgumentError):
        cupola.compile(**{"source": STORE, **how})


def test_many_threads_compile_at_once(driver):
    results, failures = {}, []

    def work(number):
        try:
            results[number] = value(STORE, options=[f"-DVALUE={number % 4}"])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert results == {number: number % 4 for number in range(12)}


def test_compiling_lets_the_lock_go(driver):
    """Another thread continues while the compiler is busy."""
    many = "".join(
        f"__global__ void f{i}(int* o) {{ o[{i}] = sinf({i}.f * o[0]); }}" for i in range(200)
    )
    thread = threading.Thread(target=cupola.compile, args=(many,), kwargs={"cache": False})
    turns = 0
    thread.start()
    while thread.is_alive():
        thread.join(0.001)
        turns += 1
    assert turns > 20


def test_without_nvrtc(driver, monkeypatch, tmp_path):
    from cuda import pathfinder

    def nothing(name):
        raise pathfinder.DynamicLibNotFoundError(f"no {name} in site-packages")

    libraries._load.cache_clear()
    compiler = cupola.compiler.nvrtc
    compiler.cache_clear()
    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", nothing)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    saying = (
        "NVRTC",
        "no nvrtc in site-packages",
        f"CUDA_HOME: there is no libnvrtc.so.* in {tmp_path}",
        "CUDA_PATH: not set",
        "PATH: no nvcc",
        "pip install 'cupola[compile]'",
        "set CUDA_HOME",
    )
    with refused(cupola.NotFoundError, FileNotFoundError, saying=saying):
        cupola.compile(STORE)
    assert "not found" in libraries.report("nvrtc")


@pytest.mark.parametrize("variable", ["CUDA_HOME", "PATH"])
def test_nvrtc_in_a_toolkit(driver, monkeypatch, tmp_path, variable):
    from cuda import pathfinder

    real = libraries.load("nvrtc").path

    def nothing(name):
        raise pathfinder.DynamicLibNotFoundError(f"no {name}")

    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "libnvrtc.so.13").symlink_to(real)
    nvcc = written(tmp_path, "bin/nvcc", "#!/bin/sh\n")
    nvcc.chmod(0o755)
    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", nothing)
    for name in libraries.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(nvcc.parent if variable == "PATH" else tmp_path))
    libraries._load.cache_clear()
    found = libraries.load("nvrtc")
    assert (found.path, found.origin) == (str(lib / "libnvrtc.so.13"), variable)
    libraries._load.cache_clear()
