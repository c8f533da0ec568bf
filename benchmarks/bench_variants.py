"""Bytes to ship the same kernels by cupola, by torch's cpp_extension and by kernel-builder

python benchmarks/bench_variants.py [--out FOLDER] [NAME ...]

NAME is a collection of bench_sizes.py: "3 kernels", "200 products" or "40 with CUB"; by default all
of them.

Needs nvcc, and torch for the same major version of CUDA: TORCH_PYTHON names an interpreter that has
it, by default it is this one. No GPU and no network are needed. The compilation takes minutes.

Measured are the files of one package or variant, each deflated as in a wheel. nvcc compresses the
images of the extensions, as it does by default, and the extensions are stripped. An extension has
one bound function that launches any kernel of the collection, which is less than real bindings
have. How many variants a project publishes is counted from the lists in PUBLISHED.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import records
import shipped_bytes
from bench_sizes import COLLECTIONS
from shipped_bytes import TARGETS

TORCH_LIST = ";".join(f"{n // 10}.{n % 10}" for n in TARGETS) + "+PTX"
INSTANCE = re.compile(r"^template __global__ void (\w+<.*?>)\(", re.MULTILINE)
C_KERNEL = re.compile(r'^extern "C" __global__ void (\w+)\(', re.MULTILINE)


class Published(NamedTuple):
    """How many variants of one package a project publishes for CUDA on Linux."""

    count: int
    what: str
    address: str
    date: str  # of the list's last change


# flash-attention: wheels by version of torch, for one version of Python and one platform. torch 2.6
# has two C++ ABIs and is for x86-64 alone; torch 2.9 and 2.10 have CUDA 12.9 and 13.0.
X86_64 = {"2.6": 2, "2.7": 1, "2.8": 1, "2.9": 2, "2.10": 2}
AARCH64 = {"2.7": 1, "2.8": 1, "2.9": 2, "2.10": 2}
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
# kernel-builder: the variants for CUDA that a kernel must have, for one platform. They use the
# stable ABI of Python.
TORCHES, CUDAS, PLATFORMS = ("2.12", "2.13"), ("12.6", "13.0", "13.2"), ("x86_64", "aarch64")
PUBLISHED = {
    "cpp_extension": Published(
        len(PYTHONS) * (sum(X86_64.values()) + sum(AARCH64.values())),
        "wheels of flash-attention: 4 versions of Python, 5 of torch, CUDA 12.9 and 13.0, x86-64 "
        "and aarch64",
        "https://github.com/Dao-AILab/flash-attention/blob/"
        "0251105a2fb19d2957484b7f023cd8c115286ced/.github/workflows/publish.yml",
        "2026-08-15",
    ),
    "kernel-builder": Published(
        len(TORCHES) * len(CUDAS) * len(PLATFORMS),
        "required variants of kernel-builder: torch 2.12 and 2.13, CUDA 12.6, 13.0 and 13.2, "
        "x86-64 and aarch64",
        "https://github.com/huggingface/kernels/blob/"
        "8ac69fc542a4306eade0759ef7c45b4f2ae57df0/docs/source/builder/build-variants.md",
        "2026-08-20",
    ),
}
PYPROJECT = """
[build-system]
requires = ["setuptools>=77", "cupola"]
build-backend = "cupola.build.backend"
[project]
name = "shipped"
version = "1.0"
[tool.setuptools]
packages = ["shipped"]
[[tool.cupola.kernels]]
library = "shipped.kernels"
sources = ["k.cu"]
"""
LAUNCH = """
#include <cuda_runtime.h>
static const void* const kernels[] = {%s};
void launch_kernel(long kernel, unsigned blocks, unsigned threads, void** arguments, void* stream) {
    cudaLaunchKernel(kernels[kernel], dim3(blocks), dim3(threads), arguments, 0,
                     static_cast<cudaStream_t>(stream));
}
"""
BINDING = """
#include <torch/%s.h>
#include <c10/cuda/CUDAStream.h>
#include <vector>
void launch_kernel(long kernel, unsigned blocks, unsigned threads, void** arguments, void* stream);
void launch(int64_t kernel, int64_t blocks, int64_t threads, at::TensorList tensors,
            at::IntArrayRef sizes) {
    std::vector<void*> values, arguments;
    for (const at::Tensor& tensor : tensors) {
        TORCH_CHECK(tensor.is_cuda() && tensor.is_contiguous(), "expected contiguous GPU tensors");
        values.push_back(tensor.data_ptr());
    }
    for (int64_t size : sizes) values.push_back(reinterpret_cast<void*>(size));
    for (void*& value : values) arguments.push_back(&value);
    launch_kernel(kernel, blocks, threads, arguments.data(), c10::cuda::getCurrentCUDAStream());
}
"""
BOUND = {
    "cpp_extension": BINDING % "extension"
    + """
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("launch", [](int64_t kernel, int64_t blocks, int64_t threads,
                       std::vector<at::Tensor> tensors, std::vector<int64_t> sizes) {
        launch(kernel, blocks, threads, tensors, sizes);
    });
}
""",
    "kernel-builder": BINDING % "all"
    + """
