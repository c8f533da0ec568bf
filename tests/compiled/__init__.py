"""Slices of the tests in modes of the CPU device that the whole run does not use."""
