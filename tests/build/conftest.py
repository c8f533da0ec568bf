# tests/build/conftest.py - an image of kernels with parameters of every kind.
from pathlib import Path

import pytest

from cupola.build import executor, image, toolkit
from cupola.build.architectures import Architectures
from cupola.build.targets import Target

SOURCE = """
#include <cuda_fp16.h>
namespace shape { struct Corner { short x; float y[3]; }; }
struct Box { int n; shape::Corner corner; const double* values; Box* next; };
enum class Mode : unsigned char { a, b };
template <typename T, int N>
__global__ void scale(T* __restrict__ out, const Box box, T unused, Mode mode) {
    out[0] = box.n + box.corner.y[1] + N;
}
template __global__ void scale<float, 3>(float*, const Box, float, Mode);
template __global__ void scale<double, 4>(double*, const Box, double, Mode);
extern "C" __global__ void many(const float* x, char c, bool b, __half h, unsigned long long u,
                                const int* const* pp, void* v, int unused, float4 f4,
                                signed char s, Box* list) {
    static_cast<float*>(v)[0] = x[0] + c + b + u + **pp + f4.x + __half2float(h) + s + list->n;
}
extern "C" __global__ void shared(int* out) {
    __shared__ int memory[256];
    memory[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = memory[255 - threadIdx.x];
}
extern "C" __global__ void empty() {}
"""


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A folder with the image, its cubins and its manifest."""
    root = tmp_path_factory.mktemp("image")
    (root / "kernels.cu").write_text(SOURCE)
    steps = image.steps(
        toolkit.find(),
        Architectures((Target(75), Target(80), Target(90))),
        [Path("kernels.cu")],
        Path("out/kernels.fatbin"),
        Path("out/kernels.json"),
        root,
        package="test 1",
    )
    assert executor.run(steps, root) == 5
    return root / "out"
