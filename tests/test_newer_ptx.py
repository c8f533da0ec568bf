"""PTX that is newer than the driver: a load rewrites it, without kernels that need a newer driver.

The CPU device takes every version of PTX. To act as an older driver, it is loaded through a library
that refuses newer PTX, as NVIDIA's drivers do.
"""

import os
import re
import subprocess
from pathlib import Path

import images
import numpy as np
import pytest
from test_driver import good
from wrapped import wrap

import cupola
from cupola.image import ptx_version
from cupola.image.reader import pack, read_image
from cupola.toolkit.nvrtc import nvrtc

NEWER = Path(__file__).with_name("newer.ptx")
DRIVER = """
static int my_cuDriverGetVersion(int* value) { *value = %(cuda)d; return 0; }
static int my_cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options,
                                 void** values) {
    const char* text = image;
    /* A fatbin has the size of its entry's header at 20. */
    if (*(const unsigned*)image == 0xba55ed50) text += 16 + *(const unsigned*)(text + 20);
    const char* version = strstr(text, ".version ");
    if (!version || atof(version + 9) > %(ptx)s + 0.01) return version ? 222 : 209;
    FILE* file = getenv("WRITTEN") ? fopen(getenv("WRITTEN"), "w") : 0;
    if (file) { fputs(text, file); fclose(file); }
    return real("cuModuleLoadDataEx")(module, image, count, options, values);
}
"""
HEAD = ".version 9.5\n.target sm_75\n.address_size 64\n"
# The kernel stores a number at the address in its parameter.
KERNEL = """.visible .entry NAME(.param .u64 out) {
.reg .b64 %d<3>;
.reg .b32 %r<5>;
ld.param.u64 %d1, [out];
mov.u32 %r1, VALUE;
BODY
st.global.u32 [%d1], %r1;
ret;
}
"""
FENCE = "fence.acquire.gpu;"  # PTX 8.6, of CUDA 12.7
HELPER = ".func helper() {\nfence.acquire.gpu;\nret;\n}\n"


def kernel(name, value, body=""):
    return KERNEL.replace("NAME", name).replace("VALUE", str(value)).replace("BODY", body)


@pytest.fixture
def old(tmp_path):
    """Makes a driver that takes PTX up to a version."""

    def make(cuda=12040, ptx=8.4):
        source = DRIVER % {"cuda": cuda, "ptx": ptx}
        return wrap(tmp_path, source, replace=["cuDriverGetVersion", "cuModuleLoadDataEx"])

    return make


def loaded(driver, image, code, folder, **environment):
    """The output of a program, and the text that the driver got."""
    path = folder / "image.bin"
    path.write_bytes(image if isinstance(image, bytes) else image.encode())
    lines = f"""
import numpy as np, cupola
def value(kernel):
    out = cupola.zeros((), np.int32)
    kernel[1, 1](out)
    return int(out.get())
def error(name):
    try:
        module[name]
    except cupola.ImageError as error:
        return str(error)
try:
    module = cupola.load(open({str(path)!r}, "rb").read())
except cupola.ImageError as error:
    print(error)
    raise SystemExit
{code}"""
    written = folder / "written.ptx"
    written.unlink(missing_ok=True)
    said = good(lines, CUPOLA_DRIVER=driver, WRITTEN=written, **environment).stdout
    return said, written.read_text() if written.exists() else ""


@pytest.fixture(scope="module")
def assemblers():
    """The newest version of PTX that each ptxas takes: the ptxas of the toolkit, and those that
    CUPOLA_TEST_ASSEMBLERS names.
    """
    names = os.environ.get("CUPOLA_TEST_ASSEMBLERS", "")
    newest = {}
    for path in [images.nvcc().tool("ptxas"), *filter(None, names.split(os.pathsep))]:
        said = run_assembler(path, HEAD.replace("9.5", "99.0") + kernel("k", 1))
        newest[path] = round(10 * float(re.search(r"current version is '([\d.]+)'", said)[1]))
    return newest


def run_assembler(path, text):
    """The errors of ptxas; empty where ptxas takes the text."""
    target = re.search(r"(?m)^\.target (\w+)", text)[1]
    file = images.folder() / "assembled.ptx"
    file.write_text(text)
    command = [path, f"-arch={target}", "-o", os.devnull, file]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def compiled_by_nvcc(source, target):
    made = images.folder() / "compiled.ptx"
    images.compile_with_nvcc(source, made, "-ptx", f"-arch=compute_{target}")
    return made.read_bytes()


def compiled_by_nvrtc(source, target):
    return cupola.compile(source, arch=f"compute_{target}").image


