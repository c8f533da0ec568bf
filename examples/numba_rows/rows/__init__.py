# rows/__init__.py
"""Numba kernels that run without Numba: ``rows.kernels`` and ``rows.ops``."""
