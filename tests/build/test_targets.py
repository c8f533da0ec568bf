# tests/build/test_targets.py - packages whose kernels are for targets with a suffix.
import json

import pytest
from project import Project

from cupola.image.reader import read_fatbin

pytestmark = pytest.mark.campaign("builds of packages")

# A product of 64 x 8 from descriptors in shared memory: instructions of sm_90a alone. The
# descriptors are zero, so both factors are the zeroed beginning of shared memory.
PRODUCT = """
extern "C" __global__ void multiply(float* out) {
    __shared__ __align__(128) unsigned memory[2048];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) memory[i] = 0;
    __syncthreads();
    float d[4] = {1, 2, 3, 4};
    unsigned long long where = (__cvta_generic_to_shared(memory) & 0x3ffff) >> 4;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, "
                 "1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(where));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = d[i];
}
"""
TABLE = """
[[tool.cupola.kernels]]
library = "slope.kernels"
sources = ["csrc/product.cu"]
"""


def test_a_library_for_one_architecture(tmp_path):
    project = Project(tmp_path, TABLE + 'architectures = ["90a"]\n')
    project.write("csrc/product.cu", PRODUCT)
    for text in ("all", "75,89,90a"):  # what other packages of the environment are for
        project.environment["CUPOLA_ARCHITECTURES"] = text
        output = project.setup("build_kernels", "--inplace")
        assert "slope.kernels: PTX compute_90a, sm_90a, by nvcc" in output
    manifest = json.loads((project.built() / "kernels.json").read_text())
    assert manifest["architectures"] == {"cubin": ["90a"], "ptx": ["90a"]}
    assert list(manifest["kernels"][0]["resources"]) == ["sm_90a"]
    entries = read_fatbin((project.built() / "kernels.fatbin").read_bytes())
    assert sorted((one.kind, one.target) for one in entries) == [("cubin", "90a"), ("ptx", "90a")]
    code = """
import cupola
from slope import kernels
out = cupola.zeros(512, "f4")
kernels.multiply[1, 128](out)
assert out.get().reshape(-1, 4).tolist() == 128 * [[1, 2, 3, 4]]
"""
    project.python("-c", code)
    project.environment["CUPOLA_CPU_COMPUTE_CAPABILITY"] = "8.0"
    said = project.python("-c", code, fails=True)
    assert "slope.kernels.multiply: " in said and "the image has no code for this device" in said
    assert "for a package, name the target in its table (architectures or ptx)" in said
    assert "compute_90a is for compute capability 9.0 alone" in said


@pytest.mark.parametrize("relocatable", ["true", "false"])
def test_levels_of_ptx(tmp_path, relocatable):
    table = TABLE.replace("product", "*") + f"ptx = [75, 90]\nrelocatable = {relocatable}\n"
    project = Project(tmp_path, table)
    project.write("csrc/first.cu", "__global__ void level(int* out) { *out = __CUDA_ARCH__; }\n")
    project.write("csrc/second.cu", 'extern "C" __global__ void other(int* out) { *out = 1; }\n')
    project.environment["CUPOLA_ARCHITECTURES"] = "80,90a"
    output = project.setup("build_kernels", "--inplace")
    assert "PTX compute_75 compute_90, sm_80 sm_90a" in output
    manifest = json.loads((project.built() / "kernels.json").read_text())
    assert manifest["architectures"] == {"cubin": [80, "90a"], "ptx": [75, 90]}
    code = """
import cupola
from slope import kernels
out = cupola.zeros((), "i4")
kernels.level[1, 1](out)
print(out.get())
"""
    for capability, expected in (("8.0", "750"), ("9.0", "900")):
        project.environment["CUPOLA_CPU_COMPUTE_CAPABILITY"] = capability
        assert project.python("-c", code).split()[-1] == expected


CUB = """
#include <cub/cub.cuh>
extern "C" __global__ void total(const float* x, float* out) {
    using Reduce = cub::BlockReduce<float, 32>;
    __shared__ Reduce::TempStorage memory;
    const float sum = Reduce(memory).Sum(x[threadIdx.x]);
    if (threadIdx.x == 0) *out = sum;
}
"""


def test_kernels_of_cub_have_one_name_for_several_targets(tmp_path):
    """cub.cuh defines a kernel; its namespace would have the list of targets in it."""
    project = Project(tmp_path, TABLE)
    project.write("csrc/product.cu", CUB)
    project.environment["CUPOLA_ARCHITECTURES"] = "75,90"
    project.setup("build_kernels", "--inplace")
    manifest = json.loads((project.built() / "kernels.json").read_text())
    names = [one["name"] for one in manifest["kernels"]]
    assert "total" in names and not any("CUB_" in name for name in names)
    assert all(set(one["resources"]) == {"sm_75", "sm_90"} for one in manifest["kernels"])
