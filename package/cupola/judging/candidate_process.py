# cupola/judging/candidate_process.py - the process that runs a candidate's kernel.
"""Loads PTX on the CPU device, and launches its kernels with the memory that the judge sends."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from contextlib import nullcontext
from typing import Any

import numpy as np

from cupola import coverage, launch_observer, paths
from cupola.device import Device
from cupola.exceptions import Error
from cupola.judging import sparse
from cupola.judging.process import serve
from cupola.memory import alloc
from cupola.module import Module
from cupola.recording import record

_COUNTS = "counts"
_FLOATS = {2: "<e", 4: "<f", 8: "<d"}


class Candidate:
    """The state of the process."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(os.fspath(paths.cpu_driver()))
        self.library.cupola_cpu_set_seed.argtypes = [ctypes.c_int, ctypes.c_ulonglong]
        self.library.cupola_cpu_take_findings.restype = ctypes.c_char_p
        self.library.cupola_cpu_last_fault.restype = ctypes.c_char_p
        self.library.cupola_cpu_take_traffic.restype = ctypes.c_char_p
        self.library.cupola_cpu_take_findings()  # from now on they are kept
        self.module: Module | None = None

    def about(self, header: dict[str, Any], pieces: list[bytearray]) -> Any:
        """The means that this process lacks, before it reads anything of the candidate's."""
        cut = {
            "network": os.environ.get("CUPOLA_JUDGE_NETWORK"),
            "writes": os.environ.get("CUPOLA_JUDGE_WRITES"),
        }
        if header["counts"]:
            coverage.start(_COUNTS)
        return cut, []

    def load(self, header: dict[str, Any], pieces: list[bytearray]) -> Any:
        """Load PTX."""
        try:
            self.module = Module(bytes(pieces[0]), header["title"])
            found = {
                name: {
                    "params": [(one.offset, one.size) for one in kernel.params],
                    "registers": kernel.registers, "shared": kernel.shared_bytes,
                    "local": kernel.local_bytes, "threads": kernel.max_threads,
                }
                for name in self.module.kernels
                for kernel in [self.module.kernel(name)]
            }  # fmt: skip
        except Error as error:
            return {"error": str(error), "memory": "OUT_OF_MEMORY" in str(error)}, []
        return {"kernels": found}, []

    def run(self, header: dict[str, Any], pieces: list[bytearray]) -> Any:
        """Launch a kernel, and return the bytes of all memory after it."""
        seed = header["seed"]
        self.library.cupola_cpu_count_traffic(header["traffic"])
        self.library.cupola_cpu_set_seed(seed is not None, seed or 0)
        given, owners, begins = iter(pieces), [], []
        try:
            for one in header["memory"]:
                owners.append(alloc(one["nbytes"]) if one["nbytes"] else None)
                begins.append(owners[-1].address if owners[-1] is not None else 0)
                for at in one.get("written", ()):
                    launch_observer.write(begins[-1] + at, _bytes(next(given)), 0)
            with record(header["record"]) if header["record"] else nullcontext():
                self._launch(header, begins)
            found = [
                launch_observer.read(begins[place] + at, count, 0).tobytes()
                for place, at, count in header["read"]
            ]
            told: dict[str, Any] = {"error": "", "traffic": self._text("take_traffic")}
        except Error as error:
            told, found = self._failed(error), []
        told["findings"] = self._text("take_findings")
        return told, found

    def large(self, header: dict[str, Any], pieces: list[bytearray]) -> Any:
        """Launch a kernel with large memory whose contents repeat, and say how it ended."""
        told: dict[str, Any] = {"error": ""}
        try:
            Device(0).synchronize()  # makes the context current
            begins = []
            for nbytes, element in header["memory"]:
                begins.append(sparse.reserve(self.library, nbytes))
                if element.strip("0"):
                    count = min(nbytes, sparse.PIECE)  # the contents repeat
                    content = np.frombuffer(bytes.fromhex(element), np.uint8)
                    launch_observer.write(begins[-1], np.resize(content, count), 0)
            self._launch(header, begins)
        except OSError as error:
            told["error"] = str(error)
        except Error as error:
            told = self._failed(error)
        told["findings"] = self._text("take_findings")
        return told, []

    def _launch(self, header: dict[str, Any], begins: list[int]) -> None:
        """Launch with the memory that begins there, and wait."""
        assert self.module is not None
        kernel = self.module.kernel(header["kernel"])
        packed = _packed(kernel.params, header["arguments"], begins)
        attributes = header["attributes"]
        launch_observer.launch(
            kernel, tuple(header["grid"]), tuple(header["block"]), header["shared"],
            attributes and (tuple(attributes[0]), *attributes[1:]), packed,
        )  # fmt: skip
        Device(0).synchronize()

    def _failed(self, error: Error) -> dict[str, Any]:
        fault = self.library.cupola_cpu_last_fault().decode(errors="replace")
        return {"error": str(error)[:4000], "fault": fault[:2000]}

    def _text(self, function: str) -> str:
        text: str = getattr(self.library, f"cupola_cpu_{function}")().decode(errors="replace")
        return text[:200000]

    def counts(self, header: dict[str, Any], pieces: list[bytearray]) -> Any:
        """Which lines and sides of branches of the candidate's file have run."""
        coverage.write()
        report = coverage.read(_COUNTS).report()
        lines: dict[int, int] = {}
        sides: list[list[int]] = []
        for path, file in report.files.items():
            if os.path.basename(path) != header["title"]:
                continue
            lines.update({line: one.lanes for line, one in file.lines.items()})
            sides += [[line, to, lanes] for (line, to), lanes in file.arcs().items()]
        return {"lines": sorted(lines.items()), "sides": sides}, []


def _bytes(piece: bytearray) -> np.ndarray[Any, Any]:
    return np.frombuffer(piece, np.uint8)


def _packed(params: Any, arguments: list[Any], begins: list[int]) -> bytes:
    """The bytes of the arguments: addresses, integers, floats and structs of them."""
    packed = bytearray(max(one.offset + one.size for one in params) if params else 0)
    for one, (kind, value) in zip(params, arguments, strict=True):
        content = _content(kind, value, one.size, begins)
        packed[one.offset : one.offset + one.size] = content
    return bytes(packed)


def _content(kind: str, value: Any, size: int, begins: list[int]) -> bytes:
    """The bytes of one argument."""
    if kind == "memory":
        place, at = value
        return (begins[place] + at).to_bytes(8, "little")
    if kind == "float":
        return struct.pack(_FLOATS[size], value)
    if kind == "struct":
        made = bytearray(size)
        for offset, count, inner, of in value:
            made[offset : offset + count] = _content(inner, of, count, begins)
        return bytes(made)
    return int(value % (1 << 8 * size)).to_bytes(size, "little")


def main(descriptor: int) -> None:
    """Answer the judge."""
    candidate = Candidate()
    names = ("about", "load", "run", "large", "counts")
    serve(descriptor, {name: getattr(candidate, name) for name in names})


if __name__ == "__main__":
    main(int(sys.argv[1]))