@pytest.mark.cpu_only("compiles for the CPU device")
@pytest.mark.parametrize("by", [compiled_by_nvcc, compiled_by_nvrtc])
@pytest.mark.parametrize("target", [75, 90])
def test_older_assemblers_take_the_lowest_version(assemblers, by, target):
    images.nvrtc()
    for source in (images.SOURCE, images.NAMED):
        text, [(_, found)] = ptx_version.lowered(by(source, target))
        for path, newest in assemblers.items():
            said = run_assembler(path, text.decode())
            assert (said == "") == (found.needed <= newest), (path, found, said)


@pytest.mark.cpu_only("a wrapped CPU device stands for the old driver")
def test_a_text_gets_the_drivers_version(old, tmp_path):
    said, text = loaded(old(), HEAD + kernel("k", 5), "print(value(module['k']))", tmp_path)
    assert said == "5\n"
    assert text == (HEAD + kernel("k", 5)).replace("9.5", "8.4")


@pytest.mark.cpu_only("a wrapped CPU device stands for the old driver")
@pytest.mark.parametrize("form", ["fatbin", "compressed", "packed"])
def test_the_ptx_of_a_fatbin(old, tmp_path, form):
    path = images.fatbin("sm_75", "compute_75", compress=form == "compressed")
    image = path.read_bytes()
    image = pack(image, 1) if form == "packed" else image
    code = """
out = cupola.zeros((), np.int32)
module["store<int>"][1, 1](out, 7)
print(out.get())"""
    said, text = loaded(old(), image, code, tmp_path)
    assert said == "7\n"
    assert ".version 8.4" in text and ".target sm_75" in text


@pytest.mark.cpu_only("a wrapped CPU device stands for the old driver")
def test_other_kernels_stay(old, tmp_path, assemblers):
    """A kernel is left out with a function that it uses. A function that needs a newer driver is
    left out even if nothing calls it.
    """
    text = (
        HEAD
        + ".func helper();\n"
        + kernel("caller", 1, "call helper, ();")
        + kernel("_Z4waveIfEvPi", 2, FENCE)
        + HELPER
        + ".global .u32 after = 7;\n"
        + kernel("plain", 3, "// ret; }\nld.global.u32 %r1, [after];")
    )
    code = """
print(module.kernels, value(module["plain"]))
print(error("caller"))
print(error("wave<float>"))
try:
    module["plane"]
except cupola.NotFoundError as error:
    print(error)"""
    said, written = loaded(old(), text, code, tmp_path)
    assert "('plain',) 7\n" in said
    for part in (
        "caller: the kernel needs a driver of CUDA 12.7 or newer (PTX 8.6): kernel or function "
        "helper, line 24: fence.acquire.gpu\n",
        "wave<float>: the kernel needs a driver of CUDA 12.7 or newer (PTX 8.6): line 19: "
        "fence.acquire.gpu\n",
        "driver takes the PTX of CUDA 12.4; update the driver, or compile the image with machine "
        "code for sm_90 too",
        "plain",
    ):
        assert part in said, said
    assert "fence" not in written and "helper" not in written
    assert written.count("\n") == text.count("\n")
    for path in assemblers:
        assert run_assembler(path, written) == ""


@pytest.mark.cpu_only("a wrapped CPU device stands for the old driver")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (HEAD + kernel("k", 1, FENCE), "kernel or function k, line 9: fence.acquire.gpu"),
        (HEAD + ".global .b128 wide;\n" + kernel("k", 1), None),
        (HEAD + ".global .later wide;\n" + kernel("k", 1), "line 4: .later, which cupola does not"),
        (HEAD + kernel("plain", 2) + kernel("k", 1, "later.u32 %r1;") + ".alias plain, k;", "k, l"),
        (HEAD.replace("75", "75, debug") + kernel("a", 1) + kernel("k", 2, FENCE), "k, line 18"),
        (HEAD + HELPER + ".global .u64 table = helper;\n" + kernel("k", 2), "helper, line 5"),
    ],
)
def test_a_text_that_the_driver_cannot_take(old, tmp_path, text, why):
    said, _ = loaded(old(), text, "print('taken')", tmp_path)
    if why is None:  # PTX 8.3
        assert said == "taken\n"
        return
    for part in (
        why,
        "UNSUPPORTED_PTX_VERSION",
        "the image holds: PTX 9.5 compute_75",
        "driver: CUDA 12.4",
        "compute_75 needs a driver of CUDA",
        "this driver takes the PTX of CUDA 12.4; update the driver, or compile",
    ):
        assert part in said, said


@pytest.mark.cpu_only("a wrapped CPU device stands for the old driver")
def test_a_function_without_an_end_is_left_out_as_a_whole(old, tmp_path):
    text = HEAD + kernel("k", 5) + HELPER.removesuffix("}\n")
    said, written = loaded(old(), text, "print(value(module['k']))", tmp_path)
    assert said == "5\n"
    assert FENCE not in written and "helper" not in written


