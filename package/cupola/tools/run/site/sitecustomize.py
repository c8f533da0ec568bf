# cupola/tools/run/site/sitecustomize.py - for programs of `cupola run` and `cupola record`.
"""Changes what cuda.pathfinder finds, by which NVIDIA's own packages load libraries.

On the CPU device, nvJitLink is hidden: it links machine code, and without it programs link through
the driver. NVRTC is replaced by one that returns PTX instead of a cubin, and the CUDA runtime by
cupola's. For a recording on a GPU, NVRTC alone is replaced, by one that also keeps its PTX. An
existing sitecustomize also runs.
"""

import contextlib
import ctypes
import importlib
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
_package = os.path.dirname(os.path.dirname(os.path.dirname(_here)))
_libraries = os.path.join(_package, "lib", "")


def _load(name):
    """Load cupola's libraries of that name: cuda.pathfinder then uses them, by their SONAMEs.

    The libraries are in cupola's folders of LD_LIBRARY_PATH, which hold no other version of them.
    """
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        if folder.startswith(_libraries):
            for file in sorted(os.listdir(folder)):
                if file.startswith(f"lib{name}.so."):
                    ctypes.CDLL(os.path.join(folder, file))


class _Pathfinder:
    """Changes cuda.pathfinder when the program imports it; a program may never do so."""

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
                if libname == "nvJitLink" and "CUPOLA_RECORD_NVRTC" not in os.environ:
                    raise module.DynamicLibNotFoundError(
                        "cupola run: nvJitLink makes machine code; the CPU device links PTX"
                    )
                if libname in ("nvrtc", "cudart"):
                    _load(libname)
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
