"""One kernel behind the C++ interface of each framework, for bench_ops.py."""

import ctypes
import importlib.util
import sys
from pathlib import Path

import floor

import cupola

HERE = Path(__file__).parent


class Driver(ctypes.Structure):
    """SaxpyDriver of op_saxpy.hpp."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("launch", "lock", "unlock", "wait", "kernel")]


def connected(path, kernel):
    """Give a library of op_saxpy.hpp the driver's functions."""
    driver = ctypes.CDLL(cupola.driver.info().path)
    names = ["cuLaunchKernel", None, None, None]
    if cupola.driver.info().kind == "cpu":
        names[1:] = ["cuMemHostRegister_v2", "cuMemHostUnregister", "cuStreamSynchronize"]
    addresses = [name and ctypes.cast(getattr(driver, name), ctypes.c_void_p) for name in names]
    library = ctypes.CDLL(path)
    library.saxpy_set(ctypes.byref(Driver(*addresses, kernel.handle)))
    return library


def torch_operator(kernel):
    """``torch.ops.cupola_bench.saxpy``, made with TORCH_LIBRARY."""
    import torch
    from torch.utils import cpp_extension

    cuda = torch.cuda.is_available()
    flags = ["-std=c++20", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"]
    flags += [f"-isystem{path}" for path in cpp_extension.include_paths()]
    if cuda:
        toolkit = Path(cpp_extension.CUDA_HOME)
        flags += ["-DWITH_CUDA", f"-isystem{toolkit / 'include'}", "-lc10_cuda"]
    folder = Path(torch.__file__).parent / "lib"
    flags += [f"-L{folder}", f"-Wl,-rpath,{folder}", "-lc10", "-ltorch_cpu"]
    # The libraries come after the source.
    path = floor.compiled(HERE / "op_torch.cpp", ["-Wl,--no-as-needed", *flags])
    torch.ops.load_library(path)
    connected(path, kernel)
    return torch.ops.cupola_bench.saxpy


def tvm_function(kernel):
    """The same as a function of tvm-ffi; None where that is not installed."""
    if importlib.util.find_spec("tvm_ffi") is None:
        return None
    import tvm_ffi
    from tvm_ffi import libinfo

    flags = ["-std=c++20", *(f"-isystem{path}" for path in libinfo.include_paths())]
    library = Path(libinfo.find_libtvm_ffi())
    flags += [f"-L{library.parent}", f"-Wl,-rpath,{library.parent}", "-ltvm_ffi"]
    path = floor.compiled(HERE / "op_tvm.cpp", ["-Wl,--no-as-needed", *flags])
    connected(path, kernel)
    module = tvm_ffi.load_module(path)
    return module.saxpy


def xla_call(kernel):
    """A function of JAX's arrays that calls a handler of XLA's typed FFI; jit it."""
    import jax
    import numpy as np

    path = floor.compiled(HERE / "op_xla.cpp", [f"-isystem{jax.ffi.include_dir()}"])
    library = connected(path, kernel)
    gpu = jax.devices()[0].platform == "gpu"
    handler = library.saxpy_gpu if gpu else library.saxpy_host
    jax.ffi.register_ffi_target(
        "cupola_bench_saxpy", jax.ffi.pycapsule(handler), platform="CUDA" if gpu else "cpu"
    )

    def call(x, y, a):
        made = jax.ffi.ffi_call("cupola_bench_saxpy", jax.ShapeDtypeStruct(x.shape, x.dtype))
        return made(x, y, a=np.float64(a))

    return call


def missing(names):
    """Which of some modules are not installed."""
    return [one for one in names if one not in sys.modules and not importlib.util.find_spec(one)]