@pytest.mark.cpu_only("a wrapped CPU device stands for the old driver")
def test_hints_are_left_out(old, tmp_path):
    hints = '.pragma "used_bytes_mask 15";\n.pragma "later";\n.pragma "nounroll";'
    text = HEAD + kernel("k", 5, hints)
    said, written = loaded(old(12020, 8.2), text, "print(value(module['k']))", tmp_path)
    assert said == "5\n"
    assert re.findall(r"\.pragma.*", written) == ['.pragma "nounroll";']


@pytest.mark.cpu_only("a wrapped CPU device stands for the old driver")
@pytest.mark.parametrize(
    ("target", "capability", "cuda", "ptx", "expected"),
    [
        ("sm_100f", "10.0", 12080, 8.7, "sm_100a"),
        ("sm_120f", "12.0", 12080, 8.7, "sm_120a"),
        ("sm_120f", "12.0", 12090, 8.8, "sm_120f"),
        ("sm_90a", "9.0", 11080, 7.8, "sm_90"),
        ("sm_90a", "9.0", 12000, 8.0, "sm_90a"),
        ("sm_80", "9.0", 11080, 7.8, "sm_80"),  # the number stays
    ],
)
def test_targets_that_the_driver_does_not_know(
    old, tmp_path, assemblers, target, capability, cuda, ptx, expected
):
    text = (HEAD + kernel("k", 5)).replace("sm_75", target)
    variables = {"CUPOLA_CPU_COMPUTE_CAPABILITY": capability}
    _, written = loaded(old(cuda, ptx), text, "value(module['k'])", tmp_path, **variables)
    assert written == text.replace(target, expected).replace("9.5", str(ptx))
    for path, newest in assemblers.items():
        if newest >= round(10 * ptx):
            assert run_assembler(path, written) == ""


@pytest.mark.cpu_only("a wrapped CPU device stands for the old driver")
def test_an_instruction_of_a_target_that_the_driver_does_not_know(old, tmp_path):
    text = (HEAD + kernel("k", 5, "wgmma.fence.sync.aligned;")).replace("sm_75", "sm_90a")
    said, _ = loaded(old(11080, 7.8), text, "print('taken')", tmp_path)
    assert "needs a driver of CUDA 12.0 or newer (PTX 8.0): kernel or function k, line 9" in said


@pytest.mark.cpu_only("a wrapped CPU device stands for the old driver")
@pytest.mark.parametrize("several", [False, True])
def test_what_nvrtc_writes(old, several):
    """A driver of CUDA 12 takes no machine code of CUDA 13, so it gets PTX."""
    images.nvrtc()
    newer = nvrtc().version[0] > 12
    first = "__device__ int five() { return 5; }\n"
    second = 'extern "C" __global__ void k(int* out) { *out = five(); }\n'
    sources = [first, "__device__ int five();\n" + second] if several else first + second
    code = f"""
    import numpy as np, cupola
    module = cupola.compile({sources!r})
    out = cupola.zeros((), np.int32)
    module["k"][1, 1](out)
    print(out.get(), module.image.lstrip()[:2], cupola.compile({first + second!r}).image[:2])
    """
    driver = old() if newer else old(11080, 7.8)
    assert good(code, CUPOLA_DRIVER=driver).stdout.startswith("5 b'//' b'//'")


@pytest.mark.cpu_only("a wrapped CPU device stands for the old driver")
def test_a_link_of_newer_ptx(old, tmp_path):
    text = HEAD + kernel("k", 5)
    code = f"""
    import numpy as np, cupola
    from cupola.module import link_images
    image = link_images([("one", {text!r}.encode())], 0)
    print(image.count(b".version 8.4"))
    """
    assert good(code, CUPOLA_DRIVER=old()).stdout == "1\n"


def test_a_driver_compiles_ptx_of_a_newer_toolkit(driver):
    """`newer.ptx` is tests/kernels.cu by nvcc 13.5 for compute_75. NVIDIA's driver compiles it."""
    text = NEWER.read_bytes()
    assert read_image(text).entries[0].version == "9.5"
    module = cupola.load(text)
    x = cupola.to_device(np.arange(100, dtype=np.float32))
    out = cupola.zeros(100, np.float32)
    module["axpy"][1, 128](2.0, x, x, out, 100)
    assert (out.get() == 3 * np.arange(100)).all()
    value = cupola.zeros((), np.int32)
    module["store<int>"][1, 1](value, 7)
    assert value.get() == 7


@pytest.mark.cuda_only("the CPU device takes all versions of PTX")
def test_a_driver_of_nvidia_takes_the_other_kernels(driver):
    text = HEAD.replace("9.5", "9.9") + kernel("plain", 3) + kernel("later", 1, "later.u32 %r1;")
    module = cupola.load(text.encode())
    assert module.kernels == ("plain",)
    out = cupola.zeros((), np.int32)
    module["plain"][1, 1](out)
    assert out.get() == 3
    with pytest.raises(cupola.ImageError, match="later: the kernel needs a driver of CUDA"):
        module["later"]
