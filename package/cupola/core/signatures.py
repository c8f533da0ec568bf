# cupola/core/signatures.py - kernel signatures for inspect.signature and help.
"""Kernel parameters as Python signatures and help texts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cupola.declare.parameter_names import keyword_names, placeholder_name

if TYPE_CHECKING:
    import numpy as np

    from cupola.core.result_types import Parameter
    from cupola.image.manifest import Fixed


def signature(parameters: Sequence[Parameter]) -> inspect.Signature:
    """A signature with C types as annotations; parameters without a valid name are positional."""
    given = [one.name for one in parameters]
    names = keyword_names(given)
    # In Python, a positional-only parameter can't follow a named one.
    first = max((i for i, name in enumerate(names) if name is None), default=-1) + 1
    kinds = inspect.Parameter
    return inspect.Signature(
        [
            kinds(
                names[i] or placeholder_name(i, given),
                kinds.POSITIONAL_ONLY if i < first else kinds.POSITIONAL_OR_KEYWORD,
                annotation=str(one._replace(name="")),
            )
            for i, one in enumerate(parameters)
        ],
        return_annotation=None,
    )


def about(title: str, parameters: Sequence[Parameter], fixed: Fixed | None = None) -> str:
    """The help text of a kernel: its parameters and how to launch it."""
    lines = [f"{title}({', '.join(map(str, parameters))})", ""]
    if parameters:
        lines += ["Parameters", "----------"]
    for i, one in enumerate(parameters):
        line = f"{one.name or f'argument {i}'} : {one._replace(name='')}"
        if one.dtype is None or (one.dtype.names is None and "pointer" not in one.kind):
            lines.append(line)
        elif one.dtype.names is None:
            lines.append(f"{line}, elements of {one.dtype}")
        else:
            lines.append(f"{line}, {one.dtype.itemsize} bytes")
            lines += [f"    {text}" for text in _fields(one.dtype)]
    usage = f"Launched as {title}[grid, block](...), or {title}.forall(n)(...)."
    if fixed is not None:
        usage = f"Launched as {title}[grid](...), with blocks of {fixed.block} threads."
    lines += ["", usage]
    return "\n".join(lines)


def _fields(struct: np.dtype[Any]) -> Iterator[str]:
    for name, (dtype, offset, *_) in (struct.fields or {}).items():
        inner = dtype if dtype.subdtype is None else dtype.subdtype[0]
        shape = f"{dtype.shape} of " if dtype.shape else ""
        shown = f"struct of {inner.itemsize} bytes" if inner.names else str(inner)
        yield f"{name} : {shape}{shown}, at {offset}"
        if inner.names:
            yield from (f"    {line}" for line in _fields(inner))