#include <Python.h>
#include <torch/library.h>
TORCH_LIBRARY(shipped, m) {
    m.def("launch(int kernel, int blocks, int threads, Tensor[] tensors, int[] sizes) -> ()");
    m.impl("launch", c10::DispatchKey::CUDA, &launch);
}
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "variant", nullptr, 0, nullptr};
PyMODINIT_FUNC PyInit_variant() { return PyModule_Create(&module); }
""",
}
# The second extension links the object of the kernels that the first one compiled.
SETUP = """
import sys
from pathlib import Path
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
wheels = Path(sys.prefix).glob("lib/python*/site-packages/nvidia/cu*/lib")
folders = [str(path) for path in wheels]  # of libcudart.so, where CUDA is PyPI's
setup(
    name="variant",
    ext_modules=[
        CUDAExtension("wheel", ["wheel.cpp", "kernels.cu"], library_dirs=folders),
        CUDAExtension("variant", ["variant.cpp"], library_dirs=folders, py_limited_api=True,
                      extra_objects=["objects/kernels.o"],
                      extra_compile_args=["-O3", "-DPy_LIMITED_API=0x03090000"]),
    ],
    cmdclass={"build_ext": BuildExtension},
    options={"build_ext": {"build_temp": "objects", "build_lib": "made"}},
)
"""


def shipped(source):
    """Bytes of a package with the kernels of a source."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "shipped").mkdir()
        (folder / "shipped/__init__.py").touch()
        (folder / "k.cu").write_text(source)
        (folder / "pyproject.toml").write_text(PYPROJECT)
        return shipped_bytes.of_package(folder, sys.executable)


def extensions(source, python):
    """Bytes of the stripped extension by each peer."""
    found = [*C_KERNEL.findall(source), *INSTANCE.findall(source)]
    addresses = ", ".join(f"(const void*){name}" for name in found)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "kernels.cu").write_text(source + LAUNCH % addresses)
        (folder / "wheel.cpp").write_text(BOUND["cpp_extension"])
        (folder / "variant.cpp").write_text(BOUND["kernel-builder"])
        (folder / "setup.py").write_text(SETUP)
        variables = {"TORCH_CUDA_ARCH_LIST": TORCH_LIST}
        shipped_bytes.run_in(folder, [python, "setup.py", "build_ext"], **variables)
        sizes = {}
        for peer, module in (("cpp_extension", "wheel"), ("kernel-builder", "variant")):
            (path,) = (folder / "made").glob(f"{module}.*so")
            shipped_bytes.run_in(folder, ["strip", "--strip-unneeded", path])
            sizes[peer] = shipped_bytes.deflated([path])
        return sizes


def rows_of(name, own, sizes):
    """The rows of a collection."""
    rows = [records.Row(f"{name}: cupola, the package", own, "bytes",
                        note="measured: for all GPUs, Pythons and versions of torch")]  # fmt: skip
    for peer, size in sizes.items():
        published = PUBLISHED[peer]
        every = published.count * size
        counted = f"counted: {published.count} {published.what}; {published.address}, of "
        counted += f"{published.date}; each with the bytes of the measured one"
        rows += [
            records.Row(f"{name}: {peer}, one variant", size, "bytes", note="measured"),
            records.Row(f"{name}: {peer}, all variants", every, "bytes", note=counted),
            records.Row(f"{name}: cupola by one variant of {peer}", own / size, ""),
            records.Row(f"{name}: cupola by all variants of {peer}", own / every, "",
                        goal="value <= 0.05"),
        ]  # fmt: skip
    return rows


def run(names, python):
    rows = []
    for name in names or COLLECTIONS:
        own, sizes = shipped(COLLECTIONS[name]), extensions(COLLECTIONS[name], python)
        rows += rows_of(name, own, sizes)
    return rows


def main():
    parser = records.parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    if unknown := set(options.names) - set(COLLECTIONS):
        parser.error(f"no collection: {', '.join(sorted(unknown))}")
    python = os.environ.get("TORCH_PYTHON", sys.executable)
    asked = "import torch; print(torch.__version__)"
    torch = subprocess.run([python, "-c", asked], stdout=subprocess.PIPE, text=True)
    if torch.returncode:
        parser.error(f"{python} has no torch: name an interpreter that has it by TORCH_PYTHON")
    rows = run(options.names, python)
    records.publish(options.out, __file__, __doc__, rows, extra={"torch": torch.stdout.strip()})


if __name__ == "__main__":
    main()
