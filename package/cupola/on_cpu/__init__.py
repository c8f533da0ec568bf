# cupola/on_cpu/__init__.py - what programs of others find in place of NVIDIA's, on the CPU device.
"""The environment of programs that `cupola run` starts and `cupola env` prints."""
