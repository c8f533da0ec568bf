"""Lines and binaries of one operation with its gradient, by cupola, tvm-ffi and huggingface/kernels

python benchmarks/bench_authoring.py [--out FOLDER]

The operation is that of docs/tutorials/operations.md, for PyTorch with autograd and torch.compile.
authoring/ has it as an author writes it for each project; the kernels are the same and do not
count. A line counts where it has more than brackets and is no comment. The binaries are those to
ship for CUDA on Linux with x86-64: for huggingface/kernels those that its documents require.

cupola's package is built, and called on this machine's driver. The others are compiled where
PyTorch and tvm-ffi are installed, and nvcc is. tvm-ffi's operator is called where PyTorch has a
GPU. The notes say what was done.
"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np
import op_peers
import records
from wheels import hooks, installed

import cupola

HERE = Path(__file__).parent / "authoring"
COMMENT = re.compile(r"\s*(#(?!include|pragma)|//)")
# kernel-builder generates this header.
REGISTRATION = """
#define TORCH_LIBRARY_EXPAND(name, ops) TORCH_LIBRARY(name, ops)
#define REGISTER_EXTENSION(name)
"""
CALLED = """
import numpy as np, cupola, ray
points = cupola.to_device(np.array([[3, 4], [6, 8]], np.float32))
assert ray.distance(points).get().tolist() == [5, 10]
grad = cupola.ones(2, np.float32)
found = ray.ops.distance_backward(grad, points, ray.distance(points)).get()
np.testing.assert_allclose(found, [[0.6, 0.8], [0.6, 0.8]], rtol=1e-6)
"""


def lines(folder):
    """How many lines an author writes in a folder's files."""
    count = 0
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        if path.suffix in (".txt", ".pyc"):
            continue
        for line in path.read_text().splitlines():
            count += bool(re.search(r"\w", line)) and not COMMENT.match(line)
    return count


def of_cupola(folder):
    """Build the wheel and call it; how many wheels there are, and how far it went."""
    source = (HERE / "distance.cuh").read_text().replace("#pragma once", "")
    wheels, site = installed(HERE / "by_cupola", folder, {"distance.cu": source})
    environment = {**os.environ, "PYTHONPATH": hooks.search_path(site)}
    subprocess.run([sys.executable, "-c", CALLED], cwd=folder, env=environment, check=True)
    return len(wheels), f"{wheels[0].name}, called on {cupola.Device().name}"


def nvcc(*arguments):
    command = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    subprocess.run([command, "-std=c++20", f"-I{HERE}", *map(str, arguments)], check=True)


def of_tvm(folder):
    """Compile tvm-ffi's library, and call it on a GPU; how far it went."""
    if absent := op_peers.missing(["tvm_ffi", "torch"]):
        return f"not compiled: {', '.join(absent)} not installed"
    from tvm_ffi import libinfo

    package = folder / "ray_tvm"
    package.mkdir()
    shutil.copy(HERE / "by_tvm_ffi" / "__init__.py", package)
    flags = [f"-I{path}" for path in libinfo.include_paths()]
    library = Path(libinfo.find_libtvm_ffi())
    flags += ["-shared", "-Xcompiler=-fPIC", f"-L{library.parent}", "-ltvm_ffi"]
    flags += [f"-Xlinker=-rpath={library.parent}", "-o", package / "ray.so"]
    nvcc(HERE / "by_tvm_ffi" / "ray.cu", *flags)
    about = f"compiled with tvm-ffi {importlib.metadata.version('apache-tvm-ffi')}"
    import torch

    if not torch.cuda.is_available():
        return about
    sys.path.insert(0, str(folder))
    import ray_tvm

    points = torch.tensor([[3.0, 4.0], [6.0, 8.0]], device="cuda", requires_grad=True)
    ray_tvm.distance(points).sum().backward()
    np.testing.assert_allclose(points.grad.cpu(), [[0.6, 0.8], [0.6, 0.8]], rtol=1e-6)
    return f"{about}, called with PyTorch {torch.__version__}"


def of_kernels(folder):
    """Compile the sources for huggingface/kernels; how far it went."""
    if op_peers.missing(["torch"]):
        return "not compiled: torch not installed"
    import torch
    from torch.utils import cpp_extension

    (folder / "registration.h").write_text(REGISTRATION)
    flags = ["-DTORCH_EXTENSION_NAME=ray_kernels", f"-I{folder}"]
    flags += [f"-isystem={sysconfig.get_paths()['include']}", "-c", "-Xcompiler=-fPIC"]
    flags += [f"-isystem={path}" for path in cpp_extension.include_paths()]
    for name in ("ray.cu", "torch_binding.cpp"):
        nvcc(HERE / "by_hf_kernels" / name, *flags, "-o", folder / f"{name}.o")
    return f"compiled with PyTorch {torch.__version__}"


def main():
    options = records.parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="cupola-authoring-") as name:
        folder = Path(name)
        wheels, done = of_cupola(folder)
        variants = [
            line
            for line in (HERE / "by_hf_kernels" / "variants.txt").read_text().splitlines()
            if not line.startswith("#")
        ]
        found = {
            "cupola": ("by_cupola", wheels, done),
            "tvm-ffi": ("by_tvm_ffi", 1, of_tvm(folder)),
            "huggingface/kernels": ("by_hf_kernels", len(variants), of_kernels(folder)),
        }
    rows = []
    for project, (part, binaries, note) in found.items():
        rows.append(records.Row(f"{project}: lines", lines(HERE / part), "lines", note=note))
        rows.append(records.Row(f"{project}: binaries", binaries, "files"))
    records.publish(options.out, __file__, __doc__, rows)


if __name__ == "__main__":
    main()
