# package/cupola/build/instances.py - the kernels of a library whose compiler is not nvcc.
"""Tables ``[[tool.cupola.kernels.instances]]``: a function, its types, its constants."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .kernels import Kernels

NVCC = "nvcc"
# Compilers of kernels in Python, by the names of their modules and of extras of cupola, with the
# further keys of their instances.
COMPILERS = {
    "triton": ("num_warps", "num_stages", "maxnreg", "enable_fp_fusion"),
    "numba": ("fastmath", "launch_bounds"),
    "warp": ("block_dim",),
    "cute": (),
}
DISTRIBUTIONS = {
    "triton": "triton",
    "numba": "numba-cuda",
    "warp": "warp-lang",
    "cute": "nvidia-cutlass-dsl",
}
_KEYS = {
    "function": "the name of a function in the sources",
    "name": "the kernel's name, by default that of the function",
    "signature": "types by parameter, as in { x = '*fp32', n = 'i32' }",
    "constants": "values by parameter, as in { BLOCK = 1024 }",
}


def check(kernels: Kernels) -> tuple[dict[str, Any], ...]:
    """The instances of a library with all keys.

    Raises
    ------
    BuildError
        Where the compiler is unknown, or an instance is invalid; it names the library and the key.
    """
    known = (NVCC, *COMPILERS)
    if kernels.compiler not in known:
        raise kernels.wrong("compiler", kernels.compiler, f"known are {', '.join(known)}")
    if kernels.compiler == NVCC:
        if kernels.instances:
            raise kernels.wrong(
                "instances", list(kernels.instances), "they are for other compilers: write "
                f"compiler = '{next(iter(COMPILERS))}', or instantiate templates in the sources"
            )  # fmt: skip
        return ()
    for name, value in (
        ("include", kernels.include),
        ("options", kernels.options),
        ("relocatable", kernels.relocatable),
        ("makers", kernels.makers),
        ("host", kernels.host),
        ("only", kernels.only),
        ("without", kernels.without),
        ("sources.architectures", list(kernels.source_targets)),
    ):
        if value:
            raise kernels.wrong(
                name, value, f"this is for nvcc, and the compiler is {kernels.compiler}"
            )
    if not isinstance(kernels.instances, (list, tuple)) or not kernels.instances:
        raise kernels.wrong(
            "instances", kernels.instances, "at least one table "
            "[[tool.cupola.kernels.instances]] is wanted: it names a function and its types"
        )  # fmt: skip
    found = tuple(_instance(kernels, one) for one in kernels.instances)
    names = [one["name"] for one in found]
    for name in names:
        if names.count(name) > 1:
            raise kernels.wrong(
                "instances", name, "there are two kernels of this name: give each a name of its own"
            )
    return found


def _instance(kernels: Kernels, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise kernels.wrong("instances", given, "tables [[tool.cupola.kernels.instances]] expected")
    options = COMPILERS[kernels.compiler]
    for key in given:
        if key not in _KEYS and key not in options:
            words = (*_KEYS, *options)
            near = difflib.get_close_matches(key, words, 1)
            meant = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(words)}"
            raise kernels.wrong("instances", key, f"this is an unknown key: {meant}")
    function = given.get("function")
    one = {"name": function, "signature": {}, "constants": {}, **given}
    for key, kind in (("function", str), ("name", str), ("signature", Mapping),
                      ("constants", Mapping)):  # fmt: skip
        if not isinstance(one.get(key), kind):
            raise kernels.wrong(f"instances.{key}", one.get(key), f"expected {_KEYS[key]}")
    for key in ("function", "name"):
        if not re.fullmatch(r"[A-Za-z_]\w*", one[key], re.ASCII):
            raise kernels.wrong(f"instances.{key}", one[key], "a name is wanted")
    for name, type_ in one["signature"].items():
        if not isinstance(type_, str):
            raise kernels.wrong(f"instances.signature.{name}", type_, "a text is wanted")
    return {**one, "signature": dict(one["signature"]), "constants": dict(one["constants"])}
