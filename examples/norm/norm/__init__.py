# norm/__init__.py - root-mean-square normalization, for arrays of any library.
"""Root-mean-square normalization.

::

    import norm, torch

    y = norm.rms_norm(torch.ones(4, 4096), torch.ones(4096))
"""

from __future__ import annotations

from typing import Any

from norm import ops

__all__ = ["rms_norm"]


def rms_norm(x: Any, w: Any, eps: float = 1e-6) -> Any:
    """Divide each row by its root mean square, and multiply by the weights.

    Parameters
    ----------
    x : (..., n) array of float32, float16 or bfloat16
        Of NumPy, CuPy, PyTorch, JAX or cupola.
    w : (n,) array of the same library and type
    eps : float
        It is added to the mean of the squares.

    Returns
    -------
    array
        Of the same library, shape and type. PyTorch and JAX compute its gradient for x and w.
    """
    return ops.rms_norm(x, w, eps)[0]
