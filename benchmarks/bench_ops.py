"""Operations beside C++ operators of the same kernel, in each framework

python benchmarks/bench_ops.py [--out FOLDER] [--quick]

Host time of `op(x, y)` for small arrays, in one process and in turns. The kernel is saxpy with one
output. The peers, which op_peers.py compiles, launch it by the driver's own function:

- PyTorch: an operator registered with TORCH_LIBRARY; and a function of tvm-ffi, where that is
  installed: after torch.empty_like, and beside out=.
- cupola's and CuPy's arrays: the checked launch `kernel[grid, block](...)`. With `out=` nothing is
  allocated; without it the peer allocates, too, with `empty`.
- JAX: a jitted call of a hand-written handler of XLA's typed FFI.

Then examples/norm: its RMSNorm beside a copy of the same bytes, on CPU tensors beside PyTorch's
(in a process of its own, on the CPU device), and the time that importing its operations takes.
A framework that is not installed is named, and its rows are missing. Host times, and RMSNorm beside
a copy, have goals on a GPU only. Wants nvcc and a C++ compiler. --quick takes few rounds and small
arrays, to see that it runs. Building examples/norm needs pyelftools; without it the rows of norm
are missing.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import op_peers
import records
from bench_kernels import Way, copying, rows, timed

import cupola

sys.path.insert(0, str(records.ROOT / "tests"))
import hooks

N = 32
SAXPY = dict(
    inputs={"x": "float32[n]", "y": "float32[n]"},
    scalars={"a": "float"},
    outputs={"out": "float32[n]"},
    arguments=["a", "x", "y", "out", "n"],
    grid=["ceildiv(n, 128)"],
    block=[32],
)
PEER_GOAL, LAUNCH_GOAL, JAX_GOAL = "ratio <= 1", "ratio <= 1.3", "ratio <= 1.1"
COPY_GOAL = "ratio <= 1.053"  # 95 % of the copy's bandwidth
IMPORT = """
import sys, time, numpy, cupola
begin = time.perf_counter()
import norm.ops
dir(norm.ops)
seconds = time.perf_counter() - begin
print(seconds, *({"torch", "jax", "cupy"} & set(sys.modules)))
"""


def in_turns(title, ways, quick, goals=None, wait=lambda value: None):
    """Rows of host time a call, with ratios to the first way; `wait` waits for a result."""
    batch, rounds, warm = (20, 3, 1) if quick else (300, 40, 4)
    times = {name: [] for name in ways}
    for round_ in range(warm + rounds):
        for name, call in ways.items():
            begin = time.perf_counter()
            for _ in range(batch):
                value = call()
            elapsed = time.perf_counter() - begin
            wait(value)
            cupola.Device().synchronize()
            if round_ >= warm:
                times[name].append(elapsed / batch)
    found = goals if cupola.driver.info().kind == "cuda" else None
    return records.titled(title, records.medians(times, "us", found))


def of_torch(op, kernel, quick):
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, y = torch.arange(N, dtype=torch.float32, device=device), torch.ones(N, device=device)
    operator, function = op_peers.torch_operator(kernel), op_peers.tvm_function(kernel)
    for made in (op(x, y, 2.0), operator(x, y, 2.0)):
        assert torch.equal(made, 2 * x + y)
    out = torch.empty_like(x)
    ways = {
        "C++ operator of TORCH_LIBRARY": lambda: operator(x, y, 2.0),
        "op(x, y, a)": lambda: op(x, y, 2.0),
        "op(x, y, a, out=out)": lambda: op(x, y, 2.0, out=out),
        "torch.add(x, y)": lambda: torch.add(x, y),
    }
    found = in_turns("torch", ways, quick, {"op(x, y, a)": PEER_GOAL})
    if function is None:
        return found

    def with_tvm():
        out = torch.empty_like(x)
        function(x, y, out, 2.0)
        return out

    assert torch.equal(with_tvm(), 2 * x + y)
    ways = {"empty_like and a function of tvm-ffi": with_tvm, "op(x, y, a)": lambda: op(x, y, 2.0)}
    found += in_turns("torch, tvm-ffi", ways, quick, {"op(x, y, a)": PEER_GOAL})
    ways = {
        "a function of tvm-ffi": lambda: function(x, y, out, 2.0),
        "op(x, y, a, out=out)": lambda: op(x, y, 2.0, out=out),
    }
    return found + in_turns("torch, tvm-ffi", ways, quick, {"op(x, y, a, out=out)": PEER_GOAL})


def beside_launch(title, op, kernel, x, y, empty, quick):
    """An operation beside the checked launch, with and without an allocation."""
    out = empty()

    def launched(out):
        kernel[1, 32](2.0, x, y, out, N)
        return out

    first = in_turns(
        title,
        {
            "kernel[grid, block](...)": lambda: launched(out),
            "op(x, y, a, out=out)": lambda: op(x, y, 2.0, out=out),
        },
        quick,
        {"op(x, y, a, out=out)": LAUNCH_GOAL},
    )
    second = in_turns(
        title,
        {
            "empty(...) and kernel[grid, block](...)": lambda: launched(empty()),
            "op(x, y, a)": lambda: op(x, y, 2.0),
        },
        quick,
        {"op(x, y, a)": LAUNCH_GOAL},
    )
    strict = second[1].value / first[0].value
    second[1].note = f"{strict:.2f} x the checked launch without an allocation"
    return first + second


def of_cupola(op, kernel, quick):
    x, y = cupola.to_device(np.arange(N, dtype=np.float32)), cupola.ones(N, np.float32)
    np.testing.assert_array_equal(op(x, y, 2.0).get(), 2 * np.arange(N) + 1)
    return beside_launch("cupola", op, kernel, x, y, lambda: cupola.empty(N, np.float32), quick)


def of_cupy(op, kernel, quick):
    import cupy

    x, y = cupy.arange(N, dtype=np.float32), cupy.ones(N, np.float32)
    assert (op(x, y, 2.0) == 2 * x + y).all()
    return beside_launch("cupy", op, kernel, x, y, lambda: cupy.empty(N, np.float32), quick)


def of_jax(op, kernel, quick):
    import jax

    x, y = jax.numpy.arange(N, dtype=np.float32), jax.numpy.ones(N, np.float32)
    handler = op_peers.xla_call(kernel)
    by_hand = jax.jit(lambda x, y: handler(x, y, 2.0))
    jitted = jax.jit(lambda x, y: op(x, y, 2.0))
    for made in (by_hand(x, y), jitted(x, y)):
        np.testing.assert_array_equal(np.asarray(made), 2 * np.arange(N) + 1)
    ways = {
        "jit of a C++ handler": lambda: by_hand(x, y),
        "jit of op(x, y, a)": lambda: jitted(x, y),
        "op(x, y, a)": lambda: op(x, y, 2.0),
    }
    goals = {"jit of op(x, y, a)": JAX_GOAL}
    return in_turns("jax", ways, quick, goals, jax.block_until_ready)


def norm_package(folder):
    """examples/norm, built for this machine; the folders for PYTHONPATH."""
    package = folder / "norm"
    unwanted = shutil.ignore_patterns("build", "kernels.*", "ops.py*", "*.egg-info")
    shutil.copytree(records.ROOT / "examples/norm", package, ignore=unwanted)
    hooks.install(package / "hooks")
    paths = hooks.search_path(package, package / "hooks")
    architectures = "native" if cupola.driver.info().kind == "cuda" else "75"
    environment = {**os.environ, "PYTHONPATH": paths, "CUPOLA_ARCHITECTURES": architectures}
    build = "from setuptools import setup; setup()"
    command = [sys.executable, "-c", build, "--quiet", "build_kernels", "--inplace"]
    subprocess.run(command, cwd=package, env=environment, check=True)
    sys.path.insert(0, str(package))
    return paths


def bandwidth(quick):
    """RMSNorm of rows of 4096 elements beside a copy of what it reads and writes."""
    from norm import ops

    made = []
    for dtype in (np.float32, np.float16):
        shape = (64 if quick else 2**29 // (4096 * np.dtype(dtype).itemsize), 4096)
        x, w = cupola.empty(shape, dtype), cupola.ones(4096, dtype)
        x.fill(2)
        out = cupola.empty(shape, dtype), cupola.empty(shape[0], np.float32)
        title = f"norm.rms_norm, {np.dtype(dtype).name} {shape[0]} x {shape[1]}"
        ways = [
            Way("device-to-device copy", copying(out[0].address, x.address, x.nbytes), []),
            Way(title, lambda x=x, w=w, out=out: ops.rms_norm(x, w, out=out), []),
        ]
        timed(ways, rounds=3 if quick else 15)
        np.testing.assert_allclose(out[0][-1].get().astype(float), 1, rtol=1e-3)
        goals = {title: COPY_GOAL} if cupola.driver.info().kind == "cuda" else None
        made += rows(ways, lambda way, x=x: 2 * x.nbytes, goals)[1:]
    return made


def on_cpu_tensors(quick):
    """Seconds of RMSNorm on CPU tensors, PyTorch's and the operation's; on the CPU device."""
    import torch
    from norm import ops

    side = 256 if quick else 4096
    x, w = torch.randn(side, side), torch.randn(side)
    ways = {
        "torch.nn.functional.rms_norm": lambda: torch.nn.functional.rms_norm(x, (side,), w, 1e-6),
        "norm.rms_norm": lambda: ops.rms_norm(x, w, 1e-6)[0],
    }
    torch.testing.assert_close(*(call() for call in ways.values()))
    begin = time.monotonic()
    while time.monotonic() - begin < (1 if quick else 5):  # compiled beside the calls
        ways["norm.rms_norm"]()
    times = {name: [] for name in ways}
    for _ in range(3 if quick else 25):
        for name, call in ways.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {"side": side, "threads": torch.get_num_threads(), "times": times}


def cpu_tensors(paths, quick):
    """The rows of `on_cpu_tensors`, of a process of its own."""
    command = [sys.executable, __file__, "--on-cpu", *["--quick"] * quick]
    environment = {**os.environ, "CUPOLA_DRIVER": "cpu", "PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    goals = None if quick else {"norm.rms_norm": "ratio <= 1"}
    made = records.medians(found["times"], "ms", goals)
    made[1].note = f"{found['threads']} threads of PyTorch"
    return records.titled(f"CPU tensors {found['side']} x {found['side']}", made)


def import_time(paths, quick):
    """Milliseconds that a package with operations adds, after NumPy and cupola."""
    times = []
    for _ in range(3 if quick else 15):
        done = subprocess.run(
            [sys.executable, "-c", IMPORT],
            env={**os.environ, "PYTHONPATH": paths},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        seconds, *frameworks = done.stdout.split()
        assert not frameworks, f"the import of norm.ops imports {frameworks}"
        times.append(float(seconds))
    value = statistics.median(times) * 1e3
    return [records.Row("import norm.ops, after cupola", value, "ms", goal="value <= 5")]


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--on-cpu", action="store_true", help="only the CPU tensors, as JSON")
    options = parser.parse_args()
    quick = options.quick
    if options.on_cpu:
        print(json.dumps(on_cpu_tensors(quick)))
        return
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    gpu = cupola.driver.info().kind == "cuda"
    kernel = cupola.shipped_kernels()["saxpy"]
    op = cupola.op(kernel, "saxpy", **SAXPY)
    made = of_cupola(op, kernel, quick)
    parts = {"torch": of_torch, "cupy": of_cupy, "jax": of_jax}
    absent = op_peers.missing([*parts, "tvm_ffi", "elftools"])
    if not gpu:
        absent.append("cupy (needs a GPU)")
        parts.pop("cupy")
        print("no GPU: host times, and RMSNorm beside a copy, have no goals", flush=True)
    for name, part in parts.items():
        if name not in absent:
            made += part(op, kernel, quick)
    if "elftools" not in absent:
        with tempfile.TemporaryDirectory() as folder:
            paths = norm_package(Path(folder))
            made += bandwidth(quick)
            if "torch" not in absent:
                made += cpu_tensors(paths, quick)
            made += import_time(paths, quick)
    if absent:
        print(f"not installed, so not measured: {', '.join(absent)}", flush=True)
    extra = {"not measured": ", ".join(absent) or "nothing"}
    records.publish(options.out, __file__, __doc__, made, extra=extra)


if __name__ == "__main__":
    main()
