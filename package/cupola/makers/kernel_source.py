# cupola/makers/kernel_source.py - the kernels of a maker, compiled by NVRTC for each use of types.
"""Kernels by form, types and device."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from cupola.declare.kernel_definition import Definition, source
from cupola.device import Device, is_cpu

if TYPE_CHECKING:
    from cupola.kernel import Kernel
    from cupola.module import Module


class KernelSource(Protocol):
    """Where a maker's kernels come from."""

    def find(
        self, definition: Definition, types: Mapping[str, str], form: str, name: str, device: int
    ) -> Kernel:
        """A kernel for these types on a device."""


class CompiledKernels:
    """Kernels by `cupola.compile`.

    Parameters
    ----------
    options : sequence of str
        NVRTC's options.
    """

    def __init__(self, options: Sequence[str]) -> None:
        self.options = tuple(options)
        self._lock = threading.Lock()
        self._modules: dict[tuple[str, str, int], Module] = {}

    def find(
        self, definition: Definition, types: Mapping[str, str], form: str, name: str, device: int
    ) -> Kernel:
        """A kernel; the first one of a form and of types compiles them.

        Raises
        ------
        CompileError
            Where the code does not compile; the lines are those of the caller's texts.
        MissingFileError
            Where NVRTC is not found.
        """
        space = definition.namespace(types)
        with self._lock:
            module = self._modules.get((space, form, device))
            if module is None or not module.loaded:
                module = self._compile(definition, types, form, device)
                self._modules[space, form, device] = module
        return module[f"{space}::{name}"]

    def _compile(
        self, definition: Definition, types: Mapping[str, str], form: str, device: int
    ) -> Module:
        from cupola import compiler

        arch = None
        if is_cpu(device):
            major, minor = Device(device).compute_capability
            arch = f"compute_{major}{minor}"
        text = source([(definition, types)], [form])
        name = f"{definition.name}.cu"
        return compiler.compile(text, name=name, options=self.options, device=device, arch=arch)
