"""Launches of examples/rows' axpy: by Triton itself, and by cupola from a package's image.

python benchmarks/bench_triton.py [--out FOLDER]

Needs a GPU, PyTorch with Triton, and nvcc's fatbinary. Both launch the same kernel on the same
tensors of PyTorch; cupola's own arrays are a third row. A time is that of the call alone: rounds of
launches alternate, and the device finishes between them.
"""

import importlib.util
import tempfile
import time
from functools import partial
from pathlib import Path

import records

import cupola
from cupola.build import executor, python_image, toolkit
from cupola.build.architectures import Architectures
from cupola.build.kernels import Kernels
from cupola.build.targets import Target

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "rows"
SOURCE = "rows/triton_kernels.py"
INSTANCE = {
    "function": "axpy",
    "signature": {"a": "fp32", "x": "*kfp32:16", "y": "*kfp32:16", "out": "*fp32:16", "n": "i32"},
    "constants": {"BLOCK": 1024},
}
N, GRID, LAUNCHES, ROUNDS = 5000, 5, 500, 41
GOALS = {
    "cupola kernel[grid](...) of tensors": "ratio <= 0.3",
    "cupola kernel[grid](...) of arrays": "ratio <= 0.3",
}


def built(folder):
    """The kernel, out of an image that the build makes for this device."""
    major, minor = cupola.Device().compute_capability
    library = Kernels("rows.kernels", [SOURCE], compiler="triton", instances=[INSTANCE])
    image = Path(folder) / "kernels.fatbin"
    architectures = Architectures((Target(10 * major + minor),))
    manifest = image.with_suffix(".json")
    steps = python_image.steps(
        library, toolkit.find(), architectures, image, manifest, EXAMPLE, package="rows"
    )
    executor.run(steps, EXAMPLE)
    return cupola.load(image)["axpy"]


def source():
    """The module with Triton's functions."""
    spec = importlib.util.spec_from_file_location("triton_kernels", EXAMPLE / SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def calls(kernel, torch):
    """The ways by name; the first is what the others are compared with."""
    x, y, out = torch.rand(3, 8192, device="cuda")[:, :N]
    mine = [cupola.to_device(tensor.cpu().numpy()) for tensor in (x, y, out)]
    own = source().axpy
    ways = {
        "Triton kernel[grid](...)": partial(own[(GRID,)], 2.5, x, y, out, N, BLOCK=1024),
        "cupola kernel[grid](...) of tensors": lambda: kernel[GRID](2.5, x, y, out, N),
        "cupola kernel[grid](...) of arrays": lambda: kernel[GRID](2.5, *mine, N),
    }
    results = []
    for call in ways.values():
        out.zero_()
        torch.cuda.synchronize()
        call()
        torch.cuda.synchronize()
        cupola.Device().synchronize()
        results.append(out.clone())
    assert torch.equal(results[0], results[1]), "cupola and Triton differ"
    assert (mine[2].get() == results[0].cpu().numpy()).all(), "cupola and Triton differ"
    return ways


def seconds(call):
    """Of one launch."""
    start = time.perf_counter()
    for _ in range(LAUNCHES):
        call()
    took = time.perf_counter() - start
    cupola.Device().synchronize()
    return took / LAUNCHES


def run():
    """Microseconds a launch, medians of rounds."""
    import torch

    torch.zeros(1, device="cuda")
    with tempfile.TemporaryDirectory(prefix="cupola-triton-") as folder:
        ways = calls(built(folder), torch)
        times = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, call in ways.items():
                times[name].append(seconds(call))
    return records.medians(times, "us", GOALS)


if __name__ == "__main__":
    records.main(__file__, __doc__, run)
