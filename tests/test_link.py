"""Several sources and objects become one module, linked at run time."""

import numpy as np
import pytest
from working import refused

import cupola
from cupola import compiler
from cupola.compiler.link import linked_as
from cupola.compiler.request import Request, Target
from cupola.compiler.source_files import source_of
from cupola.image.reader import read_kernels
from cupola.toolkit import libraries, nvjitlink, nvrtc
from cupola.toolkit.program import Program

# Both sources have a `helper` and a `hidden` of their own.
CALLER = """
extern __device__ int shared_value;
__device__ int twice(int value);
static __device__ int helper() { return 1000; }
static __device__ int hidden = 7;
extern "C" __global__ void run(float scale, int* out) {
    *out = scale * (helper() + twice(shared_value) + hidden++);
}
"""
CALLED = """
__device__ int shared_value = 20;
static __device__ int hidden = 500;
static __device__ __noinline__ int helper(int value) { return value + hidden - 500; }
__device__ int twice(int value) { return 2 * helper(value); }
template <class T> __global__ void fill(T* out, T value) { *out = twice(value); }
"""


@pytest.fixture(autouse=True)
def _tools(tmp_path, monkeypatch):
    try:
        libraries.load("nvrtc")
        libraries.load("nvJitLink")
    except cupola.MissingFileError as error:
        pytest.skip(" ".join(str(error).split()))
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))


def result(module):
    out = cupola.zeros((), np.int32)
    module["run"][1, 1](1.0, out)
    return int(out.get())


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_sources(driver, order):
    sources = (CALLER, CALLED)
    module = cupola.compile([sources[place] for place in order])
    assert [result(module), result(module)] == [1047, 1048]
    assert module.kernels == ("run",)
    assert module["run"].params[0].kind == "float"
    assert module.globals["shared_value"].get(np.int32)[0] == 20


def test_files_and_texts(driver, tmp_path):
    (tmp_path / "twice.h").write_text("__device__ int twice(int value);\n")
    path = tmp_path / "caller.cu"
    path.write_text('#include "twice.h"\n' + CALLER)
    module = cupola.compile([path, CALLED])
    assert result(module) == 1047
    assert module.name == f"{path}, kernel.1.cu"


def test_templates(driver):
    """Each instance is made by the source that has the template."""
    module = cupola.compile([CALLER, CALLED], name_expressions=["fill<int>", "fill<short>"])
    for name, dtype in (("fill<int>", np.int32), ("fill<short>", np.int16)):
        out = cupola.zeros((), dtype)
        module[name][1, 1](out, 4)
        assert out.get() == 8
    with refused(cupola.CompileError, saying="nowhere"):
        cupola.compile([CALLER, CALLED], name_expressions=["fill<int>", "nowhere<int>"])


def relocatable(source):
    option = "--relocatable-device-code=true"
    return cupola.compile(source, options=[option], arch="compute_75").image


def test_ptx(driver, tmp_path):
    ptx = relocatable(CALLED)
    assert ptx.lstrip().startswith(b"//")
    path = tmp_path / "called.ptx"
    path.write_bytes(ptx)
    for link in ([ptx], [path], (bytearray(ptx),)):
        module = cupola.compile(CALLER, link=link, arch="compute_75")
        assert result(module) == 1047
        # nvJitLink makes PTX of LTO-IR alone.
        assert module.image.startswith(b"\x7fELF") == (driver == "cuda")
    with refused(cupola.NotFoundError, FileNotFoundError, saying="missing.ptx"):
        cupola.compile(CALLER, link=[tmp_path / "missing.ptx"])


def test_the_cache(driver, tmp_path, monkeypatch):
    calls, real = [], nvrtc.Nvrtc.compile

    def counted(self, *arguments):
        calls.append(arguments)
        return real(self, *arguments)

    ptx = relocatable(CALLED)
    monkeypatch.setattr(nvrtc.Nvrtc, "compile", counted)
    first = cupola.compile(CALLER, link=[ptx], arch="compute_75")
    many = len(calls)
    assert many and cupola.compile(CALLER, link=[ptx], arch="compute_75").image == first.image
    assert len(calls) == many
    changed = ptx.replace(b"shared_value = 20", b"shared_value = 21")
    assert result(cupola.compile(CALLER, link=[changed], arch="compute_75")) == 1049
    assert len(calls) > many


@pytest.mark.parametrize(
    "options", [["-rdc=false"], ["-w", "-rdc", "true"], ["--relocatable-device-code=true", "-w"]]
)
def test_an_option_that_a_link_needs_is_given_once(driver, options, monkeypatch):
    """NVRTC before 13.0 refuses an option with a value that is given twice."""
    seen, real = [], nvrtc.Nvrtc.compile

    def noted(self, program):
        seen.append(program.options)
        return real(self, program)

    monkeypatch.setattr(nvrtc.Nvrtc, "compile", noted)
    assert result(cupola.compile([CALLER, CALLED], options=options, cache=False)) == 1047
    for words in seen:
        assert [word for word in words if "rdc" in word or "relocatable" in word] == [
            "--relocatable-device-code=true"
        ]


