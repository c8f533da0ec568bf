# waves/__init__.py - a kernel of the package, and an operation of it.
"""A weighted mean of two arrays: ``waves.mix(x, y, part=0.25)``."""

from waves.ops import mix

__all__ = ["mix"]
