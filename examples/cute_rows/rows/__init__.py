# rows/__init__.py
"""CuTe DSL kernels that run without CUTLASS: ``rows.kernels`` and ``rows.ops``."""
