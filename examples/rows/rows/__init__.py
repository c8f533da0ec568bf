# rows/__init__.py
"""Triton kernels that run without Triton: ``rows.kernels`` and ``rows.ops``."""
