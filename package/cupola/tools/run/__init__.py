# cupola/tools/run/__init__.py - the environment of programs on the CPU device.
"""The environment of programs that `cupola run` starts and `cupola env` prints."""
