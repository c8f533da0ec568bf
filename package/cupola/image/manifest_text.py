# package/cupola/image/manifest_text.py - the text of a manifest, and what it records of an image.
"""Writes what `cupola.image.manifest` reads."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def written(manifest: dict[str, Any]) -> str:
    """The JSON text, with a line for each kernel, which a reader can parse alone."""
    lines = [f"{json.dumps(name)}: {json.dumps(manifest[name])}" for name in manifest
             if name != "kernels"]  # fmt: skip
    kernels = ",\n".join(json.dumps(kernel) for kernel in manifest["kernels"])
    return "{" + ",\n".join([*lines, f'"kernels": [\n{kernels}']) + "\n]}\n"


def recorded(file: str, content: bytes) -> dict[str, Any]:
    """The name, size and SHA-256 of an image, in the form of a manifest."""
    return {"file": file, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
