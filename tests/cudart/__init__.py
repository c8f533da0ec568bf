"""Tests of cupola's CUDA runtime library, csrc/dropin/cudart."""
