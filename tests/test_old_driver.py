"""A driver of CUDA 11.3: no pools, no list of kernels, nothing about their parameters.

The CPU device stands for it, behind a library that hides every symbol newer than that.
"""

import json
import shutil
import struct

import images
import pytest
from test_driver import good, run
from wrapped import wrap

from cupola.image import fatbin
from cupola.image.reader import read_image

# Functions that drivers have since CUDA 12.3 and 12.4.
NAMES = ["cuFuncGetName"]
LISTS = ["cuModuleGetFunctionCount", "cuModuleEnumerateFunctions", "cuFuncGetParamInfo"]
POOLS = ["cuMemPoolCreate", "cuMemAllocFromPoolAsync", "cuMemFreeAsync"]

OLD = """
static int my_cuDriverGetVersion(int* value) { *value = 11030; return 0; }
/* Takes machine code, as NVIDIA's driver does: it stands for the PTX in a file. */
static int my_cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options,
                                 void** values) {
    static char text[1 << 20];
    FILE* file = getenv("MEANT") ? fopen(getenv("MEANT"), "r") : 0;
    if (file) text[fread(text, 1, sizeof text - 1, file)] = 0;
    return real("cuModuleLoadDataEx")(module, file ? text : image, count, options, values);
}
"""


@pytest.fixture
def old(tmp_path):
    replaced = ["cuDriverGetVersion", "cuModuleLoadDataEx"]
    return wrap(tmp_path, OLD, hide=[*NAMES, *LISTS, *POOLS], replace=replaced)


@pytest.mark.cpu_only("the CPU device stands for the old driver")
def test_memory_names_and_parameters_without_the_newer_calls(old):
    code = f"""
    import numpy as np, cupola
    assert cupola.driver.info().version == 11030
    x = cupola.to_device(np.arange(1000, dtype=np.float32))
    with cupola.Stream():
        z = cupola.saxpy(2.0, x, x)
        np.testing.assert_array_equal(z.get(), 3 * np.arange(1000))
    del z
    module = cupola.load({str(images.ptx())!r})
    assert {{"axpy", "large", "_Z5storeIiEvPT_S0_"}} <= set(module.kernels)
    out = cupola.zeros((), np.int32)
    module["store<int>"][1, 1](out, 7)
    assert out.get() == 7
    try:
        module["axpy"][1, 1](2.0, x)
    except cupola.ArgumentError as error:
        assert "takes 5 arguments" in str(error)
    else:
        raise SystemExit("it was launched")
    """
    good(code, CUPOLA_DRIVER=old)


@pytest.mark.cpu_only("the CPU device stands for the old driver")
def test_where_a_manifest_alone_tells_the_parameters(old, tmp_path):
    """The image is machine code alone, which only the driver can read."""
    image = tmp_path / "machine.fatbin"
    shutil.copy(images.fatbin("sm_90"), image)
    code = f"""
    import numpy as np, cupola
    x = cupola.to_device(np.arange(10, dtype=np.float32))
    out = cupola.zeros(10, np.float32)
    module = cupola.load({str(image)!r})
    try:
        module["axpy"][1, 32](2.0, x, x, out, 10)
    except cupola.ImageError as error:
        print(error)
    """
    environment = {"CUPOLA_DRIVER": old, "MEANT": images.ptx()}
    assert "load the image with a manifest" in good(code, **environment).stdout
    manifest = json.loads(images.described().with_suffix(".json").read_text())
    del manifest["image"]  # the digest of the fatbin that is not compressed
    image.with_suffix(".json").write_text(json.dumps(manifest))
    code += """
    np.testing.assert_array_equal(out.get(), 3 * np.arange(10))
    try:
        module["axpy"][1, 32](2.0, x, x, out, -1)
    except cupola.ArgumentError as error:
        assert "argument 4 (n): expected unsigned int" in str(error), error
    else:
        raise SystemExit("it was launched")
    """
    assert good(code, **environment).stdout == ""


