# cupola/recording/code_texts.py - the PTX of machine code that a program loaded.
"""Finds the PTX that a compiler made beside machine code, so that the CPU device can replay it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cupola.image.reader import read_image


def has_ptx(image: bytes) -> bool:
    """Whether an image has PTX of its own.

    Parameters
    ----------
    image : bytes
    """
    return any(one.kind == "ptx" for one in read_image(image).entries)


class CodeTexts:
    """The PTX beside machine code, in a spool's folder and in the caches of Triton.

    NVRTC's front and cupola's compiler write to the spool's folder. Triton keeps both files in its
    cache, as PyTorch's compiler does, which uses Triton.
    """

    def __init__(self, spool: Path) -> None:
        self._spool = spool
        self._by_size: dict[int, list[Path]] | None = None

    def of(self, code: bytes) -> str:
        """The PTX of this machine code; "" where it is not found.

        Parameters
        ----------
        code : bytes
        """
        if self._by_size is None:
            self._by_size = {}
            for path, size in _files([self._spool, *_triton_caches()]):
                self._by_size.setdefault(size, []).append(path)
        for path in self._by_size.get(len(code), ()):
            try:
                if path.read_bytes() == code:
                    return path.with_suffix(".ptx").read_text(errors="replace")
            except OSError:  # removed meanwhile, or without its PTX
                continue
        return ""


def _triton_caches() -> list[Path]:
    """Triton's folder, and those that PyTorch's compiler gives to Triton."""
    given = os.environ.get("TRITON_CACHE_DIR")
    home = Path(os.environ.get("TRITON_HOME") or Path.home())
    temporary = Path(os.environ.get("TORCHINDUCTOR_CACHE_DIR") or tempfile.gettempdir())
    return [
        Path(given) if given else home / ".triton" / "cache",
        *temporary.glob("torchinductor_*/triton"),
        temporary / "triton",
    ]


def _files(folders: list[Path]) -> Iterator[tuple[Path, int]]:
    """The files of machine code below the folders, with their sizes."""
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                if name.endswith(".cubin"):
                    path = Path(parent, name)
                    try:
                        yield path, path.stat().st_size
                    except OSError:  # removed meanwhile
                        continue
