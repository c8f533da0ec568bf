# stencil/__init__.py - the mean of each point of a matrix and its four neighbours.
"""Smooths matrices by a kernel in variants: each call takes the best one for its size and device.

::

    import cupola, stencil

    stencil.smooth(cupola.ones((1000, 1000), "f4"))  # arrays of PyTorch, JAX and NumPy, too
"""

from stencil.ops import smooth

__all__ = ["smooth"]