@pytest.mark.cpu_only("the CPU device stands for the old driver")
@pytest.mark.parametrize("offsets", [[0, 8, 4000, 24, 32], [0, 8, 12, 24, 32]])
def test_a_manifest_whose_parameters_overlap_is_refused(old, tmp_path, offsets):
    """The last one's end is the size of the buffer they are packed into."""
    image = tmp_path / "machine.fatbin"
    shutil.copy(images.fatbin("sm_90"), image)
    manifest = json.loads(images.described().with_suffix(".json").read_text())
    (axpy,) = (kernel for kernel in manifest["kernels"] if kernel["name"] == "axpy")
    for parameter, offset in zip(axpy["parameters"], offsets, strict=True):
        parameter["offset"] = offset
    del manifest["image"]
    image.with_suffix(".json").write_text(json.dumps(manifest))
    code = f"""
    import cupola
    try:
        cupola.load({str(image)!r})["axpy"]
    except cupola.ImageError as error:
        print(error)
    """
    said = good(code, CUPOLA_DRIVER=old, MEANT=images.ptx()).stdout
    assert "but the previous one ends at" in said


# An array's memory, which this does not keep: the host reaches that of the CPU device.
SEEN = """
    import ctypes, gc, numpy as np, cupola
    def seen(array):
        there = (ctypes.c_char * array.nbytes).from_address(array.address)
        return np.frombuffer(there, array.dtype)
"""


@pytest.mark.cpu_only("the CPU device stands for the old driver")
@pytest.mark.parametrize("pools", [True, False])
def test_a_captured_graph_holds_its_arrays(tmp_path, pools):
    """No driver before CUDA 12.4 tells how many bytes a kernel's parameters have."""
    old = wrap(tmp_path, hide=[*NAMES, *LISTS, *([] if pools else POOLS)])
    code = (
        SEEN
        + f"""
    n, stream = 1 << 16, cupola.Stream()
    increment = cupola.load({str(images.ptx())!r})["increment"]
    x, y = cupola.zeros(n, np.int32), cupola.zeros(n, np.float64)
    host, wide = seen(x), seen(y)
    cupola.Device().synchronize()
    with stream.capture() as graph:
        increment[n // 64, 64](x, n)
        y[::2] = 1 / 3
        del x, y, increment
        gc.collect()
    run = graph.instantiate()
    del graph
    gc.collect()
    sizes = [4 * n, 8 * n, 8]
    taken = [cupola.to_device(np.full(size, 77, np.uint8)) for size in sizes * 10]
    for _ in range(3):
        run(stream)
    stream.synchronize()
    assert (host == 3).all() and (wide[::2] == 1 / 3).all() and not wide[1::2].any()
    assert all((each.get() == 77).all() for each in taken)
    del run
    gc.collect()
    cupola.Device().synchronize()
    """
    )
    good(code, CUPOLA_DRIVER=old)


@pytest.mark.cpu_only("the CPU device stands for the old driver")
def test_a_captured_graph_holds_what_kernels_of_others_may_use(tmp_path):
    """The parameters of a kernel that another library loaded are unknown: all arrays are held."""
    old = wrap(tmp_path, hide=[*NAMES, *LISTS])
    code = (
        SEEN
        + f"""
    driver = ctypes.CDLL({str(old)!r})
    found = ctypes.c_void_p()
    def call(name, *arguments):
        assert driver.cuGetProcAddress_v2(name, ctypes.byref(found), 12000, 0, None) == 0
        assert ctypes.CFUNCTYPE(ctypes.c_int)(found.value)(*arguments) == 0
    n, stream = 64, cupola.Stream()
    x = cupola.zeros(n, np.int32)
    host = seen(x)
    cupola.Device().synchronize()
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    call(b"cuModuleLoadData", ctypes.byref(module), open({str(images.ptx())!r}, "rb").read())
    call(b"cuModuleGetFunction", ctypes.byref(kernel), module, b"increment")
    values = ctypes.c_uint64(x.address), ctypes.c_int(n)
    pointers = (ctypes.c_void_p * 2)(*map(ctypes.addressof, values))
    with stream.capture() as graph:
        call(b"cuLaunchKernel", kernel, 1, 1, 1, n, 1, 1, 0, ctypes.c_void_p(stream.handle),
             pointers, None)
        del x
    run = graph.instantiate()
    del graph
    gc.collect()
    taken = [cupola.to_device(np.full(4 * n, 77, np.uint8)) for _ in range(20)]
    for _ in range(3):
        run(stream)
    stream.synchronize()
    assert (host == 3).all()
    assert all((each.get() == 77).all() for each in taken)
    """
    )
    good(code, CUPOLA_DRIVER=old)


