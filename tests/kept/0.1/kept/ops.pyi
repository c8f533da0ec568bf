from typing import Any as _Any

def add(
    x: _Any,
    y: _Any,
    *,
    out: _Any = None,
    stream: _Any = None,
    device: _Any = None,
) -> _Any:
    """The operation kept.add.

    x : float32[n]
    y : float32[n]
    returns out : float32[n]
    """
