"""A driver of CUDA 11.3: no pools, no list of kernels, nothing about their parameters.

The CPU device stands for it, behind a library that hides every symbol newer than that.
"""

import json
import shutil

import images
import pytest
from test_driver import compile_library, good

import cupola

OLD = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef int (*Lookup)(const char*, void**, int, unsigned long long, void*);
typedef int (*Load)(void**, const void*, unsigned, int*, void**);
static void* real(const char* name) {
    static void* driver;
    if (!driver) driver = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
    return dlsym(driver, name);
}
static int version(int* value) { *value = 11030; return 0; }
/* Unpacks a fatbin whose PTX is compressed, as NVIDIA's driver does. */
static int load(void** module, const void* image, unsigned count, int* options, void** values) {
    static char text[1 << 20];
    FILE* file = getenv("UNPACKED") ? fopen(getenv("UNPACKED"), "r") : 0;
    if (file) text[fread(text, 1, sizeof text - 1, file)] = 0;
    return ((Load)real("cuModuleLoadDataEx"))(module, file ? text : image, count, options, values);
}
int cuInit(unsigned flags) { return ((int (*)(unsigned))real("cuInit"))(flags); }
int cuGetProcAddress_v2(const char* name, void** address, int asked, unsigned long long flags,
                        void* found) {
    static const char* const later[] = {"cuModuleGetFunctionCount", "cuModuleEnumerateFunctions",
                                        "cuFuncGetName", "cuFuncGetParamInfo", "cuMemPoolCreate",
                                        "cuMemAllocFromPoolAsync", "cuMemFreeAsync"};
    for (unsigned i = 0; i < sizeof later / sizeof *later; ++i)
        if (!strcmp(name, later[i])) { *address = 0; return 500; }
    if (!strcmp(name, "cuDriverGetVersion")) { *address = (void*)version; return 0; }
    if (!strcmp(name, "cuModuleLoadDataEx")) { *address = (void*)load; return 0; }
    return ((Lookup)real("cuGetProcAddress_v2"))(name, address, asked, flags, found);
}
"""


@pytest.fixture
def old(tmp_path):
    flags = [f'-DREAL="{cupola.paths.cpu_driver()}"', "-ldl"]
    return compile_library(tmp_path, "libcuda.so.1", OLD, *flags)


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
    """Its PTX is compressed, so nobody but the driver reads it."""
    image = tmp_path / "packed.fatbin"
    shutil.copy(images.fatbin(compress=True), image)
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
    environment = {"CUPOLA_DRIVER": old, "UNPACKED": images.ptx()}
    assert "known from a manifest alone" in good(code, **environment).stdout
    shutil.copy(images.described().with_suffix(".json"), image.with_suffix(".json"))
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
    image = tmp_path / "packed.fatbin"
    shutil.copy(images.fatbin(compress=True), image)
    manifest = json.loads(images.described().with_suffix(".json").read_text())
    (axpy,) = (kernel for kernel in manifest["kernels"] if kernel["name"] == "axpy")
    for parameter, offset in zip(axpy["parameters"], offsets, strict=True):
        parameter["offset"] = offset
    image.with_suffix(".json").write_text(json.dumps(manifest))
    code = f"""
    import cupola
    try:
        cupola.load({str(image)!r})["axpy"]
    except cupola.ImageError as error:
        print(error)
    """
    said = good(code, CUPOLA_DRIVER=old, UNPACKED=images.ptx()).stdout
    assert "and the one before ends at" in said