@pytest.mark.cpu_only("a wrapped CPU device refuses machine code")
def test_a_refused_entry_leads_to_the_next(tmp_path):
    """The wrapped driver counts as a GPU's, so that it gets the machine code for 9.0 first."""
    driver = wrap(tmp_path)
    code = f"""
    import numpy as np, cupola
    module = cupola.load({str(images.fatbin("sm_90", "sm_80", "compute_75"))!r})
    out = cupola.zeros((), np.int32)
    module["store<int>"][1, 1](out, 7)
    assert out.get() == 7
    """
    said = good(code, CUPOLA_DRIVER=driver, CUPOLA_LOG="info").stderr
    assert "the driver refuses sm_90: CUDA_ERROR_NO_BINARY_FOR_GPU" in said
    assert "took compute_75 on device 0: the driver compiles PTX for compute_75" in said


@pytest.mark.cpu_only("a wrapped CPU device writes down what it gets")
@pytest.mark.parametrize("place", [None, 0, 60, 73, 1 << 31, "offset", "length"], ids=str)
def test_a_driver_gets_a_text_without_options(tmp_path, place):
    """A driver of NVIDIA reads the options where the header says, inside of it or not."""
    source = """
    static int my_cuModuleLoadDataEx(void** module, const void* image, unsigned count,
                                     int* options, void** values) {
        FILE* file = fopen(getenv("WRITTEN"), "w");
        fwrite(image, 1, 8, file);
        fclose(file);
        return real("cuModuleLoadDataEx")(module, image, count, options, values);
    }
    """
    driver = wrap(tmp_path, source, replace=["cuModuleLoadDataEx"])
    made = bytearray(fatbin.of_ptx(b".version 7.0\n.target sm_75\n.address_size 64\n", 75))
    head = 16  # bytes of the fatbin before the entry, whose options are at 64
    if place == "offset":
        struct.pack_into("<II", made, head + 64, 80, 1)
    elif place == "length":
        struct.pack_into("<II", made, head + 64, 72, 1 << 20)
    elif place is not None:
        struct.pack_into("<I", made, head + 20, place)
    image, written = tmp_path / "text.fatbin", tmp_path / "written"
    image.write_bytes(made)
    said = run(f"import cupola; cupola.load({str(image)!r})", CUPOLA_DRIVER=driver, WRITTEN=written)
    if place == 1 << 31:
        assert "the header of the entry at offset 16 is invalid" in said.stderr
    else:
        assert (said.returncode, written.read_bytes()) == (0, b".version"), said.stderr


@pytest.mark.cpu_only("a wrapped CPU device writes down what it gets")
@pytest.mark.parametrize("compress", [False, True])
def test_a_driver_gets_the_options_of_ptxas_with_the_ptx(tmp_path, compress):
    """PTX text has no room for ``-maxrregcount``: the driver reads it in the fatbin."""
    source = """
    static int my_cuModuleLoadDataEx(void** module, const void* image, unsigned count,
                                     int* options, void** values) {
        unsigned long long size = *((const unsigned long long*)image + 1);
        FILE* file = fopen(getenv("WRITTEN"), "w");
        fwrite(image, 1, 16 + size, file);
        fclose(file);
        return real("cuModuleLoadDataEx")(module, image, count, options, values);
    }
    """
    driver = wrap(tmp_path, source, replace=["cuModuleLoadDataEx"])
    image, written = tmp_path / "limited.fatbin", tmp_path / "written.fatbin"
    codes = [f"-gencode=arch=compute_75,code={code}" for code in ("sm_75", "compute_75")]
    how = images.compression() if compress else ["-no-compress"]
    images.compile_with_nvcc(images.SOURCE, image, "-fatbin", *how, "-maxrregcount=40", *codes)
    code = f"import cupola; cupola.load({str(image)!r})['increment']"
    good(code, CUPOLA_DRIVER=driver, WRITTEN=written)
    assert b"-maxrregcount=40" in written.read_bytes()
    (entry,) = read_image(written.read_bytes()).entries
    given = [one for one in read_image(image.read_bytes()).entries if one.kind == "ptx"]
    assert [entry] == given