def test_what_is_defined_nowhere_and_twice(driver):
    with refused(cupola.CompileError, saying=("linking failed", "twice")) as caught:
        cupola.compile([CALLER, '__device__ int shared_value; extern "C" __global__ void f() {}'])
    assert "twice" in caught.value.log
    with refused(cupola.CompileError, saying="linking failed"):
        cupola.compile([CALLER, CALLED, CALLED])
    with refused(cupola.CompileError, saying="kernel.1.cu(1): error"):
        cupola.compile([CALLER, "int f("])
    with refused(cupola.CompileError, saying="link[0]"):
        cupola.compile(CALLER, link=[b"neither PTX nor anything else"])


@pytest.mark.parametrize(
    "how",
    [
        {"source": []},
        {"source": [5]},
        {"source": [CALLER, b""]},
        {"source": [CALLER, CALLED], "name": "one.cu"},
        {"link": "called.ptx"},
        {"link": b""},
        {"link": ["called.ptx"]},
        {"link": [5]},
        {"link": 5},
    ],
    ids=repr,
)
def test_wrong_arguments(driver, how):
    with refused(cupola.ArgumentError, TypeError):
        cupola.compile(**{"source": CALLER, **how})


def test_machine_code_for_a_device_that_is_not_here(driver):
    """Every machine links code for a GPU: by nvJitLink, from LTO-IR."""
    sources = tuple(source_of(text, None, name) for text, name in (
        (CALLER, "caller.cu"), (CALLED, "called.cu")))  # fmt: skip
    request = Request(
        sources,
        Target("sm_90", True),
        (),
        (),
        ("fill<int>",),
        {},
        (),
        nvjitlink.nvjitlink(),
    )
    built = compiler.build(request, nvrtc.nvrtc(), cache=False)
    kernels = {kernel.name for kernel in read_kernels(built.image)}
    assert kernels == {"run", built.names["fill<int>"]}
    assert ".entry run" in built.ptx


def test_what_nvjitlink_makes(driver):
    """PTX of LTO-IR alone; else machine code, for the device that the caller has."""
    ptx, device = relocatable(CALLED), cupola.Device()
    sm = "sm_{}{}".format(*device.compute_capability)
    asked = Target("compute_75", False)
    source = source_of(CALLED, None, "called.cu")
    words = [asked.option, "--relocatable-device-code=true", "-dlto"]
    ltoir = nvrtc.nvrtc().compile(Program(source.program, source.name, source.title, words)).ltoir
    for content, expected in ((ltoir, asked), (ptx, Target(sm, True))):
        objects = (("called", content),)
        outcome = linked_as(asked, objects, device)
        assert outcome == expected
        request = Request(
            (source_of(CALLER, None, "caller.cu"),), asked, (), (), (), {}, objects,
            nvjitlink.nvjitlink(), linked_as=outcome,
        )  # fmt: skip
        image = compiler.build(request, nvrtc.nvrtc(), cache=False).image
        if outcome.machine_code:
            assert {kernel.name for kernel in read_kernels(image)} == {"run"}
        else:
            assert b".entry run" in image and b".target sm_75" in image
    own = Target(sm.replace("sm", "compute") + "a", False)
    assert linked_as(own, objects, device).architecture == sm + "a"
    assert linked_as(Target("sm_75", True), objects, device).machine_code


@pytest.mark.parametrize(
    "line",
    [
        "error   : Undefined reference to '_Z4wrapi' in 'kernel.0.cu'",
        "nvlink error : undefined reference to '_Z4wrapi' in 'a.o'",
        "ptxas fatal   : Unresolved extern function '_Z4wrapi'",
        "error: unresolved extern variable '_Z4wrapi'",
        "cupola: line 3: function '_Z4wrapi' is not defined",
    ],
)
def test_each_linkers_log_names_what_is_undefined(line):
    """The runtime has one rule for the logs of drivers and of nvJitLink."""
    text = nvjitlink._undefined(f"{line}\n{line}\n")
    assert text.startswith("\n  wrap(int) is declared, and nothing here defines it")
    assert text.count("\n") == 1 and "link=[...]" in text
    assert nvjitlink._undefined("a parameter 'wrap' is not what was expected") == ""


@pytest.mark.cuda_only(reason="the CPU device links PTX by itself")
def test_without_nvjitlink(monkeypatch, tmp_path):
    monkeypatch.setattr(libraries, "_places", lambda name: [("here", "nothing")])
    libraries._load.cache_clear()
    nvjitlink.nvjitlink.cache_clear()
    with refused(cupola.NotFoundError, saying=("nvJitLink", "cupola[compile]")):
        cupola.compile([CALLER, CALLED])
    libraries._load.cache_clear()


ONE_SOURCE = pytest.param(
    "one source",
    marks=pytest.mark.cpu_only(reason="NVIDIA's driver loads the image, and compiles it later"),
)


@pytest.mark.parametrize("how", [ONE_SOURCE, "several"])
def test_what_is_not_defined_has_its_name_and_the_remedy(driver, how):
    source = "__device__ int wrap(int); __global__ void f(int* out) { *out = wrap(1); }"
    given = [source, "__global__ void other() {}"] if how == "several" else source
    saying = ("wrap(int) is declared", "cupola.compile([first, second])", "link=")
    with refused(cupola.Error, saying=saying) as caught:
        cupola.compile(given, options=["-rdc=true"])
    assert isinstance(caught.value, (cupola.CompileError, cupola.ImageError))
