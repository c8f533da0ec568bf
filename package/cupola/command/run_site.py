# cupola/command/run_site.py - sitecustomize of programs that `cupola run` runs on the CPU device.
"""Changes what cuda.pathfinder finds, by which NVIDIA's own packages load libraries.

nvJitLink is hidden: it links machine code, and without it programs link through the driver. NVRTC
is replaced by one that returns PTX instead of a cubin. An existing sitecustomize also runs.
"""

import contextlib
import ctypes
import importlib
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _load_nvrtc():
    """Load the run folder's NVRTC: cuda.pathfinder uses a library of that SONAME that is loaded."""
    folder = os.path.join(os.path.dirname(_here), "lib")
    with contextlib.suppress(OSError):  # there is none where the machine has no NVRTC
        for name in sorted(os.listdir(folder)):
            if name != "libnvrtc.so":
                ctypes.CDLL(os.path.join(folder, name))


class _Pathfinder:
    """Changes cuda.pathfinder once it is imported, which it need never be."""

    def find_spec(self, name, path=None, target=None):
        if name != "cuda.pathfinder":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            load = module.load_nvidia_dynamic_lib

            def load_other(libname, *arguments, **keywords):
                if libname == "nvJitLink":
                    raise module.DynamicLibNotFoundError(
                        "cupola run: nvJitLink makes machine code; the CPU device links PTX"
                    )
                if libname == "nvrtc":
                    _load_nvrtc()
                return load(libname, *arguments, **keywords)

            module.load_nvidia_dynamic_lib = load_other

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _Pathfinder())

sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != _here]
_this = sys.modules.pop("sitecustomize")
with contextlib.suppress(ImportError):
    importlib.import_module("sitecustomize")
sys.modules.setdefault("sitecustomize", _this)
