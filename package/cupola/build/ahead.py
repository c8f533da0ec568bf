# package/cupola/build/ahead.py - steps that compile kernels for the CPU device.
"""Machine code of an image's kernels, made by the CPU device itself: run as a program, by a step.

python ahead.py DRIVER IMAGE MANIFEST LEVEL LIBRARY [KERNEL ...]
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .step import Step


def possible(*, asked: bool = False) -> bool:
    """Whether there is a C++ compiler; raises if not, where CXX or the caller requires one."""
    from .error import BuildError
    from .native import Compiler

    try:
        Compiler.find()
    except BuildError:
        if asked or os.environ.get("CXX"):
            raise
        return False
    return True


def steps(
    fatbin: Path, image: Path, manifest: Path, levels: Sequence[str], *, title: str
) -> list[Step]:
    """Steps that make a library of the fatbin's kernels beside the image for each level."""
    if not levels:
        return []
    from cupola import paths  # only packages are built here, so cupola is complete

    driver = Path(paths.cpu_library())
    return [
        step(fatbin, manifest, driver, level, image.with_suffix(f".{level}.so"), title=title)
        for level in levels
    ]


def step(
    image: Path,
    manifest: Path,
    driver: Path,
    level: str,
    target: Path,
    *,
    title: str,
    kernels: Sequence[str] = (),
) -> Step:
    """The step that makes one library, of all kernels or of the named ones."""
    from .native import Compiler
    from .step import Step

    compiler = Compiler.find()
    files = (str(driver), str(image), str(manifest), level, str(target))
    return Step(
        target=target,
        inputs=(image, manifest, driver, Path(__file__)),
        command=(sys.executable, "-I", __file__, *files, *kernels),
        key=("ahead", level, compiler.version, *compiler.command[1:], str(target), *kernels),
        depfile=target.with_suffix(".d"),
        label=f"{title}: machine code for {level}",
        weight=10,
        cached=True,
    )


class Driver:
    """The CPU device's library. Nothing of cupola is imported: the build may be making it."""

    def __init__(self, path: str) -> None:
        for name in [name for name in os.environ if name.startswith("CUPOLA_CPU_")]:
            del os.environ[name]
        os.environ["CUPOLA_CPU_MODE"] = "interpret"
        self.library = ctypes.CDLL(path)
        self.library.cupola_cpu_last_refusal.restype = ctypes.c_char_p
        context = ctypes.c_void_p()
        for code in (
            self.library.cuInit(0),
            self.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
            self.library.cuCtxSetCurrent(context),
        ):
            if code:
                raise SystemExit(f"{path} does not start: error {code}")

    def functions(self, image: bytes, names: Sequence[str]) -> list[ctypes.c_void_p]:
        """The kernels that the device can run. Prints why it cannot run each other kernel."""
        module, found = ctypes.c_void_p(), []
        if self.library.cuModuleLoadData(ctypes.byref(module), image):
            return self._without("the image")
        for name in names:
            function = ctypes.c_void_p()
            if self.library.cuModuleGetFunction(ctypes.byref(function), module, name.encode()):
                self._without(name)
            else:
                found.append(function)
        return found

    def _without(self, what: str) -> list[ctypes.c_void_p]:
        why = self.library.cupola_cpu_last_refusal().decode(errors="replace")
        print(f"not for the CPU device: {what}: {why}")
        return []

    def make(self, functions: list[ctypes.c_void_p], level: str, target: str) -> None:
        """Compile them, except those that would take long."""
        listed = (ctypes.c_void_p * len(functions))(*functions)
        said = ctypes.c_char_p()
        code = self.library.cupola_cpu_make_ahead(
            listed, ctypes.c_size_t(len(functions)), level.encode(), os.fsencode(target),
            ctypes.byref(said),
        )  # fmt: skip
        text = (said.value or b"").decode(errors="replace").strip()
        if code:
            raise SystemExit(f"no machine code for {level}: {text}")
        for line in text.splitlines():
            print(f"not ahead of time for the CPU device: {line}")


def main(driver: str, image: str, manifest: str, level: str, target: str, *kernels: str) -> None:
    """Make one library."""
    device = Driver(driver)
    names = [kernel["name"] for kernel in json.loads(Path(manifest).read_text())["kernels"]]
    names = [name for name in names if not kernels or name in kernels]
    device.make(device.functions(Path(image).read_bytes(), names), level, target)
    Path(target).with_suffix(".d").write_text(f"{target}:\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
