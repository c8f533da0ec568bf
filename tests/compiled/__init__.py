"""Slices of the tests in the mode of the CPU device that compiles every kernel."""
