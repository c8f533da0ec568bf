# cupola/judging/reference_process.py - the process that has the reference.
"""Imports a file with a reference, describes it, and calls it with arrays."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cupola.judging.elements import computable
from cupola.judging.process import serve

_found: dict[str, Any] = {}
_KEYS = ("operation", "rtol", "atol", "sizes", "ranges", "aliases", "launches", "options")


def load(header: dict[str, Any], pieces: list[bytearray]) -> tuple[dict[str, Any], list[bytes]]:
    """Run the file, and return what it says of the task."""
    try:
        _found.update(runpy.run_path(header["path"], run_name="cupola_reference"))
    except BaseException as error:
        return {"error": _text(error)}, []
    told = {key: _found[key] for key in _KEYS if key in _found}
    for key in ("reference", "inputs"):
        told[f"has_{key}"] = callable(_found.get(key))
    try:
        return {"task": _plain(told)}, []
    except (TypeError, RecursionError) as error:
        return {"error": f"the task has a value that is no text, number, list or dict: {error}"}, []


def inputs(header: dict[str, Any], pieces: list[bytearray]) -> tuple[dict[str, Any], list[bytes]]:
    """The inputs of the task's own function, for sizes and a seed."""
    rng = np.random.default_rng(header["seed"])
    return _named(lambda: _found["inputs"](rng, dict(header["sizes"])))


def answer(header: dict[str, Any], pieces: list[bytearray]) -> tuple[dict[str, Any], list[bytes]]:
    """The results of the reference, which gets copies; and the names of those that it changed."""
    given: dict[str, Any] = dict(header["scalars"])
    for (name, dtype, shape), piece in zip(header["arrays"], pieces, strict=True):
        given[name] = np.frombuffer(piece, dtype).reshape(shape).copy()
    before = {name: one.copy() for name, one in given.items() if isinstance(one, np.ndarray)}

    def call() -> dict[str, Any]:
        with np.errstate(all="ignore"):
            made = _found["reference"](**given)
        several = made if isinstance(made, (tuple, list)) else (made,)
        return {str(place): one for place, one in enumerate(several) if one is not None}

    told, results = _named(call)
    told["changed"] = [
        name for name, one in before.items() if one.tobytes() != given[name].tobytes()
    ]
    return told, results


def _named(function: Callable[[], Any]) -> tuple[dict[str, Any], list[bytes]]:
    try:
        made = function()
        if not isinstance(made, Mapping):
            raise TypeError(f"expected a dict of arrays by name, got {type(made).__name__}")
        arrays, pieces, numbers = [], [], {}
        for name, one in made.items():
            if isinstance(one, (bool, int, float)):
                numbers[name] = one
                if name.isidentifier():  # a scalar among inputs
                    continue
            array = computable(np.asarray(one))
            if array.dtype.kind not in "biufc":
                raise TypeError(f"{name}: expected numbers, got dtype {array.dtype}")
            array = np.ascontiguousarray(array).reshape(array.shape)
            arrays.append([str(name), array.dtype.str, list(array.shape)])
            pieces.append(array.tobytes())
    except BaseException as error:
        return {"error": _text(error)}, []
    return {"arrays": arrays, "numbers": numbers}, pieces


def _text(error: BaseException) -> str:
    """The error, and the line of the file where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    line = next((one.lineno for one in reversed(frames) if "cupola/judging" not in one.filename), 0)
    return f"{type(error).__name__}: {error} (line {line})"[:1000]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} {str(value)[:60]}")


if __name__ == "__main__":
    serve(int(sys.argv[1]), {"load": load, "inputs": inputs, "answer": answer})
