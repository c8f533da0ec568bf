# cupola/launching/__init__.py - launches of a kernel on the parts of arrays.
"""Placeholders in a kernel's arguments, and the grid of each part: of a chunk or of a block."""
