# rows/__init__.py
"""Warp kernels that run without Warp: ``rows.kernels`` and ``rows.ops``."""
